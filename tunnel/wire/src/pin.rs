//! Pins, which identify a gateway's certificate.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::text::serde_as_text;

/// The maximum number of pins of a gateway: the current certificate key and future ones.
pub const PINS_MAX: usize = 4;

/// SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4): who has the key may renew the certificate.
///
/// Its text is `sha256//` and base64, as curl's `--pinnedpubkey` takes it; `sha256//` may be left out, and base64url is read
/// too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin([u8; 32]);

serde_as_text!(Pin);

/// The error for a text that is not a pin, or not a list of pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// The text is no pin.
    #[error("not a pin; write sha256// and 44 characters of base64, as the gateway logs it when it starts")]
    Text,
    /// None or too many.
    #[error("{0} pins; a gateway has 1 to {PINS_MAX}")]
    Count(usize),
}

/// 1 to [`PINS_MAX`] pins, one of which the certificate must match. In text they are separated by commas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Pin>", into = "Vec<Pin>")]
pub struct Pins(Vec<Pin>);

impl Pin {
    /// The pin with this hash.
    #[must_use]
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl Pins {
    /// The pins, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Pin] {
        &self.0
    }
}

impl From<Pin> for Pins {
    fn from(pin: Pin) -> Self {
        Self(vec![pin])
    }
}

impl TryFrom<Vec<Pin>> for Pins {
    type Error = PinError;

    fn try_from(pins: Vec<Pin>) -> Result<Self, PinError> {
        if (1..=PINS_MAX).contains(&pins.len()) { Ok(Self(pins)) } else { Err(PinError::Count(pins.len())) }
    }
}

impl From<Pins> for Vec<Pin> {
    fn from(pins: Pins) -> Self {
        pins.0
    }
}

impl FromStr for Pins {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        text.split(',').map(str::parse).collect::<Result<Vec<Pin>, _>>()?.try_into()
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let text = text.trim();
        let text = text.strip_prefix("sha256//").unwrap_or(text);
        let read = |engine: &GeneralPurpose| engine.decode(text).ok()?.try_into().ok();
        read(&STANDARD).or_else(|| read(&URL_SAFE_NO_PAD)).map(Self).ok_or(PinError::Text)
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

impl fmt::Display for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pin) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            fmt::Display::fmt(pin, f)?;
        }
        Ok(())
    }
}
