//! The walk of a value along its shape.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Problem;
use super::model::{Model, Protocol, Shape};
use crate::pattern;
use crate::query::Params;

/// Parameters that belong to the protocol, not to the operation.
const ENVELOPE: &[&str] = &["Action", "Version"];

/// Checks a form request.
pub(super) fn query(model: &Model, action: &str, params: &Params) -> Vec<Problem> {
    let Some(input) = model.input(action) else { return vec![Problem::UnknownAction(action.to_owned())] };
    let mut root = Node::default();
    for (name, value) in params.iter().filter(|(name, _)| !ENVELOPE.contains(name)) {
        root.insert(name, value);
    }
    let mut walk = Walk { model, problems: Vec::new() };
    match input {
        Some(shape) => walk.structure("", &root, shape),
        None => walk.unknown("", root.children.keys()),
    }
    walk.problems
}

/// Checks a JSON request.
pub(super) fn json(model: &Model, action: &str, body: &Value) -> Vec<Problem> {
    let Some(input) = model.input(action) else { return vec![Problem::UnknownAction(action.to_owned())] };
    let mut walk = Walk { model, problems: Vec::new() };
    if let Some(shape) = input {
        walk.json("", body, shape);
    }
    walk.problems
}

/// Checks an answer that was read into the value that its shape describes.
pub(super) fn answer(model: &Model, body: &Value, shape: &Shape) -> Vec<Problem> {
    let mut walk = Walk { model, problems: Vec::new() };
    walk.json("", body, shape);
    walk.problems
}

/// Dotted names as a tree.
#[derive(Debug, Default)]
struct Node {
    value: Option<String>,
    children: BTreeMap<String, Node>,
}

impl Node {
    fn insert(&mut self, path: &str, value: &str) {
        match path.split_once('.') {
            Some((first, rest)) => self.children.entry(first.to_owned()).or_default().insert(rest, value),
            None => self.children.entry(path.to_owned()).or_default().value = Some(value.to_owned()),
        }
    }
}

