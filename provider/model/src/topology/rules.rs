//! Packet filters: security groups and firewalls.

use super::{Head, Key};
use ipnet::IpNet;
use serde::Serialize;

/// Protocol and ports of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Everything.
    Any,
    /// TCP, these ports.
    Tcp(u16, u16),
    /// UDP, these ports.
    Udp(u16, u16),
    /// Another protocol: ICMP, ESP.
    Other,
}

/// The far end of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// Addresses.
    Range(IpNet),
    /// Members of a group.
    Group(Key),
    /// Addresses of a prefix list.
    List(String),
    /// Known only after apply.
    Unknown,
}

/// One rule, which allows traffic of its peers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Rule {
    /// Protocols and ports; several where one rule of Google names several.
    pub protocols: Vec<Protocol>,
    /// Far ends.
    pub peers: Vec<Peer>,
}

impl Rule {
    /// Whether the rule covers packets of this protocol and port.
    pub fn covers(&self, wanted: Protocol) -> bool {
        self.protocols.iter().any(|protocol| match (*protocol, wanted) {
            (Protocol::Any, _) => true,
            (Protocol::Tcp(low, high), Protocol::Tcp(from, to))
            | (Protocol::Udp(low, high), Protocol::Udp(from, to)) => low <= to && from <= high,
            // A query for any protocol matches every rule.
            (_, Protocol::Any) => true,
            (Protocol::Other, Protocol::Other) => true,
            _ => false,
        })
    }
}

/// A security group. It drops all traffic that no rule allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecurityGroup {
    /// Common properties.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// Rules for inbound traffic.
    pub ingress: Vec<Rule>,
    /// Rules for outbound traffic.
    pub egress: Vec<Rule>,
}

/// A firewall rule of a Google network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Firewall {
    /// Common properties.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// Whether it applies to inbound traffic.
    pub ingress: bool,
    /// Whether it allows or denies the traffic.
    pub allow: bool,
    /// The priority. The smallest number wins.
    pub priority: u32,
    /// Protocols and peers.
    pub rule: Rule,
    /// Tags or service accounts of the hosts that it applies to. Empty means every host.
    pub targets: Vec<String>,
    /// Senders with one of these tags or service accounts.
    pub source_tags: Vec<String>,
}

/// A network ACL: the filter of a subnet, which does not remember connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkAcl {
    /// Common properties.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// Whether it applies to subnets without an ACL of their own.
    pub default: bool,
    /// Its subnets.
    pub subnets: Vec<Key>,
    /// Its rules. Traffic that no rule matches is denied.
    pub rules: Vec<AclRule>,
    /// Whether every rule is known.
    pub complete: bool,
}

/// A rule of a network ACL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AclRule {
    /// Its number. The smallest number that matches decides.
    pub number: u32,
    /// Whether it applies to traffic into the subnet.
    pub ingress: bool,
    /// Whether it allows or denies the traffic.
    pub allow: bool,
    /// Protocol and ports.
    pub protocol: Protocol,
    /// The far end.
    pub range: IpNet,
}
