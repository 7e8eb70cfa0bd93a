//! Packet filters: security groups of instances and endpoints, and firewall rules of Google networks.

use super::{Lists, Side};
use crate::topology::{Firewall, Key, Peer, Protocol, Rule, Topology};
use ipnet::IpNet;
use std::net::IpAddr;

/// Ranges that filters distinguish.
pub(super) fn ranges(all: &Topology) -> Vec<IpNet> {
    let groups = all.groups.values().flat_map(|group| group.ingress.iter().chain(&group.egress));
    let rules = groups.chain(all.firewalls.values().map(|firewall| &firewall.rule));
    let peers = rules.flat_map(|rule| &rule.peers);
    peers
        .filter_map(|peer| match peer {
            Peer::Range(net) => Some(*net),
            _ => None,
        })
        .collect()
}

/// The reason why a packet to this address, whose owner is in these groups, may not leave.
pub(super) fn leaves(
    lists: &Lists<'_>,
    from: &Side<'_>,
    (theirs, to): (&[Key], IpAddr),
    protocol: Protocol,
) -> Option<String> {
    if let Some(groups) = from.groups
        && !admits(lists, groups, to, theirs, protocol, false)
    {
        return Some(format!("the security groups of {} do not allow this outbound traffic", from.name));
    }
    google(lists, from, to, None, protocol, false)
}

/// The reason why a packet from this address may not enter. `from` is the side that the address belongs to, if known.
pub(super) fn enters(
    lists: &Lists<'_>,
    from: Option<&Side<'_>>,
    seen: IpAddr,
    to: &Side<'_>,
    protocol: Protocol,
) -> Option<String> {
    if let Some(groups) = to.groups {
        let members = from.and_then(|from| from.groups).unwrap_or_default();
        if !admits(lists, groups, seen, members, protocol, true) {
            return Some(format!("the security groups of {} do not allow this inbound traffic", to.name));
        }
    }
    google(lists, to, seen, from, protocol, true)
}

/// Whether one of the groups has a rule for the far end. A group that is not in the plan may have any rule.
fn admits(
    lists: &Lists<'_>,
    groups: &[Key],
    far: IpAddr,
    members: &[Key],
    protocol: Protocol,
    ingress: bool,
) -> bool {
    groups.iter().any(|key| {
        let Some(group) = lists.all.groups.get(key) else { return true };
        let rules = if ingress { &group.ingress } else { &group.egress };
        rules.iter().any(|rule| rule.covers(protocol) && names(rule, far, members))
    })
}

fn names(rule: &Rule, far: IpAddr, members: &[Key]) -> bool {
    rule.peers.iter().any(|peer| match peer {
        Peer::Range(net) => net.contains(&far),
        Peer::Group(key) => members.contains(key),
        // An unknown peer may be any address, so an assertion of `unreachable` must not rely on it.
        Peer::List(_) | Peer::Unknown => true,
    })
}

/// Google's firewall: the matching rule with the smallest priority number decides, and deny wins over allow. Without a
/// matching rule, inbound traffic is denied and outbound traffic is allowed. A subnet represents hosts with any tag. Tags
/// do not apply across peered networks.
fn google(
    lists: &Lists<'_>,
    own: &Side<'_>,
    far: IpAddr,
    sender: Option<&Side<'_>>,
    protocol: Protocol,
    ingress: bool,
) -> Option<String> {
    let network = own.subnet.network.as_deref()?;
    if !lists.all.networks.get(network)?.head.home.filters_by_network() {
        return None;
    }
    let sender = sender.filter(|sender| sender.subnet.network == own.subnet.network);
    // A host with unknown tags matches allow rules, but not deny rules.
    let tagged = |wanted: &[String], side: &Side<'_>, allow: bool| match side.tags {
        Some(tags) => tags.iter().any(|tag| wanted.contains(tag)),
        None => allow && !wanted.is_empty(),
    };
    let matching = |firewall: &&Firewall| {
        firewall.network.as_deref() == Some(network)
            && firewall.ingress == ingress
            && firewall.rule.covers(protocol)
            && (names(&firewall.rule, far, &[])
                || sender.is_some_and(|sender| tagged(&firewall.source_tags, sender, firewall.allow)))
            && (firewall.targets.is_empty() || tagged(&firewall.targets, own, firewall.allow))
    };
    let found = lists.all.firewalls.values().filter(matching).min_by_key(|it| (it.priority, it.allow));
    match found {
        Some(firewall) if firewall.allow => None,
        Some(firewall) => Some(format!("firewall rule {} denies this traffic", firewall.head.name)),
        None if ingress => {
            Some(format!("no firewall rule of {} allows this inbound traffic", lists.all.name(network)))
        }
        None => None,
    }
}
