//! The attributes that replace an object because they change.
//!
//! Nested attributes are compared as terraform-plugin-framework compares them with its `RequiresReplace` modifier
//! (`internal/fwserver/attribute_plan_modification.go`, `AttributeModifyPlan`): each planned element with the prior
//! element of the same index or key. An added element has no prior values, so a value of it that replaces is a
//! change. A removed element is not visited; put `replaces` on the collection itself if a removal is to replace.
//!
//! Two cases differ from that framework, because its result is arbitrary there:
//!
//! - Elements of sets have no index. A planned element replaces unless some prior element has the same values in the
//!   attributes that replace.
//! - A collection whose elements are unknown replaces if they could, as an unknown attribute does. Otherwise the apply
//!   would replace an object whose plan said "update", which Terraform rejects.

use crate::path::Path;
use crate::schema::{Attribute, Nesting, Schema, Shape};
use crate::value::Value;

/// The paths of the attributes that differ between `prior` and `planned` and cannot be changed in place.
pub(crate) fn required(schema: &Schema, prior: &Value, planned: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    collect(&schema.attributes, prior, planned, &Path::root(), &mut found);
    found
}

fn collect(attributes: &[Attribute], prior: &Value, planned: &Value, path: &Path, found: &mut Vec<Path>) {
    for attribute in attributes {
        let before = prior.get(&attribute.name).unwrap_or(&Value::Null);
        let after = planned.get(&attribute.name).unwrap_or(&Value::Null);
        if before == after {
            continue;
        }
        let path = path.attribute(&attribute.name);
        match &attribute.shape {
            _ if attribute.replace => found.push(path),
            Shape::Nested(_, nested) if after.is_unknown() => {
                if nested.iter().any(can_replace) {
                    found.push(path);
                }
            }
            Shape::Nested(nesting, nested) => elements(*nesting, nested, [before, after], path, found),
            Shape::Plain(_) => {}
        }
    }
}

/// Compares the elements of a nested attribute, whose values are `before` and `after`.
fn elements(
    nesting: Nesting,
    nested: &[Attribute],
    [before, after]: [&Value; 2],
    path: Path,
    found: &mut Vec<Path>,
) {
    match (nesting, after) {
        (Nesting::Single, after) => collect(nested, before, after, &path, found),
        (Nesting::List, Value::List(items)) => {
            let before = before.as_slice().unwrap_or_default();
            for (index, item) in items.iter().enumerate() {
                let before = before.get(index).unwrap_or(&Value::Null);
                element(nested, before, item, path.index(index), found);
            }
        }
        (Nesting::Map, Value::Map(items)) => {
            for (key, item) in items {
                let before = before.get(key).unwrap_or(&Value::Null);
                element(nested, before, item, path.key(key), found);
            }
        }
        (Nesting::Set, Value::Set(items)) => {
            let before = before.as_slice().unwrap_or_default();
            // The protocol cannot address an element of a set, so the path is that of the set.
            if nested.iter().any(can_replace) && items.iter().any(|item| !has_equal(nested, before, item)) {
                found.push(path);
            }
        }
        _ => {}
    }
}

fn element(nested: &[Attribute], before: &Value, after: &Value, path: Path, found: &mut Vec<Path>) {
    if !after.is_unknown() {
        collect(nested, before, after, &path, found);
    } else if nested.iter().any(can_replace) {
        found.push(path);
    }
}

/// Whether some element of `before` has the values of `item` in the attributes that replace. Elements that set none of
/// them equal an absent element.
fn has_equal(nested: &[Attribute], before: &[Value], item: &Value) -> bool {
    before.contains(item)
        || before.iter().chain([&Value::Null]).any(|before| {
            let mut found = Vec::new();
            element(nested, before, item, Path::root(), &mut found);
            found.is_empty()
        })
}

/// Whether a change of the attribute, or of one inside it, can replace the object.
fn can_replace(attribute: &Attribute) -> bool {
    attribute.replace
        || matches!(&attribute.shape, Shape::Nested(_, nested) if nested.iter().any(can_replace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(nesting: Nesting) -> Schema {
        let nested = [Attribute::string("host").optional().replaces(), Attribute::string("note").optional()];
        Schema::new("").attribute(Attribute::nested("x", nesting, nested).optional())
    }

    fn port(host: &str, note: &str) -> Value {
        Value::object([("host", host.into()), ("note", note.into())])
    }

    fn replaced(nesting: Nesting, before: Value, after: Value) -> Vec<String> {
        let object = |x: Value| Value::object([("x", x)]);
        let found = required(&schema(nesting), &object(before), &object(after));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_are_compared_by_index() {
        let list = |items: &[Value]| Value::List(items.to_vec());
        let (one, two) = ([port("a", "1")], [port("a", "1"), port("b", "1")]);
        let compare = |before: &[Value], after: &[Value]| replaced(Nesting::List, list(before), list(after));
        assert_eq!(compare(&two, &[port("a", "1"), port("c", "1")]), ["x[1].host"]);
        assert_eq!(compare(&one, &[port("a", "2")]), [""; 0]);
        assert_eq!(compare(&one, &two), ["x[1].host"], "added");
        assert_eq!(compare(&two, &one), [""; 0], "removed");
        assert_eq!(compare(&one, &[Value::UNKNOWN]), ["x[0]"]);
        assert_eq!(replaced(Nesting::List, list(&one), Value::UNKNOWN), ["x"]);
    }

    #[test]
    fn maps_are_compared_by_key() {
        let map = |items: &[(&str, Value)]| {
            Value::Map(items.iter().map(|(key, item)| ((*key).to_owned(), item.clone())).collect())
        };
        let (a, b) = (port("a", "1"), port("b", "1"));
        let compare = |before: &[(&str, Value)], after: &[(&str, Value)]| {
            replaced(Nesting::Map, map(before), map(after))
        };
        assert_eq!(compare(&[("k", a.clone())], &[("k", b.clone())]), ["x[\"k\"].host"]);
        assert_eq!(compare(&[("k", a.clone())], &[("k", a.clone()), ("l", b.clone())]), ["x[\"l\"].host"]);
        assert_eq!(compare(&[("k", a.clone()), ("l", b)], &[("k", a)]), [""; 0]);
    }

    #[test]
    fn sets_are_compared_without_order() {
        let set = |items: &[Value]| Value::set(items.to_vec());
        let (a, b) = (|| port("a", "1"), || port("b", "1"));
        let compare = |before: &[Value], after: &[Value]| replaced(Nesting::Set, set(before), set(after));
        assert_eq!(compare(&[b(), a()], &[a(), port("b", "2")]), [""; 0]);
        assert_eq!(compare(&[a(), b()], &[a(), port("c", "1")]), ["x"]);
        assert_eq!(compare(&[a(), b()], &[a()]), [""; 0]);
        let without_host = Value::object([("host", Value::Null), ("note", "n".into())]);
        assert_eq!(compare(&[a()], &[a(), without_host]), [""; 0]);
    }

    #[test]
    fn an_object_that_is_removed_has_another_value_in_each_attribute() {
        assert_eq!(replaced(Nesting::Single, port("a", ""), Value::Null), ["x.host"]);
        assert_eq!(replaced(Nesting::Single, Value::Null, port("a", "")), ["x.host"]);
    }
}
