//! Typed views of values: [`Attr`], and the traits that the derive macros implement.

mod collections;
mod scalars;
mod text;

use std::panic::Location;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::Path;
use crate::schema::{Attribute, IdentitySchema, Schema, Shape};
use crate::value::Value;

pub use text::NotAChoice;

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

    /// What the value dereferences to, if it is set and known: the `&str` of an `Attr<String>` or of an ID.
    pub fn as_deref(&self) -> Option<&T::Target>
    where
        T: std::ops::Deref,
    {
        self.known().map(|value| &**value)
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

/// The shape of a value that is not known yet, in messages.
const UNKNOWN: &str = "an unknown value";

/// A value that a typed view cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The shape differs from the schema's. The schema rules this out for values that Terraform sends, so it is a bug
    /// in the provider.
    #[error("attribute `{path}`: expected {expected}, got {got}")]
    Shape {
        /// Path of the value.
        path: Path,
        /// The expected shape.
        expected: &'static str,
        /// The shape of the value, never the value itself, which may be secret.
        got: &'static str,
    },
    /// The shape is right, but the value is not allowed: a string that does not parse, a number out of range, or a
    /// missing element. It is a mistake in the configuration.
    #[error("attribute `{path}`: expected {expected}")]
    Invalid {
        /// Path of the value.
        path: Path,
        /// What is expected, such as "a whole number from 0 to 65535". It never contains the value, which may be
        /// secret.
        expected: String,
    },
}

impl ValueError {
    /// `value` at `path` has another shape.
    pub fn shape(path: &Path, expected: &'static str, value: &Value) -> ValueError {
        let got = match value {
            // An element or a nested attribute that the configuration leaves out.
            Value::Null => return ValueError::invalid(path, format!("{expected}, got null")),
            Value::Unknown(_) => UNKNOWN,
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
        ValueError::Shape { path: path.clone(), expected, got }
    }

    /// The value at `path` is not allowed.
    pub fn invalid(path: &Path, expected: impl Into<String>) -> ValueError {
        ValueError::Invalid { path: path.clone(), expected: expected.into() }
    }
}

impl From<ValueError> for Diagnostic {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Shape { ref path, got, .. } => {
                // The usual mistake: a field that has no room for unknown values.
                let advice = if got == UNKNOWN { " Its field needs the type `Attr<..>`." } else { "" };
                let detail = format!("{error}. This is a bug in the provider.{advice}");
                Diagnostic::error("Value has an unexpected shape", detail).at(path.clone())
            }
            ValueError::Invalid { path, expected } => {
                let detail = format!("`{path}` must be {expected}.");
                Diagnostic::error("Invalid value", detail).at(path)
            }
        }
    }
}

impl From<ValueError> for Diagnostics {
    fn from(error: ValueError) -> Self {
        Diagnostic::from(error).into()
    }
}

/// Converts a value to a typed view.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that an attribute can have",
    label = "not an attribute type",
    note = "an object derives `tf_provider_rs::Object`; an enum derives `tf_provider_rs::Choice`",
    note = "collections are `Vec<T>`, `BTreeSet<T>` and `BTreeMap<String, T>`; numbers are `i32`, `i64`, `u8` to \
            `u64`, `f64` and `Number`; what may be absent is `Attr<T>`",
    note = "a type of your own with `FromStr` and `Display` becomes a string attribute with \
            `tf_provider_rs::text!`"
)]
pub trait FromValue: Sized {
    /// Converts `value`, which is located at `path`.
    ///
    /// # Errors
    /// The value has another shape.
    fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError>;
}

/// Converts a typed view to a value. Sequences become lists, and keyed values become maps or objects;
/// [`Value::conform`] converts them to the shape of the schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that an attribute can have",
    label = "not an attribute type"
)]
pub trait ToValue {
    /// The value.
    fn to_value(&self) -> Value;
}

/// The struct that is the schema and the state of a resource, data source, ephemeral resource or provider block. The
/// derive macros implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the model of a resource, data source or provider block",
    note = "derive `Resource`, `DataSource`, `Ephemeral`, `Action`, `ListResource` or `Provider` of \
            `tf_provider_rs` for it; `Object` is for nested attributes"
)]
pub trait Model: Object + Clone + Default + Send + Sync + 'static {
    /// The type name, such as `warren_aws_vpc`; empty for a provider block.
    const TYPE_NAME: &'static str = "";

    /// Version of the state format.
    const VERSION: i64 = 0;

    /// The schema.
    fn schema() -> Schema {
        Schema::new(&Self::description()).version(Self::VERSION).attributes(Self::attributes())
    }

    /// The identity schema, from the attributes with the option `identity`.
    fn identity() -> Option<IdentitySchema> {
        None
    }

    /// The identity of the object in this state.
    fn identity_of(&self) -> Option<Value> {
        None
    }
}

/// A Rust type that an attribute can have: [`Attr`] of any of these.
///
/// | Terraform | Rust |
/// |---|---|
/// | `bool` | `bool` |
/// | `string` | `String`, [`Secret`], addresses and networks of `std::net` and `ipnet`, `#[derive(Choice)]`, [`crate::id!`], [`crate::text!`] |
/// | `number` | `i32`, `i64`, `u8`, `u16`, `u32`, `u64`, `f64`, [`crate::Number`] |
/// | `list`, `set`, `map` | `Vec<T>`, `BTreeSet<T>`, `BTreeMap<String, T>` |
/// | nested attributes | a struct with `#[derive(Object)]`, or a collection of it |
/// | `dynamic` | [`Value`] |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that an attribute can have",
    label = "not an attribute type"
)]
pub trait AttributeType: FromValue + ToValue {
    /// The type of its values, or the nested attributes.
    fn shape() -> Shape;
}

/// A type whose values are text for Terraform, so that text can be the default of an attribute of it.
///
/// ```compile_fail
/// use tf_provider_rs::{Attr, Object};
///
/// /// A rule.
/// #[derive(Object)]
/// struct Rule {
///     /// Whether it applies.
///     #[attr(default = "yes")]
///     enabled: Attr<bool>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "text is no default of an attribute of type `{Self}`",
    label = "not a string attribute",
    note = "write a value of the type of the field, such as `default = true` or `default = 3`"
)]
pub trait Text: AttributeType {}

impl Text for String {}
impl Text for Secret {}
impl<T: Text> Text for Attr<T> {}

/// A text as the default of an attribute of type `T`.
#[doc(hidden)]
pub fn text_default<T: Text>(text: &str) -> Value {
    Value::from(text)
}

/// A struct whose fields are attributes. The derive macros implement it.
pub trait Object: FromValue + ToValue {
    /// Description in Markdown: the doc comment of the struct.
    fn description() -> String;

    /// The attributes in the order of the fields.
    fn attributes() -> Vec<Attribute>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_without_room_for_unknown_values_is_named() {
        let told = |value: &Value| {
            Diagnostic::from(Vec::<String>::from_value(value, &Path::of("rule")).unwrap_err()).detail
        };
        let bug =
            "attribute `rule`: expected a sequence, got an unknown value. This is a bug in the provider.";
        assert_eq!(told(&Value::UNKNOWN), format!("{bug} Its field needs the type `Attr<..>`."));
        assert!(told(&true.into()).ends_with("This is a bug in the provider."));
    }

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
