//! Summaries: the networks and services that each network reaches, and the answers for every pair of places.

use super::{Answer, Lists, Place, Way};
use crate::topology::{GatewayKind, Key, Protocol};
use serde::Serialize;
use std::collections::BTreeSet;

/// The answer for two places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The source, which opens connections.
    pub from: Place,
    /// The destination.
    pub to: Place,
    /// The answer.
    pub answer: Answer,
}

impl Lists<'_> {
    /// The answer for every pair of places: subnets, hosts and groups of peers as sources; these, the internet and `more`,
    /// such as services and names, as destinations.
    pub fn all(&self, more: &[Place], protocol: Protocol) -> Vec<Pair> {
        let subnets = self.all.subnets.keys().cloned().map(Place::Subnet);
        let hosts = self.all.hosts.iter().filter(|(_, host)| host.subnet.is_some());
        let mut places: Vec<Place> = subnets.chain(hosts.map(|(key, _)| Place::Host(key.clone()))).collect();
        let mut groups = BTreeSet::new();
        for overlay in self.all.overlays() {
            for (group, _) in overlay.groups() {
                let (fabric, group) = (overlay.fabric.to_owned(), group.name.clone());
                groups.insert(Place::Peers { fabric, group });
            }
        }
        places.extend(groups);
        places.push(Place::Internet);
        let to: Vec<&Place> = places.iter().chain(more).collect();
        let mut found = Vec::new();
        for from in &places {
            for to in to.iter().filter(|to| **to != from) {
                let answer = self.ask(from, to, protocol);
                found.push(Pair { from: from.clone(), to: (*to).clone(), answer });
            }
        }
        found
    }

    /// Pairs of a network and what it reaches: another network, the internet or a service. Summaries of a change compare
    /// these pairs. Only networks with a peering or gateway attachment are compared with each other.
    pub fn pairs(&self) -> BTreeSet<(Key, String)> {
        let mut found = BTreeSet::new();
        let any = Protocol::Any;
        let services: BTreeSet<&str> = self.all.endpoints.values().map(|it| it.service.as_str()).collect();
        for (network, subnets) in &self.subnets {
            for subnet in subnets {
                let from = Place::Subnet(subnet.head.key.clone());
                if self.ask(&from, &Place::Internet, any).reached {
                    found.insert(((*network).to_owned(), "the internet".to_owned()));
                }
                if self.ask(&Place::Internet, &from, any).reached {
                    found.insert(("the internet".to_owned(), (*network).to_owned()));
                }
                for service in &services {
                    let answer = self.ask(&from, &Place::Service((*service).to_owned()), any);
                    if answer.reached && answer.way == Way::Endpoint {
                        found.insert(((*network).to_owned(), format!("{service} through an endpoint")));
                    }
                }
            }
            for (other, targets) in &self.subnets {
                if other == network || !self.linked(network) || !self.linked(other) {
                    continue;
                }
                let reached = subnets.iter().any(|from| {
                    targets.iter().any(|to| {
                        let (from, to) =
                            (Place::Subnet(from.head.key.clone()), Place::Subnet(to.head.key.clone()));
                        self.ask(&from, &to, any).reached
                    })
                });
                if reached {
                    found.insert(((*network).to_owned(), (*other).to_owned()));
                }
            }
        }
        self.peer_pairs(&services, &mut found);
        found
    }

    /// The same pairs for groups of peers.
    fn peer_pairs(&self, services: &BTreeSet<&str>, found: &mut BTreeSet<(Key, String)>) {
        let any = Protocol::Any;
        for overlay in self.all.overlays() {
            let groups: BTreeSet<&str> =
                overlay.groups().iter().map(|(group, _)| group.name.as_str()).collect();
            for group in groups {
                let name = format!("peers of {group}");
                let from = Place::Peers { fabric: overlay.fabric.to_owned(), group: group.to_owned() };
                if self.ask(&from, &Place::Internet, any).reached {
                    found.insert((name.clone(), "the internet".to_owned()));
                }
                for service in services {
                    let answer = self.ask(&from, &Place::Service((*service).to_owned()), any);
                    if answer.reached && answer.way == Way::Endpoint {
                        found.insert((name.clone(), format!("{service} through an endpoint")));
                    }
                }
                for (network, subnets) in &self.subnets {
                    let mut subnets = subnets.iter().map(|subnet| Place::Subnet(subnet.head.key.clone()));
                    if subnets.any(|to| self.ask(&from, &to, any).reached) {
                        found.insert((name.clone(), (*network).to_owned()));
                    }
                }
            }
        }
    }

    fn linked(&self, network: &str) -> bool {
        let is = |key: &Option<Key>| key.as_deref() == Some(network);
        self.all.attachments.values().any(|it| is(&it.network))
            || self.all.peerings.values().any(|it| is(&it.left) || is(&it.right))
            || self.all.gateways.values().any(|it| it.kind == GatewayKind::Vpn && is(&it.network))
    }
}
