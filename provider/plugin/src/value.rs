//! Values of the Terraform type system, with unknowns and their refinements.

use std::collections::BTreeMap;
use std::str::FromStr;

use bigdecimal::{BigDecimal, ToPrimitive};

use crate::path::{Path, Step};
use crate::types::Type;

/// A number of any size and precision; Terraform computes with 512 bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(BigDecimal);

impl Number {
    /// Parses a decimal literal such as `-12.5e3`. Returns `None` if it is invalid or has more than 100,000 digits or
    /// zeros, because ten bytes such as `1e999999999` must not expand to a gigabyte.
    pub fn parse(text: &str) -> Option<Number> {
        const MAX_DIGITS: u64 = 100_000;
        let plain = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let short = u64::try_from(text.len()).is_ok_and(|length| length <= MAX_DIGITS);
        let number = (plain && short).then(|| BigDecimal::from_str(text).ok()).flatten()?;
        // Checked first, because scaling the number would be expensive.
        (number.fractional_digit_count().unsigned_abs() <= MAX_DIGITS).then(|| Number(number.normalized()))
    }

    /// The number nearest to `value`, or `None` for infinities and NaN, which Terraform does not support.
    pub fn from_f64(value: f64) -> Option<Number> {
        BigDecimal::try_from(value).ok().map(|number| Number(number.normalized()))
    }

    /// The value as `i64`, if it is a whole number in range.
    pub fn to_i64(&self) -> Option<i64> {
        self.0.is_integer().then(|| self.0.to_i64()).flatten()
    }

    /// The value as `u64`, if it is a whole number in range.
    pub fn to_u64(&self) -> Option<u64> {
        self.0.is_integer().then(|| self.0.to_u64()).flatten()
    }

    /// The nearest `f64`, or `None` if the number is out of range.
    pub fn to_f64(&self) -> Option<f64> {
        // The standard library rounds correctly, which `bigdecimal` does not in every case.
        self.0.to_scientific_notation().parse().ok().filter(|near: &f64| near.is_finite())
    }

    /// The `f64` that equals this number exactly, if there is one.
    pub fn to_exact_f64(&self) -> Option<f64> {
        self.to_f64().filter(|near| Number::from_f64(*near).as_ref() == Some(self))
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.to_plain_string())
    }
}

impl std::fmt::Debug for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Number::from(i64::from(value))
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number(BigDecimal::from(value).normalized())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Number(BigDecimal::from(value).normalized())
    }
}

/// Constraints on a value that is not known yet.
///
/// Source: cty's msgpack refinements (extension type 12).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refinement {
    /// `Some(true)`: it will be null; `Some(false)`: it will not be null.
    pub null: Option<bool>,
    /// Prefix of a string.
    pub prefix: Option<String>,
    /// Lower bound of a number, and whether the bound itself is included.
    pub lower: Option<(Number, bool)>,
    /// Upper bound of a number, and whether the bound itself is included.
    pub upper: Option<(Number, bool)>,
    /// Minimum length of a collection.
    pub min_length: Option<u64>,
    /// Maximum length of a collection.
    pub max_length: Option<u64>,
}

/// A value. It does not include its type: the schema and [`Type`] define how it is decoded and encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// Absent.
    #[default]
    Null,
    /// Known only after apply.
    Unknown(Option<Box<Refinement>>),
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Value>),
    /// A set, kept sorted and without duplicates; see [`Value::set`].
    Set(Vec<Value>),
    /// A map.
    Map(BTreeMap<String, Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// An object.
    Object(BTreeMap<String, Value>),
    /// A value of a `dynamic` attribute, with its own type.
    Dynamic(Box<Type>, Box<Value>),
}

impl Value {
    /// A plain unknown.
    pub const UNKNOWN: Value = Value::Unknown(None);

    /// A string.
    pub fn string(text: impl Into<String>) -> Value {
        Value::String(text.into())
    }

    /// A set, sorted and without duplicates, so that equal sets compare equal. Elements with unknown parts are all
    /// kept, because they may turn out to differ.
    pub fn set(mut elements: Vec<Value>) -> Value {
        elements.sort();
        elements.dedup_by(|one, other| one == other && one.is_wholly_known());
        Value::Set(elements)
    }

    /// An object.
    pub fn object<'a>(attributes: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
        Value::Object(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether the value itself is unknown. A known value may still have unknown parts.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Value::Unknown(_))
    }

    /// Whether neither the value nor any part of it is unknown.
    pub fn is_wholly_known(&self) -> bool {
        match self {
            Value::Unknown(_) => false,
            Value::List(items) | Value::Set(items) | Value::Tuple(items) => {
                items.iter().all(Value::is_wholly_known)
            }
            Value::Map(items) | Value::Object(items) => items.values().all(Value::is_wholly_known),
            Value::Dynamic(_, value) => value.is_wholly_known(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    /// The attribute `name` of an object or element `name` of a map.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(items) | Value::Map(items) => items.get(name),
            _ => None,
        }
    }

    /// The text of a known string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a known list, set or tuple.
    pub fn as_slice(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) | Value::Set(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Replaces the part at `path`, and returns whether there is one. A path ends at a set, so the whole set is
    /// replaced.
    pub(crate) fn replace(&mut self, path: &Path, replacement: Value) -> bool {
        let mut part = self;
        for step in &path.0 {
            let next = match (part, step) {
                (Value::Object(items) | Value::Map(items), Step::Attribute(name) | Step::Key(name)) => {
                    items.get_mut(name)
                }
                (Value::List(items) | Value::Tuple(items), Step::Index(index)) => {
                    usize::try_from(*index).ok().and_then(|index| items.get_mut(index))
                }
                (set @ Value::Set(_), _) => {
                    *set = replacement;
                    return true;
                }
                _ => None,
            };
            let Some(next) = next else { return false };
            part = next;
        }
        *part = replacement;
        true
    }

    /// Converts the value to the shape of `ty`. A sequence becomes a list, set or tuple, and a keyed value becomes a
    /// map or object. Missing attributes of an object become null, and unexpected ones are removed.
    ///
    /// Use it after [`crate::model::ToValue`], which converts models without knowing the type.
    pub fn conform(self, ty: &Type) -> Value {
        match (self, ty) {
            (Value::List(items) | Value::Set(items) | Value::Tuple(items), ty) => match ty {
                Type::List(element) => {
                    Value::List(items.into_iter().map(|item| item.conform(element)).collect())
                }
                Type::Set(element) => {
                    Value::set(items.into_iter().map(|item| item.conform(element)).collect())
                }
                Type::Tuple(types) => {
                    Value::Tuple(items.into_iter().zip(types).map(|(item, ty)| item.conform(ty)).collect())
                }
                _ => Value::List(items),
            },
            (Value::Map(items) | Value::Object(items), Type::Map(element)) => {
                Value::Map(items.into_iter().map(|(key, item)| (key, item.conform(element))).collect())
            }
            (Value::Map(mut items) | Value::Object(mut items), Type::Object(attributes)) => Value::Object(
                attributes
                    .iter()
                    .map(|(name, ty)| (name.clone(), items.remove(name).unwrap_or_default().conform(ty)))
                    .collect(),
            ),
            (value, _) => value,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::String(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Number(Number::from(value))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Number(Number::from(value))
    }
}
