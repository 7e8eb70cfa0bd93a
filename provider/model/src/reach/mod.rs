//! Reachability between two places: the path hop by hop, or the reason why there is none.
//!
//! The answer covers the network: forward and return routes, gateways, NAT, peering, transit gateways and endpoints, and
//! the names of services, as the source resolves them. Packet filters count if the plan shows what they apply to: network
//! ACLs, security groups of endpoints and instances, firewall rules of a Google network. A subnet represents every host in
//! it. Addresses that all route tables treat alike are tried once.

mod acl;
mod filter;
mod flow;
mod lists;
mod names;
mod overlay;
mod pairs;
mod reason;
mod service;
mod transit;
mod walk;

use crate::topology::{Key, Protocol, Subnet};
use overlay::Permit;
use serde::Serialize;
use std::net::IpAddr;
use walk::Sender;

pub use lists::Lists;
pub use pairs::Pair;
pub use reason::Reason;
pub use walk::nat_address;

/// One end of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Any host on the internet.
    Internet,
    /// Any host of a subnet.
    Subnet(Key),
    /// An instance.
    Host(Key),
    /// A service of the cloud: `s3`, `ecr.api`.
    Service(String),
    /// A host name, as the source resolves it.
    Name(String),
    /// Any peer of a group of an overlay.
    Peers {
        /// The overlay's fabric.
        fabric: String,
        /// The group.
        group: String,
    },
}

/// The protocol of requests to services: HTTPS.
const HTTPS: Protocol = Protocol::Tcp(443, 443);

const RANGE_UNKNOWN: &str = "its range is known only after apply";

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The object.
    pub key: Key,
    /// What happens to the packet there.
    pub text: String,
}

impl Hop {
    fn new(key: &str, text: String) -> Self {
        Self { key: key.to_owned(), text }
    }
}

/// How a service is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Through routes and gateways.
    Network,
    /// Through an endpoint, or through Google's own network.
    Endpoint,
    /// Over the internet.
    Internet,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whether packets arrive and replies return.
    pub reached: bool,
    /// How the packets travel.
    pub way: Way,
    /// The path, up to the point where it ends.
    pub hops: Vec<Hop>,
    /// The reason why the destination is not reached.
    pub why: Option<Reason>,
    /// One thing to do if the destination should be reached, or should be reached through an endpoint.
    pub hint: Option<String>,
}

impl Answer {
    fn no(hops: Vec<Hop>, why: impl Into<Reason>) -> Self {
        let why = why.into();
        let hint = why.hint().map(str::to_owned);
        Self { reached: false, way: Way::Network, hops, why: Some(why), hint }
    }

    /// Whether the destination counts as not reached only because something is unknown.
    pub fn unsure(&self) -> bool {
        self.why.as_ref().is_some_and(Reason::is_unknown)
    }
}

/// A place inside a network, with the properties that gateways and filters use.
#[derive(Clone, Copy)]
struct Side<'a> {
    name: &'a str,
    subnet: &'a Subnet,
    /// Whether it has a public address.
    public: bool,
    /// Its security groups. `None` if they are unknown; then nothing is filtered.
    groups: Option<&'a [Key]>,
    /// Its tags. `None` represents hosts with any tag.
    tags: Option<&'a [String]>,
    /// For a gateway that opens a connection for a peer: the permitted destinations.
    permit: Option<Permit<'a>>,
    /// Its only address. `None` represents every address of the subnet.
    address: Option<IpAddr>,
}

impl<'a> Side<'a> {
    /// Hosts of a subnet, of which nothing is known.
    fn of(name: &'a str, subnet: &'a Subnet) -> Self {
        Self { name, subnet, public: false, groups: None, tags: None, permit: None, address: None }
    }

    fn permits(&self, to: IpAddr) -> bool {
        self.permit.is_none_or(|permit| permit.holds(to))
    }

    /// It as the sender of a packet, with one of its addresses and some of the tags that routes may have.
    fn sends<'t>(&self, source: IpAddr, tags: &'t [String]) -> Sender<'a, 't> {
        Sender { subnet: self.subnet, source, public: self.public, tags }
    }
}

impl<'a> Lists<'a> {
    /// Whether packets of `protocol` arrive from one place at the other, and replies return. Services are requested with
    /// HTTPS.
    pub fn ask(&self, from: &Place, to: &Place, protocol: Protocol) -> Answer {
        let answer = match (from, to) {
            (Place::Service(_) | Place::Name(_), _) => {
                Err(Answer::no(Vec::new(), "services do not open connections"))
            }
            (Place::Internet, Place::Internet | Place::Service(_) | Place::Name(_)) => {
                Err(Answer::no(Vec::new(), "the path involves no network of the plan"))
            }
            (Place::Peers { fabric, group }, to) => Ok(self.by_peers(fabric, group, to, protocol)),
            (from, Place::Peers { fabric, .. }) => Ok(self.to_peers(from, fabric)),
            (Place::Internet, to) => self.side(to).map(|to| self.inbound(&to, protocol)),
            (from, Place::Internet) => self.side(from).map(|from| self.outbound(&from, protocol)),
            (from, Place::Service(service)) => self.side(from).map(|from| self.service(&from, service)),
            (from, Place::Name(name)) => self.side(from).map(|from| self.named(&from, name, protocol)),
            (from, to) => {
                self.side(from).and_then(|from| self.side(to).map(|to| self.between(&from, &to, protocol)))
            }
        };
        answer.unwrap_or_else(|refusal| refusal)
    }

    fn side(&self, place: &Place) -> Result<Side<'a>, Answer> {
        let unknown = || Answer::no(Vec::new(), "its subnet is not in the plan");
        let subnet = |key: Option<&Key>| key.and_then(|key| self.all.subnets.get(key)).ok_or_else(unknown);
        match place {
            Place::Host(key) => {
                let host = self.all.hosts.get(key).ok_or_else(unknown)?;
                // A rented pod is in no network. The subnet of another host is always somewhere.
                let subnet =
                    subnet(host.subnet.as_ref()).map_err(|answer| match host.head.home.rents_pods() {
                        true => answer,
                        false => {
                            let why = format!(
                                "the subnet of {} is known only after apply, or managed elsewhere",
                                host.head.name
                            );
                            Answer::no(Vec::new(), Reason::unknown(why))
                        }
                    })?;
                Ok(Side {
                    public: host.public.unwrap_or(subnet.public),
                    groups: host.groups.as_deref(),
                    tags: Some(&host.tags),
                    ..Side::of(&host.head.name, subnet)
                })
            }
            Place::Subnet(key) => {
                let subnet = subnet(Some(key))?;
                Ok(Side { public: self.public(subnet), ..Side::of(&subnet.head.name, subnet) })
            }
            Place::Internet | Place::Service(_) | Place::Name(_) | Place::Peers { .. } => Err(unknown()),
        }
    }

    /// The addresses of a side.
    fn addresses(&self, side: &Side<'_>) -> Vec<IpAddr> {
        match side.address {
            Some(address) => vec![address],
            None => self.samples(side.subnet),
        }
    }
}