struct Walk<'a> {
    model: &'a Model,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn node(&mut self, path: &str, node: &Node, shape: &Shape) {
        match shape.kind.as_str() {
            "structure" => self.structure(path, node, shape),
            "list" => self.list(path, node, shape),
            "map" => self.map(path, node, shape),
            _ => match &node.value {
                Some(value) if node.children.is_empty() => self.scalar(path, value, shape),
                _ => self.unknown(path, node.children.keys()),
            },
        }
    }

    fn structure(&mut self, path: &str, node: &Node, shape: &Shape) {
        if let Some(value) = &node.value {
            self.wrong(path, value, "a structure");
        }
        let mut known = BTreeSet::new();
        for (name, member) in &shape.members {
            let wire = self.model.wire_name(name, member);
            let place = join(path, &wire);
            match (node.children.get(&wire), self.model.shape(member)) {
                (Some(child), Some(shape)) => self.node(&place, child, shape),
                (None, _) if shape.required.contains(name) => self.problems.push(Problem::Missing(place)),
                _ => {}
            }
            known.insert(wire);
        }
        self.unknown(path, node.children.keys().filter(|name| !known.contains(*name)));
    }

    fn list(&mut self, path: &str, node: &Node, shape: &Shape) {
        if let Some(value) = &node.value {
            // The query protocol writes an empty list as an empty parameter.
            if !value.is_empty() {
                self.wrong(path, value, "a list");
            }
            return;
        }
        let flat = self.model.protocol == Protocol::Ec2 || shape.flattened;
        let (entries, path) = if flat {
            (node, path.to_owned())
        } else {
            self.unknown(path, node.children.keys().filter(|name| *name != "member"));
            let Some(members) = node.children.get("member") else { return };
            (members, join(path, "member"))
        };
        self.length(&path, entries.children.len(), shape);
        let Some(member) = shape.member.as_ref().and_then(|member| self.model.shape(member)) else { return };
        let numbers: BTreeSet<usize> = entries.children.keys().filter_map(|name| name.parse().ok()).collect();
        let complete =
            numbers.len() == entries.children.len() && numbers.iter().copied().eq(1..=numbers.len());
        if !complete {
            let names: Vec<&str> = entries.children.keys().map(String::as_str).collect();
            self.wrong(&path, &names.join(","), "places counted from 1");
            return;
        }
        for (place, child) in &entries.children {
            self.node(&join(&path, place), child, member);
        }
    }

    fn map(&mut self, path: &str, node: &Node, shape: &Shape) {
        let Some(value) = shape.value.as_ref().and_then(|value| self.model.shape(value)) else { return };
        for (place, entry) in node.children.get("entry").unwrap_or(node).children.iter() {
            match entry.children.get("value") {
                Some(found) => self.node(&join(path, place), found, value),
                None => self.problems.push(Problem::Missing(join(path, &format!("{place}.value")))),
            }
        }
    }

    fn scalar(&mut self, path: &str, value: &str, shape: &Shape) {
        match shape.kind.as_str() {
            "string" if !shape.values.is_empty() && !shape.values.iter().any(|allowed| allowed == value) => {
                self.wrong(path, value, &format!("one of {}", shape.values.join(", ")));
            }
            "string" => {
                self.length(path, value.chars().count(), shape);
                self.pattern(path, value, shape);
            }
            "boolean" if value != "true" && value != "false" => self.wrong(path, value, "true or false"),
            "integer" | "long" => match value.parse::<i64>() {
                Ok(number) => self.bounds(path, number as f64, value, shape),
                Err(_) => self.wrong(path, value, "an integer"),
            },
            "float" | "double" if value.parse::<f64>().is_err() => self.wrong(path, value, "a number"),
            "timestamp" if !looks_like_time(value) => self.wrong(path, value, "an ISO 8601 time"),
            _ => {}
        }
    }

    fn json(&mut self, path: &str, value: &Value, shape: &Shape) {
        match (shape.kind.as_str(), value) {
            ("structure", Value::Object(members)) => {
                for name in &shape.required {
                    if members.get(name).is_none_or(Value::is_null) {
                        self.problems.push(Problem::Missing(join(path, name)));
                    }
                }
                for (name, value) in members {
                    match shape.members.get(name).and_then(|member| self.model.shape(member)) {
                        Some(shape) => self.json(&join(path, name), value, shape),
                        None => self.problems.push(Problem::UnknownParameter(join(path, name))),
                    }
                }
            }
            ("list", Value::Array(values)) => {
                self.length(path, values.len(), shape);
                let Some(member) = shape.member.as_ref().and_then(|member| self.model.shape(member)) else {
                    return;
                };
                for (index, value) in values.iter().enumerate() {
                    self.json(&join(path, &(index + 1).to_string()), value, member);
                }
            }
            ("map", Value::Object(members)) => {
                let Some(member) = shape.value.as_ref().and_then(|value| self.model.shape(value)) else {
                    return;
                };
                for (name, value) in members {
                    self.json(&join(path, name), value, member);
                }
            }
            ("string" | "blob", Value::String(text)) => self.scalar(path, text, shape),
            ("boolean", Value::Bool(_)) | ("timestamp", Value::Number(_)) => {}
            ("timestamp", Value::String(text)) if self.model.protocol != Protocol::Json => {
                self.scalar(path, text, shape);
            }
            ("integer" | "long" | "float" | "double", Value::Number(number)) => {
                self.scalar(path, &number.to_string(), shape);
            }
            (kind, other) => self.wrong(path, &other.to_string(), kind),
        }
    }

    fn length(&mut self, path: &str, length: usize, shape: &Shape) {
        let short = shape.min.is_some_and(|min| (length as f64) < min);
        if short || shape.max.is_some_and(|max| length as f64 > max) {
            self.wrong(path, &format!("length {length}"), &span(shape, "length"));
        }
    }

    /// Patterns with look-around, which are not regular expressions here, are not checked.
    fn pattern(&mut self, path: &str, value: &str, shape: &Shape) {
        if let Some(pattern) = &shape.pattern
            && pattern::fits(pattern, value) == Some(false)
        {
            self.wrong(path, value, &format!("a match of {pattern}"));
        }
    }

    fn bounds(&mut self, path: &str, number: f64, value: &str, shape: &Shape) {
        if shape.min.is_some_and(|min| number < min) || shape.max.is_some_and(|max| number > max) {
            self.wrong(path, value, &span(shape, "value"));
        }
    }

    fn wrong(&mut self, path: &str, value: &str, expected: &str) {
        self.problems.push(Problem::Value {
            name: path.to_owned(),
            value: value.to_owned(),
            expected: expected.to_owned(),
        });
    }

    fn unknown<'n>(&mut self, path: &str, names: impl Iterator<Item = &'n String>) {
        self.problems.extend(names.map(|name| Problem::UnknownParameter(join(path, name))));
    }
}

fn span(shape: &Shape, what: &str) -> String {
    let end = |bound: Option<f64>| bound.map_or_else(|| "any".to_owned(), |bound| bound.to_string());
    format!("{what} from {} to {}", end(shape.min), end(shape.max))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// `2026-01-02T03:04:05` with an optional fraction and zone, which is what every SDK writes.
fn looks_like_time(value: &str) -> bool {
    let pattern = b"dddd-dd-ddTdd:dd:dd";
    value.len() >= pattern.len()
        && value.bytes().zip(pattern).all(|(byte, expected)| match expected {
            b'd' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}
