//! One group's rules as tables.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use prefix_trie::joint::JointPrefixMap;
use warren_wire::Name;
use warren_wire::gateway::{Allow, PortRange, Protocol};

/// One table for each protocol.
#[derive(Debug, Clone, Default)]
pub(super) struct Matcher {
    tables: [Table; Protocol::ALL.len()],
    /// The ports at the peers of each group.
    groups: [BTreeMap<Name, Ports>; Protocol::ALL.len()],
}

/// From prefixes to sets of ports. The set of a prefix has the ports of all shorter prefixes around it, so that the
/// longest one answers for all.
#[derive(Debug, Clone, Default)]
struct Table {
    prefixes: JointPrefixMap<IpNet, u32>,
    sets: Vec<Ports>,
}

/// Ports as ranges that neither overlap nor touch, in ascending order, first to last.
type Ports = Vec<(u16, u16)>;

impl Matcher {
    pub(super) fn compile(rules: &[Allow]) -> Self {
        let mut matcher = Self::default();
        for protocol in Protocol::ALL {
            let mut own: BTreeMap<IpNet, Ports> = BTreeMap::new();
            let mut groups: BTreeMap<Name, Ports> = BTreeMap::new();
            let of_protocol = rules
                .iter()
                .filter(|rule| rule.protocols.as_ref().is_none_or(|protocols| protocols.contains(&protocol)));
            for rule in of_protocol {
                let all = [PortRange::ALL];
                let ports = rule.ports.as_deref().filter(|_| protocol != Protocol::Icmp).unwrap_or(&all);
                let ports = || ports.iter().map(|range| (range.first(), range.last()));
                for net in &rule.to {
                    own.entry(net.trunc()).or_default().extend(ports());
                }
                for group in &rule.to_groups {
                    groups.entry(group.clone()).or_default().extend(ports());
                }
            }
            matcher.tables[protocol as usize] = Table::build(own);
            matcher.groups[protocol as usize] =
                groups.into_iter().map(|(group, ports)| (group, merged(ports))).collect();
        }
        matcher
    }

    pub(super) fn allows(&self, destination: IpAddr, protocol: Protocol, port: u16) -> bool {
        let table = &self.tables[protocol as usize];
        table.lookup(destination.into()).is_some_and(|ports| has(ports, port))
    }

    pub(super) fn is_about(&self, group: &Name) -> bool {
        self.groups.iter().any(|groups| groups.contains_key(group))
    }

    pub(super) fn allows_some_peers(&self, protocol: Protocol, port: u16) -> bool {
        self.groups[protocol as usize].values().any(|ports| has(ports, port))
    }

    pub(super) fn allows_peers(&self, group: &Name, protocol: Protocol, port: u16) -> bool {
        self.groups[protocol as usize].get(group).is_some_and(|ports| has(ports, port))
    }
}

impl Table {
    fn build(own: BTreeMap<IpNet, Ports>) -> Self {
        let mut table = Self::default();
        let mut known: BTreeMap<Ports, u32> = BTreeMap::new();
        let mut nets: Vec<(IpNet, Ports)> = own.into_iter().collect();
        // The shorter ones first: what is found for a longer one is the set of the nearest around it.
        nets.sort_by_key(|(net, _)| net.prefix_len());
        for (net, mut ports) in nets {
            if let Some(around) = table.lookup(net) {
                ports.extend_from_slice(around);
            }
            let ports = merged(ports);
            let next = u32::try_from(table.sets.len()).unwrap_or(u32::MAX);
            let set = *known.entry(ports).or_insert_with_key(|ports| {
                table.sets.push(ports.clone());
                next
            });
            table.prefixes.insert(net, set);
        }
        table
    }

    /// The ports of the longest prefix that contains `net`.
    fn lookup(&self, net: IpNet) -> Option<&Ports> {
        let (_, set) = self.prefixes.get_lpm(&net)?;
        self.sets.get(*set as usize)
    }
}

fn has(ports: &Ports, port: u16) -> bool {
    let after = ports.partition_point(|(first, _)| *first <= port);
    after.checked_sub(1).and_then(|index| ports.get(index)).is_some_and(|(_, last)| *last >= port)
}

fn merged(mut ports: Ports) -> Ports {
    ports.sort_unstable();
    let mut out: Ports = Vec::with_capacity(ports.len());
    for (first, last) in ports {
        match out.last_mut() {
            Some((_, end)) if u32::from(first) <= u32::from(*end) + 1 => *end = last.max(*end),
            _ => out.push((first, last)),
        }
    }
    out
}
