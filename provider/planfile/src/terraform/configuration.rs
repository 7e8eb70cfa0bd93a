//! References between resources whose IDs are known only after apply.
//!
//! The configuration contains the names in an expression, not its result. A reference is followed only if the names are
//! unambiguous. Otherwise it counts as unknown, which causes no finding.

use super::resource::Resource;
use super::role::{Role, is};
use crate::node::Node;
use std::collections::BTreeSet;

/// Maximum number of steps of one resolution through variables and outputs, which ends cycles.
const MAX_HOPS: usize = 64;

/// The `configuration` part of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration<'a> {
    root: Option<&'a Node>,
    providers: Option<&'a Node>,
}

/// A module instance: its calls and their instance keys, from the root.
pub(super) type Path<'a> = Vec<(String, String)>;

impl<'a> Configuration<'a> {
    pub(super) fn new(tree: &'a Node) -> Self {
        let configuration = tree.get("configuration");
        Self {
            root: configuration.and_then(|node| node.get("root_module")),
            providers: configuration.and_then(|node| node.get("provider_config")),
        }
    }

    /// A constant attribute of a provider block.
    pub(super) fn provider_constant(&self, provider: &str, attribute: &str) -> Option<&'a str> {
        self.providers?.get(provider)?.get("expressions")?.get(attribute)?.get("constant_value")?.text()
    }

    /// The address of the resource of one of `roles` that `attribute` of `resource` refers to.
    pub(super) fn resolve(
        &self,
        resource: &Resource<'_>,
        attribute: &str,
        roles: &[Role],
        addresses: &BTreeSet<&str>,
    ) -> Option<String> {
        let path = module_path(resource.module)?;
        let module = self.module(&path)?;
        let name = format!("{}.{}", resource.kind, resource.name);
        let expression = expression_of(module, &name, attribute)?;
        self.follow(&path, &resource.index, expression, roles, addresses, 0)
    }

    /// Whether the configuration of a resource sets an attribute. True if there is no configuration.
    pub(super) fn sets(&self, resource: &Resource<'_>, attribute: &str) -> bool {
        let Some(module) = module_path(resource.module).and_then(|path| self.module(&path)) else {
            return true;
        };
        expression_of(module, &format!("{}.{}", resource.kind, resource.name), attribute).is_some()
    }

    fn module(&self, path: &[(String, String)]) -> Option<&'a Node> {
        path.iter()
            .try_fold(self.root?, |module, (call, _)| module.get("module_calls")?.get(call)?.get("module"))
    }

    fn follow(
        &self,
        path: &Path<'_>,
        index: &str,
        expression: &'a Node,
        roles: &[Role],
        addresses: &BTreeSet<&str>,
        hops: usize,
    ) -> Option<String> {
        if hops > MAX_HOPS {
            return None;
        }
        let references: Vec<&str> =
            expression.get("references")?.items().iter().filter_map(Node::text).collect();
        let (reference, by_key) = the_one(&references)?;
        let steps = split(reference);
        let module = self.module(path)?;
        match steps.first().map(String::as_str)? {
            "var" => {
                let (call, key) = path.last()?;
                let parent: Path<'_> = path[..path.len() - 1].to_vec();
                let name = steps.get(1)?;
                let outer =
                    self.module(&parent)?.get("module_calls")?.get(call)?.get("expressions")?.get(name)?;
                self.follow(&parent, key, outer, roles, addresses, hops + 1)
            }
            "module" => {
                let (call, key) = keyed(steps.get(1)?);
                let output = keyed(steps.get(2)?).0;
                let inner = module.get("module_calls")?.get(call)?.get("module")?;
                let expression = inner.get("outputs")?.get(output)?.get("expression")?;
                let mut path = path.clone();
                path.push((call.to_owned(), key.to_owned()));
                self.follow(&path, "", expression, roles, addresses, hops + 1)
            }
            kind => {
                let (name, key) = keyed(steps.get(1)?);
                if is(kind, roles) {
                    let key = if key.is_empty() && by_key { index } else { key };
                    return instance(&prefix(path), kind, name, key, by_key, addresses);
                }
                // An association, an endpoint or another subnet that hands on the id of its network.
                let attribute = steps.get(2).filter(|attribute| *attribute == "vpc_id")?;
                let expression = expression_of(module, &format!("{kind}.{name}"), attribute)?;
                self.follow(path, key, expression, roles, addresses, hops + 1)
            }
        }
    }
}

/// The referenced address, if it is unambiguous.
fn instance(
    prefix: &str,
    kind: &str,
    name: &str,
    key: &str,
    by_key: bool,
    addresses: &BTreeSet<&str>,
) -> Option<String> {
    let base = format!("{prefix}{kind}.{name}");
    let exact = format!("{base}{key}");
    if addresses.contains(exact.as_str()) {
        return Some(exact);
    }
    if !key.is_empty() && !by_key {
        return None;
    }
    let list = format!("{base}[");
    let mut instances = addresses.iter().filter(|address| address.starts_with(&list));
    match (instances.next(), instances.next()) {
        (Some(only), None) => Some((*only).to_owned()),
        _ => None,
    }
}

/// The longest reference of an expression that refers to one object only, and whether it is indexed by the instance key.
fn the_one<'r>(references: &[&'r str]) -> Option<(&'r str, bool)> {
    let own = |reference: &&str| matches!(*reference, "each.key" | "count.index");
    let by_key = references.iter().any(own);
    let mut rest: Vec<&str> = references.iter().filter(|reference| !own(reference)).copied().collect();
    rest.sort_by_key(|reference| std::cmp::Reverse(reference.len()));
    let first = *rest.first()?;
    // Terraform lists a.b.c as a.b.c, a.b: prefixes of the longest one add nothing.
    let one = rest.iter().all(|reference| {
        first.strip_prefix(*reference).is_some_and(|tail| tail.is_empty() || tail.starts_with(['.', '[']))
    });
    one.then_some((first, by_key))
}

fn expression_of<'a>(module: &'a Node, name: &str, attribute: &str) -> Option<&'a Node> {
    let resources = module.get("resources")?.items();
    let resource = resources.iter().find(|node| node.get("address").and_then(Node::text) == Some(name))?;
    resource.get("expressions")?.get(attribute)
}

/// `module.a["x.y"].module.b` to its calls and keys.
pub(super) fn module_path(address: &str) -> Option<Path<'_>> {
    let steps = split(address);
    let steps: Vec<&String> = steps.iter().filter(|step| !step.is_empty()).collect();
    steps
        .chunks(2)
        .map(|pair| match pair {
            [word, call] if *word == "module" => {
                let (name, key) = keyed(call);
                Some((name.to_owned(), key.to_owned()))
            }
            _ => None,
        })
        .collect()
}

pub(super) fn prefix(path: &[(String, String)]) -> String {
    path.iter().map(|(call, key)| format!("module.{call}{key}.")).collect()
}

/// Splits at the dots that are not inside brackets.
pub(super) fn split(address: &str) -> Vec<String> {
    let (mut steps, mut depth, mut quoted, mut escaped) = (vec![String::new()], 0_u32, false, false);
    for c in address.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            '.' if !quoted && depth == 0 => {
                steps.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = steps.last_mut() {
            last.push(c);
        }
    }
    steps
}

/// `main["a"]` to `main` and `["a"]`.
pub(super) fn keyed(step: &str) -> (&str, &str) {
    step.find('[').map_or((step, ""), |at| step.split_at(at))
}
