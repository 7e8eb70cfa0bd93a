//! Follows one packet hop by hop, as the clouds forward it: longest prefix, local routes, NAT, non-transitive peering,
//! and transit gateways with their own route tables.

use super::transit::transit;
use super::{Hop, Lists, Reason};
use crate::topology::{
    Destination, Endpoint, EndpointKind, Gateway, GatewayKind, Key, Route, RouteTable, Subnet, Target,
};
use ipnet::IpNet;
use std::cmp::Reverse;
use std::net::IpAddr;

/// Maximum number of forwarding steps of one packet, which ends loops.
const MAX_STEPS: usize = 16;

/// Where a packet ends up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// In a subnet.
    Subnet(Key),
    /// On the internet.
    Internet,
    /// In an endpoint: a gateway endpoint, Private Service Connect, or Google's APIs without the internet.
    Endpoint(Key),
    /// Dropped, with the reason.
    Dropped(Reason),
}

/// The meaning of a destination address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'k> {
    /// An address.
    Address,
    /// Any public address.
    Public,
    /// A public address of an AWS service, which its prefix list contains.
    Aws(&'k str),
    /// A public address of Google's APIs.
    Google,
}

/// The destination of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal<'k> {
    pub(super) address: IpAddr,
    pub(super) kind: Kind<'k>,
}

impl Goal<'_> {
    pub(super) fn address(address: IpAddr) -> Self {
        Goal { address, kind: if is_google(address) { Kind::Google } else { Kind::Address } }
    }
}

/// The sender of a packet: an address of a subnet, whether it has a public address, and the tags of the host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender<'a, 't> {
    pub(super) subnet: &'a Subnet,
    pub(super) source: IpAddr,
    pub(super) public: bool,
    pub(super) tags: &'t [String],
}

/// A packet that enters or leaves a subnet, and its far end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gate<'a> {
    pub(super) subnet: &'a Subnet,
    pub(super) inbound: bool,
    pub(super) peer: IpAddr,
}

impl Gate<'_> {
    /// The same border for the reply.
    pub(super) fn mirrored(&self) -> Self {
        Self { inbound: !self.inbound, ..*self }
    }
}

/// The path of one packet.
#[derive(Debug, Clone)]
pub(super) struct Walk<'a> {
    pub(super) end: End,
    pub(super) hops: Vec<Hop>,
    /// Subnets whose NAT translated the packet, each with the subnet and address that replies go to.
    pub(super) nat: Vec<(Key, Key, IpAddr)>,
    /// The source as the receiver sees it.
    pub(super) source: (Key, IpAddr),
    /// The subnets that the packet enters and leaves.
    pub(super) gates: Vec<Gate<'a>>,
    /// Whether it entered the network it is in through a transit gateway, with an address of another network.
    pub(super) guest: bool,
}

/// Sends a packet.
pub(super) fn walk<'a>(lists: &Lists<'a>, from: &Sender<'a, '_>, goal: Goal<'_>) -> Walk<'a> {
    let start = &from.subnet.head;
    let mut walk = Walk {
        end: End::Dropped("".into()),
        hops: vec![Hop::new(&start.key, format!("subnet {} ({})", start.name, from.source))],
        nat: Vec::new(),
        source: (start.key.clone(), from.source),
        gates: Vec::new(),
        guest: false,
    };
    let mut sender = *from;
    for _ in 0..MAX_STEPS {
        match step(lists, &mut walk, &mut sender, goal) {
            Ok(next) => sender.subnet = next,
            Err(end) => {
                walk.end = end;
                return walk;
            }
        }
    }
    walk.end = End::Dropped("the routes form a loop".into());
    walk
}

pub(super) fn dropped<T>(why: impl Into<Reason>) -> Result<T, End> {
    Err(End::Dropped(why.into()))
}

pub(super) fn unknown<T>(why: impl Into<String>) -> Result<T, End> {
    dropped(Reason::unknown(why))
}

