//! Follows one packet hop by hop, as the clouds forward it: longest prefix, local routes, NAT, non-transitive peering,
//! and transit gateways with their own route tables.

use super::{Hop, Lists, Reason};
use crate::topology::{Attachment, Destination, Gateway, GatewayKind, Key, Subnet, Target};
use ipnet::IpNet;
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
    /// Dropped, with the reason.
    Dropped(Reason),
}

/// The path of one packet.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    pub(super) end: End,
    pub(super) hops: Vec<Hop>,
    /// Subnets whose NAT translated the packet, each with the subnet and address that replies go to.
    pub(super) nat: Vec<(Key, Key, IpAddr)>,
    /// The source as the receiver sees it.
    pub(super) source: (Key, IpAddr),
}

/// Sends a packet from an address of a subnet. `public` states whether the sender has a public address.
pub(super) fn walk(lists: &Lists<'_>, from: &Subnet, source: IpAddr, to: IpAddr, public: bool) -> Walk {
    let mut walk = Walk {
        end: End::Dropped("".into()),
        hops: vec![Hop::new(&from.head.key, format!("subnet {} ({source})", from.head.name))],
        nat: Vec::new(),
        source: (from.head.key.clone(), source),
    };
    let (mut subnet, mut public) = (from, public);
    for _ in 0..MAX_STEPS {
        match step(lists, &mut walk, subnet, to, &mut public) {
            Ok(next) => subnet = next,
            Err(end) => {
                walk.end = end;
                return walk;
            }
        }
    }
    walk.end = End::Dropped("the routes form a loop".into());
    walk
}

fn dropped<T>(why: impl Into<Reason>) -> Result<T, End> {
    Err(End::Dropped(why.into()))
}

fn unknown<T>(why: impl Into<String>) -> Result<T, End> {
    dropped(Reason::unknown(why))
}

