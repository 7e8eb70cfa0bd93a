//! Reachability between two places: the path hop by hop, or the reason why there is none.
//!
//! The answer covers the network: forward and return routes, gateways, NAT, peering, transit gateways and endpoints. Packet
//! filters count if the plan shows what they apply to: security groups of endpoints and instances, firewall rules of a
//! Google network. A subnet represents every host in it. Addresses that all route tables treat alike are tried once.

mod filter;
mod overlay;
mod reason;
mod walk;

use crate::topology::{Attachment, EndpointKind, GatewayKind, Key, Protocol, RouteTable, Subnet, Topology};
use ipnet::IpNet;
use overlay::Permit;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use walk::{End, walk};

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
    /// Through an endpoint.
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
}

impl Answer {
    fn no(hops: Vec<Hop>, why: impl Into<Reason>) -> Self {
        Self { reached: false, way: Way::Network, hops, why: Some(why.into()) }
    }

    /// Whether the destination counts as not reached only because something is unknown.
    pub fn unsure(&self) -> bool {
        self.why.as_ref().is_some_and(Reason::is_unknown)
    }
}

/// A place inside a network, with the properties that gateways and filters use.
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
}

impl Side<'_> {
    fn permits(&self, to: IpAddr) -> bool {
        self.permit.is_none_or(|permit| permit.holds(to))
    }
}

/// A topology with indexes for repeated queries.
pub struct Lists<'a> {
    all: &'a Topology,
    subnets: BTreeMap<&'a str, Vec<&'a Subnet>>,
    tables: BTreeMap<&'a str, &'a RouteTable>,
    main: BTreeMap<&'a str, &'a RouteTable>,
    attachments: BTreeMap<&'a str, Vec<&'a Attachment>>,
    /// Networks that a network is peered with.
    peers: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// First addresses of all ranges, and the addresses after their ends: the points where the treatment may change.
    cuts: BTreeSet<IpAddr>,
}

impl<'a> Lists<'a> {
    /// Indexes a topology.
    pub fn new(all: &'a Topology) -> Self {
        let mut lists = Self {
            all,
            subnets: BTreeMap::new(),
            tables: BTreeMap::new(),
            main: BTreeMap::new(),
            attachments: BTreeMap::new(),
            peers: BTreeMap::new(),
            cuts: BTreeSet::new(),
        };
        let mut ranges: Vec<IpNet> = Vec::new();
        for subnet in all.subnets.values() {
            ranges.extend(&subnet.ranges);
            if let Some(network) = &subnet.network {
                lists.subnets.entry(network).or_default().push(subnet);
            }
        }
        for table in all.tables.values() {
            for subnet in &table.subnets {
                lists.tables.entry(subnet).or_insert(table);
            }
            if let Some(network) = table.network.as_deref().filter(|_| table.main) {
                lists.main.entry(network).or_insert(table);
            }
            for route in &table.routes {
                if let crate::topology::Destination::Range(net) = route.destination {
                    ranges.push(net);
                }
            }
        }
        for attachment in all.attachments.values() {
            if let Some(gateway) = &attachment.gateway {
                lists.attachments.entry(gateway).or_default().push(attachment);
            }
        }
        for peering in all.peerings.values() {
            if let (Some(left), Some(right)) = (&peering.left, &peering.right) {
                lists.peers.entry(left).or_default().insert(right);
                lists.peers.entry(right).or_default().insert(left);
            }
        }
        ranges.extend(all.networks.values().flat_map(|network| &network.ranges));
        ranges.extend(all.transit_tables.values().flat_map(|table| table.routes.iter().map(|(net, _)| net)));
        ranges.extend(filter::ranges(all));
        ranges.extend(overlay::ranges(all));
        for range in ranges {
            lists.cuts.insert(range.network());
            lists.cuts.extend(after(range.broadcast()));
        }
        lists
    }

    fn subnets(&self, network: &str) -> &[&'a Subnet] {
        self.subnets.get(network).map(Vec::as_slice).unwrap_or_default()
    }