/// One route lookup: returns the subnet whose table is next, or the end of the path.
fn step<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    sender: &mut Sender<'a, '_>,
    goal: Goal<'_>,
) -> Result<&'a Subnet, End> {
    let (subnet, to) = (sender.subnet, goal.address);
    let Some(network) = subnet.network.as_deref() else {
        return unknown(format!("the network of subnet {} is known only after apply", subnet.head.name));
    };
    if let Some(endpoint) = lists.private_service(network, to) {
        return Err(private_service(lists, walk, sender, endpoint));
    }
    let local = lists.local(network, to);
    let table = lists.table(subnet);
    // A route wins against the network's own range only if it is more specific.
    let best = table
        .and_then(|table| best(table, sender.tags, goal))
        .filter(|(length, _)| local.is_none_or(|local| *length > local.prefix_len()));
    if best.is_none() && local.is_some() {
        return Err(deliver(lists, walk, Some(subnet), network, to));
    }
    let (Some(table), Some((_, route))) = (table, best) else {
        return match table {
            Some(table) => {
                let why = format!("route table {} has no route to {}", table.head.name, goal.name());
                dropped(match to {
                    IpAddr::V4(to) if is_google(to.into()) => Reason::from(why).with_hint(format!(
                        "create a route to {}/30 with `next_hop_gateway = \"default-internet-gateway\"`",
                        std::net::Ipv4Addr::from(u32::from(to) & !3)
                    )),
                    _ => why.into(),
                })
            }
            None => dropped(format!("the plan contains no route table for subnet {}", subnet.head.name)),
        };
    };
    let net = &route.destination;
    let hop = |what: String| {
        Hop::new(&table.head.key, format!("route table {}: {net} via {what}", table.head.name))
    };
    let leaves = Gate { subnet, inbound: false, peer: to };
    match &route.target {
        Target::Gateway(key) => {
            let Some(gateway) = lists.all.gateways.get(key) else {
                return dropped(format!("{key} is not in the plan"));
            };
            walk.hops.push(hop(format!("{} {}", gateway.kind.word(), gateway.head.name)));
            through(lists, walk, gateway, sender, network, goal)
        }
        Target::Peering(key) => {
            let Some(peering) = lists.all.peerings.get(key) else {
                return dropped(format!("peering {key} is not in the plan"));
            };
            walk.hops.push(hop(format!("peering {}", peering.head.name)));
            walk.gates.push(leaves);
            let sides = [(&peering.left, &peering.right), (&peering.right, &peering.left)];
            let other =
                sides.into_iter().find_map(|(near, far)| (near.as_deref() == Some(network)).then_some(far));
            match other {
                Some(Some(far)) if lists.local(far, to).is_some() => Err(deliver(lists, walk, None, far, to)),
                Some(Some(far)) => {
                    dropped(format!("{to} is not in {}, and peering is not transitive", lists.all.name(far)))
                }
                Some(None) => unknown("the other side of the peering is known only after apply"),
                None => dropped(format!("peering {} does not connect this network", peering.head.name)),
            }
        }
        Target::Endpoint(key) => {
            let Some(endpoint) = lists.all.endpoints.get(key) else {
                return dropped(format!("endpoint {key} is not in the plan"));
            };
            walk.hops.push(hop(format!("endpoint {}", endpoint.head.name)));
            walk.gates.push(leaves);
            gateway_endpoint(lists, walk, endpoint, network, goal)
        }
        Target::Other(key) if lists.all.hosts.get(key).is_some_and(|host| host.config.is_some()) => {
            let name = lists.all.name(key);
            walk.hops.push(hop(format!("gateway {name}")));
            walk.hops.push(Hop::new(key, format!("gateway {name}")));
            dropped(format!("gateway {name} does not forward connections from the network to its peers"))
        }
        Target::Other(key) if lists.all.hosts.contains_key(key) => {
            let name = lists.all.name(key);
            walk.hops.push(hop(format!("host {name}")));
            unknown(format!("whether host {name} forwards the packet is not in the plan"))
        }
        Target::Other(key) => {
            dropped(format!("the route leads to {}, which the plan does not describe", lists.all.name(key)))
        }
        Target::Unknown(word) => {
            unknown(format!("the route leads to a {word} that is known only after apply"))
        }
        Target::Nowhere => dropped(format!("route table {} drops {net}", table.head.name)),
    }
}

