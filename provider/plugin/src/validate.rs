//! Runs the attributes' validators over a configuration.

use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::schema::{Attribute, Nesting, Shape};
use crate::value::Value;

/// Checks `value`, an object of `attributes` found at `path`. Null and unknown values are passed
/// over. `write_only` says whether the client understands write-only attributes.
pub(crate) fn check(
    attributes: &[Attribute],
    value: &Value,
    path: &Path,
    write_only: bool,
    diagnostics: &mut Diagnostics,
) {
    for attribute in attributes {
        let Some(value) = value.get(&attribute.name) else { continue };
        if value.is_null() || value.is_unknown() {
            continue;
        }
        let path = path.attribute(&attribute.name);
        if attribute.write_only && !write_only {
            diagnostics.error_at(
                path.clone(),
                "Write-only attributes are not supported by this client",
                format!(
                    "`{path}` must never be stored, and this client would store it. Use Terraform 1.11 or \
                     newer, or leave the attribute out."
                ),
            );
        }
        for validator in &attribute.validators {
            validator(value, &path, diagnostics);
        }
        if let Shape::Nested(nesting, nested) = &attribute.shape {
            for (path, item) in items(*nesting, value, &path) {
                check(nested, item, &path, write_only, diagnostics);
            }
        }
    }
}

/// The objects held by a nested attribute, each with its path; elements of sets share the set's.
fn items<'v>(nesting: Nesting, value: &'v Value, path: &Path) -> Vec<(Path, &'v Value)> {
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
