//! Runs the validators of attributes on a configuration.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::Path;
use crate::schema::{Attribute, Nesting, Schema, Shape};
use crate::value::Value;

/// Validates `config`, an object of `schema`.
pub(crate) fn check_schema(schema: &Schema, config: &Value, write_only: bool, diagnostics: &mut Diagnostics) {
    let root = Path::root();
    check(&schema.attributes, config, &root, write_only, diagnostics);
    if !config.is_null() {
        if let Some(message) = &schema.deprecated {
            diagnostics.push(Diagnostic::warning("Deprecated", message));
        }
        schema.validators.iter().for_each(|check| check(config, &root, diagnostics));
    }
}

/// Validates `value`, an object of `attributes` at `path`. Null and unknown values are skipped. `write_only` is
/// whether the client supports write-only attributes.
pub(crate) fn check(
    attributes: &[Attribute],
    value: &Value,
    path: &Path,
    write_only: bool,
    diagnostics: &mut Diagnostics,
) {
    for attribute in attributes {
        let Some(value) = value.get(&attribute.name) else { continue };
        if let Some(items) = attribute.block {
            items.check(value, &path.attribute(&attribute.name), diagnostics);
        }
        if value.is_null() || value.is_unknown() {
            continue;
        }
        let path = path.attribute(&attribute.name);
        if attribute.write_only && !write_only {
            diagnostics.error_at(
                path.clone(),
                "Write-only attributes are not supported by this client",
                format!(
                    "This client would store the value of `{path}`, which must never be stored. Use Terraform 1.11 \
                     or later, or remove the attribute."
                ),
            );
        }
        let mut found = Diagnostics::default();
        for validator in &attribute.validators {
            validator(value, &path, &mut found);
        }
        if attribute.sensitive || attribute.write_only {
            found.0.iter_mut().for_each(|diagnostic| hide(value, diagnostic));
        }
        diagnostics.extend(found);
        if let Some(message) = &attribute.deprecated {
            diagnostics.push(Diagnostic::warning("Attribute Deprecated", message).at(path.clone()));
        }
        if let Shape::Nested(nesting, nested) = &attribute.shape {
            for (path, item) in items(*nesting, value, &path) {
                check(nested, item, &path, write_only, diagnostics);
            }
        }
    }
}

/// The objects of a nested attribute, each with its path. Elements of a set share the path of the set.
pub(crate) fn items<'v>(nesting: Nesting, value: &'v Value, path: &Path) -> Vec<(Path, &'v Value)> {
    match (nesting, value) {
        (Nesting::Single, object) => vec![(path.clone(), object)],
        (Nesting::List, Value::List(items)) => {
            items.iter().enumerate().map(|(index, item)| (path.index(index), item)).collect()
        }
        (Nesting::Set, Value::Set(items)) => items.iter().map(|item| (path.clone(), item)).collect(),
        (Nesting::Map, Value::Map(items)) => items.iter().map(|(key, item)| (path.key(key), item)).collect(),
        _ => Vec::new(),
    }
}

/// Removes a sensitive `value` from a diagnostic, which every reader of a log or a pull request sees.
fn hide(value: &Value, diagnostic: &mut Diagnostic) {
    /// Shorter texts are parts of ordinary words; only their quoted form is removed.
    const SHORTEST: usize = 4;
    const HIDDEN: &str = "The sensitive value";
    let mut remove = |text: &str| diagnostic.detail = diagnostic.detail.replace(text, HIDDEN);
    match value {
        Value::String(text) => {
            remove(&format!("{text:?}"));
            if text.len() >= SHORTEST {
                remove(text);
            }
        }
        Value::Number(number) if number.to_string().len() >= SHORTEST => remove(&number.to_string()),
        Value::List(items) | Value::Set(items) | Value::Tuple(items) => {
            items.iter().for_each(|item| hide(item, diagnostic));
        }
        Value::Map(items) | Value::Object(items) => items.values().for_each(|item| hide(item, diagnostic)),
        Value::Dynamic(_, value) => hide(value, diagnostic),
        Value::Number(_) | Value::Null | Value::Unknown(_) | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Type;
    use crate::validators::{each, one_of};

    #[test]
    fn a_diagnostic_never_contains_a_sensitive_value() {
        let schema = Schema::new("").attributes([
            Attribute::string("password").optional().sensitive().validate(one_of(["good"])),
            Attribute::of("pins", Type::list(Type::String))
                .optional()
                .sensitive()
                .validate(each(one_of(["1"]))),
            Attribute::string("name").optional().validate(one_of(["good"])),
        ]);
        let config = Value::object([
            ("password", "hunter2".into()),
            ("pins", Value::List(vec!["77".into()])),
            ("name", "alice".into()),
        ]);
        let mut diagnostics = Diagnostics::default();
        check_schema(&schema, &config, true, &mut diagnostics);
        let details: Vec<&str> = diagnostics.0.iter().map(|diagnostic| diagnostic.detail.as_str()).collect();
        assert_eq!(
            details,
            [
                "The sensitive value is not a supported value. Use one of `good`.",
                "The sensitive value is not a supported value. Use one of `1`.",
                "\"alice\" is not a supported value. Use one of `good`.",
            ]
        );
    }
}
