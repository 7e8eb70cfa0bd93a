//! Rules as the user groups them, and as AWS stores them: one grant for each source or destination.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use tf_provider_rs::{Attr, Diagnostics, Path};
use warren_managed::sets::{self, Set};

use super::model::{Direction, Protocol, Rule, SecurityGroup};
use crate::ids::{PrefixListId, SecurityGroupId};
use crate::memory::PlannedSecurityGroup;

/// The peer of a grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    Ipv4(Ipv4Net),
    Ipv6(Ipv6Net),
    PrefixList(PrefixListId),
    Group(SecurityGroupId),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Ipv4(range) => range.fmt(f),
            Peer::Ipv6(range) => range.fmt(f),
            Peer::PrefixList(list) => list.fmt(f),
            Peer::Group(group) => group.fmt(f),
        }
    }
}

/// A rule as AWS stores it. Its description is not part of its identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    pub(super) protocol: Protocol,
    /// First and last port, or type and code of ICMP; `None` for protocols without either.
    pub(super) ports: Option<(i32, i32)>,
    pub(super) peer: Peer,
}

/// Grants with their descriptions.
pub(super) type Grants = BTreeMap<Grant, Option<String>>;

impl<D: Direction> Rule<D> {
    fn ports(&self) -> Option<(i32, i32)> {
        Some((*self.from_port.known()?, *self.to_port.known()?))
    }

    /// The known peers of the rule, except for the group itself.
    fn peers(&self) -> impl Iterator<Item = Peer> {
        sets::known(&self.cidr_blocks)
            .into_iter()
            .map(Peer::Ipv4)
            .chain(sets::known(&self.ipv6_cidr_blocks).into_iter().map(Peer::Ipv6))
            .chain(sets::known(&self.prefix_list_ids).into_iter().map(Peer::PrefixList))
            .chain(sets::known(&self.security_group_ids).into_iter().map(Peer::Group))
    }

    fn grant(&self, peer: Peer) -> Option<Grant> {
        Some(Grant { protocol: *self.protocol.known()?, ports: self.ports(), peer })
    }

    /// The known grants of the rule in the group `group`.
    fn grants(&self, group: &SecurityGroupId) -> Vec<Grant> {
        let itself = self.same_group.is_true().then(|| Peer::Group(group.clone()));
        self.peers().chain(itself).filter_map(|peer| self.grant(peer)).collect()
    }

    fn has_unknown(&self) -> bool {
        use tf_provider_rs::model::ToValue;
        !self.to_value().is_wholly_known()
    }

    /// The same rule with only those peers that `keep` accepts.
    fn only(&self, group: &SecurityGroupId, keep: impl Fn(&Peer) -> bool) -> Rule<D> {
        Rule {
            cidr_blocks: sift(&self.cidr_blocks, &keep, Peer::Ipv4),
            ipv6_cidr_blocks: sift(&self.ipv6_cidr_blocks, &keep, Peer::Ipv6),
            prefix_list_ids: sift(&self.prefix_list_ids, &keep, Peer::PrefixList),
            security_group_ids: sift(&self.security_group_ids, &keep, Peer::Group),
            same_group: if self.same_group.is_true() {
                keep(&Peer::Group(group.clone())).into()
            } else {
                self.same_group
            },
            ..self.clone()
        }
    }

    /// A rule without peers.
    fn of(grant: &Grant, description: Option<&String>) -> Rule<D> {
        Rule {
            protocol: grant.protocol.into(),
            from_port: grant.ports.map(|(from, _)| from).into(),
            to_port: grant.ports.map(|(_, to)| to).into(),
            same_group: false.into(),
            description: description.cloned().into(),
            ..Rule::default()
        }
    }

