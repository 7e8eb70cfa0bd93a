//! Semantic equality: two spellings of the same value, such as `10.0.0.0/8` and `10.1.2.3/8`.
//!
//! If a value changes its spelling only, plan and state keep the earlier spelling, so that Terraform reports no
//! change.

use std::sync::Arc;

use crate::model::FromValue;
use crate::path::Path;
use crate::schema::{Attribute, Nesting, Shape};
use crate::value::Value;

/// Whether two known values mean the same.
pub type SemanticEquality = Arc<dyn Fn(&Value, &Value) -> bool + Send + Sync>;

/// A type whose values can have several spellings (framework: `StringValuableWithSemanticEquals` and its siblings).
///
/// ```
/// use tf_provider_rs::model::{FromValue, ValueError};
/// use tf_provider_rs::semantic::SemanticEquals;
/// use tf_provider_rs::{Attribute, Path, Value};
///
/// /// A name that is not case-sensitive.
/// struct Host(String);
///
/// impl FromValue for Host {
///     fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError> {
///         String::from_value(value, path).map(Host)
///     }
/// }
///
/// impl SemanticEquals for Host {
///     fn semantic_equals(&self, prior: &Host) -> bool {
///         self.0.eq_ignore_ascii_case(&prior.0)
///     }
/// }
///
/// Attribute::string("host").required().semantic::<Host>();
/// ```
pub trait SemanticEquals: FromValue {
    /// Whether `self`, the new value, means the same as `prior`.
    fn semantic_equals(&self, prior: &Self) -> bool;
}

/// The equality of a type; see [`Attribute::semantic`].
pub(crate) fn of_type<T: SemanticEquals>() -> SemanticEquality {
    let read = |value: &Value| T::from_value(value, &Path::root()).ok();
    Arc::new(move |prior, new| match (read(prior), read(new)) {
        (Some(prior), Some(new)) => new.semantic_equals(&prior),
        _ => false,
    })
}

/// Returns `new`, an object of `attributes`, with the spelling of `prior` wherever both mean the same.
pub(crate) fn keep(attributes: &[Attribute], prior: &Value, new: Value) -> Value {
    let (Value::Object(mut items) | Value::Map(mut items)) = new else { return new };
    for attribute in attributes {
        let (Some(slot), Some(prior)) = (items.get_mut(&attribute.name), prior.get(&attribute.name)) else {
            continue;
        };
        *slot = keep_attribute(attribute, prior, std::mem::take(slot));
    }
    Value::Object(items)
}

fn keep_attribute(attribute: &Attribute, prior: &Value, new: Value) -> Value {
    let new = match &attribute.semantic {
        Some(same) => keep_value(same, prior, new),
        None => new,
    };
    let Shape::Nested(nesting, nested) = &attribute.shape else { return new };
    match nesting {
        Nesting::Single => keep(nested, prior, new),
        Nesting::List | Nesting::Set | Nesting::Map => {
            keep_elements(prior, new, &|prior, new| keep(nested, prior, new))
        }
    }
}

/// The value as a whole, or else each element of a collection.
fn keep_value(same: &SemanticEquality, prior: &Value, new: Value) -> Value {
    let known = |value: &Value| !value.is_null() && value.is_wholly_known();
    if known(prior) && known(&new) && same(prior, &new) {
        return prior.clone();
    }
    keep_elements(prior, new, &|prior, new| keep_value(same, prior, new))
}

/// Applies `keep` to the elements of a collection: by position, by key, or, in a set, to the element that means the
/// same.
fn keep_elements(prior: &Value, new: Value, keep: &dyn Fn(&Value, Value) -> Value) -> Value {
    match (prior, new) {
        (Value::List(prior), Value::List(items)) => {
            let items = items.into_iter().enumerate().map(|(index, item)| match prior.get(index) {
                Some(prior) => keep(prior, item),
                None => item,
            });
            Value::List(items.collect())
        }
        (Value::Map(prior), Value::Map(items)) => {
            let items = items.into_iter().map(|(key, item)| {
                let item = match prior.get(&key) {
                    Some(prior) => keep(prior, item),
                    None => item,
                };
                (key, item)
            });
            Value::Map(items.collect())
        }
        (Value::Set(prior), Value::Set(items)) => {
            let mut left: Vec<&Value> = prior.iter().filter(|prior| !items.contains(prior)).collect();
            let items = items.into_iter().map(|item| {
                if prior.contains(&item) {
                    return item;
                }
                match left.iter().position(|prior| keep(prior, item.clone()) == **prior) {
                    Some(index) => left.remove(index).clone(),
                    None => item,
                }
            });
            Value::set(items.collect())
        }
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use crate::types::Type;

    fn caseless(attribute: Attribute) -> Attribute {
        attribute.semantic_equals(|prior, new| match (prior.as_str(), new.as_str()) {
            (Some(prior), Some(new)) => prior.eq_ignore_ascii_case(new),
            _ => false,
        })
    }

    fn kept(schema: &Schema, prior: Value, new: Value) -> Value {
        let ty = schema.ty();
        keep(&schema.attributes, &prior.conform(&ty), new.conform(&ty))
    }

    #[test]
    fn a_spelling_is_kept_at_every_depth() {
        let host = || caseless(Attribute::string("host").required());
        let schema = Schema::new("").attributes([
            host(),
            caseless(Attribute::of("names", Type::set(Type::String)).optional()),
            Attribute::nested("list", Nesting::List, [host()]).optional(),
            Attribute::nested("set", Nesting::Set, [host(), Attribute::string("port").optional()]).optional(),
        ]);
        let hosts =
            |names: &[&str]| names.iter().map(|name| Value::object([("host", (*name).into())])).collect();
        let object = |host: &str, names: &[&str], nested: &[&str]| {
            Value::object([
                ("host", host.into()),
                ("names", Value::List(names.iter().map(|name| (*name).into()).collect())),
                ("list", Value::List(hosts(nested))),
                ("set", Value::List(hosts(nested))),
            ])
            .conform(&schema.ty())
        };
        let prior = object("A", &["X", "y"], &["B", "C"]);
        assert_eq!(kept(&schema, prior.clone(), object("a", &["x", "Y"], &["b", "c"])), prior);
        assert_eq!(
            kept(&schema, prior, object("d", &["x", "z"], &["b", "e", "c"])),
            Value::object([
                ("host", "d".into()),
                ("names", Value::set(vec!["X".into(), "z".into()])),
                ("list", Value::List(hosts(&["B", "e", "c"]))),
                ("set", Value::List(hosts(&["B", "e", "C"]))),
            ])
            .conform(&schema.ty())
        );
    }

    #[test]
    fn null_and_unknown_mean_nothing_else() {
        let schema =
            Schema::new("").attribute(Attribute::string("host").optional().semantic_equals(|_, _| true));
        let object = |value: Value| Value::object([("host", value)]);
        for value in [Value::Null, Value::UNKNOWN] {
            assert_eq!(kept(&schema, object("a".into()), object(value.clone())), object(value.clone()));
            assert_eq!(kept(&schema, object(value), object("a".into())), object("a".into()));
        }
    }
}
