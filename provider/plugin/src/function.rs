//! Provider functions (Terraform >= 1.8).

use crate::types::Type;
use crate::value::Value;

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, for messages.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Null may be passed.
    pub allow_null: bool,
    /// Unknown values are passed rather than making the result unknown.
    pub allow_unknown: bool,
    /// Markdown.
    pub description: String,
}

impl Parameter {
    /// A parameter that takes known, non-null values.
    pub fn new(name: &str, ty: Type, description: &str) -> Parameter {
        Parameter {
            name: name.to_owned(),
            ty,
            allow_null: false,
            allow_unknown: false,
            description: description.to_owned(),
        }
    }
}

/// What a function is called, takes and gives.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name, as in `provider::warren::NAME`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Markdown.
    pub description: String,
    /// Positional parameters.
    pub parameters: Vec<Parameter>,
    /// A last parameter that takes any number of arguments.
    pub variadic: Option<Parameter>,
    /// The type of the result.
    pub result: Type,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct FunctionError {
    /// Told to the user.
    pub text: String,
    /// Position of the argument at fault, counted from 0.
    pub argument: Option<i64>,
}

impl FunctionError {
    /// An error about the argument at `position`.
    pub fn argument(position: i64, text: impl Into<String>) -> FunctionError {
        FunctionError { text: text.into(), argument: Some(position) }
    }
}

/// A pure function.
pub trait Function: Send + Sync + 'static {
    /// What it is called, takes and gives.
    fn signature(&self) -> Signature;

    /// Computes the result. `arguments` has one value for each parameter, then one for each
    /// variadic argument, all of the declared types.
    ///
    /// # Errors
    /// Why it cannot.
    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError>;
}
