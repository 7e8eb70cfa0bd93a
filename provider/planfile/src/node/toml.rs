//! TOML to the tree.

use super::{Entry, Key, Kind, Lines, MAX_DEPTH, Node, syntax};
use crate::InputError;
use toml::de::{DeTable, DeValue};

/// Reads one TOML document.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, InputError> {
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map(|span| lines.at(span.start));
        syntax(file, at, format!("not valid TOML: {}", error.message()))
    })?;
    let at = lines.at(0);
    let entries = table_entries(table.get_ref(), &lines, 0);
    entries
        .map(|entries| Node { kind: Kind::Map(entries), at })
        .ok_or_else(|| syntax(file, Some(at), "not valid TOML: values are nested more than 128 levels deep"))
}

fn table_entries(table: &DeTable<'_>, lines: &Lines<'_>, depth: usize) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    for (key, value) in table.iter() {
        entries.push(Entry {
            key: Key::from(key.get_ref().as_ref()),
            key_at: lines.at(key.span().start),
            value: node(value.get_ref(), value.span().start, lines, depth + 1)?,
        });
    }
    Some(entries)
}

fn node(value: &DeValue<'_>, start: usize, lines: &Lines<'_>, depth: usize) -> Option<Node> {
    if depth > MAX_DEPTH {
        return None;
    }
    let kind = match value {
        DeValue::String(text) => Kind::Text(text.to_string()),
        // Hexadecimal and similar numbers become decimal. Numbers that do not fit stay as written and are rejected later.
        DeValue::Integer(integer) => Kind::Number(
            i128::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| integer.as_str().to_owned(), |number| number.to_string()),
        ),
        DeValue::Float(float) => Kind::Number(float.as_str().to_owned()),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Datetime(time) => Kind::Text(time.to_string()),
        DeValue::Array(items) => {
            let mut list = Vec::new();
            for item in items.iter() {
                list.push(node(item.get_ref(), item.span().start, lines, depth + 1)?);
            }
            Kind::List(list)
        }
        DeValue::Table(table) => Kind::Map(table_entries(table, lines, depth)?),
    };
    Some(Node { kind, at: lines.at(start) })
}
