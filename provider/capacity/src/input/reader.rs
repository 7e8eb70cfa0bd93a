//! Reads single values, and collects what is wrong with them.

use super::syntax::{Syntax, map, number, text};
use super::{Fault, Value};
use crate::units::UnitError;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// A map of the input and the path to it.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    pub(super) path: &'a [String],
}

impl<'a> At<'a> {
    pub(super) fn get(self, key: &str) -> Option<&'a Value> {
        let Value::Map(entries) = self.value else { return None };
        entries.iter().find(|(name, value)| name == key && *value != Value::Null).map(|(_, value)| value)
    }
}

/// The faults so far, and the syntax of their hints.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) faults: Vec<Fault>,
    pub(super) syntax: Syntax,
}

impl Value {
    fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl Reader {
    pub(super) fn fault(&mut self, path: &[String], message: impl Into<String>, hint: impl Into<String>) {
        self.faults.push(Fault { path: path.to_vec(), message: message.into(), hint: hint.into() });
    }

    pub(super) fn fault_at(
        &mut self,
        at: At<'_>,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.fault(&join(at.path, key), message, hint);
    }

    /// Reports a value that is not a map, keys that occur twice, and keys that are not known.
    pub(super) fn keys(&mut self, at: At<'_>, known: &[&str]) -> bool {
        if at.path.is_empty() && *at.value == Value::Null {
            let hint = self.syntax.entry("store", &text("aws"));
            self.fault(&[], "the input is empty", format!("start with the cloud that has the data: {hint}"));
            return false;
        }
        let Value::Map(entries) = at.value else {
            let message = format!("expected a map, found {}", at.value.what());
            self.fault(at.path, message, format!("write a map with the keys {}", known.join(", ")));
            return false;
        };
        self.twice(at, entries);
        for (key, _) in entries {
            if known.contains(&key.as_str()) || key.starts_with("x-") {
                continue;
            }
            let near = known
                .iter()
                .map(|word| (strsim::damerau_levenshtein(word, &short(key)), *word))
                .min()
                .filter(|(distance, word)| *distance <= 1 + word.len() / 4);
            let hint = match near {
                Some((_, near)) => format!("did you mean `{near}`?"),
                None => format!("the keys are {}", known.join(", ")),
            };
            self.fault_at(at, key, "unknown key", hint);
        }
        true
    }

    fn twice(&mut self, at: At<'_>, entries: &[(String, Value)]) {
        for (index, (key, _)) in entries.iter().enumerate() {
            if entries[..index].iter().any(|(other, _)| other == key) {
                self.fault_at(at, key, "the key occurs twice", "remove one of the two");
            }
        }
    }

    pub(super) fn missing(&mut self, at: At<'_>, key: &str, example: &Value) {
        let hint = format!("set it, for example {}", self.syntax.entry(key, example));
        self.fault(at.path, format!("`{key}` is missing"), hint);
    }

    pub(super) fn text<'a>(&mut self, at: At<'a>, key: &str, hint: &str) -> Option<&'a str> {
        match at.get(key)? {
            Value::Text(text) if !text.trim().is_empty() => return Some(text),
            Value::Text(_) => self.fault_at(at, key, "the string is empty", hint),
            other => self.fault_at(at, key, format!("expected a string, found {}", other.what()), hint),
        }
        None
    }

    /// A quantity with a unit.
    pub(super) fn quantity<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        at: At<'_>,
        key: &str,
        example: &str,
    ) -> Option<T> {
        match at.get(key)? {
            Value::Text(text) => text
                .parse()
                .map_err(|error: UnitError| self.fault_at(at, key, error.message, error.hint))
                .ok(),
            other => {
                let message = format!("expected a quantity, found {}", other.what());
                self.fault_at(at, key, message, format!("write a string with a unit, such as `{example}`"));
                None
            }
        }
    }

    pub(super) fn required<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        at: At<'_>,
        key: &str,
        example: &str,
    ) -> Option<T> {
        if at.get(key).is_none() {
            self.missing(at, key, &text(example));
        }
        self.quantity(at, key, example)
    }

    pub(super) fn flag(&mut self, at: At<'_>, key: &str) -> bool {
        match at.get(key) {
            Some(Value::Bool(value)) => return *value,
            None => {}
            Some(other) => {
                let message = format!("expected true or false, found {}", other.what());
                self.fault_at(at, key, message, "write `true` or `false`");
            }
        }
        false
    }

    /// A number in a range, if it is set.
    pub(super) fn number(
        &mut self,
        at: At<'_>,
        key: &str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Option<f64> {
        let hint = format!("write a number from {} to {}", range.start(), range.end());
        match at.get(key)? {
            Value::Number(text) => {
                let value = text.parse::<f64>().ok().filter(|value| range.contains(value));
                if value.is_none() {
                    self.fault_at(at, key, format!("{} is out of range", short(text)), hint);
                }
                value
            }
            other => {
                self.fault_at(at, key, format!("expected a number, found {}", other.what()), hint);
                None
            }
        }
    }

    /// A whole number from 1 on, or the default.
    pub(super) fn count(&mut self, at: At<'_>, key: &str, largest: u32, default: u32) -> NonZeroU64 {
        let value = self.number(at, key, 1.0..=f64::from(largest)).unwrap_or(f64::from(default));
        if value.fract() != 0.0 {
            self.fault_at(at, key, format!("{value} is not a whole number"), "remove its fraction");
        }
        NonZeroU64::new(value as u64).unwrap_or(NonZeroU64::MIN)
    }

    pub(super) fn choice<T: Copy>(&mut self, at: At<'_>, key: &str, known: &[(&str, T)]) -> Option<T> {
        let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
        let hint = format!("use one of {}", names.join(", "));
        let text = self.text(at, key, &hint)?;
        let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            self.fault_at(at, key, format!("unknown value {:?}", short(text)), hint);
        }
        found
    }

    /// The maps of a section by name. `None` if what is wrong with one of them, or with the section, is reported.
    pub(super) fn section<T>(
        &mut self,
        at: At<'_>,
        key: &str,
        example: &Value,
        mut item: impl FnMut(&mut Self, At<'_>) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let Some(value) = at.get(key) else { return Some(BTreeMap::new()) };
        let path = join(at.path, key);
        let section = At { value, path: &path };
        let Value::Map(entries) = value else {
            let hint = format!("write a map by name, for example {}", self.syntax.entry(key, example));
            self.fault(&path, format!("expected a map, found {}", value.what()), hint);
            return None;
        };
        let before = self.faults.len();
        self.twice(section, entries);
        let mut found = BTreeMap::new();
        for (name, value) in entries {
            let path = join(&path, name);
            if let Some(item) = item(self, At { value, path: &path }) {
                found.insert(name.clone(), item);
            }
        }
        (self.faults.len() == before).then_some(found)
    }

    /// Reports that a number of parameters is not one.
    pub(super) fn no_number(&mut self, at: At<'_>, key: &str, found: &Value, example: &str) {
        let message = format!("expected a number, found {}", found.what());
        self.fault_at(at, key, message, format!("write a number, such as `{example}`"));
    }
}

/// Datasets of an example.
pub(super) fn datasets() -> Value {
    map([("tokens", map([("size", text("2 TB")), ("within", text("12 h"))]))])
}

/// Links of an example.
pub(super) fn links() -> Value {
    map([(
        "gateways",
        map([("kind", text("wireguard")), ("rate", text("2 Gbit/s")), ("gateways", number(2))]),
    )])
}

pub(super) fn join(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

/// A value, truncated for messages.
pub(super) fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
