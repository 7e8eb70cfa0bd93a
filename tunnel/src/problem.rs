//! What the user is told when something does not work: what, and what to do about it.

use std::fmt;

/// Shorthand for what commands return.
pub type Result<T> = std::result::Result<T, Problem>;

/// A failure as its reader needs it: what went wrong, then one hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    what: String,
    hint: Option<String>,
}

impl Problem {
    /// Says what went wrong. No trailing period, no secret.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// Adds what the reader can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What went wrong, without the hint.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What the reader can do, for structured logs.
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

/// Puts what was being done before the reason an operation failed.
pub trait Context<T> {
    /// `doing` is read as "doing: reason".
    fn while_doing(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn while_doing(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Problem::new(format!("{}: {error}", doing())))
    }
}
