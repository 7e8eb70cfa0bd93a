//! The resources of a plan or state, in all modules.

use super::role::{Role, is};
use crate::node::{Kind, Node};
use std::collections::BTreeSet;

/// A resource that exists after the apply.
#[derive(Debug)]
pub(super) struct Resource<'a> {
    /// Full address: `module.net["a"].aws_vpc.main[0]`.
    pub(super) address: String,
    /// Address of its module instance; empty in the root module.
    pub(super) module: &'a str,
    /// Type: `aws_vpc`.
    pub(super) kind: &'a str,
    /// Name: `main`.
    pub(super) name: &'a str,
    /// Instance key as written in the address: `[0]`, `["a"]`. Empty without `count` and `for_each`.
    pub(super) index: String,
    /// Its attributes.
    pub(super) values: Values<'a>,
    /// Whether it exists already and stays.
    pub(super) live: bool,
    /// Whether a data source read it: it exists, and is managed elsewhere.
    pub(super) external: bool,
}

/// Attributes, with their unknown and sensitive parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    values: Option<&'a Node>,
    unknown: Option<&'a Node>,
    sensitive: Option<&'a Node>,
}

/// One attribute.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attribute<'a> {
    Known(&'a Node),
    Absent,
    /// Known only after apply.
    Unknown,
    /// Marked as sensitive, and therefore not read.
    Sensitive,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        values: Option<&'a Node>,
        unknown: Option<&'a Node>,
        sensitive: Option<&'a Node>,
    ) -> Self {
        Self { values, unknown, sensitive }
    }

    pub(super) fn attribute(&self, key: &str) -> Attribute<'a> {
        // A whole list or object may be marked at once.
        let marked = |node: Option<&Node>| {
            node.is_some_and(|node| node.is_true() || node.get(key).is_some_and(Node::is_true))
        };
        if marked(self.sensitive) {
            return Attribute::Sensitive;
        }
        match self.values.and_then(|values| values.get(key)).filter(|node| !node.is_null()) {
            _ if marked(self.unknown) => Attribute::Unknown,
            Some(node) => Attribute::Known(node),
            None => Attribute::Absent,
        }
    }

    /// A known string that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        match self.attribute(key) {
            Attribute::Known(node) => node.text().filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    /// Whether it is known to be true.
    pub(super) fn is_true(&self, key: &str) -> bool {
        matches!(self.attribute(key), Attribute::Known(node) if node.is_true())
    }

    /// The items of a list of blocks, or the values of a map, each with its key in brackets.
    pub(super) fn children(&self, key: &str) -> Vec<(String, Values<'a>)> {
        let Attribute::Known(node) = self.attribute(key) else { return Vec::new() };
        let part = |mask: Option<&'a Node>| mask.and_then(|mask| mask.get(key));
        let (unknown, sensitive) = (part(self.unknown), part(self.sensitive));
        let items = node.items().iter().enumerate().map(|(index, item)| {
            let at = |mask: Option<&'a Node>| mask.and_then(|mask| mask.items().get(index));
            let values = Values { values: Some(item), unknown: at(unknown), sensitive: at(sensitive) };
            (format!("[{index}]"), values)
        });
        let entries = node.entries().iter().map(|entry| {
            let at = |mask: Option<&'a Node>| mask.and_then(|mask| mask.get(&entry.key));
            let values =
                Values { values: Some(&entry.value), unknown: at(unknown), sensitive: at(sensitive) };
            (entry.key.to_string(), values)
        });
        items.chain(entries).collect()
    }

    /// The attributes of an object, or of the only block of a list.
    pub(super) fn nested(&self, key: &str) -> Option<Values<'a>> {
        let Attribute::Known(node) = self.attribute(key) else { return None };
        if node.entries().is_empty() {
            return self.children(key).into_iter().next().map(|(_, values)| values);
        }
        let part = |mask: Option<&'a Node>| mask.and_then(|mask| mask.get(key));
        Some(Values { values: Some(node), unknown: part(self.unknown), sensitive: part(self.sensitive) })
    }

    /// A number in range.
    pub(super) fn number(&self, key: &str) -> Option<u8> {
        match self.attribute(key) {
            Attribute::Known(node) => match &node.kind {
                Kind::Number(text) => text.parse().ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Every resource that exists after the apply. Deleted resources are omitted, and replaced ones have their new values.
/// Networks and subnets that data sources read are included.
pub(super) fn collect(tree: &Node) -> Vec<Resource<'_>> {
    let mut found = Vec::new();
    match tree.get("resource_changes") {
        Some(changes) => {
            found.extend(changes.items().iter().filter_map(change));
            found.extend(unplanned(tree));
        }
        None => {
            let values = tree.get("planned_values").or_else(|| tree.get("values"));
            let live = tree.get("planned_values").is_none();
            if let Some(root) = values.and_then(|values| values.get("root_module")) {
                module(root, live, &mut found);
            }
        }
    }
    found.sort_by(|a, b| a.address.cmp(&b.address));
    found.dedup_by(|a, b| a.address == b.address);
    found.extend(read(tree));
    found
}

/// Whether a plan does not list everything: it ended with an error, or was limited with `-target`.
pub(super) fn partial(tree: &Node) -> bool {
    let is = |key: &str, value: bool| tree.get(key).is_some_and(|node| node.kind == Kind::Bool(value));
    tree.get("resource_changes").is_some() && (is("errored", true) || is("complete", false))
}

/// The managed resources that a partial plan does not list. They stay as they were before it.
pub(super) fn unplanned(tree: &Node) -> Vec<Resource<'_>> {
    let mut found = Vec::new();
    if let Some(root) = prior(tree).filter(|_| partial(tree)) {
        let changes = tree.get("resource_changes").map(Node::items).unwrap_or_default();
        let listed: BTreeSet<&str> =
            changes.iter().filter_map(|change| change.get("address").and_then(Node::text)).collect();
        module(root, true, &mut found);
        found.retain(|resource| !listed.contains(resource.address.as_str()));
    }
    found
}

/// The state before a plan.
fn prior(tree: &Node) -> Option<&Node> {
    tree.get("prior_state")?.get("values")?.get("root_module")
}

/// Networks and subnets that data sources read, each once. Those that the plan or state manages are omitted.
pub(super) fn read(tree: &Node) -> Vec<Resource<'_>> {
    let mut managed: BTreeSet<&str> = BTreeSet::new();
    for change in tree.get("resource_changes").map(Node::items).unwrap_or_default() {
        if change.get("mode").and_then(Node::text) == Some("managed") {
            for side in ["before", "after"] {
                let values = change.get("change").and_then(|change| change.get(side));
                managed.extend(IDS.iter().filter_map(|key| values?.get(key)?.text()));
            }
        }
    }
    let state = tree.get("values").and_then(|values| values.get("root_module"));
    let mut found = Vec::new();
    for root in [prior(tree), state].into_iter().flatten() {
        walk(root, &mut |node| match node.get("mode").and_then(Node::text) {
            Some("data") => found.extend(of_state(node, true).filter(|resource| is(resource.kind, READ))),
            _ => {
                let values = node.get("values");
                managed.extend(IDS.iter().filter_map(|key| values?.get(key)?.text()));
            }
        });
    }
    found.sort_by(|a, b| a.address.cmp(&b.address));
    let mut seen = managed;
    found.retain(|resource| {
        let id = IDS.iter().find_map(|key| resource.values.text(key));
        id.is_some_and(|id| seen.insert(id))
    });
    found
}

