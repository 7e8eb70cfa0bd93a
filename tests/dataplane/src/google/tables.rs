//! Route tables, as "Routes" and "VPC Network Peering" describe them.
//!
//! A network has one table, whose routes may apply to some instances only. The kernel looks tables up by where a packet comes
//! from, the first that has a route decides:
//!
//! ```text
//! from a host   own subnets -> subnets of peers -> static routes, own and imported
//! from a peer   own subnets -> static routes that it imports        (no way on to another peer or the internet)
//! from Google   own subnets
//! ```

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::inventory::{Hop, Inventory, Path, Peering, Route};
use super::places::Place;

/// A route of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line {
    /// The destination.
    pub range: Ipv4Net,
    /// The lowest of those with the same destination wins.
    pub metric: u32,
    /// Where packets go.
    pub to: To,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum To {
    /// To a host, by the name of its wire.
    Host(String),
    /// To the router of another network.
    Peer(Path),
    /// To the default internet gateway.
    Internet,
    /// Nowhere.
    Nowhere,
}

/// Ranges that Google's documentation calls private: RFC 1918, 6598, 5735, 7335 and 240.0.0.0/4 ("Subnets", "Valid IPv4 ranges").
const PRIVATE: [&str; 11] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
];

/// The subnets of a network: its hosts, and for addresses that no host has, nothing.
pub(crate) fn own(inventory: &Inventory, network: &str, places: &[Place]) -> Vec<Line> {
    let ranges = inventory
        .subnets_of(network)
        .flat_map(|(_, subnet)| std::iter::once(subnet.range).chain(subnet.secondary.values().copied()));
    let mut lines: Vec<Line> = ranges.map(|range| Line { range, metric: 0, to: To::Nowhere }).collect();
    for place in places.iter().filter(|place| place.network == network) {
        for address in std::iter::once(&place.address).chain(&place.aliases) {
            let to = To::Host(place.wire.clone());
            lines.push(Line { range: Ipv4Net::from(*address), metric: 0, to });
        }
    }
    lines
}

/// The subnet routes that a network imports. All private ranges are exchanged; of others, those that both sides want.
pub(crate) fn of_peers(inventory: &Inventory, network: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (peer, own, theirs) in inventory.peers_of(network) {
        for (_, subnet) in inventory.subnets_of(peer) {
            for range in std::iter::once(&subnet.range).chain(subnet.secondary.values()) {
                if is_private(range) || (own.import_public && theirs.export_public) {
                    lines.push(Line { range: *range, metric: 0, to: To::Peer(peer.clone()) });
                }
            }
        }
    }
    lines
}

/// The static routes that apply to a host: its network's own, by their tags, then those that the network imports.
pub(crate) fn custom(inventory: &Inventory, host: &Place, places: &[Place]) -> Vec<Line> {
    let mut lines = Vec::new();
    for route in inventory.routes.values().filter(|route| route.network == host.network) {
        if route.tags.is_empty() || !route.tags.is_disjoint(&host.tags) {
            lines.extend(line(route, places));
        }
    }
    for (peer, own, theirs) in inventory.peers_of(&host.network) {
        if own.import_custom && theirs.export_custom {
            let offered =
                inventory.routes.values().filter(|route| route.network == *peer && exchanged(route));
            let offered = offered.filter(|route| line(route, places).is_some());
            lines.extend(offered.map(|route| Line {
                range: route.range,
                metric: metric(route) + 1,
                to: To::Peer(peer.clone()),
            }));
        }
    }
    first_of_each(lines)
}

/// The static routes that a peer's packets may use in this network: those that it imports.
pub(crate) fn exported(
    inventory: &Inventory,
    network: &str,
    (own, theirs): (&Peering, &Peering),
    places: &[Place],
) -> Vec<Line> {
    if !(own.export_custom && theirs.import_custom) {
        return Vec::new();
    }
    let offered = inventory.routes.values().filter(|route| route.network == network && exchanged(route));
    first_of_each(offered.filter_map(|route| line(route, places)).collect())
}

/// "VPC Network Peering": static routes with tags or with the default internet gateway as next hop are never exchanged.
fn exchanged(route: &Route) -> bool {
    route.tags.is_empty() && route.hop != Hop::Internet
}

/// "Static routes": a route is ignored while its next hop instance does not run; an address that no instance has leads nowhere.
fn line(route: &Route, places: &[Place]) -> Option<Line> {
    let host = |fits: &dyn Fn(&Place) -> bool| {
        places
            .iter()
            .find(|place| place.network == route.network && fits(place))
            .map(|place| place.wire.clone())
    };
    let to = match &route.hop {
        Hop::Internet => To::Internet,
        Hop::Instance(path) => To::Host(host(&|place| place.is_instance(path))?),
        Hop::Address(address) => host(&|place| place.address == *address).map_or(To::Nowhere, To::Host),
    };
    Some(Line { range: route.range, metric: metric(route), to })
}

/// The kernel allows one route for a destination and a metric; own routes come before imported ones.
fn metric(route: &Route) -> u32 {
    (route.priority + 1) * 2
}

fn first_of_each(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort();
    lines.dedup_by_key(|line| (line.range, line.metric));
    lines
}

fn is_private(range: &Ipv4Net) -> bool {
    PRIVATE.iter().any(|private| private.parse::<Ipv4Net>().is_ok_and(|private| private.contains(range)))
}

impl Place {
    fn is_instance(&self, path: &str) -> bool {
        matches!(&self.of, super::places::Of::Instance(own) if own == path)
    }

    /// All addresses that are its own.
    pub(crate) fn addresses(&self) -> BTreeSet<Ipv4Addr> {
        std::iter::once(self.address).chain(self.aliases.iter().copied()).collect()
    }
}
