//! Encodes and decodes values of a [`Type`] as MessagePack and JSON.

pub mod json;
pub mod msgpack;

use thiserror::Error;

use crate::path::{Path, Step};
use crate::proto::tfplugin6::DynamicValue;
use crate::types::Type;
use crate::value::Value;

/// Maximum nesting depth of values. Schemas stay far below it; only values of `dynamic` attributes, which include
/// their own types, could be deeper.
pub const MAX_DEPTH: usize = 256;

/// An error while encoding or decoding a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct CodecError {
    /// Path in the value; empty at the root.
    pub path: Path,
    /// The reason.
    pub reason: Reason,
}

impl std::fmt::Display for CodecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.0.is_empty() {
            write!(f, "{}", self.reason)
        } else {
            write!(f, "{}: {}", self.path, self.reason)
        }
    }
}

/// The reason of a [`CodecError`]. It never contains the value, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The input ends inside a value, or declares a length beyond its end.
    #[error("the input ends in the middle of a value")]
    Truncated,
    /// Bytes after the value.
    #[error("{0} extra bytes after the value")]
    Trailing(usize),
    /// The value is nested deeper than [`MAX_DEPTH`] levels.
    #[error("the value is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A value of another type.
    #[error("expected {expected}, got {got}")]
    Mismatch {
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        got: &'static str,
    },
    /// A string that is not UTF-8.
    #[error("a string is not valid UTF-8")]
    NotUtf8,
    /// A number that Terraform does not support: infinite, NaN or too large.
    #[error("not a number that Terraform supports")]
    NotANumber,
    /// A sequence whose length differs from the tuple or wrapper.
    #[error("expected {expected} elements, got {got}")]
    Length {
        /// Elements of the type.
        expected: usize,
        /// Elements found.
        got: usize,
    },
    /// An attribute that the type does not have.
    #[error("the type has no attribute {0:?}")]
    UnexpectedAttribute(String),
    /// A missing attribute.
    #[error("attribute {0:?} is missing")]
    MissingAttribute(String),
    /// The same key twice.
    #[error("duplicate key {0:?}")]
    DuplicateKey(String),
    /// The type of a dynamic value is invalid.
    #[error("a dynamic value has an invalid type")]
    InvalidType,
    /// Refinements of an unknown value that are malformed.
    #[error("the refinements of an unknown value are malformed")]
    InvalidRefinement,
    /// An unknown value, which JSON cannot represent.
    #[error("an unknown value cannot be encoded as JSON")]
    UnknownInJson,
    /// Invalid JSON.
    #[error("invalid JSON at line {line} column {column}")]
    InvalidJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A `DynamicValue` message without content.
    #[error("the message contains no value")]
    Absent,
}

impl From<Reason> for CodecError {
    fn from(reason: Reason) -> Self {
        CodecError { path: Path::root(), reason }
    }
}

impl CodecError {
    /// The same error, with a path from one level further out.
    fn within(mut self, step: impl FnOnce() -> Step) -> CodecError {
        self.path.0.insert(0, step());
        self
    }
}

/// Decodes a wire value in either encoding.
///
/// # Errors
/// The message is empty or does not contain a value of `ty`.
pub fn decode(value: &DynamicValue, ty: &Type) -> Result<Value, CodecError> {
    if !value.msgpack.is_empty() {
        msgpack::decode(&value.msgpack, ty)
    } else if !value.json.is_empty() {
        json::decode(&value.json, ty)
    } else {
        Err(Reason::Absent.into())
    }
}

/// Encodes a wire value as MessagePack.
///
/// # Errors
/// `value` is not of type `ty`.
pub fn encode(value: &Value, ty: &Type) -> Result<DynamicValue, CodecError> {
    Ok(DynamicValue { msgpack: msgpack::encode(value, ty)?, json: Vec::new() })
}

/// The type of `value`, for messages.
fn kind(value: &Value) -> &'static str {
    match value {
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
    }
}

/// The name of `ty`, for messages.
fn wanted(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "a bool",
        Type::Number => "a number",
        Type::String => "a string",
        Type::Dynamic => "a dynamic value",
        Type::List(_) => "a list",
        Type::Set(_) => "a set",
        Type::Map(_) => "a map",
        Type::Tuple(_) => "a tuple",
        Type::Object(_) => "an object",
    }
}

fn mismatch(ty: &Type, got: &'static str) -> CodecError {
    Reason::Mismatch { expected: wanted(ty), got }.into()
}

fn at_index(index: usize) -> Step {
    Step::Index(i64::try_from(index).unwrap_or(i64::MAX))
}