/// One route lookup: returns the subnet whose table is next, or the end of the path.
fn step<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk,
    subnet: &'a Subnet,
    to: IpAddr,
    public: &mut bool,
) -> Result<&'a Subnet, End> {
    let Some(network) = subnet.network.as_deref() else {
        return unknown(format!("the network of subnet {} is known only after apply", subnet.head.name));
    };
    let local = lists.local(network, to);
    let table = lists.table(subnet);
    let best = table.and_then(|table| {
        let ranges = table.routes.iter().filter_map(|route| match &route.destination {
            Destination::Range(net) if net.contains(&to) => Some((net, route)),
            _ => None,
        });
        ranges.max_by_key(|(net, route)| (net.prefix_len(), std::cmp::Reverse(*route)))
    });
    // A route wins against the network's own range only if it is more specific.
    let best = best.filter(|(net, _)| local.is_none_or(|local| net.prefix_len() > local.prefix_len()));
    if best.is_none() && local.is_some() {
        return Err(deliver(lists, walk, network, to));
    }
    let (Some(table), Some((net, route))) = (table, best) else {
        return match table {
            Some(table) => dropped(format!("route table {} has no route to {to}", table.head.name)),
            None => dropped(format!("the plan contains no route table for subnet {}", subnet.head.name)),
        };
    };
    let hop = |what: String| {
        Hop::new(&table.head.key, format!("route table {}: {net} via {what}", table.head.name))
    };
    match &route.target {
        Target::Gateway(key) => {
            let Some(gateway) = lists.all.gateways.get(key) else {
                return dropped(format!("{key} is not in the plan"));
            };
            walk.hops.push(hop(format!("{} {}", gateway.kind.word(), gateway.head.name)));
            through(lists, walk, gateway, subnet, network, to, public)
        }
        Target::Peering(key) => {
            let Some(peering) = lists.all.peerings.get(key) else {
                return dropped(format!("peering {key} is not in the plan"));
            };
            walk.hops.push(hop(format!("peering {}", peering.head.name)));
            let sides = [(&peering.left, &peering.right), (&peering.right, &peering.left)];
            let other =
                sides.into_iter().find_map(|(near, far)| (near.as_deref() == Some(network)).then_some(far));
            match other {
                Some(Some(far)) if lists.local(far, to).is_some() => Err(deliver(lists, walk, far, to)),
                Some(Some(far)) => {
                    dropped(format!("{to} is not in {}, and peering is not transitive", lists.all.name(far)))
                }
                Some(None) => unknown("the other side of the peering is known only after apply"),
                None => dropped(format!("peering {} does not connect this network", peering.head.name)),
            }
        }
        Target::Endpoint(key) => dropped(format!("the route leads to endpoint {}", lists.all.name(key))),
        Target::Other(key) if lists.all.hosts.get(key).is_some_and(|host| host.config.is_some()) => {
            let name = lists.all.name(key);
            walk.hops.push(hop(format!("gateway {name}")));
            walk.hops.push(Hop::new(key, format!("gateway {name}")));
            dropped(format!("gateway {name} does not forward connections from the network to its peers"))
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

fn deliver(lists: &Lists<'_>, walk: &mut Walk, network: &str, to: IpAddr) -> End {
    let found =
        lists.subnets(network).iter().find(|subnet| subnet.ranges.iter().any(|range| range.contains(&to)));
    match found {
        Some(subnet) => {
            let text = format!("subnet {} of {} ({to})", subnet.head.name, lists.all.name(network));
            walk.hops.push(Hop::new(&subnet.head.key, text));
            End::Subnet(subnet.head.key.clone())
        }
        None => End::Dropped(format!("no subnet of {} contains {to}", lists.all.name(network)).into()),
    }
}

fn through<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk,
    gateway: &'a Gateway,
    subnet: &'a Subnet,
    network: &str,
    to: IpAddr,
    public: &mut bool,
) -> Result<&'a Subnet, End> {
    let name = &gateway.head.name;
    match gateway.kind {
        GatewayKind::Internet if is_private(to) => dropped(format!("{to} is not a public address")),
        GatewayKind::Internet if gateway.network.as_deref() != Some(network) => {
            dropped(format!("internet gateway {name} is not attached to this network"))
        }
        GatewayKind::Internet => {
            // Google's Cloud NAT belongs to the internet gateway, not to a subnet.
            let nat = lists.all.gateways.values().find(|nat| {
                nat.kind == GatewayKind::Nat
                    && nat.head.home.filters_by_network()
                    && nat.network.as_deref() == Some(network)
                    && nat.serves.as_ref().is_none_or(|serves| serves.contains(&subnet.head.key))
            });
            match nat {
                Some(nat) if !*public => {
                    walk.hops.push(Hop::new(&nat.head.key, format!("NAT {}", nat.head.name)));
                    walk.nat.push((subnet.head.key.clone(), walk.source.0.clone(), walk.source.1));
                }
                _ if *public => {}
                _ => return dropped(format!("no host in subnet {} has a public address", subnet.head.name)),
            }
            walk.hops.push(Hop::new("internet", "the internet".to_owned()));
            Err(End::Internet)
        }
        GatewayKind::EgressOnly if to.is_ipv6() && !is_private(to) => {
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
            walk.nat.push((home.head.key.clone(), walk.source.0.clone(), walk.source.1));
            walk.source = (home.head.key.clone(), own);
            *public = gateway.kind == GatewayKind::Nat;
            Ok(home)
        }
        GatewayKind::Transit => transit(lists, walk, gateway, network, to, public),
        GatewayKind::Vpn => {
            dropped(format!("VPN gateway {name} leads to a site that the plan does not describe"))
        }
    }
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

fn transit<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk,
    gateway: &'a Gateway,
    network: &str,
    to: IpAddr,
    public: &mut bool,
) -> Result<&'a Subnet, End> {
    let name = &gateway.head.name;
    let attached = lists.attachments(&gateway.head.key);
    let Some(near) = attached.iter().find(|it| it.network.as_deref() == Some(network)) else {
        return dropped(format!("{} is not attached to transit gateway {name}", lists.all.name(network)));
    };
    let own = lists.all.transit_tables.values().find(|table| table.associations.contains(&near.head.key));
    let mut routes: Vec<(IpNet, bool, Option<&Attachment>)> = Vec::new();
    let mut add = |attachment: &'a Attachment| {
        let far = attachment.network.as_deref().and_then(|key| lists.all.networks.get(key));
        for range in far.into_iter().flat_map(|far| &far.ranges) {
            routes.push((*range, false, Some(attachment)));
        }
    };
    match own {
        Some(table) => {
            for attachment in attached.iter().filter(|it| table.propagations.contains(&it.head.key)) {
                add(attachment);
            }
            for (net, key) in &table.routes {
                let attachment = key.as_ref().and_then(|key| lists.all.attachments.get(key));
                routes.push((*net, true, attachment));
            }
        }
        None if gateway.associates && near.associates => {
            for attachment in attached.iter().filter(|it| gateway.propagates && it.propagates) {
                add(attachment);
            }
        }
        None => {
            return dropped(format!(
                "the attachment of {} is associated with no route table of transit gateway {name}",
                lists.all.name(network)
            ));
        }
    }
    // A static route wins over a propagated route of the same length.
    let best =
        routes.into_iter().filter(|(net, ..)| net.contains(&to)).max_by_key(|(net, fixed, attachment)| {
            (net.prefix_len(), *fixed, std::cmp::Reverse(attachment.map(|it| &it.head.key)))
        });
    let Some((net, _, far)) = best else {
        return dropped(format!("transit gateway {name} has no route to {to}"));
    };
    let Some(far) = far else { return dropped(format!("transit gateway {name} drops {net}")) };
    let text = format!("transit gateway {name}: {net} via attachment {}", far.head.name);
    walk.hops.push(Hop::new(&gateway.head.key, text));
    let Some(target) = far.network.as_deref() else {
        return unknown("the network of the attachment is known only after apply");
    };
    if lists.local(target, to).is_some() {
        return Err(deliver(lists, walk, target, to));
    }
    // Beyond the network, the route table of the attachment's subnet decides. The sender has no public address there.
    *public = false;
    match far.subnets.first().and_then(|key| lists.all.subnets.get(key)) {
        Some(subnet) => Ok(subnet),
        None => dropped(format!("{to} is not in {}", lists.all.name(target))),
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
