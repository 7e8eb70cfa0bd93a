//! Tests of the rules: flows that they must allow or deny.
//!
//! ```toml
//! [[tests]]
//! from = "gpu"
//! to = "10.0.0.5:443"
//! allow = true
//! ```

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::Deserialize;

use super::Protocol;
use crate::Name;

/// A flow, and whether the rules allow it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RuleTestTable")]
pub struct RuleTest {
    /// The group that opens the flow.
    pub from: Name,
    /// Where the flow goes.
    pub to: FlowTarget,
    /// Its port; 0 for ICMP.
    pub port: u16,
    /// Its protocol; TCP if omitted.
    pub protocol: Protocol,
    /// Whether the rules must allow it, or deny it.
    pub allow: bool,
}

/// The far end of a flow. In TOML: `"10.0.0.5:443"` or `"group:trainers:29500"`, for ICMP without the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowTarget {
    /// A host behind the gateway.
    Host(IpAddr),
    /// A peer of a group.
    Peer(Name),
}

/// A test as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTestTable {
    from: Name,
    to: String,
    #[serde(default)]
    protocol: Option<Protocol>,
    allow: bool,
}

/// The error for a text that is not the far end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum RuleTestError {
    #[error(
        "not an address with a port, or a group with a port; write \"10.0.0.5:443\", \"[fd00::5]:443\" or \"group:trainers:29500\""
    )]
    Target,
    #[error(
        "ICMP has no ports; write the address or the group alone, like \"10.0.0.5\" or \"group:trainers\""
    )]
    Port,
}

impl TryFrom<RuleTestTable> for RuleTest {
    type Error = RuleTestError;

    fn try_from(table: RuleTestTable) -> Result<Self, RuleTestError> {
        let RuleTestTable { from, to, protocol, allow } = table;
        let protocol = protocol.unwrap_or(Protocol::Tcp);
        let (to, port) = target(&to).ok_or(RuleTestError::Target)?;
        let port = match (protocol, port) {
            (Protocol::Icmp, None) => 0,
            (Protocol::Icmp, Some(_)) => return Err(RuleTestError::Port),
            (_, Some(port)) if port > 0 => port,
            _ => return Err(RuleTestError::Target),
        };
        Ok(Self { from, to, port, protocol, allow })
    }
}

fn target(text: &str) -> Option<(FlowTarget, Option<u16>)> {
    if let Some(rest) = text.strip_prefix("group:") {
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (rest, None),
        };
        return Some((FlowTarget::Peer(name.parse().ok()?), port));
    }
    if let Ok(at) = text.parse::<SocketAddr>() {
        return Some((FlowTarget::Host(at.ip()), Some(at.port())));
    }
    Some((FlowTarget::Host(text.parse().ok()?), None))
}

impl fmt::Display for RuleTest {
    /// The flow, as in a sentence: `gpu to 10.0.0.5:443 by tcp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = (self.protocol != Protocol::Icmp).then_some(self.port);
        write!(f, "{} to ", self.from)?;
        match (&self.to, port) {
            (FlowTarget::Host(address), Some(port)) => write!(f, "{}", SocketAddr::new(*address, port)),
            (FlowTarget::Host(address), None) => write!(f, "{address}"),
            (FlowTarget::Peer(group), Some(port)) => write!(f, "group:{group}:{port}"),
            (FlowTarget::Peer(group), None) => write!(f, "group:{group}"),
        }?;
        write!(f, " by {}", self.protocol.name())
    }
}
