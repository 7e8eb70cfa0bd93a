//! What packets do.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use warren_model::reach::Way;

use super::policies::{Bucket, OBJECTS};
use super::topology::{SERVICES, Topology};
use crate::aws::{Network, Place};
use crate::lab::{Internet, Lab, Outcome, Probe};
use crate::servers::SIGNED;

/// The name of the internet in pairs.
pub(super) const INTERNET: &str = "internet";

/// How many probes are under way at a time.
const AT_ONCE: usize = 1500;

/// What packets did between two places.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) reached: bool,
    /// How they came to a service; none for places of the topology.
    pub(super) way: Option<Way>,
    pub(super) text: String,
}

/// The names of source and destination.
pub(super) type Pair = (String, String);

/// The outcomes of all pairs.
#[derive(Debug, Default)]
pub(super) struct Packets(pub(super) BTreeMap<Pair, Seen>);

impl Packets {
    /// Resolves the names and sends the packets of all pairs.
    pub(super) fn send(
        lab: &Lab,
        internet: &Internet,
        network: &Network,
        topologies: &[Topology],
    ) -> Result<Packets> {
        // A name that no private zone has is a public one.
        for name in topologies.iter().flat_map(|topology| &topology.names) {
            internet.names().add(name, [IpAddr::from([198, 51, 100, 7])]);
        }
        let mut packets = Packets::default();
        let mut probes: Vec<(Pair, Probe)> = Vec::new();
        for topology in topologies {
            let places: Vec<&Place> =
                topology.subnets.iter().map(|name| network.place(name)).collect::<Result<_>>()?;
            for from in &places {
                for to in places.iter().filter(|to| to.name != from.name) {
                    probes.push((pair(&from.name, &to.name), Probe::tcp(&from.node, at(to.address))));
                }
                let public = Probe::tcp(&from.node, at(internet.address()));
                probes.push((pair(&from.name, INTERNET), public));
                match from.public_address {
                    Some(address) => {
                        let probe = Probe::tcp(internet.node(), at(address)).source(internet.address());
                        probes.push((pair(INTERNET, &from.name), probe));
                    }
                    None => packets.add(pair(INTERNET, &from.name), Seen::no("it has no public address")),
                }
            }
            packets.resolve(lab, topology, &places, &mut probes);
            packets.buckets(lab, topology, &places, &mut probes);
        }
        send(lab, &probes, |pair, probe, outcome| packets.add(pair.clone(), Seen::of(pair, probe, outcome)));
        Ok(packets)
    }

    /// Resolves the names of services where each machine is.
    fn resolve(
        &mut self,
        lab: &Lab,
        topology: &Topology,
        places: &[&Place],
        probes: &mut Vec<(Pair, Probe)>,
    ) {
        let services =
            SERVICES.iter().flat_map(|(service, hosts)| hosts.iter().map(|host| (*service, *host)));
        let own = topology.names.iter().map(|name| (name.as_str(), name.as_str()));
        let names: Vec<(&str, &str)> = services.chain(own).collect();
        let questions: Vec<(&Place, &str, &str)> = places
            .iter()
            .flat_map(|place| names.iter().map(|(service, host)| (*place, *service, *host)))
            .collect();
        let asked: Vec<_> = questions.iter().map(|(place, _, host)| (&place.node, *host)).collect();
        for ((place, service, host), found) in questions.iter().zip(lab.lookups(&asked)) {
            match found.addresses.iter().find(|address| address.is_ipv4()) {
                Some(address) => {
                    probes.push((pair(&place.name, service), Probe::tcp(&place.node, at(*address))));
                }
                None => {
                    let text = format!("{host} does not resolve: {}", found.code);
                    self.add(pair(&place.name, service), Seen::no(&text));
                }
            }
        }
    }