/// The route with the longest prefix, then the smallest priority. The prefixes of a service's list are longer than those of
/// the other routes to it.
fn best<'a>(table: &'a RouteTable, tags: &[String], goal: Goal<'_>) -> Option<(u8, &'a Route)> {
    let applies = |route: &&Route| route.tags.is_empty() || route.tags.iter().any(|tag| tags.contains(tag));
    let routes = table.routes.iter().filter(applies).filter_map(|route| {
        let length = match &route.destination {
            Destination::Range(net) if net.contains(&goal.address) => Some(net.prefix_len()),
            Destination::List(list) => match (goal.kind, list.strip_prefix("pl:")) {
                (Kind::Aws(service), Some(listed)) if service == listed => Some(LISTED),
                _ => None,
            },
            _ => None,
        };
        length.map(|length| (length, route))
    });
    routes.max_by_key(|(length, route)| (*length, Reverse(route.priority), Reverse(*route)))
}

/// The assumed length of the prefixes in the list of a service.
const LISTED: u8 = 33;

impl Goal<'_> {
    fn name(&self) -> String {
        match self.kind {
            Kind::Address => self.address.to_string(),
            Kind::Public => format!("public addresses, such as {}", self.address),
            Kind::Aws(service) => format!("the public addresses of {service}"),
            Kind::Google if is_google(self.address) => self.address.to_string(),
            Kind::Google => "the public addresses of Google's APIs".to_owned(),
        }
    }
}

pub(super) fn deliver<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    from: Option<&'a Subnet>,
    network: &str,
    to: IpAddr,
) -> End {
    let found = lists
        .subnets(network)
        .iter()
        .copied()
        .find(|subnet| subnet.ranges.iter().any(|range| range.contains(&to)));
    let Some(subnet) = found else {
        return End::Dropped(format!("no subnet of {} contains {to}", lists.all.name(network)).into());
    };
    // Packets inside a subnet pass no border. A packet of another network has left its own subnet already.
    if from.is_none_or(|from| from.head.key != subnet.head.key) {
        if let Some(from) =
            from.filter(|_| !walk.gates.last().is_some_and(|gate| gate.peer == to && !gate.inbound))
        {
            walk.gates.push(Gate { subnet: from, inbound: false, peer: to });
        }
        walk.gates.push(Gate { subnet, inbound: true, peer: walk.source.1 });
    }
    let text = format!("subnet {} of {} ({to})", subnet.head.name, lists.all.name(network));
    walk.hops.push(Hop::new(&subnet.head.key, text));
    End::Subnet(subnet.head.key.clone())
}

/// A gateway endpoint serves the hosts and NAT gateways of its own network only.
fn gateway_endpoint<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    endpoint: &'a Endpoint,
    network: &str,
    goal: Goal<'_>,
) -> Result<&'a Subnet, End> {
    let name = &endpoint.head.name;
    let scope = || format!("gateway endpoint {name} serves only hosts of its own network");
    if endpoint.kind != EndpointKind::Gateway {
        return dropped(format!("the route leads to endpoint {name}"));
    }
    if endpoint.network.as_deref().is_some_and(|own| own != network) {
        return dropped(format!("{}, which is not {}", scope(), lists.all.name(network)));
    }
    if walk.guest {
        return dropped(format!(
            "{} {}, and the packet comes from another network",
            scope(),
            lists.all.name(network)
        ));
    }
    walk.hops.push(Hop::new(&endpoint.head.key, format!("endpoint {name} for {}", goal.name())));
    Err(End::Endpoint(endpoint.head.key.clone()))
}

