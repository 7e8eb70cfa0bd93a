//! What must hold of a network: assertions about who reaches whom.

use crate::Site;
use crate::topology::Protocol;

/// What an assertion expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No place of the one side reaches any of the other.
    Unreachable,
    /// Every place of the one side reaches every one of the other.
    Reachable,
    /// Every place of the one side reaches the service, and through an endpoint, not over the internet.
    Endpoint,
}

/// Which places an assertion speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Any host on the internet.
    Internet,
    /// A service: `s3`.
    Service(String),
    /// Subnets of networks of this name; `*` stands for any text.
    Network(String),
    /// Subnets of this name.
    Subnet(String),
    /// Instances of this name.
    Host(String),
    /// Peers of groups of this name; `FABRIC/GROUP` where there are several overlays.
    Group(String),
    /// Networks or subnets of this name.
    Any(String),
}

/// One assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// What people call it.
    pub name: String,
    /// Where it was written.
    pub site: Site,
    /// Who opens connections.
    pub from: Vec<Selector>,
    /// To whom.
    pub to: Vec<Selector>,
    /// What is expected.
    pub expect: Expect,
    /// Which packets.
    pub protocol: Protocol,
    /// Whether a selector may match nothing.
    pub allow_empty: bool,
}

/// Whether a name is meant by a pattern, in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
