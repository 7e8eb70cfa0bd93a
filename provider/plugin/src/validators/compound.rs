//! Validators made of others.

use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::schema::Validator;
use crate::value::Value;

/// Validates each known element of a list or set, and each known value of a map.
pub fn each(
    check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let mut validate = |item: &Value, path: &Path| {
            if !item.is_null() && !item.is_unknown() {
                check(item, path, diagnostics);
            }
        };
        match value {
            Value::List(items) | Value::Tuple(items) => {
                items.iter().enumerate().for_each(|(index, item)| validate(item, &path.index(index)));
            }
            Value::Set(items) => items.iter().for_each(|item| validate(item, path)),
            Value::Map(items) => items.iter().for_each(|(key, item)| validate(item, &path.key(key))),
            _ => {}
        }
    }
}

/// Validates each known value of a map.
pub fn values(
    check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    each(check)
}

/// Validates each key of a map.
pub fn keys(
    check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let Value::Map(items) = value else { return };
        for key in items.keys() {
            let mut found = Diagnostics::default();
            check(&Value::String(key.clone()), &path.key(key), &mut found);
            // The path of a key is also that of its value.
            found.0.iter_mut().for_each(|diagnostic| diagnostic.summary.push_str(" of a key"));
            diagnostics.extend(found);
        }
    }
}

/// Accepts what all of `checks` accept. Reports every error.
pub fn all(
    checks: impl IntoIterator<Item = Validator>,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let checks: Vec<Validator> = checks.into_iter().collect();
    move |value, path, diagnostics| checks.iter().for_each(|check| check(value, path, diagnostics))
}

/// Accepts what at least one of `checks` accepts. Otherwise it reports the errors of all.
pub fn any(
    checks: impl IntoIterator<Item = Validator>,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let checks: Vec<Validator> = checks.into_iter().collect();
    move |value, path, diagnostics| {
        let mut rejected = Diagnostics::default();
        for check in &checks {
            let mut found = Diagnostics::default();
            check(value, path, &mut found);
            if !found.has_error() {
                return diagnostics.extend(found);
            }
            rejected.extend(found);
        }
        diagnostics.extend(rejected);
    }
}
