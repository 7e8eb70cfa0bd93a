//! Generates the site sections of all gateways' files from one description of the networks.
//!
//! ```text
//!  mesh   links between every two sites: each destination is one link away
//!  star   links between each site and the hub, which carries the traffic between the others
//!  ring   links between each site and its two neighbours; other traffic takes the shorter direction around the ring,
//!         or the direction of the description if both are equally long
//! ```
//!
//! Routes are static. [`Topology::links`] lists the traffic that each link carries: if the link fails, exactly this
//! traffic is lost, and it is not rerouted.

#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

use crate::config::{Endpoint, ParseError};
use crate::gateway::SitePeer;
use crate::gateway::error::{at, explain};
use crate::key::PublicKey;
use crate::name::Name;

/// The most networks of a description.
const SITES_MAX: usize = 256;

/// A validated description of sites and their links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    shape: Shape,
    sites: Vec<Network>,
}

/// Who is peered with whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// All with the one of this index.
    Star(usize),
    Mesh,
    Ring,
}

/// A network and its gateway.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name; the groups of the others' files are called `site-NAME`.
    pub name: Name,
    /// Its gateway's WireGuard public key.
    pub key: PublicKey,
    /// Its gateway's WireGuard endpoint; if omitted, that gateway connects to the others.
    #[serde(default)]
    pub endpoint: Option<Endpoint>,
    /// Its gateway's source addresses.
    pub addresses: Vec<IpAddr>,
    /// The ranges behind it.
    #[serde(default)]
    pub prefixes: Vec<IpNet>,
}

/// The `[site]` of one gateway's file, and the rules that its peers need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The name of the site.
    pub name: Name,
    /// Its own addresses.
    pub addresses: Vec<IpAddr>,
    /// Its peers, in the order of the description.
    pub peers: Vec<SitePeer>,
    /// The destinations of each peer's group: everything that the topology routes through that peer.
    pub allow: BTreeMap<Name, Vec<IpNet>>,
}

/// Two gateways that are peered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The two, in the order of the description.
    pub ends: (Name, Name),
    /// Pairs of networks whose traffic, from the first to the second, uses this link.
    pub carries: Vec<(Name, Name)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    topology: Kind,
    #[serde(default)]
    hub: Option<Name>,
    sites: Vec<Network>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Star,
    Mesh,
    Ring,
}

impl Topology {
    /// Reads a description.
    ///
    /// # Errors
    /// The first mistake, with its position and a hint.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let file: File = toml::from_str(text).map_err(|error| explain(text, &error))?;
        Self::of(file).map_err(|wrong| {
            // A name stands at its site behind where it is the hub's, and what is twice is wrong the second time.
            let place = text.rfind(&wrong.find).unwrap_or(0);
            at(text, place..place, wrong.what, wrong.hint)
        })
    }

    fn of(File { topology, hub, sites }: File) -> Result<Self, Wrong> {
        if !(1..=SITES_MAX).contains(&sites.len()) {
            return Err(Wrong::new("sites", format!("{} sites", sites.len()), "a topology has 1 to 256"));
        }
        check(&sites)?;
        let shape = match (topology, hub) {
            (Kind::Mesh, None) => Shape::Mesh,
            (Kind::Ring, None) => Shape::Ring,
            (Kind::Star, Some(hub)) => match sites.iter().position(|site| site.name == hub) {
                Some(index) => Shape::Star(index),
                None => {
                    return Err(Wrong::new(
                        "hub =",
                        format!("no site has the name `{hub}`"),
                        "write the name of a site",
                    ));
                }
            },
            (Kind::Star, None) => {
                return Err(Wrong::new("topology =", "a star needs a hub".into(), "add hub = \"NAME\""));
            }
            (_, Some(_)) => {
                return Err(Wrong::new("hub =", "only a star has a hub".into(), "remove the line"));
            }
        };
        let topology = Self { shape, sites };
        for (a, b) in topology.pairs() {
            let (a, b) = (&topology.sites[a], &topology.sites[b]);
            if a.endpoint.is_none() && b.endpoint.is_none() {
                let what = format!("neither {} nor {} has an endpoint, but they are peers", a.name, b.name);
                return Err(Wrong::new(
                    &format!("\"{}\"", b.name),
                    what,
                    "add the endpoint of at least one of them",
                ));
            }
        }
        Ok(topology)
    }

    /// The sections for each gateway's file, in the order of the description.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let ways: Vec<Vec<(usize, Vec<IpNet>)>> = (0..self.sites.len()).map(|site| self.ways(site)).collect();
        let section = |(index, site): (usize, &Network)| {
            let peer = |(other, prefixes): &(usize, Vec<IpNet>)| {
                let of = &self.sites[*other];
                SitePeer {
                    name: of.name.clone(),
                    key: of.key,
                    endpoint: of.endpoint.clone(),
                    addresses: of.addresses.clone(),
                    prefixes: prefixes.clone(),
                    group: group(&of.name),
                }
            };
            // What another sends this way is what it has behind this one.
            let allow = |(other, _): &(usize, Vec<IpNet>)| {
                let back = ways[*other].iter().find(|(back, _)| *back == index);
                (
                    group(&self.sites[*other].name),
                    back.map(|(_, prefixes)| prefixes.clone()).unwrap_or_default(),
                )
            };
            Section {
                name: site.name.clone(),
                addresses: site.addresses.clone(),
                peers: ways[index].iter().map(peer).collect(),
                allow: ways[index].iter().map(allow).collect(),
            }
        };
        self.sites.iter().enumerate().map(section).collect()
    }

    /// All links, with the traffic that each one carries.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let name = |index: usize| self.sites[index].name.clone();
        let link = |(a, b): (usize, usize)| {
            let uses = |from: usize, to: usize| {
                let way = self.way(from, to);
                way.windows(2).any(|step| step == [a, b] || step == [b, a])
            };
            let all = (0..self.sites.len()).flat_map(|from| (0..self.sites.len()).map(move |to| (from, to)));
            let carries = all
                .filter(|(from, to)| from != to && uses(*from, *to))
                .map(|(from, to)| (name(from), name(to)));
            Link { ends: (name(a), name(b)), carries: carries.collect() }
        };
        self.pairs().into_iter().map(link).collect()
    }

    /// Two that are peered, each pair once.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let sites = 0..self.sites.len();
        sites
            .clone()
            .flat_map(|a| (a + 1..sites.end).map(move |b| (a, b)))
            .filter(|(a, b)| self.peered(*a, *b))
            .collect()
    }

    fn peered(&self, a: usize, b: usize) -> bool {
        match self.shape {
            Shape::Mesh => true,
            Shape::Star(hub) => a == hub || b == hub,
            Shape::Ring => a.abs_diff(b) == 1 || a.abs_diff(b) == self.sites.len() - 1,
        }
    }

    /// Each peer of a site, and what goes through it.
    fn ways(&self, site: usize) -> Vec<(usize, Vec<IpNet>)> {
        let others = (0..self.sites.len()).filter(|other| *other != site);
        let peers = others.clone().filter(|other| self.peered(site, *other));
        let behind = |peer: usize| {
            let through = others.clone().filter(|to| self.next(site, *to) == peer);
            let mut prefixes: Vec<IpNet> =
                through.flat_map(|to| self.sites[to].prefixes.iter().copied()).collect();
            prefixes.sort_unstable();
            prefixes
        };
        peers.map(|peer| (peer, behind(peer))).collect()
    }

    /// The first step from one site to another.
    fn next(&self, from: usize, to: usize) -> usize {
        let count = self.sites.len();
        match self.shape {
            Shape::Mesh => to,
            Shape::Star(hub) => {
                if from == hub {
                    to
                } else {
                    hub
                }
            }
            Shape::Ring => {
                let ahead = (to + count - from) % count;
                if 2 * ahead <= count { (from + 1) % count } else { (from + count - 1) % count }
            }
        }
    }

    /// All steps, both ends included.
    fn way(&self, from: usize, to: usize) -> Vec<usize> {
        std::iter::successors(Some(from), |at| (*at != to).then(|| self.next(*at, to))).collect()
    }
}

