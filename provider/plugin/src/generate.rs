//! The configuration that an imported object would have had.

use std::collections::BTreeMap;

use crate::schema::{Attribute, Nesting, Shape};
use crate::value::Value;

/// Reduces `state`, an object of `attributes`, to what a user would write: computed, deprecated and default values
/// become null.
pub(crate) fn config(attributes: &[Attribute], state: Value) -> Value {
    let (Value::Object(mut items) | Value::Map(mut items)) = state else { return state };
    for attribute in attributes {
        let Some(slot) = items.get_mut(&attribute.name) else { continue };
        let value = std::mem::take(slot);
        *slot = if is_written(attribute, &value) { nested(attribute, value) } else { Value::Null };
    }
    Value::Object(items)
}

fn is_written(attribute: &Attribute, value: &Value) -> bool {
    let computed = attribute.computed && !attribute.optional;
    let default = attribute.default.as_ref().is_some_and(|default| {
        // The default may be written in another shape, such as a list for a set.
        default.clone().conform(&attribute.ty()) == *value
    });
    !(computed || default || attribute.write_only || (attribute.deprecated.is_some() && !attribute.required))
}

fn nested(attribute: &Attribute, value: Value) -> Value {
    let Shape::Nested(nesting, nested) = &attribute.shape else { return value };
    match (nesting, value) {
        (Nesting::Single, object) => config(nested, object),
        (Nesting::List, Value::List(items)) => {
            Value::List(items.into_iter().map(|item| config(nested, item)).collect())
        }
        (Nesting::Set, Value::Set(items)) => {
            Value::set(items.into_iter().map(|item| config(nested, item)).collect())
        }
        (Nesting::Map, Value::Map(items)) => {
            let items = items.into_iter().map(|(key, item)| (key, config(nested, item)));
            Value::Map(items.collect::<BTreeMap<_, _>>())
        }
        (_, other) => other,
    }
}
