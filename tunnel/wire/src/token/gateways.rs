//! The gateways that a token admits to.

use serde::{Deserialize, Serialize};

use crate::config::Endpoint;
use crate::key::PublicKey;
use crate::name::Name;
use crate::pin::Pins;

/// The most gateways of a set.
pub const GATEWAYS_MAX: usize = 16;

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

/// 1 to [`GATEWAYS_MAX`] gateways, no name and no key twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Gateway>", into = "Vec<Gateway>")]
pub struct GatewaySet(Vec<Gateway>);

/// Why a list is not a set of gateways, or of pins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// None or too many.
    #[error("{0} gateways; a token names 1 to {GATEWAYS_MAX}")]
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
