//! The objects that an expression may refer to, if its value is known only after apply.
//!
//! The configuration contains the names in an expression, not its result. A diagram needs every subnet of
//! `[for s in aws_subnet.private : s.id]`, so this reader returns all candidates of the requested types, and the modules
//! whose local values or data sources hide the rest: plan JSON contains no local values. [`super::locate`] chooses the
//! network among them.

use super::address::{keyed, module_path, prefix, split};
use super::resource::Resource;
use super::role::{Role, is};
use crate::node::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Maximum number of steps of one resolution, which ends cycles.
const MAX_HOPS: usize = 32;

/// The configuration, found by address without instance keys: `module.hub.aws_vpc.main`, `module.hub`.
pub(super) struct References<'a> {
    resources: BTreeMap<String, &'a Node>,
    calls: BTreeMap<String, &'a Node>,
    /// Provider blocks, by their key in the plan.
    providers: BTreeMap<&'a str, &'a Node>,
    /// Values of the variables of the root module.
    variables: BTreeMap<&'a str, &'a Node>,
    addresses: BTreeSet<&'a str>,
}

/// The possible targets of an expression.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Resource addresses.
    pub(super) found: BTreeSet<String>,
    /// Whether the expression contains anything that cannot be resolved.
    pub(super) blurred: bool,
    /// Whether the configuration holds the resource, but no expression for the attribute: nothing is named.
    pub(super) unset: bool,
    /// The module instances whose local values hide a part of the expression.
    pub(super) locals: BTreeSet<String>,
    /// The module instances whose data sources do.
    pub(super) data: BTreeSet<String>,
}

/// The scope of an expression: the module instance, and the instance key of its resource.
#[derive(Clone)]
struct Scope {
    path: Vec<(String, String)>,
    index: String,
    /// The collection of `each.value`.
    repeated: Option<String>,
}

impl<'a> References<'a> {
    pub(super) fn new(tree: &'a Node, addresses: BTreeSet<&'a str>) -> Self {
        let blocks = tree.get("configuration").and_then(|node| node.get("provider_config"));
        let blocks = blocks.map(Node::entries).unwrap_or_default();
        let providers = blocks.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect();
        let variables = tree.get("variables").map(Node::entries).unwrap_or_default();
        let root = tree.get("configuration").and_then(|node| node.get("root_module"));
        let declared = root.and_then(|node| node.get("variables"));
        let secret =
            |name: &str| declared.and_then(|all| all.get(name)?.get("sensitive")).is_some_and(Node::is_true);
        let variables = variables
            .iter()
            .filter(|entry| !secret(entry.key.as_str()))
            .filter_map(|entry| Some((entry.key.as_str(), entry.value.get("value")?)))
            .collect();
        let (resources, calls) = (BTreeMap::new(), BTreeMap::new());
        let mut this = Self { resources, calls, providers, variables, addresses };
        if let Some(root) = tree.get("configuration").and_then(|node| node.get("root_module")) {
            this.index(root, "");
        }
        this
    }

    fn index(&mut self, module: &'a Node, at: &str) {
        for resource in module.get("resources").map(Node::items).unwrap_or_default() {
            if let Some(address) = resource.get("address").and_then(Node::text) {
                self.resources.insert(format!("{at}{address}"), resource);
            }
        }
        for call in module.get("module_calls").map(Node::entries).unwrap_or_default() {
            let name = format!("{at}module.{}", call.key);
            if let Some(inner) = call.value.get("module") {
                self.index(inner, &format!("{name}."));
            }
            self.calls.insert(name, &call.value);
        }
    }

