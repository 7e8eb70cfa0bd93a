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

/// One rule; it lets its peers through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Rule {
    /// Protocols and ports; several where one rule of Google names several.
    pub protocols: Vec<Protocol>,
    /// Far ends.
    pub peers: Vec<Peer>,
}

impl Rule {
    /// Whether the rule is about packets of this protocol and port.
    pub fn covers(&self, wanted: Protocol) -> bool {
        self.protocols.iter().any(|protocol| match (*protocol, wanted) {
            (Protocol::Any, _) => true,
            (Protocol::Tcp(low, high), Protocol::Tcp(from, to))
            | (Protocol::Udp(low, high), Protocol::Udp(from, to)) => low <= to && from <= high,
            // Someone who asks for anything is answered by any rule.
            (_, Protocol::Any) => true,
            (Protocol::Other, Protocol::Other) => true,
            _ => false,
        })
    }
}

/// A security group: what it does not name is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecurityGroup {
    /// What every object has.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// What may come in.
    pub ingress: Vec<Rule>,
    /// What may go out.
    pub egress: Vec<Rule>,
}

/// A firewall rule of a Google network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Firewall {
    /// What every object has.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// Whether it is about packets that come in.
    pub ingress: bool,
    /// Whether it lets through what it names, or drops it.
    pub allow: bool,
    /// The smaller number wins.
    pub priority: u32,
    /// What it names.
    pub rule: Rule,
    /// Hosts with one of these tags; empty is every host.
    pub targets: Vec<String>,
    /// Senders with one of these tags.
    pub source_tags: Vec<String>,
}
