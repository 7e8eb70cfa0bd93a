//! Packet filters: security groups of instances and endpoints, firewalls of Google networks.

use super::{Lists, Place};
use crate::topology::{Endpoint, Firewall, Home, Key, Peer, Protocol, Rule, Subnet, Topology};
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

/// Why a packet is not let out or not let in. `a` is the sender's address, `seen` that which the receiver sees.
pub(super) fn blocks(
    lists: &Lists<'_>,
    from: &Place,
    a: IpAddr,
    seen: IpAddr,
    to: &Place,
    b: IpAddr,
    protocol: Protocol,
) -> Option<String> {
    let none: &[Key] = &[];
    let theirs = groups(lists, to);
    let ours = groups(lists, from);
    if let Some(why) = leaves_to(lists, from, b, theirs.unwrap_or(none), protocol) {
        return Some(why);
    }
    if let Some(groups) = theirs {
        // Behind NAT nobody is a member of anything.
        let ours = if a == seen { ours.unwrap_or(none) } else { none };
        if !admits(lists, groups, seen, ours, protocol, true) {
            return Some(format!("no security group of {} lets it in", name(lists, to)));
        }
    }
    let network = network(lists, to)?;
    google(lists, network, seen, &tags(lists, from), &tags(lists, to), protocol, true)
}

/// Why a packet to the internet is not let out.
pub(super) fn leaves(lists: &Lists<'_>, from: &Place, b: IpAddr, protocol: Protocol) -> Option<String> {
    leaves_to(lists, from, b, &[], protocol)
}

fn leaves_to(
    lists: &Lists<'_>,
    from: &Place,
    b: IpAddr,
    theirs: &[Key],
    protocol: Protocol,
) -> Option<String> {
    if let Some(groups) = groups(lists, from)
        && !admits(lists, groups, b, theirs, protocol, false)
    {
        return Some(format!("no security group of {} lets it out", name(lists, from)));
    }
    let network = network(lists, from)?;
    google(lists, network, b, &[], &tags(lists, from), protocol, false)
}

/// Why an endpoint does not let a sender in.
pub(super) fn endpoint(
    lists: &Lists<'_>,
    endpoint: &Endpoint,
    from: &Place,
    source: &Subnet,
) -> Option<String> {
    let wanted = endpoint.groups.as_ref()?;
    let ours = groups(lists, from).unwrap_or(&[]);
    let https = Protocol::Tcp(443, 443);
    let any =
        lists.samples(source).into_iter().any(|address| admits(lists, wanted, address, ours, https, true));
    (!any).then(|| {
        format!(
            "no security group of endpoint {} lets {} in on TCP 443",
            endpoint.head.name, source.head.name
        )
    })
}

fn name(lists: &Lists<'_>, place: &Place) -> String {
    match place {
        Place::Host(key) | Place::Subnet(key) => lists.all.name(key).to_owned(),
        Place::Internet => "the internet".to_owned(),
        Place::Service(service) => service.clone(),
    }
}

/// The groups of an instance; `None` where nobody knows, and then nothing is filtered.
fn groups<'a>(lists: &Lists<'a>, place: &Place) -> Option<&'a [Key]> {
    match place {
        Place::Host(key) => lists.all.hosts.get(key)?.groups.as_deref(),
        _ => None,
    }
}

fn tags(lists: &Lists<'_>, place: &Place) -> Vec<String> {
    match place {
        Place::Host(key) => lists.all.hosts.get(key).map(|host| host.tags.clone()).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn network<'a>(lists: &Lists<'a>, place: &Place) -> Option<&'a str> {
    let subnet = match place {
        Place::Subnet(key) => lists.all.subnets.get(key),
        Place::Host(key) => lists.all.subnets.get(lists.all.hosts.get(key)?.subnet.as_ref()?),
        _ => None,
    }?;
    subnet.network.as_deref()
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
/// comes in and everything goes out. A subnet stands for hosts of any tag.
fn google(
    lists: &Lists<'_>,
    network: &str,
    far: IpAddr,
    senders: &[String],
    own: &[String],
    protocol: Protocol,
    ingress: bool,
) -> Option<String> {
    if lists.all.networks.get(network)?.head.home != Home::Google {
        return None;
    }
    let any_host = own.is_empty();
    let matching = |firewall: &&Firewall| {
        let source = names(&firewall.rule, far, &[])
            || firewall.source_tags.iter().any(|tag| senders.contains(tag))
            || (!firewall.source_tags.is_empty() && senders.is_empty() && firewall.allow);
        let target = firewall.targets.is_empty()
            || firewall.targets.iter().any(|tag| own.contains(tag))
            || (any_host && firewall.allow);
        firewall.network.as_deref() == Some(network)
            && firewall.ingress == ingress
            && firewall.rule.covers(protocol)
            && source
            && target
    };
    let found = lists.all.firewalls.values().filter(matching).min_by_key(|it| (it.priority, it.allow));
    match found {
        Some(firewall) if firewall.allow => None,
        Some(firewall) => Some(format!("firewall {} denies it", firewall.head.name)),
        None if ingress => Some(format!("no firewall of {} lets it in", lists.all.name(network))),
        None => None,
    }
}
