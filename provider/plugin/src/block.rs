//! Nested blocks: `rule { .. }` instead of `rules = [{ .. }]`.
//!
//! A block is a nested attribute with another syntax. It is never null where it is a collection: no block is an empty
//! list, set or map.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::schema::{Attribute, Nesting, Shape};
use crate::value::Value;

/// How many blocks there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockItems {
    /// The minimum number of blocks.
    pub min: u32,
    /// The maximum number of blocks.
    pub max: Option<u32>,
}

impl BlockItems {
    /// Validates the number of blocks in `value`, which Terraform does as well unless the blocks are dynamic.
    pub(crate) fn check(self, value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
        let count = match value {
            Value::Unknown(_) => return,
            Value::Null => 0,
            Value::List(items) => items.len(),
            // Elements with unknown parts may turn out to be equal.
            Value::Set(_) if !value.is_wholly_known() => return,
            Value::Set(items) => items.len(),
            Value::Map(items) => items.len(),
            _ => 1,
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let limit = match self.max {
            _ if count < self.min => format!("at least {}", self.min),
            Some(max) if count > max => format!("at most {max}"),
            _ => return,
        };
        diagnostics.error_at(
            path.clone(),
            "Invalid number of blocks",
            format!("The configuration has {count} `{path}` blocks. Write {limit}."),
        );
    }
}

/// Replaces null by an empty collection wherever `attributes` have blocks.
pub(crate) fn fill(attributes: &[Attribute], value: Value) -> Value {
    let (Value::Object(mut items) | Value::Map(mut items)) = value else { return value };
    for attribute in attributes {
        let (Shape::Nested(nesting, nested), Some(_)) = (&attribute.shape, attribute.block) else { continue };
        let slot = items.entry(attribute.name.clone()).or_default();
        *slot = match (nesting, std::mem::take(slot)) {
            (Nesting::Single, object) => fill(nested, object),
            (Nesting::List, Value::Null) => Value::List(Vec::new()),
            (Nesting::Set, Value::Null) => Value::Set(Vec::new()),
            (Nesting::Map, Value::Null) => Value::Map(BTreeMap::new()),
            (_, Value::List(items)) => {
                Value::List(items.into_iter().map(|item| fill(nested, item)).collect())
            }
            (_, Value::Set(items)) => Value::set(items.into_iter().map(|item| fill(nested, item)).collect()),
            (_, Value::Map(items)) => {
                Value::Map(items.into_iter().map(|(key, item)| (key, fill(nested, item))).collect())
            }
            (_, other) => other,
        };
    }
    Value::Object(items)
}
