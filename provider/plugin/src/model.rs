//! Typed views of values: [`Attr`], the conversion traits and the [`model!`](crate::model!) macro.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::Path;
use crate::value::{Number, Value};

/// An attribute that may be absent or not known yet.
///
/// Parts can be unknown, too. A collection of `Attr`s, such as `Attr<Vec<Attr<String>>>`, shows which parts are
/// unknown. A collection of plain values, such as `Attr<Vec<String>>`, is [`Attr::Unknown`] until all of it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attr<T> {
    /// Not set.
    #[default]
    Null,
    /// Known only after apply.
    Unknown,
    /// Set and known.
    Known(T),
}

impl<T> Attr<T> {
    /// The value, if it is set and known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Attr::Known(value) => Some(value),
            Attr::Null | Attr::Unknown => None,
        }
    }

    /// Consumes the attribute and returns the value, if it is set and known.
    pub fn into_known(self) -> Option<T> {
        match self {
            Attr::Known(value) => Some(value),
            Attr::Null | Attr::Unknown => None,
        }
    }

    /// The value of an attribute that must have one here: a required attribute in apply, or a computed one in state.
    ///
    /// # Errors
    /// It is null or unknown, which is a bug in the provider.
    #[track_caller]
    pub fn value(&self) -> Result<&T, NotKnown> {
        self.known().ok_or_else(|| NotKnown { unknown: self.is_unknown(), location: Location::caller() })
    }

    /// Whether it is not known yet.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Attr::Unknown)
    }

    /// Whether it is not set.
    pub fn is_null(&self) -> bool {
        matches!(self, Attr::Null)
    }

    /// Whether it is set and known.
    pub fn is_known(&self) -> bool {
        matches!(self, Attr::Known(_))
    }
}

/// [`Attr::value`] found no value. That is a bug in the provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value is {}, read at {location}", if *.unknown { "unknown" } else { "null" })]
pub struct NotKnown {
    unknown: bool,
    location: &'static Location<'static>,
}

impl From<NotKnown> for Diagnostics {
    fn from(error: NotKnown) -> Self {
        Diagnostic::error(
            "Missing value",
            format!("The provider needs a value here, but {error}. This is a bug in the provider."),
        )
        .into()
    }
}

impl Attr<String> {
    /// The text, or `""` if it is null or unknown.
    pub fn text(&self) -> &str {
        self.known().map_or("", String::as_str)
    }
}

impl Attr<bool> {
    /// The boolean, or `false` if it is null or unknown.
    pub fn is_true(&self) -> bool {
        matches!(self, Attr::Known(true))
    }
}

impl<T> From<T> for Attr<T> {
    fn from(value: T) -> Self {
        Attr::Known(value)
    }
}

impl From<&str> for Attr<String> {
    fn from(value: &str) -> Self {
        Attr::Known(value.to_owned())
    }
}

impl<T> From<Option<T>> for Attr<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Attr::Null, Attr::Known)
    }
}

/// A string that must not be printed. Its `Debug` output is redacted.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(redacted)")
    }
}

/// A value whose shape does not match its model. The schema rules this out for values that Terraform sends, so it is
/// a bug in the provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("attribute `{path}`: expected {expected}, got {got}")]
pub struct ShapeError {
    /// Path of the value.
    pub path: Path,
    /// The shape that the model expects.
    pub expected: &'static str,
    /// The shape of the value, never the value itself, which may be secret.
    pub got: &'static str,
}

impl ShapeError {
    /// An error about `value` at `path`.
    pub fn new(path: &Path, expected: &'static str, value: &Value) -> ShapeError {
        let got = match value {
            Value::Null => "null",
            Value::Unknown(_) => "an unknown value",
            Value::Bool(_) => "a bool",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Set(_) => "a set",
            Value::Map(_) => "a map",
            Value::Tuple(_) => "a tuple",
            Value::Object(_) => "an object",
            Value::Dynamic(..) => "a dynamic value",
        };
        ShapeError { path: path.clone(), expected, got }
    }
}

/// Converts a value to a typed view.
pub trait FromValue: Sized {
    /// Converts `value`, which is located at `path`.
    ///
    /// # Errors
    /// The value has another shape.
    fn from_value(value: &Value, path: &Path) -> Result<Self, ShapeError>;
}

/// Converts a typed view to a value. Sequences become lists, and keyed values become maps or objects;
/// [`Value::conform`] converts them to the shape of the schema.
pub trait ToValue {
    /// The value.
    fn to_value(&self) -> Value;
}

/// The typed view of an object: a struct declared with [`model!`](crate::model!).
pub trait Model: FromValue + ToValue + Clone + Default + Send + Sync + 'static {}

macro_rules! scalar {
    ($ty:ty, $expected:literal, $value:ident => $read:expr, $this:ident => $write:expr) => {
        impl FromValue for $ty {
            fn from_value($value: &Value, path: &Path) -> Result<Self, ShapeError> {
                $read.ok_or_else(|| ShapeError::new(path, $expected, $value))
            }
        }
        impl ToValue for $ty {
            fn to_value(&self) -> Value {
                let $this = self;
                $write
            }
        }
    };
}

