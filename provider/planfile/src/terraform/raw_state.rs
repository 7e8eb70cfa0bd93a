//! State files as Terraform stores them (version 4), in the form of `terraform show -json`.

use crate::node::{Entry, Key, Kind, Node};
use warren_model::Position;

/// Whether a text is a state file.
pub(super) fn is_state(tree: &Node) -> bool {
    matches!(tree.get("version").map(|node| &node.kind), Some(Kind::Number(_)))
        && (tree.get("resources").is_some() || tree.get("modules").is_some())
        && tree.get("format_version").is_none()
}

/// The version of a state file.
pub(super) fn version(tree: &Node) -> Option<&str> {
    match &tree.get("version")?.kind {
        Kind::Number(text) => Some(text),
        _ => None,
    }
}

/// The resources of a state file of version 4, as the values of a state.
pub(super) fn convert(tree: Node) -> Node {
    let at = tree.at;
    let mut resources = Vec::new();
    for mut resource in items(take(tree, "resources")) {
        let instances = take_from(&mut resource, "instances");
        for instance in items(instances) {
            resources.extend(object(&resource, instance));
        }
    }
    let list = Node { kind: Kind::List(resources), at };
    let root = map(at, vec![("root_module", map(at, vec![("resources", list)]))]);
    map(at, vec![("format_version", text(at, "1.0")), ("values", root)])
}

fn object(resource: &Node, mut instance: Node) -> Option<Node> {
    let word = |key: &str| resource.get(key).and_then(Node::text);
    let (mode, kind, name) = (word("mode")?, word("type")?, word("name")?);
    let mut address = word("module").map(|module| format!("{module}.")).unwrap_or_default();
    if mode == "data" {
        address.push_str("data.");
    }
    address.push_str(&format!("{kind}.{name}"));
    match instance.get("index_key").map(|node| &node.kind) {
        Some(Kind::Number(index)) => address.push_str(&format!("[{index}]")),
        Some(Kind::Text(key)) => {
            address.push_str(&format!("[{}]", serde_json::to_string(key).unwrap_or_default()));
        }
        _ => {}
    }
    let at = instance.at;
    let mut entries = vec![
        ("address", text(at, &address)),
        ("mode", text(at, mode)),
        ("type", text(at, kind)),
        ("name", text(at, name)),
        ("sensitive_values", sensitive(&instance)),
        ("values", take_from(&mut instance, "attributes")?),
    ];
    if let Some(deposed) = take_from(&mut instance, "deposed") {
        entries.push(("deposed_key", deposed));
    }
    Some(map(at, entries))
}

/// The value of a key, without a copy.
fn take(mut map: Node, key: &str) -> Option<Node> {
    take_from(&mut map, key)
}

fn take_from(map: &mut Node, key: &str) -> Option<Node> {
    let Kind::Map(entries) = &mut map.kind else { return None };
    let at = entries.iter().rposition(|entry| entry.key == key)?;
    Some(entries.swap_remove(at).value)
}

fn items(list: Option<Node>) -> Vec<Node> {
    match list.map(|node| node.kind) {
        Some(Kind::List(items)) => items,
        _ => Vec::new(),
    }
}

/// The attributes with a sensitive part. A path starts with the name of an attribute.
fn sensitive(instance: &Node) -> Node {
    let at = instance.at;
    let paths = instance.get("sensitive_attributes").map(Node::items).unwrap_or_default();
    let names = paths.iter().filter_map(|path| path.items().first()?.get("value")?.text());
    map(at, names.map(|name| (name, Node { kind: Kind::Bool(true), at })).collect())
}

fn map(at: Position, entries: Vec<(&str, Node)>) -> Node {
    let entries = entries.into_iter();
    let entries = entries.map(|(key, value)| Entry { key: Key::from(key), key_at: at, value }).collect();
    Node { kind: Kind::Map(entries), at }
}

fn text(at: Position, value: &str) -> Node {
    Node { kind: Kind::Text(value.to_owned()), at }
}
