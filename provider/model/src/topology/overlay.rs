//! The overlay: peers that connect to gateways, and the destinations that gateways permit for each group of peers.

use super::{Change, Head, Host, Key, Protocol, Topology};
use ipnet::IpNet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The configuration of a gateway: the peers it accepts, and what they may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GatewayConfig {
    /// Common properties.
    pub head: Head,
    /// The fabric whose overlay it serves. Empty if unknown.
    pub fabric: String,
    /// Why the rest is unknown. `None` if it is known.
    pub unread: Option<Unread>,
    /// Ranges that peers get their addresses from.
    pub prefixes: Vec<IpNet>,
    /// The ranges before the run, if different.
    pub was: Vec<IpNet>,
    /// Groups of peers, by name.
    pub groups: Vec<PeerGroup>,
    /// Its name in the fabric. Empty if unknown.
    pub name: String,
    /// Links to the gateways of other networks.
    pub sites: Vec<SitePeer>,
    /// The gateway's own addresses in the overlay, at which other gateways reach it.
    pub addresses: Vec<IpAddr>,
    /// Names that the gateway resolves for peers, from the resolvers of its own network.
    pub names: Vec<Zones>,
    /// Names that peers resolve with other resolvers, which they query through the gateway.
    pub servers: Vec<Zones>,
}

/// A link to the gateway of another network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SitePeer {
    /// The name of that gateway.
    pub name: String,
    /// The ranges that the link carries.
    pub prefixes: Vec<IpNet>,
    /// The group whose rules apply to connections from that gateway.
    pub group: String,
}

/// Domains and the resolvers that answer for them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Zones {
    /// The domains, in lower case, without dots at their ends. Empty means every name.
    pub domains: Vec<String>,
    /// The resolvers.
    pub resolvers: Vec<IpAddr>,
}

impl Zones {
    /// The length of the longest domain that contains a name.
    pub fn covers(&self, name: &str) -> Option<usize> {
        if self.domains.is_empty() {
            return Some(0);
        }
        self.domains.iter().filter(|it| crate::policy::within(name, it)).map(String::len).max()
    }
}

/// Why the content of a gateway's configuration is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// Known only after apply.
    Later,
    /// Marked sensitive, and therefore not read.
    Sensitive,
    /// Not a valid gateway configuration.
    Malformed,
}

impl Unread {
    /// The reason as a predicate, for use after "the configuration of gateway NAME".
    pub fn words(self) -> &'static str {
        match self {
            Unread::Later => "is known only after apply",
            Unread::Sensitive => "cannot be read: it is marked sensitive",
            Unread::Malformed => "cannot be read: it is not a valid gateway configuration",
        }
    }
}

/// Peers with the same rights.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PeerGroup {
    /// Its name.
    pub name: String,
    /// What its peers may reach. Everything else is denied.
    pub allow: Vec<Allow>,
    /// The change to it: an update if its list differs.
    pub change: Change,
}

/// One rule of an allow-list, and what the run does to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Allow {
    /// Destinations behind the gateway.
    pub to: Vec<IpNet>,
    /// Groups of peers.
    pub groups: Vec<String>,
    /// Protocols and ports.
    pub protocols: Vec<Protocol>,
    /// The change to it.
    pub change: Change,
}

impl Allow {
    /// `10.0.0.0/16, group trainers tcp 443, 8000-8100`, without protocols if all are allowed.
    pub fn short(&self) -> String {
        let groups = self.groups.iter().map(|group| format!("group {group}"));
        let to: Vec<String> = self.to.iter().map(ToString::to_string).chain(groups).collect();
        let mut ports: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for protocol in &self.protocols {
            let (word, range) = match protocol {
                Protocol::Any => return to.join(", "),
                Protocol::Tcp(low, high) => ("tcp", (*low, *high)),
                Protocol::Udp(low, high) => ("udp", (*low, *high)),
                Protocol::Other => ("icmp", (0, u16::MAX)),
            };
            let ports = ports.entry(word).or_default();
            match range {
                (0, u16::MAX) => {}
                (low, high) if low == high => ports.push(low.to_string()),
                (low, high) => ports.push(format!("{low}-{high}")),
            }
        }
        let mut by_ports: Vec<(String, Vec<&str>)> = Vec::new();
        for word in ["tcp", "udp", "icmp"] {
            let Some(ports) = ports.get(word).map(|ports| ports.join(", ")) else { continue };
            match by_ports.iter_mut().find(|(other, _)| *other == ports) {
                Some((_, words)) => words.push(word),
                None => by_ports.push((ports, vec![word])),
            }
        }
        let protocols = by_ports
            .iter()
            .map(|(ports, words)| format!("{} {ports}", words.join("/")).trim_end().to_owned())
            .collect::<Vec<_>>();
        format!("{} {}", to.join(", "), protocols.join(", "))
    }

    /// What it allows, without its change.
    fn content(&self) -> (&[IpNet], &[String], &[Protocol]) {
        (&self.to, &self.groups, &self.protocols)
    }

    /// The protocols of the rule, each narrowed to `wanted`.
    pub fn narrowed(&self, wanted: Protocol) -> Vec<Protocol> {
        self.protocols.iter().filter_map(|protocol| narrower(*protocol, wanted)).collect()
    }
}

