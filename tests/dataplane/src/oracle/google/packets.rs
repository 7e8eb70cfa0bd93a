//! What packets do in Google Cloud.
//!
//! A subnetwork stands for each of its addresses, primary and secondary: it reaches what one of them reaches.

use std::collections::BTreeSet;
use std::net::IpAddr;

use anyhow::{Context as _, Result};
use warren_model::reach::Way;

use super::super::packets::{INTERNET, Packets, Pair, Seen, at, pair, send as sent};
use super::topology::{GoogleTopology, PROJECT};
use crate::google::{Place, Plane};
use crate::lab::{Internet, Lab, Node, Outcome, Probe};

/// The address of public names that are nobody's.
const ELSEWHERE: [u8; 4] = [198, 51, 100, 7];

struct Host<'a> {
    name: &'a str,
    place: &'a Place,
    node: &'a Node,
}

/// Resolves the names and sends the packets of all pairs. The second value is the pairs of a host with itself, by a name for
/// its own address: that takes no network.
pub(super) fn send(
    lab: &Lab,
    internet: &Internet,
    plane: &Plane,
    topologies: &[GoogleTopology],
) -> Result<(Packets, BTreeSet<Pair>)> {
    for name in ["www.example.com", "sub.example.com", "host.corp.example"] {
        internet.names().add(name, [IpAddr::from(ELSEWHERE)]);
    }
    let (mut packets, mut own) = (Packets::default(), BTreeSet::new());
    let mut probes: Vec<(Pair, Probe)> = Vec::new();
    for topology in topologies {
        let hosts = topology.hosts(plane)?;
        for host in &hosts {
            for other in hosts.iter().filter(|other| other.name != host.name) {
                for address in other.place.addresses() {
                    host.probe(&mut probes, other.name, address.into());
                }
            }
            host.probe(&mut probes, INTERNET, internet.address());
            match host.place.external {
                Some(external) => {
                    let probe = Probe::tcp(internet.node(), at(external)).source(internet.address());
                    probes.push((pair(INTERNET, host.name), probe));
                }
                None => packets.any(pair(INTERNET, host.name), Seen::no("it has no external address")),
            }
        }
        let names: Vec<&String> =
            topology.names.iter().chain(topology.own_names.values().flatten()).collect();
        let questions: Vec<(&Host<'_>, &String)> =
            hosts.iter().flat_map(|host| names.iter().map(move |name| (host, *name))).collect();
        let asked: Vec<(&Node, &str)> =
            questions.iter().map(|(host, name)| (host.node, name.as_str())).collect();
        for ((host, name), found) in questions.iter().zip(lab.lookups(&asked)) {
            let addresses: Vec<&IpAddr> = found.addresses.iter().filter(|it| it.is_ipv4()).collect();
            if addresses.is_empty() {
                let text = format!("{name} has no address: {}", found.code);
                packets.any(pair(host.name, name), Seen::no(&text));
            }
            if addresses.iter().any(|it| host.place.addresses().iter().any(|own| IpAddr::V4(*own) == **it)) {
                own.insert(pair(host.name, name));
            }
            for address in addresses {
                host.probe(&mut probes, name, *address);
            }
        }
    }
    sent(lab, &probes, |pair, probe, outcome| packets.any(pair.clone(), seen(pair, probe, outcome)));
    Ok((packets, own))
}

impl Packets {
    /// Adds an outcome of a pair, which reaches if one of them does.
    fn any(&mut self, pair: Pair, seen: Seen) {
        match self.0.get_mut(&pair) {
            Some(other) if other.reached || !seen.reached => {
                other.text = format!("{}; {}", other.text, seen.text);
            }
            Some(other) => *other = Seen { text: format!("{}; {}", seen.text, other.text), ..seen },
            None => drop(self.0.insert(pair, seen)),
        }
    }
}

impl GoogleTopology {
    fn hosts<'a>(&'a self, plane: &'a Plane) -> Result<Vec<Host<'a>>> {
        let subnets = self.subnets.iter().map(|(name, region)| {
            (name.as_str(), format!("projects/{PROJECT}/regions/{region}/subnetworks/{name}"))
        });
        let instances = self.instances.iter().map(|instance| (instance.name.as_str(), instance.path()));
        let host = |(name, path): (&'a str, String)| {
            let (place, node) = plane.host(&path).with_context(|| format!("no host {path}"))?;
            Ok(Host { name, place, node })
        };
        subnets.chain(instances).map(host).collect()
    }
}

impl Host<'_> {
    /// Probes from each of its addresses.
    fn probe(&self, probes: &mut Vec<(Pair, Probe)>, to: &str, address: IpAddr) {
        for source in self.place.addresses() {
            let probe = Probe::tcp(self.node, at(address)).source(source.into());
            probes.push((pair(self.name, to), probe));
        }
    }
}

fn seen((_, to): &Pair, probe: &Probe, outcome: &Outcome) -> Seen {
    let named = to.contains('.');
    let server = outcome.server();
    let way = match server {
        Some("google-apis") => Way::Endpoint,
        Some(INTERNET) => Way::Internet,
        _ => Way::Network,
    };
    // A machine that is not the one that was meant is not it.
    let meant = server.is_some_and(|server| named || server.rsplit('/').next() == Some(to.as_str()));
    Seen {
        reached: outcome.reached() && meant,
        way: named.then_some(way),
        text: format!("{:?} -> {outcome:?}", probe.target()),
    }
}
