//! Access policy: allow lists of groups with default deny, rate limits, and audit records.
//!
//! A packet from the tunnel passes if its source is an address of the peer and a rule of the peer's group allows the
//! destination. The rules of a group are compiled to one table per protocol. In it, the longest prefix that contains a
//! destination has all ports that any rule allows there, so a check is one look-up regardless of the number of rules.

mod audit;
mod matcher;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use warren_wire::Name;
use warren_wire::gateway::{Allow, Group, Protocol};

use matcher::Matcher;

pub use audit::{Audit, AuditRecord, FlowKey};
pub use warren_budget::RateLimit;

/// The compiled allow lists of all groups, shared by all forwarders; a reload creates a new one.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    groups: Vec<Matchers>,
    names: BTreeMap<Name, GroupId>,
}

/// The rules of one group.
#[derive(Debug, Clone, Default)]
struct Matchers {
    all: Matcher,
    /// The rules that name single addresses.
    hosts: Matcher,
}

/// Names a group in one [`Policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(u32);

/// What a packet wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Where it says it comes from.
    pub source: IpAddr,
    /// Where it goes.
    pub destination: IpAddr,
    /// How.
    pub protocol: Protocol,
    /// To which port; 0 for ICMP.
    pub port: u16,
}

/// Why a packet is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Denial {
    /// Its source is not an address of the peer.
    #[error("the source address is not the peer's own")]
    Source,
    /// The peer's group is not in the policy, or has been taken out.
    #[error("the peer's group has no rules")]
    Group,
    /// No rule allows the destination.
    #[error("no rule of the group allows the destination, protocol and port")]
    Destination,
    /// It goes to an address of the pool that no peer has now.
    #[error("no peer has the destination address")]
    Absent,
}

impl Denial {
    /// A stable name, for metrics and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Group => "group",
            Self::Destination => "destination",
            Self::Absent => "absent",
        }
    }
}

impl Policy {
    /// Compiles the groups of a configuration.
    #[must_use]
    pub fn compile<'a>(groups: impl IntoIterator<Item = (&'a Name, &'a Group)>) -> Self {
        let mut policy = Self::default();
        for (name, group) in groups {
            let id = GroupId(u32::try_from(policy.groups.len()).unwrap_or(u32::MAX));
            let hosts: Vec<Allow> = group.allow.iter().map(Allow::of_hosts).collect();
            policy
                .groups
                .push(Matchers { all: Matcher::compile(&group.allow), hosts: Matcher::compile(&hosts) });
            policy.names.insert(name.clone(), id);
        }
        policy
    }

    /// A group by its name; `None` if there is none, and then its peers reach nothing.
    #[must_use]
    pub fn group(&self, name: &Name) -> Option<GroupId> {
        self.names.get(name).copied()
    }

    /// Whether a peer's packet may pass: `own` are the peer's addresses.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, group: Option<GroupId>, own: &[IpAddr], flow: &Flow) -> Result<(), Denial> {
        if !own.contains(&flow.source) {
            return Err(Denial::Source);
        }
        let matchers = group.and_then(|id| self.groups.get(id.0 as usize)).ok_or(Denial::Group)?;
        if matchers.all.allows(flow.destination, flow.protocol, flow.port) {
            Ok(())
        } else {
            Err(Denial::Destination)
        }
    }

    /// Whether a peer's packet to a peer of the group `to` may pass. `own` are the sender's addresses.
    ///
    /// # Errors
    /// Why not.
    pub fn check_peer(
        &self,
        group: Option<GroupId>,
        own: &[IpAddr],
        to: &Name,
        flow: &Flow,
    ) -> Result<(), Denial> {
        if !own.contains(&flow.source) {
            return Err(Denial::Source);
        }
        let matchers = group.and_then(|id| self.groups.get(id.0 as usize)).ok_or(Denial::Group)?;
        let allowed = matchers.all.allows_peers(to, flow.protocol, flow.port);
        if allowed { Ok(()) } else { Err(Denial::Destination) }
    }

    /// Whether a rule of `group` is about another one, or about itself.
    #[must_use]
    pub fn is_about(&self, group: Option<GroupId>, to: &Name) -> bool {
        group.and_then(|id| self.groups.get(id.0 as usize)).is_some_and(|of| of.all.is_about(to))
    }

    /// Whether a rule allows such a flow to peers of some group.
    #[must_use]
    pub fn reaches_peers(&self, group: Option<GroupId>, flow: &Flow) -> bool {
        let matchers = group.and_then(|id| self.groups.get(id.0 as usize));
        matchers.is_some_and(|of| of.all.allows_some_peers(flow.protocol, flow.port))
    }

    /// Whether a rule names the destination as a single address, and allows the flow to it.
    #[must_use]
    pub fn names(&self, group: Option<GroupId>, flow: &Flow) -> bool {
        let matchers = group.and_then(|id| self.groups.get(id.0 as usize));
        matchers.is_some_and(|of| of.hosts.allows(flow.destination, flow.protocol, flow.port))
    }
}
