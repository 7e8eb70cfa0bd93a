//! Who may use a proxy.

use std::{
    fmt::{self, Write as _},
    fs, io,
    path::Path,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// A user and a password, each 1 to 255 bytes (RFC 1929 section 2). Debug shows neither.
#[derive(Clone)]
pub struct Credentials {
    user: Zeroizing<String>,
    password: Zeroizing<String>,
}

/// Why a text holds no credentials; never repeats the text.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// Not of that form.
    #[error("expected one line `user:password`, each 1 to 255 bytes without control characters")]
    Form,
}

impl Credentials {
    /// Reads `user:password`, as it stands in a file or an environment variable. A line end after it is not part of it.
    ///
    /// # Errors
    /// When it has another form. The user has no colon (RFC 7617 section 2).
    pub fn parse(text: &str) -> Result<Self, CredentialsError> {
        let line = text.strip_suffix('\n').unwrap_or(text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (user, password) = line.split_once(':').ok_or(CredentialsError::Form)?;
        let right = |part: &str| (1..=255).contains(&part.len()) && !part.chars().any(char::is_control);
        if !right(user) || !right(password) {
            return Err(CredentialsError::Form);
        }
        Ok(Self { user: Zeroizing::new(user.into()), password: Zeroizing::new(password.into()) })
    }

    /// Reads them from a file.
    ///
    /// # Errors
    /// When it cannot be read, or as [`Self::parse`].
    pub fn read(path: &Path) -> Result<Self, CredentialsError> {
        Self::parse(&Zeroizing::new(fs::read_to_string(path)?))
    }

    /// Both as the user information of a URL (RFC 3986 section 3.2.1), for a client of ours.
    pub fn userinfo(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(3 * (self.user.len() + self.password.len()) + 1));
        for (part, end) in [(&self.user, ":"), (&self.password, "")] {
            for byte in part.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    text.push(byte.into());
                } else {
                    _ = write!(text, "%{byte:02X}");
                }
            }
            text.push_str(end);
        }
        text
    }

    /// Whether these are they. The time it takes tells nothing but the lengths of what was offered.
    pub fn accept(&self, user: &[u8], password: &[u8]) -> bool {
        let same = self.user.as_bytes().ct_eq(user) & self.password.as_bytes().ct_eq(password);
        same.into()
    }

    /// Whether the value of a Proxy-Authorization field is right (RFC 7617 section 2).
    pub fn accept_basic(&self, value: &[u8]) -> bool {
        let Some((scheme, token)) = value.split_at_checked(6) else { return false };
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return false;
        }
        let Ok(plain) = BASE64_STANDARD.decode(token.trim_ascii()).map(Zeroizing::new) else { return false };
        match plain.iter().position(|byte| *byte == b':') {
            Some(colon) => self.accept(&plain[..colon], &plain[colon + 1..]),
            None => false,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_and_compared() {
        let right = Credentials::parse("ada:p:w\n").unwrap();
        assert!(right.accept(b"ada", b"p:w"));
        for (user, password) in [("ada", "p:"), ("ad", "p:w"), ("", ""), ("ada", "p:wx"), ("ADA", "p:w")] {
            assert!(!right.accept(user.as_bytes(), password.as_bytes()));
        }
        assert!(right.accept_basic(b"Basic YWRhOnA6dw=="));
        assert!(right.accept_basic(b"basic  YWRhOnA6dw== "));
        for wrong in [
            &b""[..],
            b"Basic",
            b"Basic ",
            b"Basic YWRhOnA6dw",
            b"Bearer YWRhOnA6dw==",
            b"Basic YWRh",
            b"Basic \xff",
        ] {
            assert!(!right.accept_basic(wrong));
        }
        assert_eq!(format!("{right:?}"), "Credentials(..)");
    }

    #[test]
    fn wrong_forms_are_refused_without_repeating_them() {
        let long = format!("u:{}", "p".repeat(256));
        for text in ["", "ada", ":p", "u:", "u:p\nmore", "u:p\n\n", &long] {
            let error = Credentials::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("expected one line"));
        }
    }
}
