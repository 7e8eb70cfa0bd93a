//! Values to and from the wire: MessagePack and JSON, led by a [`Type`].

pub mod json;
pub mod msgpack;

use thiserror::Error;

use crate::path::{Path, Step};
use crate::proto::tfplugin6::DynamicValue;
use crate::types::Type;
use crate::value::Value;

/// How deep values may nest. Schemas stay far below it; only values of `dynamic` attributes, which
/// bring their own types, could go deeper.
pub const MAX_DEPTH: usize = 256;

/// Bytes that are no value of the type, or a value that the type does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct CodecError {
    /// Where in the value; empty at its root.
    pub path: Path,
    /// What is wrong there.
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

/// What is wrong with a value. No reason shows the value itself: it may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The input ends inside a value, or claims a length that it does not have.
    #[error("the input ends in the middle of a value")]
    Truncated,
    /// Bytes after the value.
    #[error("{0} bytes follow the end of the value")]
    Trailing(usize),
    /// More than [`MAX_DEPTH`] levels.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A value of another kind.
    #[error("expected {expected}, got {got}")]
    Mismatch {
        /// What the type asks for.
        expected: &'static str,
        /// What was found.
        got: &'static str,
    },
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUtf8,
    /// A number that Terraform has not: infinite, no number, or beyond all bounds.
    #[error("not a number of the Terraform language")]
    NotANumber,
    /// A sequence of another length than the tuple or wrapper has.
    #[error("expected {expected} elements, got {got}")]
    Length {
        /// Elements of the type.
        expected: usize,
        /// Elements found.
        got: usize,
    },
    /// An attribute that the type lacks.
    #[error("the type has no attribute {0:?}")]
    UnexpectedAttribute(String),
    /// An attribute that is not there.
    #[error("attribute {0:?} is missing")]
    MissingAttribute(String),
    /// The same key twice.
    #[error("the key {0:?} is there twice")]
    DuplicateKey(String),
    /// The type that a dynamic value brings along is none.
    #[error("a dynamic value has an invalid type")]
    InvalidType,
    /// Refinements of an unknown value that are malformed.
    #[error("the refinements of an unknown value are malformed")]
    InvalidRefinement,
    /// An unknown value where the encoding has none.
    #[error("an unknown value cannot be written as JSON")]
    UnknownInJson,
    /// No JSON.
    #[error("invalid JSON at line {line} column {column}")]
    InvalidJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A `DynamicValue` message without content.
    #[error("the message holds no value")]
    Absent,
}

impl From<Reason> for CodecError {
    fn from(reason: Reason) -> Self {
        CodecError { path: Path::root(), reason }
    }
}

impl CodecError {
    /// The same error, seen from one level further out.
    fn within(mut self, step: impl FnOnce() -> Step) -> CodecError {
        self.path.0.insert(0, step());
        self
    }
}

/// Reads a wire value, whichever of its encodings it has.
///
/// # Errors
/// When it is empty or no value of `ty`.
pub fn decode(value: &DynamicValue, ty: &Type) -> Result<Value, CodecError> {
    if !value.msgpack.is_empty() {
        msgpack::decode(&value.msgpack, ty)
    } else if !value.json.is_empty() {
        json::decode(&value.json, ty)
    } else {
        Err(Reason::Absent.into())
    }
}

/// Writes a wire value, in MessagePack.
///
/// # Errors
/// When `value` is not of type `ty`.
pub fn encode(value: &Value, ty: &Type) -> Result<DynamicValue, CodecError> {
    Ok(DynamicValue { msgpack: msgpack::encode(value, ty)?, json: Vec::new() })
}

/// The kind of `value`, for messages.
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

/// What `ty` asks for, for messages.
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
