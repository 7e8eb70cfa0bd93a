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
}

impl Reason {
    /// Something that decides it is known only after apply, or cannot be read.
    pub(super) fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), unknown: true }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// The same reason in other words.
    pub(super) fn reworded(&self, words: impl FnOnce(&str) -> String) -> Self {
        Self { text: words(&self.text), unknown: self.unknown }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text, unknown: false }
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