/// Attributes that identify an object.
const IDS: &[&str] = &["self_link", "id"];

/// What is taken from data sources.
const READ: &[Role] = &["aws.vpc", "aws.subnet", "gcp.network", "gcp.subnetwork", "azure.network"];

fn change(node: &Node) -> Option<Resource<'_>> {
    let change = node.get("change")?;
    let actions: Vec<&str> = change.get("actions")?.items().iter().filter_map(Node::text).collect();
    let stays = actions.iter().any(|action| matches!(*action, "create" | "update" | "no-op" | "forget"));
    let managed = node.get("mode").and_then(Node::text) == Some("managed");
    if !stays || !managed || node.get("deposed").is_some() {
        return None;
    }
    let values = match actions.as_slice() {
        // Terraform removes it from the state only.
        ["forget"] => Values::new(change.get("before"), None, change.get("before_sensitive")),
        _ => Values::new(change.get("after"), change.get("after_unknown"), change.get("after_sensitive")),
    };
    resource(node, values, !actions.contains(&"create"))
}

fn module<'a>(node: &'a Node, live: bool, found: &mut Vec<Resource<'a>>) {
    walk(node, &mut |node| {
        if node.get("mode").and_then(Node::text) == Some("managed") {
            found.extend(of_state(node, live));
        }
    });
}

/// Visits every resource of a module and of the modules in it.
fn walk<'a>(node: &'a Node, visit: &mut dyn FnMut(&'a Node)) {
    node.get("resources").map(Node::items).unwrap_or_default().iter().for_each(&mut *visit);
    for child in node.get("child_modules").map(Node::items).unwrap_or_default() {
        walk(child, visit);
    }
}

fn of_state(node: &Node, live: bool) -> Option<Resource<'_>> {
    resource(node, Values::new(node.get("values"), None, node.get("sensitive_values")), live)
}

pub(super) fn resource<'a>(node: &'a Node, values: Values<'a>, live: bool) -> Option<Resource<'a>> {
    let external = match node.get("mode").and_then(Node::text) {
        Some("managed") => false,
        Some("data") => true,
        _ => return None,
    };
    if node.get("deposed_key").is_some() {
        return None;
    }
    let address = node.get("address")?.text()?;
    let (kind, name) = (node.get("type")?.text()?, node.get("name")?.text()?);
    // The address ends in TYPE.NAME[INDEX]; what is before it is the module instance.
    let base = format!("{kind}.{name}");
    let at = address.rfind(&base).filter(|&at| at == 0 || address[..at].ends_with('.'))?;
    let module = address[..at].trim_end_matches('.');
    let module =
        if external { module.strip_suffix("data").unwrap_or(module).trim_end_matches('.') } else { module };
    let index = address[at + base.len()..].to_owned();
    Some(Resource { address: address.to_owned(), module, kind, name, index, values, live, external })
}