fn through<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    gateway: &'a Gateway,
    sender: &mut Sender<'a, '_>,
    network: &str,
    goal: Goal<'_>,
) -> Result<&'a Subnet, End> {
    let (name, to, subnet) = (&gateway.head.name, goal.address, sender.subnet);
    let leaves = Gate { subnet, inbound: false, peer: to };
    match gateway.kind {
        GatewayKind::Internet if is_private(to) => dropped(format!("{to} is not a public address")),
        GatewayKind::Internet if gateway.network.as_deref() != Some(network) => {
            dropped(format!("internet gateway {name} is not attached to this network"))
        }
        GatewayKind::Internet => {
            walk.gates.push(leaves);
            if goal.kind == Kind::Google && subnet.head.home.filters_by_network() {
                return google_apis(lists, walk, sender);
            }
            // Google's Cloud NAT belongs to the internet gateway, not to a subnet.
            match lists.cloud_nat(subnet) {
                Some(nat) if !sender.public => {
                    walk.hops.push(Hop::new(&nat.head.key, format!("NAT {}", nat.head.name)));
                    walk.nat.push((subnet.head.key.clone(), walk.source.0.clone(), walk.source.1));
                }
                _ if sender.public => {}
                _ => return dropped(format!("no host in subnet {} has a public address", subnet.head.name)),
            }
            walk.hops.push(Hop::new("internet", "the internet".to_owned()));
            Err(End::Internet)
        }
        GatewayKind::EgressOnly if to.is_ipv6() && !is_private(to) => {
            walk.gates.push(leaves);
            walk.hops.push(Hop::new("internet", "the internet".to_owned()));
            walk.nat.push((subnet.head.key.clone(), walk.source.0.clone(), walk.source.1));
            Err(End::Internet)
        }
        GatewayKind::EgressOnly => {
            dropped("an egress-only gateway forwards only IPv6 traffic to the internet")
        }
        GatewayKind::Nat | GatewayKind::PrivateNat => {
            let home = gateway.subnet.as_deref().and_then(|key| lists.all.subnets.get(key));
            let Some(home) = home else {
                return unknown(format!("the subnet of NAT gateway {name} is known only after apply"));
            };
            if gateway.network.as_deref() != Some(network) {
                return dropped(format!("NAT gateway {name} is in another network"));
            }
            let Some(own) = nat_address(home) else {
                return unknown(format!("the range of subnet {} is known only after apply", home.head.name));
            };
            if walk.nat.iter().any(|(key, ..)| *key == home.head.key) {
                return dropped("the routes form a loop");
            }
            if home.head.key != subnet.head.key {
                walk.gates.push(leaves);
                walk.gates.push(Gate { subnet: home, inbound: true, peer: walk.source.1 });
            }
            walk.nat.push((home.head.key.clone(), walk.source.0.clone(), walk.source.1));
            walk.source = (home.head.key.clone(), own);
            walk.guest = false;
            sender.public = gateway.kind == GatewayKind::Nat;
            Ok(home)
        }
        GatewayKind::Transit => {
            walk.gates.push(leaves);
            transit(lists, walk, gateway, subnet, network, goal, &mut sender.public)
        }
        GatewayKind::Vpn => {
            dropped(format!("VPN gateway {name} leads to a site that the plan does not describe"))
        }
    }
}

/// Google's APIs behind the default internet gateway. Hosts without a public address need Private Google Access, which
/// Cloud NAT enables for the subnets that it serves. Also traffic from and to public addresses stays in Google's network
/// ("About accessing Google APIs through endpoints").
fn google_apis<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    sender: &Sender<'a, '_>,
) -> Result<&'a Subnet, End> {
    let subnet = sender.subnet;
    match lists.google_access(subnet, sender.public) {
        Some((key, text)) => {
            walk.hops.push(Hop::new(&key, text));
            Err(End::Endpoint(key))
        }
        None => dropped(no_access(subnet, "its hosts have no public address")),
    }
}

