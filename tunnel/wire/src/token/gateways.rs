//! The gateways that a token names.

use serde::{Deserialize, Serialize};

use crate::config::Endpoint;
use crate::key::PublicKey;
use crate::name::Name;
use crate::pin::Pins;

/// The maximum number of gateways of a set.
pub const GATEWAYS_MAX: usize = 16;

/// A gateway: its identity and its endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Its name in the fabric.
    pub name: Name,
    /// Its WireGuard public key.
    pub key: PublicKey,
    /// Its WireGuard endpoint over UDP, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Endpoint>,
    /// Its TLS endpoint: for enrolment, and for WireGuard where UDP is blocked.
    pub tls: Endpoint,
    /// The pins of its certificate.
    pub pins: Pins,
}

/// 1 to [`GATEWAYS_MAX`] gateways, no name and no key twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Gateway>", into = "Vec<Gateway>")]
pub struct GatewaySet(Vec<Gateway>);

/// The reason why a list is not a valid set of gateways or pins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// None or too many.
    #[error("{0} gateways; list 1 to {GATEWAYS_MAX}")]
    Gateways(usize),
    /// One name or key is there twice.
    #[error("gateway {0} is listed twice; give each gateway its own name and key")]
    Twice(Name),
}

impl GatewaySet {
    /// The gateways, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Gateway] {
        &self.0
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
