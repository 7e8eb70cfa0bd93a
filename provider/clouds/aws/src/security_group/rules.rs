//! Rules as the user groups them, and as AWS stores them: one grant for each source or destination.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tf_provider_rs::{Attr, Diagnostics, Path};
use warren_cidr::parse_cidr;

use super::schema::{Rule, SecurityGroup};
use crate::memory::PlannedSecurityGroup;

/// The peer of a grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    Ipv4(String),
    Ipv6(String),
    PrefixList(String),
    Group(String),
}

/// A rule as AWS stores it. Its description is not part of its identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    /// `tcp`, `udp`, `icmp`, `icmpv6`, a number, or `-1` for all.
    pub(super) protocol: String,
    /// First and last port, or type and code of ICMP; `None` for protocols without either.
    pub(super) ports: Option<(i64, i64)>,
    pub(super) peer: Peer,
}

/// Grants with their descriptions.
pub(super) type Grants = BTreeMap<Grant, Option<String>>;

impl Rule {
    fn ports(&self) -> Option<(i64, i64)> {
        Some((*self.from_port.known()?, *self.to_port.known()?))
    }

    /// The known grants of the rule, in the group `own`.
    fn grants(&self, own: &str) -> Vec<Grant> {
        let Some(protocol) = self.protocol.known() else { return Vec::new() };
        let known = |set: &Attr<BTreeSet<Attr<String>>>| -> Vec<String> {
            set.known().into_iter().flatten().filter_map(|item| item.known().cloned()).collect()
        };
        let own = self.same_group.is_true().then(|| Peer::Group(own.to_owned()));
        known(&self.cidr_blocks)
            .into_iter()
            .map(Peer::Ipv4)
            .chain(known(&self.ipv6_cidr_blocks).into_iter().map(Peer::Ipv6))
            .chain(known(&self.prefix_list_ids).into_iter().map(Peer::PrefixList))
            .chain(known(&self.security_group_ids).into_iter().map(Peer::Group))
            .chain(own)
            .map(|peer| Grant { protocol: protocol.clone(), ports: self.ports(), peer })
            .collect()
    }

    fn has_unknown(&self) -> bool {
        use tf_provider_rs::model::ToValue;
        !self.to_value().is_wholly_known()
    }

    /// The same rule with only those peers that `keep` accepts.
    fn only(&self, own: &str, keep: impl Fn(&Peer) -> bool) -> Rule {
        let sift = |set: &Attr<BTreeSet<Attr<String>>>, peer: fn(String) -> Peer| match set {
            Attr::Known(items) => Attr::Known(
                items.iter().filter(|item| keep(&peer(item.text().to_owned()))).cloned().collect(),
            ),
            other => other.clone(),
        };
        Rule {
            cidr_blocks: sift(&self.cidr_blocks, Peer::Ipv4),
            ipv6_cidr_blocks: sift(&self.ipv6_cidr_blocks, Peer::Ipv6),
            prefix_list_ids: sift(&self.prefix_list_ids, Peer::PrefixList),
            security_group_ids: sift(&self.security_group_ids, Peer::Group),
            same_group: if self.same_group.is_true() {
                keep(&Peer::Group(own.to_owned())).into()
            } else {
                self.same_group
            },
            ..self.clone()
        }
    }

    /// A rule without peers.
    fn of(grant: &Grant, description: Option<&String>) -> Rule {
        Rule {
            protocol: grant.protocol.clone().into(),
            from_port: grant.ports.map(|(from, _)| from).into(),
            to_port: grant.ports.map(|(_, to)| to).into(),
            same_group: false.into(),
            description: description.cloned().into(),
            ..Rule::default()
        }
    }

    /// Adds `peer` to the rule.
    fn add(&mut self, peer: &Peer, own: &str) {
        let (set, text) = match peer {
            Peer::Group(group) if group == own => {
                self.same_group = true.into();
                return;
            }
            Peer::Ipv4(range) => (&mut self.cidr_blocks, range),
            Peer::Ipv6(range) => (&mut self.ipv6_cidr_blocks, range),
            Peer::PrefixList(list) => (&mut self.prefix_list_ids, list),
            Peer::Group(group) => (&mut self.security_group_ids, group),
        };
        let mut items = std::mem::take(set).into_known().unwrap_or_default();
        items.insert(Attr::Known(text.clone()));
        *set = Attr::Known(items);
    }
}

/// The grants of the rules in the group `own`.
pub(super) fn grants<'a>(rules: impl Iterator<Item = &'a Rule>, own: &str) -> Grants {
    rules
        .flat_map(|rule| {
            let description = rule.description.known().cloned();
            rule.grants(own).into_iter().map(move |grant| (grant, description.clone()))
        })
        .collect()
}

/// The grants in AWS, grouped as in `before`. A rule that lost some of its grants keeps the others. Grants
/// that belong to no rule, or have another description, are grouped by protocol, ports and description.
pub(super) fn grouped(mut found: Grants, before: &[Rule], own: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    for rule in before {
        let description = rule.description.known().cloned();
        let held: BTreeSet<Peer> = rule
            .grants(own)
            .into_iter()
            .filter(|grant| found.get(grant) == Some(&description))
            .map(|grant| grant.peer)
            .collect();
        if !held.is_empty() {
            let (protocol, ports) = (rule.protocol.text(), rule.ports());
            found.retain(|grant, _| {
                grant.protocol != protocol || grant.ports != ports || !held.contains(&grant.peer)
            });
            rules.push(rule.only(own, |peer| held.contains(peer)));
        }
    }
    let mut others: BTreeMap<_, Rule> = BTreeMap::new();
    for (grant, description) in &found {
        let alike = (&grant.protocol, grant.ports, description);
        let rule = others.entry(alike).or_insert_with(|| Rule::of(grant, description.as_ref()));
        rule.add(&grant.peer, own);
    }
    rules.extend(others.into_values());
    rules
}