    /// An attribute of a provider block: a constant, or the value of a variable of the root module.
    pub(super) fn provider_text(&self, provider: &str, attribute: &str) -> Option<&'a str> {
        let block = self.providers.get(provider)?;
        let expression = block.get("expressions")?.get(attribute)?;
        if let Some(constant) = expression.get("constant_value") {
            return constant.text();
        }
        // Variables of other modules may have the same name, and an expression may be more than a variable.
        let [reference] = expression.get("references")?.items() else { return None };
        let name =
            reference.text()?.strip_prefix("var.").filter(|_| block.get("module_address").is_none())?;
        self.variables.get(name)?.text()
    }

    /// The key of the provider block of a resource.
    pub(super) fn provider_of(&self, resource: &Resource<'_>) -> Option<&'a str> {
        let name = format!("{}{}.{}", bare(&module_path(resource.module)?), resource.kind, resource.name);
        self.resources.get(&name)?.get("provider_config_key")?.text()
    }

    /// The constant AWS region of the provider block of a resource.
    pub(super) fn provider_region(&self, resource: &Resource<'_>) -> Option<&'a str> {
        let block = self.providers.get(self.provider_of(resource)?)?.get("expressions")?;
        // Warren's provider block has one attribute for each cloud.
        let region = match block.get("aws") {
            Some(aws) => aws.get("constant_value")?.get("region")?,
            None => block.get("region")?.get("constant_value")?,
        };
        region.text()
    }

    /// Whether the configuration has an expression for an attribute. None if it does not hold the resource.
    pub(super) fn wrote(&self, resource: &Resource<'_>, attribute: &str) -> Option<bool> {
        let name = format!("{}{}.{}", bare(&module_path(resource.module)?), resource.kind, resource.name);
        let expressions = self.resources.get(&name)?.get("expressions");
        Some(expressions.is_some_and(|all| all.get(attribute).is_some()))
    }

    /// The objects of the types `roles` that `attribute` of `resource` may refer to.
    pub(super) fn candidates(&self, resource: &Resource<'_>, attribute: &str, roles: &[Role]) -> Candidates {
        let mut out = Candidates::default();
        let Some(path) = module_path(resource.module) else { return out };
        let name = format!("{}{}.{}", bare(&path), resource.kind, resource.name);
        let written = self.resources.get(&name);
        let Some(expression) = written.and_then(|node| node.get("expressions")?.get(attribute)) else {
            out.blurred = true;
            out.unset = written.is_some();
            return out;
        };
        let scope = Scope { path, index: resource.index.clone(), repeated: Some(name) };
        self.follow(&scope, expression, roles, 0, &mut out);
        out
    }

    /// The objects of the types `roles` that the arguments of the call of a module instance may refer to.
    pub(super) fn inputs(&self, module: &str, roles: &[Role]) -> Candidates {
        let mut out = Candidates::default();
        let Some(path) = module_path(module) else { return out };
        let Some(((_, key), outer)) = path.split_last() else { return out };
        let call = bare(&path).trim_end_matches('.').to_owned();
        let arguments = self.calls.get(&call).and_then(|node| node.get("expressions"));
        let scope = Scope { path: outer.to_vec(), index: key.clone(), repeated: Some(call) };
        for argument in arguments.map(Node::entries).unwrap_or_default() {
            self.follow(&scope, &argument.value, roles, 0, &mut out);
        }
        out
    }

    fn follow(&self, scope: &Scope, node: &'a Node, roles: &[Role], hops: usize, out: &mut Candidates) {
        if hops > MAX_HOPS {
            out.blurred = true;
            return;
        }
        for item in node.items() {
            self.follow(scope, item, roles, hops, out);
        }
        let Some(references) = node.get("references") else {
            for entry in node.entries().iter().filter(|entry| entry.key != "constant_value") {
                self.follow(scope, &entry.value, roles, hops, out);
            }
            return;
        };
        let references: Vec<&str> = references.items().iter().filter_map(Node::text).collect();
        let by_key = references.iter().any(|text| matches!(*text, "each.key" | "count.index"));
        for reference in &references {
            // Terraform lists a.b.c as a.b.c, a.b: prefixes of a longer one add nothing.
            let longer =
                |other: &&str| other.strip_prefix(reference).is_some_and(|tail| tail.starts_with(['.', '[']));
            if !references.iter().any(longer) {
                self.reference(scope, reference, by_key, roles, hops, out);
            }
        }
    }

    fn reference(
        &self,
        scope: &Scope,
        reference: &str,
        by_key: bool,
        roles: &[Role],
        hops: usize,
        out: &mut Candidates,
    ) {
        let steps = split(reference);
        let step = |at: usize| steps.get(at).map(String::as_str).unwrap_or_default();
        match step(0) {
            "each" if step(1).starts_with("value") => {
                let of = scope.repeated.as_ref();
                let node = of.and_then(|name| self.resources.get(name).or_else(|| self.calls.get(name)));
                if let Some(expression) = node.and_then(|node| node.get("for_each_expression")) {
                    self.follow(scope, expression, roles, hops + 1, out);
                }
            }
            "each" | "count" | "path" | "terraform" => {}
            "var" => {
                let Some((last, outer)) = scope.path.split_last() else { return };
                let call = format!("{}module.{}", bare(outer), last.0);
                let node = self.calls.get(&call).and_then(|node| node.get("expressions")?.get(step(1)));
                if let Some(expression) = node {
                    let scope = Scope { path: outer.to_vec(), index: last.1.clone(), repeated: Some(call) };
                    self.follow(&scope, expression, roles, hops + 1, out);
                }
            }
            "module" => {
                let (call, key) = keyed(step(1));
                let name = format!("{}module.{call}", bare(&scope.path));
                let output = keyed(step(2)).0;
                let node = self
                    .calls
                    .get(&name)
                    .and_then(|node| node.get("module")?.get("outputs")?.get(output)?.get("expression"));
                let Some(expression) = node else {
                    out.blurred = true;
                    return;
                };
                let stem = format!("{}module.{call}", prefix(&scope.path));
                for key in self.instances(&stem, key, by_key.then_some(scope.index.as_str())) {
                    let mut path = scope.path.clone();
                    path.push((call.to_owned(), key));
                    let scope = Scope { path, index: String::new(), repeated: None };
                    self.follow(&scope, expression, roles, hops + 1, out);
                }
            }
            word @ ("local" | "data") => {
                out.blurred = true;
                let hidden = if word == "local" { &mut out.locals } else { &mut out.data };
                hidden.insert(prefix(&scope.path).trim_end_matches('.').to_owned());
            }
            kind => {
                let (name, key) = keyed(step(1));
                let stem = format!("{}{kind}.{name}", prefix(&scope.path));
                if is(kind, roles) {
                    let own = by_key.then_some(scope.index.as_str());
                    out.found.extend(
                        self.instances(&stem, key, own).into_iter().map(|key| format!("{stem}{key}")),
                    );
                    return;
                }
                // An association or another object that hands on an id.
                let attribute = step(2);
                let handed = matches!(
                    attribute,
                    "vpc_id"
                        | "subnet_id"
                        | "transit_gateway_id"
                        | "route_table_id"
                        | "network"
                        | "subnetwork"
                );
                let name = format!("{}{kind}.{name}", bare(&scope.path));
                let node = self.resources.get(&name).and_then(|node| node.get("expressions")?.get(attribute));
                if let Some(expression) = node.filter(|_| handed) {
                    let scope = Scope { index: key.to_owned(), repeated: Some(name), ..scope.clone() };
                    self.follow(&scope, expression, roles, hops + 1, out);
                }
            }
        }
    }

    /// Instance keys of the object at `stem`: the named one, the one of the scope, or else all.
    fn instances(&self, stem: &str, key: &str, own: Option<&str>) -> Vec<String> {
        if !key.is_empty() && !key.contains("each.") && !key.contains("count.") {
            return vec![key.to_owned()];
        }
        let mut keys = BTreeSet::new();
        for address in self.addresses.range::<str, _>((Bound::Included(stem), Bound::Unbounded)) {
            let Some(rest) = address.strip_prefix(stem) else { break };
            let end = match rest.as_bytes().first() {
                None | Some(b'.') => 0,
                Some(b'[') => match end_of_key(rest) {
                    Some(end) => end,
                    None => continue,
                },
                // Another name that begins alike.
                _ => continue,
            };
            keys.insert(rest[..end].to_owned());
        }
        match own.filter(|own| keys.contains(*own)) {
            Some(own) => vec![own.to_owned()],
            None => keys.into_iter().collect(),
        }
    }
}

/// Length of `["a"]` at the start of a string.
fn end_of_key(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The path without instance keys, as in the configuration.
fn bare(path: &[(String, String)]) -> String {
    path.iter().map(|(call, _)| format!("module.{call}.")).collect()
}