fn number(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

scalar!(bool, "a bool", value => match value { Value::Bool(b) => Some(*b), _ => None }, b => Value::Bool(*b));
scalar!(String, "a string", value => value.as_str().map(str::to_owned), s => Value::String(s.clone()));
scalar!(Secret, "a string", value => value.as_str().map(|s| Secret(s.to_owned())), s => Value::String(s.0.clone()));
scalar!(Number, "a number", value => number(value).cloned(), n => Value::Number(n.clone()));
scalar!(i64, "a whole number", value => number(value).and_then(Number::to_i64), n => Value::Number(Number::from(*n)));
scalar!(u64, "a whole number from 0", value => number(value).and_then(Number::to_u64), n => Value::Number(Number::from(*n)));
scalar!(u8, "a whole number from 0 to 255", value => number(value).and_then(Number::to_u64).and_then(|n| u8::try_from(n).ok()), n => Value::Number(Number::from(u64::from(*n))));
scalar!(f64, "a number", value => number(value).and_then(Number::to_f64), n => Number::from_f64(*n).map_or(Value::Null, Value::Number));
scalar!(Value, "a value", value => Some(value.clone()), v => v.clone());

impl<T: FromValue> FromValue for Attr<T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ShapeError> {
        match value {
            Value::Null => Ok(Attr::Null),
            Value::Unknown(_) => Ok(Attr::Unknown),
            known => match T::from_value(known, path) {
                // A part is unknown and `T` cannot represent that, so the whole value is unknown.
                Err(_) if !known.is_wholly_known() => Ok(Attr::Unknown),
                read => read.map(Attr::Known),
            },
        }
    }
}

impl<T: ToValue> ToValue for Attr<T> {
    fn to_value(&self) -> Value {
        match self {
            Attr::Null => Value::Null,
            Attr::Unknown => Value::UNKNOWN,
            Attr::Known(value) => value.to_value(),
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ShapeError> {
        let items = value.as_slice().ok_or_else(|| ShapeError::new(path, "a sequence", value))?;
        items.iter().enumerate().map(|(index, item)| T::from_value(item, &path.index(index))).collect()
    }
}

impl<T: ToValue> ToValue for Vec<T> {
    fn to_value(&self) -> Value {
        Value::List(self.iter().map(ToValue::to_value).collect())
    }
}

impl<T: FromValue + Ord> FromValue for BTreeSet<T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ShapeError> {
        let items = value.as_slice().ok_or_else(|| ShapeError::new(path, "a set", value))?;
        items.iter().map(|item| T::from_value(item, path)).collect()
    }
}

impl<T: ToValue> ToValue for BTreeSet<T> {
    fn to_value(&self) -> Value {
        Value::set(self.iter().map(ToValue::to_value).collect())
    }
}

impl<T: FromValue> FromValue for BTreeMap<String, T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ShapeError> {
        match value {
            Value::Map(items) | Value::Object(items) => items
                .iter()
                .map(|(key, item)| Ok((key.clone(), T::from_value(item, &path.key(key))?)))
                .collect(),
            other => Err(ShapeError::new(path, "a map", other)),
        }
    }
}

impl<T: ToValue> ToValue for BTreeMap<String, T> {
    fn to_value(&self) -> Value {
        Value::Map(self.iter().map(|(key, item)| (key.clone(), item.to_value())).collect())
    }
}

/// Declares a struct as the typed view of an object. Each field is the attribute with the same name; `r#type` is the
/// attribute `type`.
///
/// ```
/// use tf_provider_rs::{Attr, model};
///
/// model! {
///     /// State of a subnet.
///     pub struct Subnet {
///         /// Assigned by the cloud.
///         pub id: Attr<String>,
///         /// CIDR notation.
///         pub cidr_block: Attr<String>,
///     }
/// }
/// ```
///
/// The struct implements `Clone`, `Debug`, `Default` and `PartialEq`. Use [`Secret`] for values that `Debug` must not
/// show.
#[macro_export]
macro_rules! model {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $ty:ty ),* $(,)?
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $ty, )*
        }

        impl $crate::model::FromValue for $name {
            fn from_value(
                value: &$crate::Value,
                path: &$crate::Path,
            ) -> Result<Self, $crate::model::ShapeError> {
                if !matches!(value, $crate::Value::Object(_) | $crate::Value::Map(_)) {
                    return Err($crate::model::ShapeError::new(path, "an object", value));
                }
                Ok($name {
                    $( $field: {
                        let name = $crate::model::attribute_name(stringify!($field));
                        $crate::model::FromValue::from_value(
                            value.get(name).unwrap_or(&$crate::Value::Null),
                            &path.attribute(name),
                        )?
                    }, )*
                })
            }
        }

        impl $crate::model::ToValue for $name {
            fn to_value(&self) -> $crate::Value {
                $crate::Value::object([
                    $( (
                        $crate::model::attribute_name(stringify!($field)),
                        $crate::model::ToValue::to_value(&self.$field),
                    ), )*
                ])
            }
        }

        impl $crate::model::Model for $name {}
    )+};
}

/// The attribute name of a field: its name without `r#`.
#[doc(hidden)]
pub fn attribute_name(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_known_collection_is_unknown_where_its_model_has_no_place_for_parts() {
        let half = Value::List(vec!["a".into(), Value::UNKNOWN]);
        let read = |value: &Value| Attr::<Vec<String>>::from_value(value, &Path::of("names"));
        assert_eq!(read(&half), Ok(Attr::Unknown));
        let parts = Attr::<Vec<Attr<String>>>::from_value(&half, &Path::of("names"));
        assert_eq!(parts, Ok(Attr::Known(vec!["a".into(), Attr::Unknown])));
        // A wrong shape is still told.
        let error = read(&Value::List(vec![true.into()])).unwrap_err();
        assert_eq!(error.to_string(), "attribute `names[0]`: expected a string, got a bool");
    }
}
