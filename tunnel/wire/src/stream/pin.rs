//! What a client knows its gateway by.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4): who has the key may renew the certificate.
///
/// Its text is `sha256//` and base64, as curl's `--pinnedpubkey` takes it; `sha256//` may be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

/// Not a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a pin: sha256// and 44 characters of base64, as the gateway logs it when it starts")]
pub struct PinError;

impl Pin {
    /// The pin with this hash.
    #[must_use]
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let text = text.trim();
        let text = text.strip_prefix("sha256//").unwrap_or(text);
        let bytes = STANDARD.decode(text).map_err(|_| PinError)?;
        bytes.try_into().map(Self).map_err(|_| PinError)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256//{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