/// Ranges of the rules that are the internet or a large part of it.
pub(super) fn public<'a>(rules: impl Iterator<Item = &'a Rule>) -> Vec<IpNet> {
    let mut nets: Vec<IpNet> = rules
        .flat_map(|rule| [&rule.cidr_blocks, &rule.ipv6_cidr_blocks])
        .flat_map(|set| set.known().into_iter().flatten())
        .filter_map(|range| parse_cidr(range.known()?).ok())
        .filter(|net| net.prefix_len() < if net.addr().is_ipv4() { 8 } else { 16 })
        .collect();
    nets.sort();
    nets.dedup();
    nets
}

/// The planned group as other plans see it.
pub(super) fn planned(group: &SecurityGroup) -> PlannedSecurityGroup {
    let rules: Vec<&Rule> = group.ingress.known().into_iter().flatten().collect();
    let mut planned = PlannedSecurityGroup {
        vpc_id: group.vpc_id.clone(),
        known: !group.ingress.is_unknown() && !rules.iter().any(|rule| rule.has_unknown()),
        ..PlannedSecurityGroup::default()
    };
    for rule in rules {
        let open = match rule.protocol.text() {
            "-1" => true,
            "tcp" => rule.ports().is_some_and(|(from, to)| (from..=to).contains(&443)),
            _ => false,
        };
        if !open {
            continue;
        }
        for grant in rule.grants("") {
            match grant.peer {
                Peer::Ipv4(range) | Peer::Ipv6(range) => planned.https_from.extend(parse_cidr(&range).ok()),
                Peer::PrefixList(_) | Peer::Group(_) => planned.https_from_group = true,
            }
        }
        let unknown_groups = |set: &Attr<BTreeSet<Attr<String>>>| {
            set.is_unknown() || set.known().into_iter().flatten().any(Attr::is_unknown)
        };
        // An unknown group still admits somebody.
        planned.https_from_group |=
            unknown_groups(&rule.security_group_ids) || unknown_groups(&rule.prefix_list_ids);
    }
    planned
}

/// Checks that ports match the protocol, that every rule has a peer, and that no grant appears twice.
pub(super) fn check<'a>(rules: impl Iterator<Item = &'a Rule>, path: &Path, diagnostics: &mut Diagnostics) {
    let mut seen = BTreeSet::new();
    for rule in rules {
        if let Some(why) = wrong_ports(rule) {
            diagnostics.error_at(path.clone(), "Invalid ports for the protocol", why);
        }
        let grants = rule.grants("this group");
        if grants.is_empty() && !rule.has_unknown() {
            diagnostics.error_at(
                path.clone(),
                "Rule without a peer",
                "The rule applies to no address or group. Set at least one of `cidr_blocks`, \
                 `ipv6_cidr_blocks`, `prefix_list_ids`, `security_group_ids` and `same_group`.",
            );
        }
        // With an unknown port two grants may still differ.
        if rule.from_port.is_unknown() || rule.to_port.is_unknown() {
            continue;
        }
        for grant in grants {
            let (Peer::Ipv4(peer) | Peer::Ipv6(peer) | Peer::PrefixList(peer) | Peer::Group(peer)) =
                &grant.peer;
            let told = format!(
                "Two rules allow protocol {}{} for {peer}. Keep it in one of them.",
                grant.protocol,
                grant.ports.map(|(from, to)| format!(", ports {from} to {to},")).unwrap_or_default()
            );
            if !seen.insert(grant) {
                diagnostics.error_at(path.clone(), "Duplicate security group rule", told);
            }
        }
    }
}

fn wrong_ports(rule: &Rule) -> Option<String> {
    let protocol = rule.protocol.known()?;
    let (from, to) = (&rule.from_port, &rule.to_port);
    let set = from.is_known() || to.is_known();
    let absent = from.is_null() || to.is_null();
    let between = |port: &Attr<i64>, low, high| port.known().is_none_or(|port| (low..=high).contains(port));
    match protocol.as_str() {
        "tcp" | "udp" => {
            let order = from.known().zip(to.known()).is_some_and(|(from, to)| from > to);
            (absent || order || !between(from, 0, 65535) || !between(to, 0, 65535)).then(|| {
                format!(
                    "`{protocol}` requires a port range. Set `from_port` and `to_port` to 0 to 65535, \
                     with `from_port` not above `to_port`."
                )
            })
        }
        "icmp" | "icmpv6" => (absent || !between(from, -1, 255) || !between(to, -1, 255)).then(|| {
            format!(
                "`{protocol}` requires a type and a code. Set `from_port` (type) and `to_port` (code) to \
                 0 to 255, or to -1 for all."
            )
        }),
        _ => set.then(|| format!("Protocol `{protocol}` has no ports. Remove `from_port` and `to_port`.")),
    }
}
