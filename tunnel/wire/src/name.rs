//! Names of fabrics, groups and gateways.

use std::fmt;
use std::str::FromStr;

use crate::text::serde_as_text;

/// The longest name, as of a DNS label.
const LONGEST: usize = 63;

/// 1 to 63 characters of `a-z`, `0-9`, `-`, `_`, `.`; the first is a letter or digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<str>);

serde_as_text!(Name);

/// The error for a text that is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a name; write 1 to 63 of a-z, 0-9, `-`, `_` and `.`, a letter or digit first")]
pub struct NameError;

impl Name {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.".contains(&c);
        let good = (1..=LONGEST).contains(&text.len())
            && text.bytes().all(allowed)
            && text.as_bytes()[0].is_ascii_alphanumeric();
        good.then(|| Self(text.into())).ok_or(NameError)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
