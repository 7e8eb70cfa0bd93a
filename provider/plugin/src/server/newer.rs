//! Attributes that did not exist yet when a state was stored.

use serde_json::Value as Json;

use crate::codec::CodecError;
use crate::codec::json::to_json;
use crate::schema::{Attribute, Nesting, Shape};

/// Sets the attributes that are missing in the `stored` state to their defaults, so that they are no change.
///
/// Terraform stores all attributes of a schema, also those that are null, at each level: an attribute that is missing is
/// newer than the state. What is inside an object that is null or missing itself stays absent, as in a plan.
///
/// # Errors
/// A default is not of its attribute's type.
pub(super) fn add_defaults(stored: &mut Json, attributes: &[Attribute]) -> Result<(), CodecError> {
    let Some(stored) = stored.as_object_mut() else { return Ok(()) };
    for attribute in attributes {
        match (stored.get_mut(&attribute.name), &attribute.default, &attribute.shape) {
            (None, Some(default), _) => {
                let ty = attribute.ty();
                stored.insert(attribute.name.clone(), to_json(&default.clone().conform(&ty), &ty)?);
            }
            (Some(object), _, Shape::Nested(Nesting::Single, nested)) => add_defaults(object, nested)?,
            (Some(Json::Array(items)), _, Shape::Nested(_, nested)) => {
                items.iter_mut().try_for_each(|item| add_defaults(item, nested))?;
            }
            (Some(Json::Object(items)), _, Shape::Nested(Nesting::Map, nested)) => {
                items.values_mut().try_for_each(|item| add_defaults(item, nested))?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::value::Value;

    /// An attribute of every type of nesting, each with an older attribute and a newer one.
    fn attributes() -> Vec<Attribute> {
        let nested = || {
            let deeper = [Attribute::number("old"), Attribute::number("new").default(7)];
            [
                Attribute::string("old").optional(),
                Attribute::string("new").default("tcp"),
                Attribute::string("without").optional(),
                Attribute::nested("deeper", Nesting::Single, deeper).optional(),
            ]
        };
        let of = |name, nesting| Attribute::nested(name, nesting, nested()).optional();
        vec![
            Attribute::string("old").optional(),
            Attribute::bool("new").default(true),
            of("object", Nesting::Single),
            of("list", Nesting::List),
            of("set", Nesting::Set),
            of("map", Nesting::Map),
        ]
    }

    fn added(mut stored: Json) -> Json {
        add_defaults(&mut stored, &attributes()).unwrap();
        stored
    }

    #[test]
    fn newer_attributes_have_their_defaults_at_every_level() {
        let before = json!({ "old": "a", "without": null, "deeper": { "old": 1 } });
        let after = json!({ "old": "a", "without": null, "deeper": { "old": 1, "new": 7 }, "new": "tcp" });
        let stored = json!({
            "old": "a",
            "object": before,
            "list": [before, before],
            "set": [before],
            "map": { "k": before },
        });
        let expected = json!({
            "old": "a",
            "new": true,
            "object": after,
            "list": [after, after],
            "set": [after],
            "map": { "k": after },
        });
        assert_eq!(added(stored), expected);
    }

    #[test]
    fn what_is_null_or_missing_has_no_attributes() {
        let null =
            json!({ "old": null, "new": null, "object": null, "list": null, "set": null, "map": null });
        assert_eq!(added(null.clone()), null, "a stored null is no newer attribute");
        assert_eq!(added(json!({})), json!({ "new": true }));
        let deeper = json!({ "new": true, "object": { "new": "udp", "deeper": null } });
        assert_eq!(added(deeper.clone()), deeper);
        let empty = json!({ "new": true, "list": [null], "set": [], "map": { "k": null } });
        assert_eq!(added(empty.clone()), empty);
        assert_eq!(added(Json::Null), Json::Null);
    }

    #[test]
    fn a_default_that_is_an_object_is_added_as_a_whole() {
        let port = Attribute::number("port").default(80);
        let default = Value::object([("port", 443.into())]);
        let all = [Attribute::nested("rule", Nesting::Single, [port]).default(default)];
        let mut stored = json!({});
        add_defaults(&mut stored, &all).unwrap();
        assert_eq!(stored, json!({ "rule": { "port": 443 } }));
        let wrong = [Attribute::bool("flag").default("text")];
        assert!(add_defaults(&mut stored, &wrong).is_err());
    }
}