    /// Reads objects of buckets.
    fn buckets(
        &mut self,
        lab: &Lab,
        topology: &Topology,
        places: &[&Place],
        probes: &mut Vec<(Pair, Probe)>,
    ) {
        let hosts: Vec<String> = topology.buckets.iter().map(Bucket::host).collect();
        let questions: Vec<(&Place, &str)> =
            places.iter().flat_map(|place| hosts.iter().map(|host| (*place, host.as_str()))).collect();
        let asked: Vec<_> = questions.iter().map(|(place, host)| (&place.node, *host)).collect();
        for ((place, host), found) in questions.iter().zip(lab.lookups(&asked)) {
            match found.addresses.iter().find(|address| address.is_ipv4()) {
                Some(address) => probes.extend(OBJECTS.iter().map(|object| {
                    let probe = Probe::get(&place.node, at(*address), host, object, &[SIGNED]);
                    (pair(&place.name, host), probe)
                })),
                None => {
                    let text = format!("{host} does not resolve: {}", found.code);
                    self.add(pair(&place.name, host), Seen::no(&text));
                }
            }
        }
    }

    /// Adds an outcome. A service is reached if all its names lead to it, and a bucket if some object of it is read.
    fn add(&mut self, pair: Pair, seen: Seen) {
        let bucket = pair.1.contains(".s3.");
        let seen = match self.0.remove(&pair) {
            Some(other) if bucket => Seen {
                reached: other.reached || seen.reached,
                way: if other.reached { other.way } else { seen.way },
                text: format!("{}; {}", other.text, seen.text),
            },
            Some(other) => Seen {
                reached: other.reached && seen.reached,
                way: other.way.filter(|way| Some(*way) == seen.way),
                text: format!("{}; {}", other.text, seen.text),
            },
            None => seen,
        };
        self.0.insert(pair, seen);
    }

    /// What packets did between the two.
    pub(super) fn outcome(&self, pair: &Pair) -> Option<&Seen> {
        self.0.get(pair)
    }
}

impl Seen {
    pub(super) fn no(text: &str) -> Seen {
        Seen { reached: false, way: None, text: text.to_owned() }
    }

    fn of((_, to): &Pair, probe: &Probe, outcome: &Outcome) -> Seen {
        let named = SERVICES.iter().any(|(service, _)| service == to) || to.contains('.');
        let server = outcome.server();
        let way = match server {
            Some(server) if server.starts_with("vpce-") => Way::Endpoint,
            Some("public services" | INTERNET) => Way::Internet,
            _ => Way::Network,
        };
        Seen {
            // A machine that is not the one that was meant is not it.
            reached: outcome.reached() && (named || server == Some(to.as_str())),
            way: named.then_some(way),
            text: format!("{:?} -> {outcome:?}", probe.target()),
        }
    }
}

/// Sends the probes, some at a time.
pub(super) fn send(lab: &Lab, probes: &[(Pair, Probe)], mut told: impl FnMut(&Pair, &Probe, &Outcome)) {
    for batch in probes.chunks(AT_ONCE) {
        for ((pair, probe), outcome) in batch.iter().zip(outcomes(lab, batch)) {
            told(pair, probe, &outcome);
        }
    }
}

/// Sends the probes, and once more those that no server answered: a busy machine may lose some. A server that accepts a connection
/// answers it, at the latest when the machine is less busy.
fn outcomes(lab: &Lab, probes: &[(Pair, Probe)]) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::Silent; probes.len()];
    let again: [fn(&Outcome) -> bool; 3] = [
        |_| true,
        |outcome| outcome.server().is_none() && !matches!(outcome, Outcome::Forbidden(_)),
        |outcome| *outcome == Outcome::Open,
    ];
    for wanted in again {
        let places: Vec<usize> = (0..probes.len()).filter(|place| wanted(&outcomes[*place])).collect();
        let some: Vec<Probe> = places.iter().map(|place| probes[*place].1.clone()).collect();
        for (place, outcome) in places.into_iter().zip(lab.probe(&some)) {
            outcomes[place] = outcome;
        }
    }
    outcomes
}

pub(super) fn pair(from: &str, to: &str) -> Pair {
    (from.to_owned(), to.to_owned())
}

pub(super) fn at(address: impl Into<IpAddr>) -> SocketAddr {
    SocketAddr::new(address.into(), 443)
}
