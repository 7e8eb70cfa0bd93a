//! VPNs between clouds. Each side names the other one by an address: that of a gateway, or of a tunnel. Before the apply, the
//! configuration shows which object has the address.

use super::super::resource::{Attribute, Values};
use super::super::role::Role;
use super::view::{Item, Link, View};
use super::{Reader, aws};
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Head, Home, Key, Topology, Tunnel};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.customer_gateway", customer_gateway),
    ("aws.vpn_connection", connection),
    ("gcp.vpn_peer", peer),
    ("gcp.vpn_tunnel", tunnel),
];

const CONNECTIONS: &[Role] = &["aws.vpn_connection"];
const GCP_GATEWAYS: &[Role] = &["gcp.vpn_gateway"];

/// What the readers of one side found.
#[derive(Default)]
pub(super) struct Vpns {
    /// The object that has an address.
    by_address: BTreeMap<String, Key>,
    /// What an object names as its other end: objects or addresses.
    peers: BTreeMap<Key, BTreeSet<Key>>,
    /// Connections and tunnels, with the gateway at their own end.
    ways: BTreeMap<Key, (Head, Key)>,
}

/// Records the addresses of a gateway of Google Cloud.
pub(super) fn addresses(view: &mut View<'_>, item: &Item<'_>) {
    for (_, interface) in item.resource.values.children("vpn_interfaces") {
        own(view, item, &interface, "ip_address");
    }
}

fn own(view: &mut View<'_>, item: &Item<'_>, values: &Values<'_>, attribute: &str) {
    if let Some(address) = values.text(attribute).filter(|text| !text.is_empty()) {
        view.vpns.by_address.insert(address.to_owned(), item.resource.address.clone());
    }
}

/// Records the object whose address an attribute in the block `outer` has, or the address.
fn names(
    view: &mut View<'_>,
    item: &Item<'_>,
    values: &Values<'_>,
    (attribute, outer): (&str, &str),
    roles: &[Role],
) {
    let found: BTreeSet<Key> = match values.attribute(attribute) {
        Attribute::Known(node) => node.text().map(str::to_owned).into_iter().collect(),
        Attribute::Unknown => view.candidates(item, outer, roles).found,
        Attribute::Absent | Attribute::Sensitive => return,
    };
    view.vpns.peers.entry(item.resource.address.clone()).or_default().extend(found);
}

/// Records the object that an attribute refers to.
fn refers(view: &mut View<'_>, item: &Item<'_>, attribute: &str, roles: &[Role]) {
    let found = view.link(item, attribute, roles).key();
    view.vpns.peers.entry(item.resource.address.clone()).or_default().extend(found);
}

/// Records a connection or a tunnel with the gateway at its own end.
fn way(view: &mut View<'_>, item: &Item<'_>, home: Home, gateways: [(&str, &[Role]); 2]) {
    let mut near = gateways.iter().filter_map(|(attribute, roles)| match view.link(item, attribute, roles) {
        Link::To(key) => Some(key),
        Link::Unknown | Link::Absent => None,
    });
    if let Some(near) = near.next() {
        let head = view.head(item, home);
        view.vpns.ways.insert(head.key.clone(), (head, near));
    }
}

fn customer_gateway(view: &mut View<'_>, item: &Item<'_>) {
    names(view, item, &item.resource.values, ("ip_address", "ip_address"), GCP_GATEWAYS);
}

fn connection(view: &mut View<'_>, item: &Item<'_>) {
    for attribute in ["tunnel1_address", "tunnel2_address"] {
        own(view, item, &item.resource.values, attribute);
    }
    refers(view, item, "customer_gateway_id", &["aws.customer_gateway"]);
    way(
        view,
        item,
        Home::Aws,
        [("vpn_gateway_id", &["aws.vpn_gateway"]), ("transit_gateway_id", aws::TRANSIT)],
    );
}

fn peer(view: &mut View<'_>, item: &Item<'_>) {
    for (_, interface) in item.resource.values.children("interface") {
        names(view, item, &interface, ("ip_address", "interface"), CONNECTIONS);
    }
}

fn tunnel(view: &mut View<'_>, item: &Item<'_>) {
    names(view, item, &item.resource.values, ("peer_ip", "peer_ip"), CONNECTIONS);
    refers(view, item, "peer_external_gateway", &["gcp.vpn_peer"]);
    way(view, item, Home::Google, [("vpn_gateway", GCP_GATEWAYS), ("target_vpn_gateway", GCP_GATEWAYS)]);
}

/// Adds each connection and tunnel whose other end is one gateway in another cloud.
pub(super) fn settle(view: &mut View<'_>) {
    let Vpns { by_address, peers, ways } = std::mem::take(&mut view.vpns);
    for (key, (head, near)) in &ways {
        let far = ends(key, &by_address, &peers, &ways, &view.topology);
        let mut far = far.into_iter().filter(|gateway| gateway.home != head.home);
        if let (Some(far), None) = (far.next(), far.next()) {
            let (left, right) = (near.clone(), far.key.clone());
            view.topology.tunnels.insert(key.clone(), Tunnel { head: head.clone(), left, right });
        }
    }
}

/// The gateways that a connection or tunnel leads to, through the objects that stand for its other end.
fn ends<'a>(
    key: &str,
    by_address: &BTreeMap<String, Key>,
    peers: &BTreeMap<Key, BTreeSet<Key>>,
    ways: &BTreeMap<Key, (Head, Key)>,
    topology: &'a Topology,
) -> Vec<&'a Head> {
    let (mut found, mut seen) = (BTreeMap::new(), BTreeSet::new());
    let mut open: Vec<&Key> = peers.get(key).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        let next = by_address.get(next).unwrap_or(next);
        let gateway = ways.get(next).map_or(next, |(_, near)| near);
        if let Some(gateway) = topology.gateways.get(gateway) {
            found.insert(&gateway.head.key, &gateway.head);
        } else if seen.insert(next) {
            open.extend(peers.get(next).into_iter().flatten());
        }
    }
    found.into_values().collect()
}
