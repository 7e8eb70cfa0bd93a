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
        for validator in &attribute.validators {
            validator(value, &path, diagnostics);
        }
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
