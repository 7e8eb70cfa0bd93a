//! YAML to the tree.

use super::{Entry, Kind, Node, number, syntax};
use crate::InputError;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};
use std::fmt;
use warren_model::Position;

/// Reads one YAML document. Aliases and nesting are bounded by the parser.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, InputError> {
    serde_saphyr::from_str::<Spanned<Tree>>(text).map(node).map_err(|error| {
        let at = error.location().and_then(position);
        let full = error.without_snippet().to_string();
        // The message may repeat its position on further lines.
        let first = full.lines().next().unwrap_or_default();
        syntax(file, at, format!("not valid YAML: {first}"))
    })
}

fn position(location: Location) -> Option<Position> {
    let place = |value: u64| number(usize::try_from(value).unwrap_or(usize::MAX));
    (location.line() > 0).then(|| Position { line: place(location.line()), column: place(location.column()) })
}

fn node(spanned: Spanned<Tree>) -> Node {
    let at = position(spanned.referenced).unwrap_or(Position { line: 1, column: 1 });
    Node { kind: spanned.value.0, at }
}

struct Tree(Kind);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Tree)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Kind, E> {
        Ok(Kind::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Kind, E> {
        Ok(Kind::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Tree>>()? {
            items.push(node(item));
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let key_at = position(key.referenced).unwrap_or(Position { line: 1, column: 1 });
            let value = node(map.next_value::<Spanned<Tree>>()?);
            entries.push(Entry { key: key.value, key_at, value });
        }
        Ok(Kind::Map(entries))
    }
}