/// A group's name is as long as a site's may be: only names that leave room for its beginning are taken.
fn group(site: &Name) -> Name {
    format!("site-{site}").parse().unwrap_or_else(|_| site.clone())
}

/// A mistake and a text that stands where it is.
struct Wrong {
    find: String,
    what: String,
    hint: String,
}

impl Wrong {
    fn new(find: &str, what: String, hint: &str) -> Self {
        Self { find: find.to_owned(), what, hint: hint.to_owned() }
    }
}

fn check(sites: &[Network]) -> Result<(), Wrong> {
    let mut nets: Vec<(IpNet, &Network)> = Vec::new();
    for (index, site) in sites.iter().enumerate() {
        let wrong = |find: &str, what: String, hint: &str| Err(Wrong::new(find, what, hint));
        let place = format!("\"{}\"", site.name);
        if group(&site.name) == site.name {
            return wrong(
                &place,
                format!("the name {} is too long", site.name),
                "write at most 58 characters",
            );
        }
        if sites[..index].iter().any(|other| other.name == site.name || other.key == site.key) {
            return wrong(
                &place,
                format!("{} is listed twice", site.name),
                "give each site its own name and key",
            );
        }
        if site.addresses.is_empty() {
            let hint = "add addresses = [\"10.100.0.1\"]: the addresses that its gateway sends from";
            return wrong(&place, format!("{} has no address", site.name), hint);
        }
        for net in &site.prefixes {
            if net.trunc() != *net {
                let hint = format!("write {}", net.trunc());
                return wrong(&net.to_string(), format!("{net} has host bits set"), &hint);
            }
            if let Some(other) = sites.iter().find(|other| {
                !other.addresses.iter().any(|address| address.is_ipv4() == net.addr().is_ipv4())
            }) {
                let what = format!("{} has no address of the address family of {net}", other.name);
                return wrong(&format!("\"{}\"", other.name), what, "add an address of that address family");
            }
        }
        let own =
            site.prefixes.iter().copied().chain(site.addresses.iter().map(|address| IpNet::from(*address)));
        nets.extend(own.map(|net| (net, site)));
    }
    nets.sort_by_key(|(net, _)| (net.network(), net.prefix_len()));
    // In this order whatever overlaps one overlaps its neighbour, or the last that was larger than its neighbour.
    let mut largest: Option<(IpNet, &Network)> = None;
    for (net, site) in nets {
        if let Some((before, other)) = largest
            && before.contains(&net)
        {
            let what = if other.name == site.name {
                format!("{before} and {net} of {} overlap", site.name)
            } else {
                format!("{before} of {} and {net} of {} overlap", other.name, site.name)
            };
            let text = if net.prefix_len() == net.max_prefix_len() {
                net.addr().to_string()
            } else {
                net.to_string()
            };
            return Err(Wrong::new(&text, what, "list each range and each address once, at one site"));
        }
        largest = Some((net, site));
    }
    Ok(())
}
