//! Errors with a position, a cause and a hint.

/// A mistake in a file, with its position. It never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}\n  hint: {hint}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

/// An error whose place is added by the caller.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) what: String,
    pub(super) hint: String,
}

impl Problem {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    pub(super) fn at(self, line: usize, column: usize) -> ParseError {
        ParseError { line, column, what: self.what, hint: self.hint }
    }
}

/// Characters from which on a text of base64 or hexadecimal alphabet may be a key or most of one.
const MAYBE_KEY: usize = 20;
const LONGEST: usize = 60;

/// A value in quotes for a message, unless it may be a key that stands in the wrong place.
pub(crate) fn show(value: &str) -> String {
    let key_like = |part: &str| {
        part.len() >= MAYBE_KEY
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
    };
    let parts = value.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/' | '='));
    if value.chars().count() > LONGEST || parts.into_iter().any(key_like) {
        return "the value".to_owned();
    }
    format!("`{}`", value.escape_debug())
}