fn narrower(one: Protocol, other: Protocol) -> Option<Protocol> {
    let ports = |a: (u16, u16), b: (u16, u16)| {
        let (low, high) = (a.0.max(b.0), a.1.min(b.1));
        (low <= high).then_some((low, high))
    };
    match (one, other) {
        (Protocol::Any, protocol) | (protocol, Protocol::Any) => Some(protocol),
        (Protocol::Tcp(a, b), Protocol::Tcp(c, d)) => {
            ports((a, b), (c, d)).map(|(low, high)| Protocol::Tcp(low, high))
        }
        (Protocol::Udp(a, b), Protocol::Udp(c, d)) => {
            ports((a, b), (c, d)).map(|(low, high)| Protocol::Udp(low, high))
        }
        (Protocol::Other, Protocol::Other) => Some(Protocol::Other),
        _ => None,
    }
}

/// The network of a fabric's peers, from the configurations of all its gateways.
#[derive(Debug, Clone)]
pub struct Overlay<'a> {
    /// The fabric. Empty if unknown.
    pub fabric: &'a str,
    /// Configurations of its gateways, by address.
    pub configs: Vec<&'a GatewayConfig>,
    /// Gateways in the plan, each with its configuration.
    pub gateways: Vec<(&'a Host, &'a GatewayConfig)>,
}

impl Overlay<'_> {
    /// Identity: `overlay:FABRIC`.
    pub fn key(&self) -> Key {
        format!("overlay:{}", self.fabric)
    }

    /// Display name.
    pub fn name(&self) -> &str {
        if self.fabric.is_empty() { "fabric known after apply" } else { self.fabric }
    }

    /// Ranges of peers, each once, in order.
    pub fn prefixes(&self) -> Vec<IpNet> {
        let mut all: Vec<IpNet> =
            self.configs.iter().flat_map(|config| config.prefixes.iter().copied()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Groups by name. If gateways differ, a name occurs several times, each with the configurations that agree. Gateways
    /// that are created or deleted come last, so that groups they share with others carry the marks of the others.
    pub fn groups(&self) -> Vec<(&PeerGroup, Vec<&GatewayConfig>)> {
        let mut configs: Vec<&GatewayConfig> = self.configs.clone();
        configs.sort_by_key(|config| matches!(config.head.change, Change::Create | Change::Delete));
        let mut found: BTreeMap<_, (&PeerGroup, Vec<&GatewayConfig>)> = BTreeMap::new();
        for config in configs {
            let going = config.head.change == Change::Delete;
            for group in &config.groups {
                let stays = |rule: &&Allow| going || rule.change != Change::Delete;
                let rules: Vec<_> = group.allow.iter().filter(stays).map(Allow::content).collect();
                let gone = !going && group.change == Change::Delete;
                let new = || (group, Vec::new());
                found.entry((&group.name, gone, rules)).or_insert_with(new).1.push(config);
            }
        }
        found.into_values().collect()
    }
}

impl Topology {
    /// The overlays, by fabric.
    pub fn overlays(&self) -> Vec<Overlay<'_>> {
        let mut found: BTreeMap<&str, Overlay<'_>> = BTreeMap::new();
        for config in self.configs.values() {
            let fabric = config.fabric.as_str();
            let new = || Overlay { fabric, configs: Vec::new(), gateways: Vec::new() };
            found.entry(fabric).or_insert_with(new).configs.push(config);
        }
        for host in self.hosts.values() {
            if let Some(config) = host.config.as_ref().and_then(|key| self.configs.get(key))
                && let Some(overlay) = found.get_mut(config.fabric.as_str())
            {
                overlay.gateways.push((host, config));
            }
        }
        found.into_values().collect()
    }
}

/// Marks groups and rules that differ. Those that no longer exist are kept and marked as deleted.
pub(super) fn mark(config: &mut GatewayConfig, before: Option<&GatewayConfig>, stays: bool) {
    let all = |config: &mut GatewayConfig, change: Change| {
        for group in &mut config.groups {
            group.change = change;
            group.allow.iter_mut().for_each(|rule| rule.change = change);
        }
    };
    let Some(before) = before.filter(|_| stays) else {
        return all(config, if stays { Change::Create } else { Change::Delete });
    };
    // An unknown configuration is neither new nor deleted.
    if config.unread.is_some() || before.unread.is_some() {
        return;
    }
    let mut gone: Vec<&PeerGroup> = before.groups.iter().collect();
    for group in &mut config.groups {
        let old = gone.iter().position(|old| old.name == group.name).map(|at| gone.remove(at));
        let mut rules: Vec<&Allow> = old.map(|old| old.allow.iter().collect()).unwrap_or_default();
        for rule in &mut group.allow {
            let same = rules.iter().position(|old| old.content() == rule.content());
            rule.change = match same.map(|at| rules.remove(at)) {
                Some(_) => Change::Keep,
                None => Change::Create,
            };
        }
        group.allow.extend(rules.into_iter().map(|old| Allow { change: Change::Delete, ..old.clone() }));
        group.change = match old {
            None => Change::Create,
            Some(_) if group.allow.iter().any(|rule| rule.change != Change::Keep) => Change::Update,
            Some(_) => Change::Keep,
        };
    }
    for old in gone {
        let mut old = old.clone();
        old.change = Change::Delete;
        old.allow.iter_mut().for_each(|rule| rule.change = Change::Delete);
        config.groups.push(old);
    }
    config.groups.sort();
}
