//! Errors for users: what failed, and what to do about it.

use std::fmt;

/// The result of a command.
pub type Result<T> = std::result::Result<T, Problem>;

/// An error message with one hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    what: String,
    hint: Option<String>,
}

impl Problem {
    /// Creates an error. The text has no final period and no secrets.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// Adds the one thing that the user should do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The message without the hint.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The hint, for structured logs.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// Adds context to the error of an operation.
pub trait Context<T> {
    /// Formats the error as "doing: reason".
    fn while_doing(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn while_doing(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Problem::new(format!("{}: {error}", doing())))
    }
}