    /// Adds `peer` to the rule.
    fn add(&mut self, peer: &Peer, group: &SecurityGroupId) {
        match peer.clone() {
            Peer::Group(other) if other == *group => self.same_group = true.into(),
            Peer::Ipv4(range) => insert(&mut self.cidr_blocks, range),
            Peer::Ipv6(range) => insert(&mut self.ipv6_cidr_blocks, range),
            Peer::PrefixList(list) => insert(&mut self.prefix_list_ids, list),
            Peer::Group(other) => insert(&mut self.security_group_ids, other),
        }
    }
}

/// The elements whose peers `keep` accepts.
fn sift<T: Ord + Clone>(set: &Set<T>, keep: &impl Fn(&Peer) -> bool, peer: fn(T) -> Peer) -> Set<T> {
    match set {
        Attr::Known(_) => sets::of(sets::known(set).into_iter().filter(|item| keep(&peer(item.clone())))),
        other => other.clone(),
    }
}

fn insert<T: Ord>(set: &mut Set<T>, item: T) {
    let mut items = std::mem::take(set).into_known().unwrap_or_default();
    items.insert(Attr::Known(item));
    *set = Attr::Known(items);
}

/// The grants of the rules in the group `group`.
pub(super) fn grants<'a, D: Direction>(
    rules: impl Iterator<Item = &'a Rule<D>>,
    group: &SecurityGroupId,
) -> Grants {
    rules
        .flat_map(|rule| {
            let description = rule.description.known().cloned();
            rule.grants(group).into_iter().map(move |grant| (grant, description.clone()))
        })
        .collect()
}

/// The grants in AWS, grouped as in `before`. A rule that lost some of its grants keeps the others. Grants
/// that belong to no rule, or have another description, are grouped by protocol, ports and description.
pub(super) fn grouped<'a, D: Direction>(
    mut found: Grants,
    before: impl Iterator<Item = &'a Rule<D>>,
    group: &SecurityGroupId,
) -> BTreeSet<Rule<D>> {
    let mut rules = BTreeSet::new();
    for rule in before {
        let description = rule.description.known().cloned();
        let mut held = rule.grants(group);
        held.retain(|grant| found.get(grant) == Some(&description));
        if !held.is_empty() {
            found.retain(|grant, _| !held.contains(grant));
            rules.insert(rule.only(group, |peer| held.iter().any(|grant| grant.peer == *peer)));
        }
    }
    let mut others: BTreeMap<_, Rule<D>> = BTreeMap::new();
    for (grant, description) in &found {
        let alike = (grant.protocol, grant.ports, description);
        let rule = others.entry(alike).or_insert_with(|| Rule::of(grant, description.as_ref()));
        rule.add(&grant.peer, group);
    }
    rules.extend(others.into_values());
    rules
}

/// The rules of the state, based on those `before`.
pub(super) fn state<D: Direction>(
    found: Grants,
    before: &Attr<BTreeSet<Rule<D>>>,
    group: &SecurityGroupId,
) -> Attr<BTreeSet<Rule<D>>> {
    let rules = grouped(found, before.known().into_iter().flatten(), group);
    if rules.is_empty() && !before.is_known() { Attr::Null } else { Attr::Known(rules) }
}

/// Ranges of the rules that are the internet or a large part of it.
pub(super) fn public<'a, D: Direction>(rules: impl Iterator<Item = &'a Rule<D>>) -> Vec<IpNet> {
    let mut nets: Vec<IpNet> = rules
        .flat_map(Rule::peers)
        .filter_map(|peer| net(&peer))
        .filter(|net| net.prefix_len() < if net.addr().is_ipv4() { 8 } else { 16 })
        .collect();
    nets.sort();
    nets.dedup();
    nets
}

fn net(peer: &Peer) -> Option<IpNet> {
    match peer {
        Peer::Ipv4(range) => Some(IpNet::V4(*range)),
        Peer::Ipv6(range) => Some(IpNet::V6(*range)),
        Peer::PrefixList(_) | Peer::Group(_) => None,
    }
}