    fn table(&self, subnet: &Subnet) -> Option<&'a RouteTable> {
        let main = || self.main.get(subnet.network.as_deref()?);
        self.tables.get(subnet.head.key.as_str()).or_else(main).copied()
    }

    fn attachments(&self, gateway: &str) -> &[&'a Attachment] {
        self.attachments.get(gateway).map(Vec::as_slice).unwrap_or_default()
    }

    /// The range of the network that contains an address. Google networks have the ranges of their subnets.
    fn local(&self, network: &str, address: IpAddr) -> Option<IpNet> {
        let own = self.all.networks.get(network)?;
        let ranges = own.ranges.iter();
        let inner = self.subnets(network).iter().filter(|_| own.ranges.is_empty()).flat_map(|it| &it.ranges);
        ranges
            .chain(inner)
            .filter(|range| range.contains(&address))
            .max_by_key(|range| range.prefix_len())
            .copied()
    }

    /// One address of each part of the subnet that all tables treat alike.
    fn samples(&self, subnet: &Subnet) -> Vec<IpAddr> {
        let mut samples = BTreeSet::new();
        for range in &subnet.ranges {
            samples.insert(range.network());
            samples.extend(self.cuts.range(range.network()..=range.broadcast()));
        }
        samples.into_iter().collect()
    }

    /// Whether hosts of a subnet have public addresses: by default, or because one host requests one.
    fn public(&self, subnet: &Subnet) -> bool {
        let hosts = self.all.hosts.values();
        subnet.public
            || hosts
                .filter(|host| host.subnet.as_ref() == Some(&subnet.head.key))
                .any(|host| host.public == Some(true))
    }

    /// Whether packets of `protocol` arrive from one place at the other, and replies return.
    pub fn ask(&self, from: &Place, to: &Place, protocol: Protocol) -> Answer {
        let answer = match (from, to) {
            (Place::Service(_), _) => Err(Answer::no(Vec::new(), "services do not open connections")),
            (Place::Internet, Place::Internet | Place::Service(_)) => {
                Err(Answer::no(Vec::new(), "the path involves no network of the plan"))
            }
            (Place::Peers { fabric, group }, to) => Ok(self.by_peers(fabric, group, to, protocol)),
            (from, Place::Peers { fabric, .. }) => Ok(self.to_peers(from, fabric)),
            (Place::Internet, to) => self.side(to).map(|to| self.inbound(&to, protocol)),
            (from, Place::Internet) => self.side(from).map(|from| self.outbound(&from, protocol)),
            (from, Place::Service(service)) => self.side(from).map(|from| self.service(&from, service)),
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
                let subnet = subnet(host.subnet.as_ref())?;
                Ok(Side {
                    name: &host.head.name,
                    subnet,
                    public: host.public.unwrap_or(subnet.public),
                    groups: host.groups.as_deref(),
                    tags: Some(&host.tags),
                    permit: None,
                })
            }
            Place::Subnet(key) => {
                let subnet = subnet(Some(key))?;
                let public = self.public(subnet);
                Ok(Side { name: &subnet.head.name, subnet, public, groups: None, tags: None, permit: None })
            }
            Place::Internet | Place::Service(_) | Place::Peers { .. } => Err(unknown()),
        }
    }

    fn between(&self, from: &Side<'_>, to: &Side<'_>, protocol: Protocol) -> Answer {
        if from.subnet.ranges.is_empty() || to.subnet.ranges.is_empty() {
            return Answer::no(Vec::new(), Reason::unknown(RANGE_UNKNOWN));
        }
        let mut last = None;
        for a in self.samples(from.subnet) {
            for b in
                self.samples(to.subnet).into_iter().filter(|b| b.is_ipv4() == a.is_ipv4() && from.permits(*b))
            {
                let answer = self.packet((from, a), (to, b), protocol);
                if answer.reached {
                    return answer;
                }
                last.get_or_insert(answer);
            }
        }
        last.unwrap_or_else(|| {
            Answer::no(Vec::new(), "source and destination have no address family in common")
        })
    }

    /// One packet and its reply.
    fn packet(
        &self,
        (from, a): (&Side<'_>, IpAddr),
        (to, b): (&Side<'_>, IpAddr),
        protocol: Protocol,
    ) -> Answer {
        let there = walk(self, from.subnet, a, b, from.public);
        let mut hops = there.hops.clone();
        match &there.end {
            End::Subnet(key) if *key == to.subnet.head.key => {}
            End::Subnet(key) => {
                return Answer::no(hops, format!("on this path, {b} is in subnet {}", self.all.name(key)));
            }
            End::Internet => return Answer::no(hops, format!("traffic to {b} goes to the internet")),
            End::Dropped(why) => {
                let between = self.between_peers(from.subnet, to.subnet);
                let explained = between.map(|it| why.reworded(|why| format!("{why}; {it}")));
                return Answer::no(hops, explained.unwrap_or_else(|| why.clone()));
            }
        }
        let blocked = filter::leaves(self, from, (to.groups.unwrap_or_default(), b), protocol)
            // Behind NAT, group membership is lost.
            .or_else(|| {
                filter::enters(self, Some(from).filter(|_| there.source.1 == a), there.source.1, to, protocol)
            });
        if let Some(why) = blocked {
            return Answer::no(hops, why);
        }
        // Return path: to the source that the receiver saw, then from each NAT to the address that it translated.
        let mut legs = vec![(to.subnet, b, there.source.clone())];
        for (nat, behind, address) in there.nat.iter().rev() {
            if let Some(nat) = self.all.subnets.get(nat) {
                legs.push((nat, nat_address(nat).unwrap_or(b), (behind.clone(), *address)));
            }
        }
        for (subnet, address, (goal, goal_address)) in legs {
            let back = walk(self, subnet, address, goal_address, false);
            if back.end != End::Subnet(goal.clone()) {
                let why = match back.end {
                    End::Dropped(why) => why,
                    _ => "the replies arrive elsewhere".into(),
                };
                hops.extend(
                    back.hops.into_iter().map(|hop| Hop { text: format!("return: {}", hop.text), ..hop }),
                );
                return Answer::no(hops, why.reworded(|why| format!("no return path: {why}")));
            }
        }
        Answer { reached: true, way: Way::Network, hops, why: None }
    }

    /// Explains two networks that are connected only through two peerings in a row, which do not forward by design.
    fn between_peers(&self, from: &Subnet, to: &Subnet) -> Option<String> {
        let (from, to) = (from.network.as_deref()?, to.network.as_deref()?);
        let (mine, theirs) = (self.peers.get(from)?, self.peers.get(to)?);
        let hub = mine.intersection(theirs).next().filter(|_| !mine.contains(to))?;
        let [from, to, hub] = [from, to, hub].map(|key| self.all.name(key));
        Some(format!("{from} and {to} are both peered with {hub}, and peering is not transitive"))
    }

    /// Public addresses that tables distinguish.
    fn outside(&self, wanted: impl Fn(&IpAddr) -> bool) -> Vec<IpAddr> {
        let anywhere = IpAddr::from([198, 51, 100, 1]);
        let anywhere6 = IpAddr::from([0x2600, 0, 0, 0, 0, 0, 0, 1]);
        let mut found = vec![anywhere, anywhere6];
        found.retain(&wanted);
        let inside = |address: &IpAddr| {
            self.all
                .networks
                .values()
                .any(|network| network.ranges.iter().any(|range| range.contains(address)))
        };
        found.extend(
            self.cuts
                .iter()
                .filter(|it| !walk::is_private(**it) && !it.is_unspecified() && !inside(it) && wanted(it))
                .take(64),
        );
        found
    }

    fn outbound(&self, from: &Side<'_>, protocol: Protocol) -> Answer {
        let mut last = None;
        for a in self.samples(from.subnet) {
            for b in self.outside(|b| b.is_ipv4() == a.is_ipv4() && from.permits(*b)) {
                let there = walk(self, from.subnet, a, b, from.public);
                let answer = match &there.end {
                    End::Internet => match self
                        .way_home(&there)
                        .or_else(|| Some(filter::leaves(self, from, (&[], b), protocol)?.into()))
                    {
                        None => {
                            return Answer { reached: true, way: Way::Internet, hops: there.hops, why: None };
                        }
                        Some(why) => Answer::no(there.hops, why),
                    },
                    End::Dropped(why) => Answer::no(there.hops.clone(), why.clone()),
                    End::Subnet(_) => Answer::no(there.hops, "the traffic stays inside the network"),
                };
                last.get_or_insert(answer);
            }
        }
        last.unwrap_or_else(|| Answer::no(Vec::new(), Reason::unknown(RANGE_UNKNOWN)))
    }

    /// The reason why replies do not return from the last NAT to the sender.
    fn way_home(&self, there: &walk::Walk) -> Option<Reason> {
        there.nat.iter().rev().find_map(|(nat, behind, address)| {
            let nat = self.all.subnets.get(nat)?;
            if nat.head.home.filters_by_network() {
                return None;
            }
            let back = walk(self, nat, nat_address(nat)?, *address, false);
            let why = match back.end {
                End::Subnet(key) if key == *behind => return None,
                End::Dropped(why) => why,
                _ => "the replies arrive elsewhere".into(),
            };
            Some(why.reworded(|why| format!("no return path from NAT: {why}")))
        })
    }

    /// From the internet to a public address, if replies leave through an internet gateway.
    fn inbound(&self, to: &Side<'_>, protocol: Protocol) -> Answer {
        let target = to.subnet;
        if !to.public {
            let why = format!("no host in subnet {} has a public address", target.head.name);
            return Answer::no(Vec::new(), why);
        }
        let mut why = Reason::unknown(RANGE_UNKNOWN);
        for a in self.samples(target) {
            for b in self.outside(|b| b.is_ipv4() == a.is_ipv4()) {
                let back = walk(self, target, a, b, true);
                why = match back.end {
                    End::Internet if back.nat.is_empty() => {
                        match filter::enters(self, None, b, to, protocol) {
                            None => {
                                let mut hops = back.hops;
                                hops.reverse();
                                return Answer { reached: true, way: Way::Internet, hops, why: None };
                            }
                            Some(why) => why.into(),
                        }
                    }
                    End::Internet => "replies leave through NAT".into(),
                    End::Dropped(why) => why,
                    End::Subnet(_) => "replies stay inside the network".into(),
                };
            }
        }
        Answer::no(Vec::new(), why)
    }

    fn service(&self, from: &Side<'_>, service: &str) -> Answer {
        let source = from.subnet;
        let start = Hop::new(&source.head.key, format!("subnet {}", source.head.name));
        let through = |key: &str, name: &str| Answer {
            reached: true,
            way: Way::Endpoint,
            hops: vec![start.clone(), Hop::new(key, format!("endpoint {name} for {service}"))],
            why: None,
        };
        // Gateway endpoints and private access use the public addresses of the service.
        let public = from.permit.is_none() || !self.outside(|it| from.permits(*it)).is_empty();
        let mut why = None;
        for endpoint in self.all.endpoints.values().filter(|it| it.service == service) {
            match endpoint.kind {
                EndpointKind::Gateway => {
                    let table = self.table(source);
                    if public && table.is_some_and(|table| endpoint.tables.contains(&table.head.key)) {
                        return through(&endpoint.head.key, &endpoint.head.name);
                    }
                }
                EndpointKind::PrivateAccess => {
                    if public && endpoint.subnets.contains(&source.head.key) {
                        return through(&endpoint.head.key, &endpoint.head.name);
                    }
                }
                EndpointKind::Interface => {
                    let same = endpoint.network.is_some() && endpoint.network == source.network;
                    for subnet in endpoint.subnets.iter().filter_map(|key| self.all.subnets.get(key)) {
                        let (name, groups) = (endpoint.head.name.as_str(), endpoint.groups.as_deref());
                        let to = Side { name, subnet, public: false, groups, tags: None, permit: None };
                        let answer = self.between(from, &to, HTTPS);
                        if answer.reached {
                            let mut hops = answer.hops;
                            let text = format!("endpoint {name} for {service}");
                            hops.push(Hop::new(&endpoint.head.key, text));
                            return Answer { reached: true, way: Way::Endpoint, hops, why: None };
                        }
                        why = why.or(answer.why);
                    }
                    if endpoint.subnets.is_empty() && same {
                        return through(&endpoint.head.key, &endpoint.head.name);
                    }
                }
            }
        }
        let answer = self.outbound(from, HTTPS);
        match (answer.reached, why) {
            (true, _) => answer,
            (false, Some(why)) => Answer { why: Some(why), ..answer },
            (false, None) => {
                let text = format!("no endpoint for {service} serves it, and it has no path to the internet");
                Answer { why: Some(text.into()), ..answer }
            }
        }
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

fn after(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => u32::from(address).checked_add(1).map(|next| IpAddr::V4(next.into())),
        IpAddr::V6(address) => u128::from(address).checked_add(1).map(|next| IpAddr::V6(next.into())),
    }
}
