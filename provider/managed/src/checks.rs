//! Validators that every cloud needs.

use tf_provider_rs::{Diagnostics, Path, Value};

/// Validates that the value is one of `words`.
pub fn one_of(words: &'static [&'static str]) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let text = value.as_str().unwrap_or_default();
        if !words.contains(&text) {
            let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            diagnostics.error_at(
                path.clone(),
                "Invalid value",
                format!("{text:?} is not a supported value. Use one of {list}."),
            );
        }
    }
}

/// Validates that the value is a whole number in this range.
pub fn between(least: i64, most: i64) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let number = match value {
            Value::Number(number) => number.to_i64(),
            _ => None,
        };
        if !number.is_some_and(|number| (least..=most).contains(&number)) {
            diagnostics.error_at(
                path.clone(),
                "Number out of range",
                format!("`{path}` is out of range. Use a whole number from {least} to {most}."),
            );
        }
    }
}
