//! Packet filters: security groups of instances and endpoints, firewalls of Google networks.

use super::{Lists, Side};
use crate::topology::{Firewall, Home, Key, Peer, Protocol, Rule, Topology};
use ipnet::IpNet;
use std::net::IpAddr;

/// Ranges that filters tell apart.
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

/// Why a packet is not let out, to an address and the groups that it is a member of.
pub(super) fn leaves(
    lists: &Lists<'_>,
    from: &Side<'_>,
    (theirs, to): (&[Key], IpAddr),
    protocol: Protocol,
) -> Option<String> {
    if let Some(groups) = from.groups
        && !admits(lists, groups, to, theirs, protocol, false)
    {
        return Some(format!("no security group of {} lets it out", from.name));
    }
    google(lists, from, to, None, protocol, false)
}

/// Why a packet from an address is not let in. `from` is whom the address belongs to, if that is not a stranger.
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
            return Some(format!("no security group of {} lets it in", to.name));
        }
    }
    google(lists, to, seen, from, protocol, true)
}

/// Whether one of the groups has a rule for the far end. A group that the plan does not hold may have any rule.
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
        // What is not known may be anything: an assertion that forbids must not pass by it.
        Peer::List(_) | Peer::Unknown => true,
    })
}

/// Google's firewall: the rule of the smallest number decides, a denial before a permission; without one nothing
/// comes in and everything goes out. A subnet stands for hosts of any tag; tags mean nothing in a peered network.
fn google(
    lists: &Lists<'_>,
    own: &Side<'_>,
    far: IpAddr,
    sender: Option<&Side<'_>>,
    protocol: Protocol,
    ingress: bool,
) -> Option<String> {
    let network = own.subnet.network.as_deref()?;
    if lists.all.networks.get(network)?.head.home != Home::Google {
        return None;
    }
    let sender = sender.filter(|sender| sender.subnet.network == own.subnet.network);
    // A host that may have the tag counts where that lets it through, not where that stops it.
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
        Some(firewall) => Some(format!("firewall {} denies it", firewall.head.name)),
        None if ingress => Some(format!("no firewall of {} lets it in", lists.all.name(network))),
        None => None,
    }
}
