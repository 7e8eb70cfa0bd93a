//! Validators of attributes that depend on each other. They run on an object: pass them to
//! [`Schema::validate`](crate::Schema::validate), to `validate` of a nested attribute, or to [`each`](super::each).

use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::value::Value;

/// Accepts at most one of these attributes.
pub fn conflicts_with<const N: usize>(
    names: [&'static str; N],
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |object, path, diagnostics| {
        let set = Set::of(object, &names);
        if set.known.len() > 1 {
            too_many(&set.known, &names, path, diagnostics);
        }
    }
}

/// Accepts exactly one of these attributes.
pub fn exactly_one_of<const N: usize>(
    names: [&'static str; N],
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let least = at_least_one_of(names);
    move |object, path, diagnostics| {
        least(object, path, diagnostics);
        let set = Set::of(object, &names);
        if set.known.len() > 1 {
            too_many(&set.known, &names, path, diagnostics);
        }
    }
}

/// Accepts one or more of these attributes.
pub fn at_least_one_of<const N: usize>(
    names: [&'static str; N],
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |object, path, diagnostics| {
        let set = Set::of(object, &names);
        if set.known.is_empty() && !set.unknown {
            let detail = format!("None of {} is set. Set one of them.", listed(&names));
            diagnostics.error_at(path.clone(), "Missing attribute", detail);
        }
    }
}

/// If the attribute `name` is set, all of `others` must be set as well.
pub fn also_requires<const N: usize>(
    name: &'static str,
    others: [&'static str; N],
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |object, path, diagnostics| {
        if Set::of(object, &[name]).known.is_empty() {
            return;
        }
        for other in others.into_iter().filter(|other| value(object, other).is_null()) {
            diagnostics.error_at(
                path.attribute(name),
                "Missing attribute",
                format!("`{name}` requires `{other}`. Set `{other}`, or remove `{name}`."),
            );
        }
    }
}

/// Which of some attributes are set.
struct Set {
    known: Vec<&'static str>,
    /// Whether others may be set.
    unknown: bool,
}

impl Set {
    fn of(object: &Value, names: &[&'static str]) -> Set {
        let mut set = Set { known: Vec::new(), unknown: false };
        for name in names {
            match value(object, name) {
                Value::Null => {}
                Value::Unknown(_) => set.unknown = true,
                _ => set.known.push(name),
            }
        }
        set
    }
}

/// The attribute `name`; null if it is not set.
fn value<'v>(object: &'v Value, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}

fn too_many(set: &[&'static str], names: &[&'static str], path: &Path, diagnostics: &mut Diagnostics) {
    for name in set.iter().skip(1) {
        diagnostics.error_at(
            path.attribute(name),
            "Conflicting attributes",
            format!("`{name}` and `{}` exclude each other. Set only one of {}.", set[0], listed(names)),
        );
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
