//! Direct paths between pods: which rules permit them, and what a gateway offers to pods, through the tunnel.
//!
//! A pod requests [`DIRECT_PATH`] at [`DIRECT_PORT`] of the gateway, with a proof of its key. The query has `to=ADDRESS` for each
//! peer that it sends to, and `local=ADDRESS:PORT` for its own place in its network. The answer is [`Offers`].

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::{GatewayConfig, Group, PortRange, Protocol};
use crate::enrolment::DirectService;
use crate::name::Name;
use crate::{PublicKey, gateway::Allow};

/// The port at the gateway's own addresses.
pub const DIRECT_PORT: u16 = 9581;
/// The path of requests.
pub const DIRECT_PATH: &str = "/v1/direct";
/// How long an offer holds. A pod requests it again three times within that.
pub const DIRECT_SECONDS: u32 = 15;

/// The answer to a request: all peers that the pod may reach directly now. Others end at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Seconds until they end, from the request on.
    pub seconds: u32,
    /// The peers.
    pub peers: Vec<Offer>,
}

/// A peer that a pod may reach directly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Its name, as `HOST.GROUP`.
    pub name: String,
    /// Its key.
    pub public_key: PublicKey,
    /// Its addresses inside the tunnel.
    pub addresses: Vec<IpAddr>,
    /// Where it may be reached by UDP, the most likely place first.
    pub endpoints: Vec<SocketAddr>,
    /// Flows that the pod may begin.
    pub opens: Vec<Opening>,
    /// Flows that the peer may begin.
    pub accepts: Vec<Opening>,
}

/// A range of ports of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Opening {
    /// The protocol.
    pub protocol: Protocol,
    /// The first port; 0 for ICMP.
    pub first: u16,
    /// The last port.
    pub last: u16,
}

impl Opening {
    /// Whether a flow is in it. The port of ICMP is 0.
    #[must_use]
    pub fn permits(&self, protocol: Protocol, port: u16) -> bool {
        self.protocol == protocol && (self.first..=self.last).contains(&port)
    }
}

impl Group {
    /// Whether a rule is direct.
    #[must_use]
    pub fn has_direct_rules(&self) -> bool {
        self.allow.iter().any(|rule| rule.direct)
    }
}

impl GatewayConfig {
    /// The flows that direct rules let pods of a group begin with pods of another one, or of the same.
    #[must_use]
    pub fn openings(&self, from: &Name, to: &Name) -> Vec<Opening> {
        let rules = self.groups.get(from).map_or(&[][..], |group| &group.allow);
        let of = rules.iter().filter(|rule| rule.direct && rule.to_groups.contains(to));
        let mut all: Vec<Opening> = of.flat_map(of_rule).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a rule of any group is direct.
    #[must_use]
    pub fn has_direct_rules(&self) -> bool {
        self.groups.values().any(Group::has_direct_rules)
    }

    /// What pods of a group learn about direct paths; `None` if no direct rule is about it.
    #[must_use]
    pub fn direct_service(&self, group: &Name) -> Option<DirectService> {
        let about = |(from, of): (&Name, &Group)| {
            of.allow.iter().any(|rule| rule.direct && (from == group || rule.to_groups.contains(group)))
        };
        // A direct rule is about groups, so the gateway has these addresses.
        let at = self.dns_addresses().into_iter();
        self.groups.iter().any(about).then(|| DirectService {
            servers: at.map(|address| SocketAddr::new(address, DIRECT_PORT)).collect(),
            peers: self.pool.prefixes.clone(),
        })
    }
}

fn of_rule(rule: &Allow) -> Vec<Opening> {
    let protocols = rule.protocols.as_deref().unwrap_or(&Protocol::ALL);
    let ports = rule.ports.as_deref().unwrap_or(&[PortRange::ALL]);
    let of = |protocol: &Protocol| match protocol {
        Protocol::Icmp => vec![Opening { protocol: Protocol::Icmp, first: 0, last: 0 }],
        _ => ports
            .iter()
            .map(|range| Opening { protocol: *protocol, first: range.first(), last: range.last() })
            .collect(),
    };
    protocols.iter().flat_map(of).collect()
}
