//! Network ACLs: filters at the border of a subnet that do not remember connections, so that replies need rules as well.

use super::walk::Gate;
use super::{Lists, Reason};
use crate::topology::{AclRule, NetworkAcl, Protocol, Topology};
use ipnet::IpNet;
use std::collections::BTreeSet;

/// Ports that clients open connections from: the range of Linux. A NAT gateway keeps or chooses ports in it.
const EPHEMERAL: (u16, u16) = (32768, 60999);

/// Ranges that ACLs distinguish.
pub(super) fn ranges(all: &Topology) -> impl Iterator<Item = IpNet> {
    all.acls.values().flat_map(|acl| acl.rules.iter().map(|rule| rule.range))
}

/// A protocol, and a port of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Packet {
    Tcp(u16),
    Udp(u16),
    Other,
}

impl Packet {
    fn matches(self, protocol: Protocol) -> bool {
        match (protocol, self) {
            (Protocol::Any, _) | (Protocol::Other, Packet::Other) => true,
            (Protocol::Tcp(low, high), Packet::Tcp(port)) | (Protocol::Udp(low, high), Packet::Udp(port)) => {
                (low..=high).contains(&port)
            }
            _ => false,
        }
    }

    fn reply(self, port: u16) -> Self {
        match self {
            Packet::Tcp(_) => Packet::Tcp(port),
            Packet::Udp(_) => Packet::Udp(port),
            Packet::Other => Packet::Other,
        }
    }
}

/// The reason why ACLs stop every packet of `protocol`, or its replies to the usual ports of clients.
pub(super) fn blocks(
    lists: &Lists<'_>,
    there: &[Gate<'_>],
    back: &[Gate<'_>],
    protocol: Protocol,
) -> Option<Reason> {
    let acl = |gate: &Gate<'_>| lists.acl(gate.subnet);
    let acls: Vec<&NetworkAcl> = there.iter().chain(back).filter_map(acl).collect();
    if acls.is_empty() {
        return None;
    }
    if let Some(open) = acls.iter().find(|it| !it.complete) {
        return Some(Reason::unknown(format!(
            "a rule of network ACL {} is known only after apply",
            open.head.name
        )));
    }
    let mut first = None;
    for packet in packets(protocol, &acls) {
        let stopped = there
            .iter()
            .find(|gate| acl(gate).is_some_and(|acl| !admits(acl, gate, packet)))
            .map(|gate| text(acl(gate), gate, "this traffic"));
        let stopped = stopped.or_else(|| {
            let gate = back.iter().find(|gate| {
                acl(gate).is_some_and(|acl| {
                    ports(EPHEMERAL, acls.iter().copied(), |port| Packet::reply(packet, port))
                        .into_iter()
                        .any(|reply| !admits(acl, gate, reply))
                })
            })?;
            let (low, high) = EPHEMERAL;
            Some(text(acl(gate), gate, &format!("replies to the ports {low}-{high}")))
        });
        match stopped {
            None => return None,
            Some(why) => first = first.or(Some(why)),
        }
    }
    first.map(Reason::from)
}

fn text(acl: Option<&NetworkAcl>, gate: &Gate<'_>, what: &str) -> String {
    let name = acl.map(|acl| acl.head.name.as_str()).unwrap_or_default();
    let (verb, word) = if gate.inbound { ("enter", "from") } else { ("leave", "to") };
    format!(
        "network ACL {name} does not let {what} {word} {} {verb} subnet {}",
        gate.peer, gate.subnet.head.name
    )
}

/// The rule with the smallest number that matches decides; without one, the traffic is denied.
fn admits(acl: &NetworkAcl, gate: &Gate<'_>, packet: Packet) -> bool {
    let matching = |rule: &&AclRule| {
        rule.ingress == gate.inbound && packet.matches(rule.protocol) && rule.range.contains(&gate.peer)
    };
    acl.rules.iter().filter(matching).min_by_key(|rule| rule.number).is_some_and(|rule| rule.allow)
}

/// One packet of each class that the ACLs treat alike.
fn packets(protocol: Protocol, acls: &[&NetworkAcl]) -> BTreeSet<Packet> {
    let all = || acls.iter().copied();
    match protocol {
        Protocol::Tcp(low, high) => ports((low, high), all(), Packet::Tcp),
        Protocol::Udp(low, high) => ports((low, high), all(), Packet::Udp),
        Protocol::Other => BTreeSet::from([Packet::Other]),
        Protocol::Any => {
            let mut found = ports((0, u16::MAX), all(), Packet::Tcp);
            found.extend(ports((0, u16::MAX), all(), Packet::Udp));
            found.insert(Packet::Other);
            found
        }
    }
}

fn ports<'n>(
    (low, high): (u16, u16),
    acls: impl Iterator<Item = &'n NetworkAcl>,
    packet: impl Fn(u16) -> Packet,
) -> BTreeSet<Packet> {
    let mut found = BTreeSet::from([packet(low)]);
    for rule in acls.flat_map(|acl| &acl.rules) {
        if let Protocol::Tcp(from, to) | Protocol::Udp(from, to) = rule.protocol {
            let starts = [Some(from), to.checked_add(1)];
            found.extend(starts.into_iter().flatten().filter(|it| (low..=high).contains(it)).map(&packet));
        }
    }
    found
}
