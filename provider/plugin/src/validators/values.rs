//! Validators of strings, numbers and the size of collections.

use regex::Regex;

use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::value::{Number, Value};

/// Accepts these strings, numbers or booleans only.
pub fn one_of<T: Into<Value>>(
    choices: impl IntoIterator<Item = T>,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let choices: Vec<Value> = choices.into_iter().map(Into::into).collect();
    move |value, path, diagnostics| {
        if !choices.contains(value) {
            let detail =
                format!("{} is not a supported value. Use one of {}.", spelled(value), listed(&choices));
            diagnostics.error_at(path.clone(), "Invalid value", detail);
        }
    }
}

/// Accepts everything but these strings, numbers or booleans.
pub fn none_of<T: Into<Value>>(
    choices: impl IntoIterator<Item = T>,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let choices: Vec<Value> = choices.into_iter().map(Into::into).collect();
    move |value, path, diagnostics| {
        if choices.contains(value) {
            let detail = format!("{} is reserved. Use none of {}.", spelled(value), listed(&choices));
            diagnostics.error_at(path.clone(), "Invalid value", detail);
        }
    }
}

/// Accepts strings of `least` to `most` characters.
pub fn length_between(least: usize, most: usize) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    length(least, Some(most), format!("{least} to {most} characters"))
}

/// Accepts strings of at least `least` characters.
pub fn length_at_least(least: usize) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    length(least, None, format!("at least {}", counted(least, "character")))
}

/// Accepts strings of at most `most` characters.
pub fn length_at_most(most: usize) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    length(0, Some(most), format!("at most {}", counted(most, "character")))
}

fn length(
    least: usize,
    most: Option<usize>,
    allowed: String,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let Some(text) = value.as_str() else { return };
        let length = text.chars().count();
        if length < least || most.is_some_and(|most| length > most) {
            let detail = format!("`{path}` has {}. Use {allowed}.", counted(length, "character"));
            diagnostics.error_at(path.clone(), "Invalid length", detail);
        }
    }
}

/// Accepts lists, sets and maps of `least` to `most` elements.
pub fn size_between(least: usize, most: usize) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    size(least, Some(most), format!("{least} to {most} elements"))
}

/// Accepts lists, sets and maps of at least `least` elements.
pub fn size_at_least(least: usize) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    size(least, None, format!("at least {}", counted(least, "element")))
}

/// Accepts lists, sets and maps of at most `most` elements.
pub fn size_at_most(most: usize) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    size(0, Some(most), format!("at most {}", counted(most, "element")))
}

fn size(
    least: usize,
    most: Option<usize>,
    allowed: String,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let size = match value {
            // Elements with unknown parts may turn out to be equal.
            Value::Set(_) if !value.is_wholly_known() => return,
            Value::List(items) | Value::Set(items) | Value::Tuple(items) => items.len(),
            Value::Map(items) | Value::Object(items) => items.len(),
            _ => return,
        };
        if size < least || most.is_some_and(|most| size > most) {
            let detail = format!("`{path}` has {}. Use {allowed}.", counted(size, "element"));
            diagnostics.error_at(path.clone(), "Invalid size", detail);
        }
    }
}

/// Accepts numbers from `least` to `most`, both included.
pub fn between(
    least: impl Into<Number>,
    most: impl Into<Number>,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let (least, most) = (least.into(), most.into());
    let allowed = format!("a number from {least} to {most}");
    range(Some(least), Some(most), allowed)
}

/// Accepts numbers from `least`.
pub fn at_least(least: impl Into<Number>) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let least = least.into();
    let allowed = format!("at least {least}");
    range(Some(least), None, allowed)
}

/// Accepts numbers up to `most`.
pub fn at_most(most: impl Into<Number>) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let most = most.into();
    let allowed = format!("at most {most}");
    range(None, Some(most), allowed)
}

fn range(
    least: Option<Number>,
    most: Option<Number>,
    allowed: String,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let Value::Number(number) = value else { return };
        if least.as_ref().is_some_and(|least| number < least)
            || most.as_ref().is_some_and(|most| number > most)
        {
            let detail = format!("{number} is out of range. Use {allowed}.");
            diagnostics.error_at(path.clone(), "Number out of range", detail);
        }
    }
}

/// Accepts strings in which `regex` matches somewhere. `allowed` tells the user what to write: "lowercase letters and
/// hyphens".
pub fn matches_regex(
    regex: Regex,
    allowed: impl Into<String>,
) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    let allowed = allowed.into();
    move |value, path, diagnostics| {
        let Some(text) = value.as_str() else { return };
        if !regex.is_match(text) {
            let detail = format!("{text:?} does not have the required form. Use {allowed}.");
            diagnostics.error_at(path.clone(), "Invalid value", detail);
        }
    }
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => "This value".to_owned(),
    }
}

fn listed(choices: &[Value]) -> String {
    let spelled = |choice: &Value| match choice {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{}`", spelled(other)),
    };
    choices.iter().map(spelled).collect::<Vec<_>>().join(", ")
}
