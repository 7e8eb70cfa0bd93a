//! A schema as sections of a page: arguments, attributes, and one section for each nested object.

use serde::Serialize;
use serde_json::Value;

use super::markdown;

/// An argument or attribute.
#[derive(Debug, Serialize)]
pub(crate) struct Attribute {
    name: String,
    ty: String,
    text: String,
    /// The section with its nested attributes.
    nested: Option<String>,
}

/// The attributes of an object.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// From the root, such as `gateway.tls`; empty for the type's own attributes.
    path: String,
    /// What links lead to.
    anchor: String,
    required: Vec<Attribute>,
    optional: Vec<Attribute>,
    read_only: Vec<Attribute>,
}

impl Section {
    /// The optional attributes.
    pub(crate) fn into_optional(self) -> Vec<Attribute> {
        self.optional
    }
}

/// The attributes of a type.
#[derive(Debug, Serialize)]
pub(crate) struct Sections {
    /// The type's own.
    pub(crate) root: Section,
    /// Those of nested objects, each after the one that holds it.
    pub(crate) nested: Vec<Section>,
    /// Those of `timeouts`.
    pub(crate) timeouts: Vec<Attribute>,
}

/// The path of the attribute that has a section of its own.
const TIMEOUTS: &str = "timeouts";

/// Splits the block of a schema as Terraform prints it.
pub(crate) fn sections(block: &Value) -> Sections {
    let mut all = Vec::new();
    collect(block, "", &mut all);
    let mut rest = all.into_iter();
    let root = rest.next().unwrap_or_else(|| section(&Value::Null, ""));
    let (timeouts, nested): (Vec<_>, Vec<_>) = rest.partition(|section| section.path == TIMEOUTS);
    let timeouts = timeouts.into_iter().flat_map(Section::into_optional).collect();
    Sections { root, nested, timeouts }
}

fn collect(block: &Value, path: &str, all: &mut Vec<Section>) {
    all.push(section(block, path));
    for (name, attribute) in attributes(block) {
        if attribute["nested_type"].is_object() {
            collect(&attribute["nested_type"], &join(path, name), all);
        }
    }
}

fn section(block: &Value, path: &str) -> Section {
    let mut section = Section {
        path: path.to_owned(),
        anchor: anchor(path),
        required: Vec::new(),
        optional: Vec::new(),
        read_only: Vec::new(),
    };
    for (name, attribute) in attributes(block) {
        let is = |flag: &str| attribute[flag] == Value::Bool(true);
        let part = match (is("required"), is("optional")) {
            (true, _) => &mut section.required,
            (_, true) => &mut section.optional,
            _ => &mut section.read_only,
        };
        let nested = attribute["nested_type"].is_object();
        let mut ty =
            if nested { nested_type(&attribute["nested_type"]) } else { type_name(&attribute["type"]) };
        for (flag, label) in
            [("sensitive", "Sensitive"), ("write_only", WRITE_ONLY), ("deprecated", "Deprecated")]
        {
            if is(flag) {
                ty = format!("{ty}, {label}");
            }
        }
        part.push(Attribute {
            name: name.clone(),
            ty,
            text: text(&attribute["description"]),
            nested: nested.then(|| anchor(&join(path, name))),
        });
    }
    section
}

const WRITE_ONLY: &str =
    "[Write-only](https://developer.hashicorp.com/terraform/language/resources/ephemeral/write-only)";

fn attributes(block: &Value) -> impl Iterator<Item = (&String, &Value)> {
    block["attributes"].as_object().into_iter().flatten()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn anchor(path: &str) -> String {
    if path == TIMEOUTS { "timeouts".to_owned() } else { format!("nested--{}", path.replace('.', "--")) }
}

/// A description, as one line.
pub(crate) fn text(value: &Value) -> String {
    markdown::unwrap(value.as_str().unwrap_or_default())
}

fn nested_type(ty: &Value) -> String {
    match ty["nesting_mode"].as_str().unwrap_or_default() {
        "list" => "List of Object",
        "set" => "Set of Object",
        "map" => "Map of Object",
        _ => "Object",
    }
    .to_owned()
}

/// A type in words: `List of String`.
pub(crate) fn type_name(ty: &Value) -> String {
    match ty {
        Value::String(name) => match name.as_str() {
            "string" => "String",
            "number" => "Number",
            "bool" => "Boolean",
            _ => "Dynamic",
        }
        .to_owned(),
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(collection), element] if collection != "object" && collection != "tuple" => {
                let mut name = collection.clone();
                name[..1].make_ascii_uppercase();
                format!("{name} of {}", type_name(element))
            }
            [Value::String(structure), _] if structure == "tuple" => "Tuple".to_owned(),
            _ => "Object".to_owned(),
        },
        _ => "Dynamic".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_objects_have_sections_of_their_own() {
        let block = json!({"attributes": {
            "id": {"type": "string", "computed": true, "description": "ID."},
            "rules": {"optional": true, "nested_type": {"nesting_mode": "set", "attributes": {
                "ports": {"required": true, "type": ["list", "number"], "description": "Ports."},
            }}},
            "timeouts": {"optional": true, "nested_type": {"nesting_mode": "single", "attributes": {
                "create": {"optional": true, "type": "string"},
            }}},
        }});
        let sections = sections(&block);
        assert_eq!(sections.root.read_only[0].name, "id");
        assert_eq!(sections.root.optional[0].nested.as_deref(), Some("nested--rules"));
        assert_eq!(sections.root.optional[0].ty, "Set of Object");
        assert_eq!(sections.nested.len(), 1);
        assert_eq!(sections.nested[0].required[0].ty, "List of Number");
        assert_eq!(sections.timeouts[0].name, "create");
    }
}
