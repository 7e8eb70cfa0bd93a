//! Required attributes must have a value, at every depth. Terraform's core only checks that they are written, so
//! `name = null` reaches the provider.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::Path;
use crate::schema::{Attribute, Schema, Shape};
use crate::validate::items;
use crate::value::Value;

/// Reports every required attribute that is null in `config`. Unknown values pass: they are checked again when they
/// are known, at the latest before the provider is called.
///
/// The summary is the one of terraform-plugin-framework (`internal/fwserver/attribute_validation.go`).
pub(crate) fn missing(schema: &Schema, config: &Value) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    if !config.is_null() {
        check(&schema.attributes, config, &Path::root(), &mut diagnostics);
    }
    diagnostics
}

fn check(attributes: &[Attribute], object: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if object.is_unknown() {
        return;
    }
    for attribute in attributes {
        let path = path.attribute(&attribute.name);
        let value = object.get(&attribute.name).unwrap_or(&Value::Null);
        if is_null(value) {
            if attribute.required {
                diagnostics.push(null(path));
            }
        } else if let Shape::Nested(nesting, nested) = &attribute.shape {
            for (path, item) in items(*nesting, value, &path) {
                check(nested, item, &path, diagnostics);
            }
        }
    }
}

/// Whether the value is null; a null of a dynamic type is one, too.
fn is_null(value: &Value) -> bool {
    match value {
        Value::Dynamic(_, value) => is_null(value),
        other => other.is_null(),
    }
}

fn null(path: Path) -> Diagnostic {
    Diagnostic::error(
        "Missing Configuration for Required Attribute",
        format!("`{path}` must have a value, but the configuration sets it to null. Set a value."),
    )
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Nesting;
    use crate::types::Type;

    #[test]
    fn an_element_that_is_null_misses_its_attributes_and_an_unknown_one_does_not() {
        let port = || [Attribute::number("number").required(), Attribute::string("note").optional()];
        let schema = Schema::new("").attributes([
            Attribute::nested("list", Nesting::List, port()).optional(),
            Attribute::nested("one", Nesting::Single, port()).optional(),
            Attribute::of("any", Type::Dynamic).required(),
        ]);
        let config = Value::object([
            ("list", Value::List(vec![Value::Null, Value::UNKNOWN])),
            ("one", Value::UNKNOWN),
            ("any", Value::Dynamic(Box::new(Type::String), Box::new(Value::Null))),
        ]);
        let paths: Vec<String> =
            missing(&schema, &config).0.into_iter().filter_map(|d| Some(d.path?.to_string())).collect();
        assert_eq!(paths, ["list[0].number", "any"]);
        assert!(missing(&schema, &Value::Null).is_empty(), "a destroy has no configuration");
    }
}