/// The planned group as other plans see it.
pub(super) fn planned(group: &SecurityGroup) -> PlannedSecurityGroup {
    let rules: Vec<_> = group.ingress.known().into_iter().flatten().collect();
    let mut planned = PlannedSecurityGroup {
        known: !group.ingress.is_unknown() && !rules.iter().any(|rule| rule.has_unknown()),
        ..PlannedSecurityGroup::default()
    };
    for rule in rules {
        let open = match rule.protocol.known() {
            Some(Protocol::All) => true,
            Some(Protocol::Tcp) => rule.ports().is_some_and(|(from, to)| (from..=to).contains(&443)),
            _ => false,
        };
        if !open {
            continue;
        }
        for peer in rule.peers() {
            match net(&peer) {
                Some(net) => planned.https_from.push(net),
                None => planned.https_from_group = true,
            }
        }
        // An unknown group still admits somebody.
        planned.https_from_group |= rule.same_group.is_true()
            || sets::all_known(&rule.security_group_ids).is_none()
            || sets::all_known(&rule.prefix_list_ids).is_none();
    }
    planned
}

/// Checks that ports match the protocol, that every rule has a peer, and that no grant appears twice.
pub(super) fn check<'a, D: Direction>(
    rules: impl Iterator<Item = &'a Rule<D>>,
    path: &Path,
    diagnostics: &mut Diagnostics,
) {
    let mut seen = BTreeSet::new();
    for rule in rules {
        if let Some(why) = wrong_ports(rule) {
            diagnostics.error_at(path.clone(), "Invalid ports for the protocol", why);
        }
        // `None` is the group itself.
        let itself = rule.same_group.is_true().then_some(None);
        let peers: Vec<Option<Peer>> = rule.peers().map(Some).chain(itself).collect();
        if peers.is_empty() && !rule.has_unknown() {
            diagnostics.error_at(
                path.clone(),
                "Rule without a peer",
                "The rule applies to no address or group. Set at least one of `cidr_blocks`, \
                 `ipv6_cidr_blocks`, `prefix_list_ids`, `security_group_ids` and `same_group`.",
            );
        }
        // With an unknown port or protocol two grants may still differ.
        let Some(protocol) = rule.protocol.known() else { continue };
        if rule.from_port.is_unknown() || rule.to_port.is_unknown() {
            continue;
        }
        for peer in peers {
            let name = peer.as_ref().map_or("this group".to_owned(), ToString::to_string);
            if !seen.insert((*protocol, rule.ports(), peer)) {
                let ports = rule.ports().map(|(from, to)| format!(", ports {from} to {to},"));
                diagnostics.error_at(
                    path.clone(),
                    "Duplicate security group rule",
                    format!(
                        "Two rules allow protocol {protocol}{} for {name}. Keep it in one of them.",
                        ports.unwrap_or_default()
                    ),
                );
            }
        }
    }
}

fn wrong_ports<D: Direction>(rule: &Rule<D>) -> Option<String> {
    let protocol = rule.protocol.known()?;
    let (from, to) = (&rule.from_port, &rule.to_port);
    let set = from.is_known() || to.is_known();
    let absent = from.is_null() || to.is_null();
    let between = |port: &Attr<i32>, low, high| port.known().is_none_or(|port| (low..=high).contains(port));
    match protocol {
        Protocol::Tcp | Protocol::Udp => {
            let order = from.known().zip(to.known()).is_some_and(|(from, to)| from > to);
            (absent || order || !between(from, 0, 65535) || !between(to, 0, 65535)).then(|| {
                format!(
                    "`{protocol}` requires a port range. Set `from_port` and `to_port` to 0 to 65535, \
                     with `from_port` not above `to_port`."
                )
            })
        }
        Protocol::Icmp | Protocol::Icmpv6 => (absent || !between(from, -1, 255) || !between(to, -1, 255))
            .then(|| {
                format!(
                    "`{protocol}` requires a type and a code. Set `from_port` (type) and `to_port` (code) to \
                 0 to 255, or to -1 for all."
                )
            }),
        _ => set.then(|| format!("Protocol `{protocol}` has no ports. Remove `from_port` and `to_port`.")),
    }
}
