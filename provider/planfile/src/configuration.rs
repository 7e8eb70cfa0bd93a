//! Terraform configuration files (`.tf`, `.tf.json`): where they define resources and call modules.

use crate::node::{self, Lines};
use crate::{InputError, Source};
use hcl_edit::repr::Span as _;
use hcl_edit::structure::{Block, Structure};
use std::collections::BTreeMap;
use warren_model::Position;

/// The blocks of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// Resources and data sources: `aws_vpc.main`, `data.aws_vpc.shared`.
    pub resources: BTreeMap<String, Definition>,
    /// Calls of modules, by name.
    pub modules: BTreeMap<String, Call>,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// Its block. `None` in JSON.
    pub at: Option<Position>,
    /// Its attributes and the blocks in it, each where it occurs first.
    pub attributes: BTreeMap<String, Position>,
}

/// A call of a module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// Its block. `None` in JSON.
    pub at: Option<Position>,
    /// Its `source`, if that is a constant.
    pub source: Option<String>,
}

/// Reads one file. The name ends in `.tf.json` if it is JSON.
///
/// # Errors
/// The text is not valid HCL or JSON.
pub fn read_configuration(source: &Source<'_>) -> Result<Configuration, InputError> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    if source.name.ends_with(".json") { json(source.name, text) } else { hcl(source.name, text) }
}

fn hcl(file: &str, text: &str) -> Result<Configuration, InputError> {
    // The parser recurses over brackets.
    if node::too_deep(text) {
        return Err(node::syntax(file, None, "not valid HCL: values are nested more than 128 levels deep"));
    }
    let body = hcl_edit::parser::parse_body(text).map_err(|error| {
        let at = error.location();
        let at = Position { line: node::number(at.line()), column: node::number(at.column()) };
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        node::syntax(file, Some(at), format!("not valid HCL: {message}"))
    })?;
    let lines = Lines::new(text);
    let start = |span: Option<std::ops::Range<usize>>| span.map(|span| lines.at(span.start));
    let mut found = Configuration::default();
    for block in body.blocks() {
        let labels: Vec<&str> = block.labels.iter().map(|label| label.as_str()).collect();
        match (block.ident.as_str(), labels.as_slice()) {
            ("resource", [kind, name]) => {
                found.resources.insert(format!("{kind}.{name}"), definition(block, &start));
            }
            ("data", [kind, name]) => {
                found.resources.insert(format!("data.{kind}.{name}"), definition(block, &start));
            }
            ("module", [name]) => {
                let source = block.body.get_attribute("source").and_then(|it| it.value.as_str());
                let call = Call { at: start(block.ident.span()), source: source.map(str::to_owned) };
                found.modules.insert((*name).to_owned(), call);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn definition(
    block: &Block,
    start: &dyn Fn(Option<std::ops::Range<usize>>) -> Option<Position>,
) -> Definition {
    let mut attributes = BTreeMap::new();
    for part in block.body.iter() {
        let (name, span) = match part {
            Structure::Attribute(attribute) => (attribute.key.as_str(), attribute.key.span()),
            Structure::Block(inner) => (inner.ident.as_str(), inner.ident.span()),
        };
        if let Some(at) = start(span) {
            attributes.entry(name.to_owned()).or_insert(at);
        }
    }
    Definition { at: start(block.ident.span()), attributes }
}

fn json(file: &str, text: &str) -> Result<Configuration, InputError> {
    let tree = node::parse_json(file, text)?;
    let mut found = Configuration::default();
    for (section, prefix) in [("resource", ""), ("data", "data.")] {
        for kind in tree.get(section).map(node::Node::entries).unwrap_or_default() {
            for entry in kind.value.entries() {
                let address = format!("{prefix}{}.{}", kind.key, entry.key);
                let attributes =
                    entry.value.entries().iter().map(|part| (part.key.to_string(), part.key_at)).collect();
                found.resources.insert(address, Definition { at: Some(entry.key_at), attributes });
            }
        }
    }
    for entry in tree.get("module").map(node::Node::entries).unwrap_or_default() {
        let source = entry.value.get("source").and_then(node::Node::text).map(str::to_owned);
        found.modules.insert(entry.key.to_string(), Call { at: Some(entry.key_at), source });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Configuration, InputError> {
        read_configuration(&Source { name, text, owner: None })
    }

    #[test]
    fn resources_and_modules_have_their_lines() {
        let text = "# é\nmodule \"net\" {\n  source = \"./net\"\n}\n\nresource \"aws_vpc\" \"a\" {\n  tags = {\n    x = <<-EOT\n      }\n    EOT\n  }\n  cidr_block = \"10.0.0.0/16\"\n  timeouts {}\n}\ndata \"aws_vpc\" \"b\" {}\n";
        let found = read("main.tf", text).unwrap();
        let line = |address: &str| found.resources[address].at.unwrap().line;
        assert_eq!((line("aws_vpc.a"), line("data.aws_vpc.b")), (6, 15));
        let vpc = &found.resources["aws_vpc.a"].attributes;
        assert_eq!(vpc["cidr_block"], Position { line: 12, column: 3 });
        assert_eq!(vpc["timeouts"].line, 13);
        let call = &found.modules["net"];
        assert_eq!((call.at.unwrap().line, call.source.as_deref()), (2, Some("./net")));
    }

    #[test]
    fn json_syntax_is_read_as_well() {
        let text = "{\"resource\": {\"aws_vpc\": {\n  \"a\": {\"cidr_block\": \"10.0.0.0/16\"}}},\n \"module\": {\"n\": {\"source\": \"./n\"}}}";
        let found = read("main.tf.json", text).unwrap();
        assert_eq!(found.resources["aws_vpc.a"].at.unwrap().line, 2);
        assert_eq!(found.modules["n"].source.as_deref(), Some("./n"));
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for text in ["resource \"a\" {", "]", "a = ${", "x = 'y'"] {
            assert!(read("main.tf", text).is_err(), "{text}");
        }
        let deep = format!("x = {}", "[".repeat(100_000));
        let error = read("main.tf", &deep).unwrap_err().to_string();
        assert!(error.contains("128 levels"), "{error}");
    }
}
