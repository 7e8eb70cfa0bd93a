//! YAML to the tree.

use super::{Entry, Key, Kind, Node, number, syntax};
use crate::InputError;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error, Location, Spanned};
use std::fmt;
use warren_model::Position;

/// Reads one YAML document. Aliases and nesting are bounded by the parser.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, InputError> {
    serde_saphyr::from_str::<Spanned<Tree>>(text).map(node).map_err(|error| {
        let at = error.location().and_then(position);
        let (message, hint) = reason(error.without_snippet());
        InputError { hint: hint.map(str::to_owned), ..syntax(file, at, format!("not valid YAML: {message}")) }
    })
}

/// An error of the parser in the words of the file, and what to do. The parser's own words are about Rust types and its options.
fn reason(error: &Error) -> (String, Option<&'static str>) {
    let (text, hint) = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            return (format!("duplicate key {key:?}"), Some("keep one of them"));
        }
        Error::DuplicateMappingKey { .. } => ("duplicate key", Some("keep one of them")),
        Error::MultipleDocuments { .. } => {
            ("there is a second document after `---`", Some("put each document in its own file"))
        }
        Error::NullIntoString { .. } | Error::Unexpected { .. } | Error::InvalidScalar { .. } => {
            ("a key is not a string", Some("put the key in quotes"))
        }
        Error::UnknownAnchor { .. } => (
            "an alias names an anchor that does not exist",
            Some("define the anchor with `&NAME` before it is used"),
        ),
        Error::RecursiveReferencesRequireWeakTypes { .. } => ("an alias is inside its own anchor", None),
        Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            ("the aliases expand to too many values", Some("write the values without aliases"))
        }
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => return reason(error),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => ("`<<` needs a map or a list of maps", None),
        Error::NonFiniteFloat { .. } => {
            ("a number is not finite", Some("write a number, or put the text in quotes"))
        }
        Error::Budget { .. } => ("the file has too many values, or they are nested too deeply", None),
        Error::UnsupportedTag { .. }
        | Error::InvalidBinaryBase64 { .. }
        | Error::BinaryNotUtf8 { .. }
        | Error::TaggedScalarCannotDeserializeIntoString { .. } => {
            ("tags, such as `!!binary`, are not supported", Some("write the value without a tag"))
        }
        Error::Eof { .. } => ("unexpected end of file", None),
        // Errors of the syntax, which the parser words for the author of the file.
        Error::Message { msg, .. } | Error::ExternalMessage { msg, .. } => {
            return (msg.lines().next().unwrap_or_default().to_owned(), None);
        }
        Error::ContainerEndMismatch { .. }
        | Error::UnexpectedSequenceEnd { .. }
        | Error::UnexpectedMappingEnd { .. } => ("a bracket is closed that was not opened", None),
        Error::FoldedBlockScalarMustIndentContent { .. } | Error::IndentationError { .. } => {
            ("the lines are not indented correctly", None)
        }
        _ => ("expected maps, lists, strings and numbers only", None),
    };
    (text.to_owned(), hint)
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
            entries.push(Entry { key: Key::from(key.value.as_str()), key_at, value });
        }
        Ok(Kind::Map(entries))
    }
}
