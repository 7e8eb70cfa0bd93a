//! One tree for the three syntaxes, with the position of every key and value.

mod csv;
mod json;
mod toml;
mod yaml;

use crate::InputError;
use std::sync::Arc;
use warren_model::Position;

pub(crate) use csv::{looks_like as is_csv, parse as parse_csv};
pub(crate) use json::{parse as parse_json, parse_outline};
pub(crate) use toml::parse as parse_toml;
pub(crate) use yaml::parse as parse_yaml;

/// Maximum nesting: every reader recurses over the tree.
pub(crate) const MAX_DEPTH: usize = 128;

/// A value and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) at: Position,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// As written, so that nothing is rounded.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) key_at: Position,
    pub(crate) value: Node,
}

/// A key of a map. A large file has the same few keys very often, so equal ones share their text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Arc<str>);

impl Key {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::ops::Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Key {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Key {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The parts of a map that are kept, and what happens to it after it was read.
pub(crate) struct Outline {
    /// Decides on a key from it and from the entries before it.
    pub(crate) of: fn(&str, &[Entry]) -> Want,
    pub(crate) done: fn(&mut Vec<Entry>),
}

/// What happens to the value of a key.
pub(crate) enum Want {
    /// It is kept. The outline is for the value, or for the items of a list.
    Keep(&'static Outline),
    /// It is replaced by null.
    Skip,
    /// It is read after the other values, and null if the map has another key.
    Later { unless: &'static str, outline: &'static Outline },
}

impl Outline {
    /// Everything.
    pub(crate) const ALL: Outline = Outline { of: |_, _| Want::Keep(&Outline::ALL), done: |_| {} };
}

impl Node {
    /// The value of a key. The last one wins if a key occurs twice, as in JSON parsers.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().rev().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The entries of a map. Empty for any other value.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list. Empty for any other value.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        self.kind == Kind::Bool(true)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    /// Its type, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

/// The entries of a map with other keys than the known ones. Keys that start with `x-` are for the author of the file, such as
/// the values that YAML aliases repeat.
pub(crate) fn unknown_keys<'a>(node: &'a Node, known: &[&str]) -> impl Iterator<Item = &'a Entry> {
    node.entries()
        .iter()
        .filter(move |entry| !entry.key.starts_with("x-") && !known.contains(&entry.key.as_str()))
}

/// A syntax error.
pub(crate) fn syntax(file: &str, at: Option<Position>, message: impl Into<String>) -> InputError {
    InputError { file: file.to_owned(), at, path: String::new(), message: message.into(), hint: None }
}

/// Turns byte offsets into positions.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    pub(crate) fn at(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.starts[line];
        let before = self.text.get(start..offset).unwrap_or_default();
        // Counting characters is quadratic in a file with one huge line, so count bytes there.
        let column = if before.len() > 1000 { before.len() } else { before.chars().count() };
        Position { line: number(line + 1), column: number(column + 1) }
    }
}

pub(crate) fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Whether brackets are nested more deeply than [`MAX_DEPTH`], for parsers without a limit. Brackets in strings count too.
pub(crate) fn too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}
