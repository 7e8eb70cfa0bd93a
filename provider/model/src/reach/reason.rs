//! Why a destination is not reached.

use std::fmt;

use serde::Serialize;

/// The reason why a destination is not reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Reason {
    text: String,
    /// Whether the destination may be reached after all, because the plan does not show what decides it.
    unknown: bool,
    /// One thing to do about it.
    hint: Option<String>,
}

impl Reason {
    /// Something that decides it is known only after apply, or cannot be read.
    pub(super) fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), unknown: true, hint: None }
    }

    pub(super) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// The reason, with one thing to do about it.
    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same reason in other words.
    pub(super) fn reworded(&self, words: impl FnOnce(&str) -> String) -> Self {
        Self { text: words(&self.text), ..self.clone() }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text, unknown: false, hint: None }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.text
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
