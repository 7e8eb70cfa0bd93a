//! Traffic between pods: sets of the members of groups, and the chains that rules about groups are in. Without such rules there
//! are none.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ipnet::IpNet;
use warren_wire::Name;
use warren_wire::gateway::Group;

use super::group::{RELATED, has_rates, traffic};
use super::{Place, Table, WAYS, is_of, keyword, set};

/// What a packet gets for an address that no pod has now, or no longer.
const ABSENT: &str = "  chain absent {
    counter name \"failed\"
    FOLLOWING reject with tcp reset
    reject with icmpx host-unreachable
  }
";

/// The chains of both directions. Rules in the direction of the first packet are those of its sender's group.
const CHAINS: &str = "  chain between-pods {
    ct state invalid drop
SEGMENTS
    ct direction reply goto back-to-pods
    ip saddr vmap @peer4
    ip6 saddr vmap @peer6
    goto refused
  }
  chain back-to-pods {
    ip daddr vmap @back4
    ip6 daddr vmap @back6
    goto denied
  }
";

/// The set of all pods, and of those of a group.
fn all(family: u8) -> String {
    format!("pods{family}")
}

fn of(group: &Name, family: u8) -> String {
    format!("pods{family}-{group}")
}

/// Segments that follow the first one of a connection: those of a connection that the kernel knows, or of any.
const ESTABLISHED: &str = "ct state established,related meta l4proto 6";
const NOT_FIRST: &str = "tcp flags & (fin|syn|rst|ack) != syn";

/// Segments of connections that this gateway has not seen begin end these.
const NEW_SEGMENT: &str = "    ct state new tcp flags & (fin|syn|rst|ack) != syn reject with tcp reset";

/// With direct rules, they may belong to a connection that pods began directly, and either end may be heard first. The kernel then
/// takes the first sender for the one that began it, so the rules are read in both directions.
const ANY_SEGMENT: &str = "    tcp flags & (fin|syn|rst|ack) != syn goto continued";
const CONTINUED: &str = "  chain continued {
    ip saddr vmap @peer4
    ip6 saddr vmap @peer6
    ip daddr vmap @back4
    ip6 daddr vmap @back6
    reject with tcp reset
  }
";

impl Table<'_> {
    /// The groups that rules are about.
    fn targets(&self) -> BTreeSet<&Name> {
        self.groups.values().flat_map(|group| &group.allow).flat_map(|rule| &rule.to_groups).collect()
    }

    pub(super) fn has_peer_rules(&self) -> bool {
        !self.targets().is_empty()
    }

    /// The ways that the table has maps for.
    pub(super) fn ways(&self) -> &'static [&'static str] {
        if self.has_peer_rules() { &WAYS } else { &WAYS[..3] }
    }

    /// The sets of members of a family.
    pub(super) fn sets(&self, family: u8) -> Vec<String> {
        let targets = self.targets();
        let every = (!targets.is_empty()).then(|| all(family));
        every.into_iter().chain(targets.into_iter().map(|group| of(group, family))).collect()
    }

    /// Whether a member is in a set. One that is being sent away is in that of all pods: its peers wait for it.
    pub(super) fn in_set(&self, set: &str, family: u8, place: &Place) -> bool {
        self.has(place)
            && (set == all(family) || matches!(place, Place::Group(group) if set == of(group, family)))
    }

    /// Writes the chains of the groups, and what leads to them.
    pub(super) fn between_pods(&self, out: &mut String) {
        if !self.has_peer_rules() {
            return;
        }
        let direct = self.groups.values().any(Group::has_direct_rules);
        *out += &ABSENT.replace("FOLLOWING", if direct { NOT_FIRST } else { ESTABLISHED });
        for (group, settings) in self.groups {
            for (way, direction, side, port, echo) in
                [("peer", "out", "daddr", "dport", "request"), ("back", "in", "saddr", "sport", "reply")]
            {
                let pass = format!("goto pass-{direction}-{group}");
                // A group receives what the sender sends.
                let other = if direction == "out" { "in" } else { "out" };
                _ = writeln!(out, "  chain {way}-{group} {{\n    {RELATED} {pass}");
                for rule in settings.allow.iter().filter(|rule| !rule.to_groups.is_empty()) {
                    for (family, ip) in [(4, "ip"), (6, "ip6")] {
                        for what in traffic(rule, family, port, echo) {
                            for target in &rule.to_groups {
                                let matches = format!("{ip} {side} @{} {what}", of(target, family));
                                if self.groups.get(target).is_some_and(has_rates) {
                                    _ = writeln!(out, "    {matches} jump limit-{other}-{target}");
                                }
                                _ = writeln!(out, "    {matches} {pass}");
                            }
                            if way == "peer" {
                                _ = writeln!(out, "    {ip} daddr != @{} {what} goto absent", all(family));
                            }
                        }
                    }
                }
                *out += "  }\n";
            }
        }
        if direct {
            *out += CONTINUED;
            *out += &CHAINS.replace("SEGMENTS", ANY_SEGMENT);
        } else {
            *out += &CHAINS.replace("SEGMENTS", NEW_SEGMENT);
        }
    }

    /// Writes what sends packets from pods to pods there.
    pub(super) fn to_between_pods(&self, out: &mut String) {
        let tunnel = self.interface;
        for both in self.both() {
            _ = writeln!(out, "    iifname \"{tunnel}\" oifname \"{tunnel}\" {both} goto between-pods");
        }
    }

    /// Writes what keeps their source addresses.
    pub(super) fn keep_source(&self, out: &mut String) {
        for both in self.both() {
            _ = writeln!(out, "    oifname \"{}\" {both} accept", self.interface);
        }
    }

    /// Matches packets from the pool to the pool, for each family.
    fn both(&self) -> Vec<String> {
        if !self.has_peer_rules() {
            return Vec::new();
        }
        let of = |family: u8| {
            let nets: Vec<IpNet> = self.pool.iter().filter(|net| is_of(net, family)).copied().collect();
            let ip = keyword(nets.first()?);
            Some(format!("{ip} saddr {0} {ip} daddr {0}", set(&nets)))
        };
        [4, 6].into_iter().filter_map(of).collect()
    }
}
