//! Capacity files in YAML, JSON or TOML.

use crate::node::{Kind, Node};
use crate::{InputError, Source};
use warren_capacity::{Fault, Request, Syntax, Value};
use warren_model::Position;

/// Reads a capacity file.
///
/// # Errors
/// Every error in the text, in the order of the text.
pub fn read_capacity(source: &Source<'_>) -> Result<Request, Vec<InputError>> {
    let tree = crate::tree(source).map_err(|error| vec![error])?;
    let syntax = if crate::is_json(source) {
        Syntax::Json
    } else if crate::ending(source).as_deref() == Some("toml") {
        Syntax::Toml
    } else {
        Syntax::Yaml
    };
    warren_capacity::read(&value(&tree), syntax).map_err(|faults| {
        let mut errors: Vec<InputError> =
            faults.into_iter().map(|fault| error(source, &tree, fault)).collect();
        errors.sort_by_key(|error| error.at);
        errors
    })
}

fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::Number(text) => Value::Number(text.clone()),
        Kind::Text(text) => Value::Text(text.clone()),
        Kind::List(_) => Value::List,
        Kind::Map(entries) => {
            Value::Map(entries.iter().map(|entry| (entry.key.to_string(), value(&entry.value))).collect())
        }
    }
}

fn error(source: &Source<'_>, tree: &Node, fault: Fault) -> InputError {
    InputError {
        file: source.name.to_owned(),
        at: Some(position(tree, &fault.path)),
        path: fault.path.join("."),
        message: fault.message,
        hint: Some(fault.hint),
    }
}

/// Where the last key of a path is. Of a key that occurs twice, the last one.
fn position(tree: &Node, path: &[String]) -> Position {
    let (mut node, mut at) = (tree, tree.at);
    for key in path {
        let Some(entry) = node.entries().iter().rev().find(|entry| entry.key == key.as_str()) else { break };
        at = entry.key_at;
        node = &entry.value;
    }
    at
}
