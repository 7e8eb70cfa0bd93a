//! The gateways that a token admits to.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::config::Endpoint;
use crate::key::PublicKey;
use crate::name::Name;
use crate::text::serde_as_text;

/// The most gateways of a set.
pub const GATEWAYS_MAX: usize = 16;
/// The most pins of a gateway: the present certificate key and the ones to come.
pub const PINS_MAX: usize = 4;

/// SHA-256 of a certificate's SubjectPublicKeyInfo in DER: survives renewal of the certificate. In texts:
/// base64url without padding, 43 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin([u8; 32]);

serde_as_text!(Pin);

/// A text that is not a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a certificate pin; write SHA-256 of the SubjectPublicKeyInfo as 43 characters of base64url")]
pub struct PinError;

/// One gateway as a pod finds, recognises and reaches it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Its name in the fabric.
    pub name: Name,
    /// Its WireGuard public key.
    pub key: PublicKey,
    /// Where it takes WireGuard over UDP, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Endpoint>,
    /// Where it takes TLS: enrolment, and WireGuard where UDP does not pass.
    pub tls: Endpoint,
    /// The keys its certificate may have.
    pub pins: Pins,
}

/// 1 to [`PINS_MAX`] pins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Pin>", into = "Vec<Pin>")]
pub struct Pins(Vec<Pin>);

/// 1 to [`GATEWAYS_MAX`] gateways, no name and no key twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Gateway>", into = "Vec<Gateway>")]
pub struct GatewaySet(Vec<Gateway>);

/// Why a list is not a set of gateways, or of pins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// None or too many.
    #[error("{0} gateways; a set has 1 to {GATEWAYS_MAX}")]
    Gateways(usize),
    /// One name or key is there twice.
    #[error("gateway {0} is there twice; names and keys are different for each")]
    Twice(Name),
    /// None or too many.
    #[error("{0} pins; a gateway has 1 to {PINS_MAX}")]
    Pins(usize),
}

impl Pin {
    /// Takes a SHA-256 digest.
    #[must_use]
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Pins {
    /// The pins, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Pin] {
        &self.0
    }
}

impl GatewaySet {
    /// The gateways, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Gateway] {
        &self.0
    }
}

impl TryFrom<Vec<Pin>> for Pins {
    type Error = SetError;

    fn try_from(pins: Vec<Pin>) -> Result<Self, SetError> {
        if (1..=PINS_MAX).contains(&pins.len()) { Ok(Self(pins)) } else { Err(SetError::Pins(pins.len())) }
    }
}

impl From<Pins> for Vec<Pin> {
    fn from(pins: Pins) -> Self {
        pins.0
    }
}

impl TryFrom<Vec<Gateway>> for GatewaySet {
    type Error = SetError;

    fn try_from(gateways: Vec<Gateway>) -> Result<Self, SetError> {
        if !(1..=GATEWAYS_MAX).contains(&gateways.len()) {
            return Err(SetError::Gateways(gateways.len()));
        }
        for (index, gateway) in gateways.iter().enumerate() {
            if gateways[..index].iter().any(|other| other.name == gateway.name || other.key == gateway.key) {
                return Err(SetError::Twice(gateway.name.clone()));
            }
        }
        Ok(Self(gateways))
    }
}

impl From<GatewaySet> for Vec<Gateway> {
    fn from(set: GatewaySet) -> Self {
        set.0
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let mut buffer = [0; 34];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut buffer) {
            Ok(32) => buffer[..32].try_into().map(Self).map_err(|_| PinError),
            _ => Err(PinError),
        }
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