/// Why hosts of a subnet do not reach Google's APIs.
pub(super) fn no_access(subnet: &Subnet, why: &str) -> Reason {
    let text = format!("subnet {} has no Private Google Access, and {why}", subnet.head.name);
    Reason::from(text).with_hint(format!("set `{}.private_ip_google_access = true`", subnet.head.key))
}

fn private_service<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    sender: &Sender<'a, '_>,
    endpoint: &'a Endpoint,
) -> End {
    let name = &endpoint.head.name;
    // Endpoints of other services need no access to Google's APIs.
    if endpoint.service == "googleapis" && lists.google_access(sender.subnet, sender.public).is_none() {
        return End::Dropped(no_access(sender.subnet, &format!("endpoint {name} needs it")));
    }
    walk.hops.push(Hop::new(&endpoint.head.key, format!("endpoint {name}")));
    End::Endpoint(endpoint.head.key.clone())
}

impl<'a> Lists<'a> {
    /// The endpoint of Private Service Connect with an address, which only its own network reaches.
    pub(super) fn private_service(&self, network: &str, to: IpAddr) -> Option<&'a Endpoint> {
        let mut endpoints = self.all.endpoints.values();
        endpoints.find(|it| it.address == Some(to) && it.network.as_deref() == Some(network))
    }

    fn cloud_nat(&self, subnet: &Subnet) -> Option<&'a Gateway> {
        self.all.gateways.values().find(|nat| {
            nat.kind == GatewayKind::Nat
                && nat.head.home.filters_by_network()
                && nat.network == subnet.network
                && nat.serves.as_ref().is_none_or(|serves| serves.contains(&subnet.head.key))
        })
    }

    /// What lets hosts of a subnet use Google's APIs, and its text.
    pub(super) fn google_access(&self, subnet: &Subnet, public: bool) -> Option<(Key, String)> {
        let enabled = self
            .all
            .endpoints
            .values()
            .find(|it| it.kind == EndpointKind::PrivateAccess && it.subnets.contains(&subnet.head.key));
        if let Some(endpoint) = enabled {
            return Some((endpoint.head.key.clone(), "Private Google Access".to_owned()));
        }
        if let Some(nat) = self.cloud_nat(subnet) {
            let text = format!("Private Google Access, which NAT {} enables", nat.head.name);
            return Some((nat.head.key.clone(), text));
        }
        public.then(|| (subnet.head.key.clone(), "Google's network, from a public address".to_owned()))
    }
}

/// Whether an address is of `private.googleapis.com` or `restricted.googleapis.com`, which the internet does not route.
pub(super) fn is_google(address: IpAddr) -> bool {
    // 199.36.153.4/30 and 199.36.153.8/30.
    matches!(address, IpAddr::V4(address) if matches!(address.octets(), [199, 36, 153, 4..=11]))
}

/// The assumed address of a NAT gateway in the subnet. AWS reserves the first four addresses.
pub fn nat_address(subnet: &Subnet) -> Option<IpAddr> {
    match subnet.ranges.iter().find(|range| range.addr().is_ipv4())? {
        IpNet::V4(net) => {
            let last = u32::from(net.broadcast());
            Some(IpAddr::V4(u32::from(net.network()).saturating_add(4).min(last).into()))
        }
        IpNet::V6(_) => None,
    }
}

/// Whether the internet does not route an address.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let shared =
                u32::from(address) >> 22 == (u32::from(std::net::Ipv4Addr::new(100, 64, 0, 0)) >> 22);
            address.is_private() || shared || address.is_link_local() || address.is_loopback()
        }
        IpAddr::V6(address) => address.segments()[0] & 0xfe00 == 0xfc00 || address.is_loopback(),
    }
}
