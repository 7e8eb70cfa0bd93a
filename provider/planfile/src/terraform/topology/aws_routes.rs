//! Routes: tables of networks, and tables of transit gateways.

use super::super::resource::Values;
use super::super::role::Role;
use super::Reader;
use super::aws::{SUBNETS, TABLES, TRANSIT, VPCS};
use super::view::{Item, Link, View, flag};
use std::collections::BTreeMap;
use warren_model::topology::{
    Change, Destination, EndpointKind, GatewayKind, Home, Key, Route, RouteTable, Target, Topology,
    TransitRoute, TransitTable, TransitTarget,
};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.route_table", table),
    ("aws.default_route_table", default_table),
    ("aws.transit_gateway_route_table", transit_table),
];

/// Resources that add to route tables, which are read earlier.
pub(super) const EDGES: &[(Role, Reader)] = &[
    ("aws.route", route),
    ("aws.route_table_association", association),
    ("aws.main_route_table_association", main_association),
    ("aws.transit_gateway_route_table_association", transit_association),
    ("aws.transit_gateway_route_table_propagation", transit_propagation),
    ("aws.transit_gateway_route", transit_route),
];

const RANGES: &[&str] =
    &["destination_cidr_block", "cidr_block", "destination_ipv6_cidr_block", "ipv6_cidr_block"];
const LISTS: &[&str] = &["destination_prefix_list_id"];
const ATTACHMENTS: &[Role] = &["aws.transit_gateway_attachment"];
const TRANSIT_TABLES: &[Role] = &["aws.transit_gateway_route_table"];

/// Attributes of a target, its roles, and its name while it is unknown.
const TARGETS: &[(&str, &[Role], &str)] = &[
    ("gateway_id", &["aws.internet_gateway", "aws.vpn_gateway"], "internet gateway"),
    ("nat_gateway_id", &["aws.nat_gateway"], "NAT gateway"),
    ("transit_gateway_id", TRANSIT, "transit gateway"),
    ("vpc_peering_connection_id", &["aws.vpc_peering"], "peering"),
    ("egress_only_gateway_id", &["aws.egress_only_internet_gateway"], "egress-only gateway"),
    ("vpc_endpoint_id", &["aws.gateway_endpoint"], "endpoint"),
    ("network_interface_id", &["aws.network_interface", "aws.gateway"], "network interface"),
    ("carrier_gateway_id", &[], "carrier gateway"),
    ("local_gateway_id", &[], "local gateway"),
    ("core_network_arn", &[], "core network"),
];

/// Names of target types that [`settle`] can resolve.
const WORDS: &[&str] =
    &["internet gateway", "NAT gateway", "transit gateway", "peering", "egress-only gateway"];

fn table(view: &mut View<'_>, item: &Item<'_>) {
    read(view, item, false);
}

fn default_table(view: &mut View<'_>, item: &Item<'_>) {
    read(view, item, true);
}

fn read(view: &mut View<'_>, item: &Item<'_>, main: bool) {
    let values = &item.resource.values;
    let mut routes = Vec::new();
    for outer in ["routes", "route"] {
        for (_, block) in values.children(outer) {
            routes.extend(read_route(view, item, &block, Some(outer)));
        }
    }
    routes.sort();
    let network = view.link(item, "vpc_id", VPCS).key();
    // The default table is named by the network that it belongs to.
    let network = network.or_else(|| main.then(|| view.link(item, "default_route_table_id", VPCS).key())?);
    let table = RouteTable {
        head: view.head(item, Home::Aws),
        network,
        main,
        subnets: view.links(item, "subnet_ids", SUBNETS),
        routes,
    };
    view.topology.tables.insert(table.head.key.clone(), table);
}

/// A route from a block or from a separate resource.
fn read_route(view: &View<'_>, item: &Item<'_>, values: &Values<'_>, outer: Option<&str>) -> Option<Route> {
    let destination = view.destination(values, RANGES, LISTS)?;
    let mut target = Target::Nowhere;
    for (attribute, kinds, word) in TARGETS {
        match view.link_in(item, values, attribute, outer.unwrap_or(attribute), kinds) {
            Link::To(key) if key == "local" => return None,
            Link::To(key) => {
                target = resolved(&view.topology, key);
                break;
            }
            // A provider that computes its targets marks those that are not configured as unknown as well.
            Link::Unknown if target == Target::Nowhere => target = Target::Unknown((*word).to_owned()),
            Link::Unknown | Link::Absent => {}
        }
    }
    Some(Route::new(destination, target, Change::Keep))
}

/// The type of the object with a key. [`settle`] resolves objects that are read later.
fn resolved(topology: &Topology, key: Key) -> Target {
    if topology.gateways.contains_key(&key) {
        Target::Gateway(key)
    } else if topology.peerings.contains_key(&key) {
        Target::Peering(key)
    } else if topology.endpoints.contains_key(&key) {
        Target::Endpoint(key)
    } else {
        Target::Other(key)
    }
}

fn route(view: &mut View<'_>, item: &Item<'_>) {
    let Some(mut route) = read_route(view, item, &item.resource.values, None) else { return };
    route.change = item.change;
    let Link::To(key) = view.link(item, "route_table_id", TABLES) else { return };
    // A route of a network's main table names the network's attribute.
    let main = || {
        let network = view.link(item, "route_table_id", VPCS).key()?;
        let mut tables = view.topology.tables.values();
        Some(tables.find(|table| table.main && table.network.as_ref() == Some(&network))?.head.key.clone())
    };
    let key = if view.topology.tables.contains_key(&key) { Some(key) } else { main() };
    if let Some(table) = key.and_then(|key| view.topology.tables.get_mut(&key)) {
        table.routes.push(route);
        table.routes.sort();
    }
}

