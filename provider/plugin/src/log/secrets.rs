//! Values of sensitive attributes that this process has received. No log line contains them.
//!
//! terraform-plugin-log lets a provider mask values that it names. Here the schema names them, so neither a resource nor
//! a cloud's SDK can log one by mistake.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use crate::schema::{Attribute, Schema, Shape};
use crate::value::Value;

/// What a line contains instead, as in terraform-plugin-log.
const MASK: &str = "***";

/// Shorter values are no secrets, and masking them would make logs unreadable.
const SHORTEST: usize = 4;

/// The values, longest first, since one may contain another.
static KNOWN: RwLock<BTreeSet<(Reverse<usize>, String)>> = RwLock::new(BTreeSet::new());

/// Remembers the sensitive and write-only values in `value`, an object of `schema`.
pub(crate) fn remember(schema: &Schema, value: &Value) {
    let mut found = Vec::new();
    collect(&schema.attributes, value, &mut found);
    if found.is_empty() {
        return;
    }
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    found.retain(|secret| !known.contains(secret));
    drop(known);
    if !found.is_empty() {
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).extend(found);
    }
}

/// `text` with every remembered value masked.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().fold(Cow::Borrowed(text), |text, (_, secret)| {
        if text.contains(secret.as_str()) { text.replace(secret.as_str(), MASK).into() } else { text }
    })
}

fn collect(attributes: &[Attribute], object: &Value, found: &mut Vec<(Reverse<usize>, String)>) {
    for attribute in attributes {
        let Some(value) = object.get(&attribute.name) else { continue };
        match &attribute.shape {
            _ if attribute.sensitive || attribute.write_only => strings(value, found),
            Shape::Nested(_, nested) => match value {
                Value::List(items) | Value::Set(items) => {
                    items.iter().for_each(|item| collect(nested, item, found));
                }
                Value::Map(items) => items.values().for_each(|item| collect(nested, item, found)),
                object => collect(nested, object, found),
            },
            Shape::Plain(_) => {}
        }
    }
}

/// All strings inside `value`.
fn strings(value: &Value, found: &mut Vec<(Reverse<usize>, String)>) {
    match value {
        Value::String(text) if text.trim().len() >= SHORTEST => {
            // Some programs log a key without the line break at its end, or each line by itself.
            for part in [text.as_str()].into_iter().chain(text.lines()).map(str::trim) {
                if part.len() >= SHORTEST {
                    found.push((Reverse(part.len()), part.to_owned()));
                }
            }
        }
        Value::List(items) | Value::Set(items) | Value::Tuple(items) => {
            items.iter().for_each(|item| strings(item, found));
        }
        Value::Map(items) | Value::Object(items) => items.values().for_each(|item| strings(item, found)),
        Value::Dynamic(_, value) => strings(value, found),
        Value::Null | Value::Unknown(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Nesting;

    #[test]
    fn sensitive_values_are_masked_at_every_depth_and_others_are_not() {
        let nested =
            [Attribute::string("token").optional().write_only(), Attribute::string("host").optional()];
        let schema = Schema::new("").attributes([
            Attribute::string("password").optional().sensitive(),
            Attribute::nested("peers", Nesting::List, nested).optional(),
        ]);
        let peer = Value::object([("token", "token-77".into()), ("host", "host-77".into())]);
        let object = Value::object([
            ("password", "first-line\nsecond-line\n".into()),
            ("peers", Value::List(vec![peer])),
        ]);
        remember(&schema, &object);
        assert_eq!(masked("a token-77 b host-77 c"), "a *** b host-77 c");
        assert_eq!(masked("first-line\nsecond-line"), "***");
        assert_eq!(masked("only second-line"), "only ***");
    }
}
