//! The resources of a plan or state, in all modules.

use crate::node::Node;

/// A managed resource that exists after the apply.
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
            (entry.key.clone(), values)
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
                crate::node::Kind::Number(text) => text.parse().ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Every managed resource that exists after the apply. Deleted resources are omitted, and replaced ones have their new values.
pub(super) fn collect(tree: &Node) -> Vec<Resource<'_>> {
    let mut found = Vec::new();
    match tree.get("resource_changes") {
        Some(changes) => found.extend(changes.items().iter().filter_map(change)),
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
    found
}

fn change(node: &Node) -> Option<Resource<'_>> {
    let change = node.get("change")?;
    let actions: Vec<&str> = change.get("actions")?.items().iter().filter_map(Node::text).collect();
    let stays = actions.iter().any(|action| matches!(*action, "create" | "update" | "no-op"));
    if !stays || node.get("deposed").is_some() {
        return None;
    }
    let values = Values {
        values: change.get("after"),
        unknown: change.get("after_unknown"),
        sensitive: change.get("after_sensitive"),
    };
    resource(node, values, !actions.contains(&"create"))
}

fn module<'a>(node: &'a Node, live: bool, found: &mut Vec<Resource<'a>>) {
    let resources = node.get("resources").map(Node::items).unwrap_or_default();
    found.extend(resources.iter().filter_map(|node| {
        let values =
            Values { values: node.get("values"), unknown: None, sensitive: node.get("sensitive_values") };
        resource(node, values, live)
    }));
    for child in node.get("child_modules").map(Node::items).unwrap_or_default() {
        module(child, live, found);
    }
}

pub(super) fn resource<'a>(node: &'a Node, values: Values<'a>, live: bool) -> Option<Resource<'a>> {
    if node.get("mode").and_then(Node::text) != Some("managed") || node.get("deposed_key").is_some() {
        return None;
    }
    let address = node.get("address")?.text()?;
    let (kind, name) = (node.get("type")?.text()?, node.get("name")?.text()?);
    // The address ends in TYPE.NAME[INDEX]; what is before it is the module instance.
    let base = format!("{kind}.{name}");
    let at = address.rfind(&base).filter(|&at| at == 0 || address[..at].ends_with('.'))?;
    let module = address[..at].trim_end_matches('.');
    let index = address[at + base.len()..].to_owned();
    Some(Resource { address: address.to_owned(), module, kind, name, index, values, live })
}
