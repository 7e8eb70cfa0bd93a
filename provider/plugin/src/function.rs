//! Provider functions (Terraform 1.8 or later).

use crate::types::Type;
use crate::value::Value;

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name, used in messages.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Whether null may be passed.
    pub allow_null: bool,
    /// Whether unknown values are passed to the function. Otherwise they make the result unknown.
    pub allow_unknown: bool,
    /// Description in Markdown.
    pub description: String,
}

impl Parameter {
    /// A parameter that accepts known, non-null values.
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

/// The name, parameters and result of a function.
///
/// ```
/// use tf_provider_rs::Type;
/// use tf_provider_rs::function::{Parameter, Signature};
///
/// let shout = Signature::new("shout", "Text in capital letters", Type::String)
///     .parameter(Parameter::new("text", Type::String, "What to shout."));
/// ```
#[derive(Clone, Debug)]
pub struct Signature {
    /// The name, as in `provider::warren::NAME`.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// Markdown.
    pub description: String,
    /// Positional parameters.
    pub parameters: Vec<Parameter>,
    /// A last parameter that accepts any number of arguments.
    pub variadic: Option<Parameter>,
    /// The type of the result.
    pub result: Type,
    /// Makes Terraform show a warning where the function is called: the reason, and what to use instead.
    pub deprecated: Option<String>,
}

impl Signature {
    /// A signature without parameters.
    pub fn new(name: &str, summary: &str, result: Type) -> Signature {
        Signature {
            name: name.to_owned(),
            summary: summary.to_owned(),
            description: String::new(),
            parameters: Vec::new(),
            variadic: None,
            result,
            deprecated: None,
        }
    }

    /// Adds a positional parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Signature {
        self.parameters.push(parameter);
        self
    }

    /// Accepts any number of further arguments.
    #[must_use]
    pub fn variadic(mut self, parameter: Parameter) -> Signature {
        self.variadic = Some(parameter);
        self
    }

    /// Sets the description in Markdown.
    #[must_use]
    pub fn describe(mut self, description: &str) -> Signature {
        self.description = description.to_owned();
        self
    }

    /// Marks it as deprecated; `message` is the reason, and what to use instead.
    #[must_use]
    pub fn deprecated(mut self, message: &str) -> Signature {
        self.deprecated = Some(message.to_owned());
        self
    }
}

/// The error of a failed call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct FunctionError {
    /// The message for the user.
    pub text: String,
    /// Position of the invalid argument, counted from 0.
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
    /// The signature of the function.
    fn signature(&self) -> Signature;

    /// Computes the result. `arguments` contains one value for each parameter, then one for each variadic argument,
    /// all of the declared types.
    ///
    /// # Errors
    /// The reason why there is no result.
    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError>;
}