fn association(view: &mut View<'_>, item: &Item<'_>) {
    let subnet = view.link(item, "subnet_id", SUBNETS).key();
    let Link::To(key) = view.link(item, "route_table_id", TABLES) else { return };
    if let Some(table) = view.topology.tables.get_mut(&key) {
        table.subnets.extend(subnet);
    }
}

fn main_association(view: &mut View<'_>, item: &Item<'_>) {
    let network = view.link(item, "vpc_id", VPCS).key();
    let Link::To(key) = view.link(item, "route_table_id", TABLES) else { return };
    for table in view.topology.tables.values_mut() {
        if table.head.key == key {
            table.main = true;
        } else if network.is_some() && table.network == network {
            table.main = false;
        }
    }
}

fn transit_table(view: &mut View<'_>, item: &Item<'_>) {
    let table = TransitTable {
        head: view.head(item, Home::Aws),
        gateway: view.link(item, "transit_gateway_id", TRANSIT).key(),
        associations: Vec::new(),
        propagations: Vec::new(),
        routes: Vec::new(),
        complete: true,
    };
    view.topology.transit_tables.insert(table.head.key.clone(), table);
}

fn transit_edge(view: &mut View<'_>, item: &Item<'_>, change: impl Fn(&mut TransitTable, Option<Key>)) {
    let attachment = view.link(item, "transit_gateway_attachment_id", ATTACHMENTS).key();
    match view.link(item, "transit_gateway_route_table_id", TRANSIT_TABLES) {
        Link::To(key) => {
            if let Some(table) = view.topology.transit_tables.get_mut(&key) {
                change(table, attachment);
            }
        }
        // Any table may be meant.
        Link::Unknown => view.topology.transit_tables.values_mut().for_each(|table| table.complete = false),
        Link::Absent => {}
    }
}

fn transit_association(view: &mut View<'_>, item: &Item<'_>) {
    transit_edge(view, item, |table, attachment| {
        table.complete &= attachment.is_some();
        table.associations.extend(attachment);
    });
}

fn transit_propagation(view: &mut View<'_>, item: &Item<'_>) {
    transit_edge(view, item, |table, attachment| {
        table.complete &= attachment.is_some();
        table.propagations.extend(attachment);
    });
}

fn transit_route(view: &mut View<'_>, item: &Item<'_>) {
    let destination = view.destination(&item.resource.values, RANGES, &[]);
    let drops = flag(&item.resource.values, "blackhole") == Some(true);
    transit_edge(view, item, |table, attachment| {
        let Some(Destination::Range(net)) = destination else {
            table.complete = false;
            return;
        };
        let target = match attachment {
            _ if drops => TransitTarget::Blackhole,
            Some(key) => TransitTarget::Attachment(key),
            None => TransitTarget::Unknown,
        };
        table.routes.push(TransitRoute { net, target });
    });
}

/// Resolves route targets that are known only after apply, if the cloud allows only one: a network has one internet gateway,
/// a transit gateway must be attached, NAT of another network cannot be used, and a peering must lead to the destination.
pub(super) fn settle(topology: &mut Topology) {
    let mut choices: BTreeMap<(Key, &'static str), Vec<Target>> = BTreeMap::new();
    for gateway in topology.gateways.values() {
        if let Some(network) = &gateway.network {
            let word = match gateway.kind {
                GatewayKind::PrivateNat => GatewayKind::Nat.word(),
                kind => kind.word(),
            };
            let target = Target::Gateway(gateway.head.key.clone());
            choices.entry((network.clone(), word)).or_default().push(target);
        }
    }
    for attachment in topology.attachments.values() {
        if let (Some(network), Some(gateway)) = (&attachment.network, &attachment.gateway) {
            let found = choices.entry((network.clone(), GatewayKind::Transit.word())).or_default();
            let target = Target::Gateway(gateway.clone());
            if !found.contains(&target) {
                found.push(target);
            }
        }
    }
    for peering in topology.peerings.values() {
        for network in [&peering.left, &peering.right].into_iter().flatten() {
            let target = Target::Peering(peering.head.key.clone());
            choices.entry((network.clone(), "peering")).or_default().push(target);
        }
    }
    let mut tables = std::mem::take(&mut topology.tables);
    for table in tables.values_mut() {
        let Some(network) = table.network.clone() else { continue };
        for route in &mut table.routes {
            match &route.target {
                Target::Unknown(word) => {
                    let found = WORDS
                        .iter()
                        .find(|known| *known == word)
                        .and_then(|word| choices.get(&(network.clone(), *word)));
                    if let Some([only]) = found.map(Vec::as_slice) {
                        route.target = only.clone();
                    }
                }
                Target::Other(key) => route.target = resolved(topology, key.clone()),
                _ => {}
            }
        }
        table.subnets.sort();
        table.subnets.dedup();
    }
    // A gateway endpoint writes its own route into the tables that it names.
    for endpoint in topology.endpoints.values().filter(|endpoint| endpoint.kind == EndpointKind::Gateway) {
        for key in &endpoint.tables {
            if let Some(table) = tables.get_mut(key) {
                table.routes.push(Route::new(
                    Destination::List(format!("pl:{}", endpoint.service)),
                    Target::Endpoint(endpoint.head.key.clone()),
                    endpoint.head.change,
                ));
                table.routes.sort();
            }
        }
    }
    topology.tables = tables;
}
