//! What connects networks, besides peerings: transit gateways, VPNs to one site, hubs, and Warren's fabrics.

use super::resource::{Attribute, Resource, Values};
use super::role::Role;
use super::{Context, NETWORKS, Reader, azure, canonical};
use std::collections::BTreeMap;
use warren_model::{Fabric, Link, NetworkRef};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.transit_gateway", hub),
    ("aws.core_network", hub),
    ("aws.direct_connect_gateway", hub),
    ("aws.customer_gateway", |context, resource| {
        let end =
            peer(context, resource, &resource.values, ("ip_address", "ip_address"), &["gcp.vpn_gateway"]);
        let own = Some(Place::Hub(context.id(resource)));
        push(context, resource, std::iter::once(own).chain(end).collect());
    }),
    ("gcp.connectivity_hub", hub),
    ("gcp.vpn_peer", |context, resource| {
        let interfaces = resource.values.children("interface");
        let ends = interfaces.iter().filter_map(|(_, values)| {
            peer(context, resource, values, ("ip_address", "interface"), CONNECTIONS)
        });
        let ends = std::iter::once(Some(Place::Hub(context.id(resource)))).chain(ends).collect();
        push(context, resource, ends);
    }),
    ("azure.wan", hub),
    ("azure.vpn_site", hub),
    ("azure.circuit", hub),
    // The hubs of one WAN are connected (Azure Virtual WAN, "Global transit network architecture").
    ("azure.hub", |context, resource| gateway(context, resource, &[("virtual_wan_id", &["azure.wan"])])),
    ("azure.hub_vpn_gateway", |context, resource| {
        gateway(context, resource, &[("virtual_hub_id", &["azure.hub"])]);
    }),
    ("azure.hub_vpn_connection", |context, resource| {
        let gateways: &[Role] = &["azure.hub_vpn_gateway"];
        link(context, resource, &[("vpn_gateway_id", gateways), ("remote_vpn_site_id", &["azure.vpn_site"])]);
    }),
    ("azure.vpn_gateway", azure_gateway),
    ("azure.vpn_connection", |context, resource| {
        link(
            context,
            resource,
            &[
                ("virtual_network_gateway_id", AZURE_VPN),
                ("peer_virtual_network_gateway_id", AZURE_VPN),
                ("local_network_gateway_id", &["azure.vpn_site"]),
                ("express_route_circuit_id", &["azure.circuit"]),
            ],
        );
    }),
    ("aws.transit_gateway_attachment", |context, resource| {
        link(context, resource, &[("vpc_id", NETWORKS), ("transit_gateway_id", TRANSIT)]);
    }),
    ("aws.transit_gateway_peering", |context, resource| {
        link(context, resource, &[("transit_gateway_id", TRANSIT), ("peer_transit_gateway_id", TRANSIT)]);
    }),
    ("aws.core_network_attachment", |context, resource| {
        link(context, resource, &[("vpc_arn", NETWORKS), ("core_network_id", &["aws.core_network"])]);
    }),
    ("aws.vpn_gateway", |context, resource| gateway(context, resource, &[("vpc_id", NETWORKS)])),
    ("aws.vpn_gateway_attachment", |context, resource| {
        link(context, resource, &[("vpc_id", NETWORKS), ("vpn_gateway_id", AWS_VPN)]);
    }),
    ("aws.vpn_connection", vpn_connection),
    ("aws.direct_connect_association", |context, resource| {
        let gateway: &[Role] = &["aws.vpn_gateway", "aws.transit_gateway"];
        let direct: &[Role] = &["aws.direct_connect_gateway"];
        link(context, resource, &[("dx_gateway_id", direct), ("associated_gateway_id", gateway)]);
    }),
    ("gcp.vpn_gateway", |context, resource| {
        let interfaces = resource.values.children("vpn_interfaces");
        let addresses = interfaces.iter().filter_map(|(_, values)| address(values, "ip_address"));
        gateway_with(context, resource, &[("network", NETWORKS)], addresses.collect());
    }),
    ("gcp.interconnect_attachment", interconnect),
    ("gcp.vpn_tunnel", vpn_tunnel),
    ("gcp.connectivity_spoke", spoke),
    ("azure.hub_connection", |context, resource| {
        link(
            context,
            resource,
            &[("virtual_hub_id", &["azure.hub"]), ("remote_virtual_network_id", NETWORKS)],
        );
    }),
];

const TRANSIT: &[Role] = &["aws.transit_gateway"];
const AWS_VPN: &[Role] = &["aws.vpn_gateway"];
const AZURE_VPN: &[Role] = &["azure.vpn_gateway"];
const CONNECTIONS: &[Role] = &["aws.vpn_connection"];
const GCP_VPN: &[Role] = &["gcp.vpn_gateway", "gcp.vpn_peer"];

/// The fabric of a network that Warren manages: Warren refuses overlaps in one fabric, even if no link shows that networks are
/// connected. States contain no provider blocks, but networks of AWS have the name as a tag.
pub(super) fn fabric(context: &Context<'_>, resource: &Resource<'_>) -> Option<Fabric> {
    const TAG: &str = "warren:fabric";
    if !resource.kind.starts_with("warren_") {
        return None;
    }
    let tag = tags(resource).remove(TAG);
    let references = context.locator.references;
    let provider = references.provider_of(resource);
    let named = || references.provider_text(provider?, "fabric").map(str::to_owned);
    Some(tag.or_else(named).map_or(Fabric::Unknown, Fabric::Named))
}

/// The known tags of a network, with those of the provider's `default_tags`.
pub(super) fn tags(resource: &Resource<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for attribute in ["tags_all", "tags"] {
        let Attribute::Known(node) = resource.values.attribute(attribute) else { continue };
        let texts =
            node.entries().iter().filter_map(|tag| Some((tag.key.to_string(), tag.value.text()?.to_owned())));
        found.extend(texts);
    }
    found
}

/// A resource that connects what its attributes name.
fn link(context: &mut Context<'_>, resource: &Resource<'_>, attributes: &[(&str, &[Role])]) {
    let ends = attributes
        .iter()
        .filter_map(|(attribute, roles)| end(context, resource, &resource.values, attribute, roles));
    push(context, resource, ends.collect());
}

/// What other resources attach networks to. Alone, it connects nothing.
fn hub(context: &mut Context<'_>, resource: &Resource<'_>) {
    let own = Some(Place::Hub(context.id(resource)));
    push(context, resource, vec![own]);
}

/// A gateway of a network or of a hub is what tunnels and associations name.
fn gateway(context: &mut Context<'_>, resource: &Resource<'_>, attributes: &[(&str, &[Role])]) {
    gateway_with(context, resource, attributes, Vec::new());
}

/// A gateway with the ends of its VPNs.
fn gateway_with(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    attributes: &[(&str, &[Role])],
    more: Vec<End>,
) {
    let ends = attributes
        .iter()
        .filter_map(|(attribute, roles)| end(context, resource, &resource.values, attribute, roles));
    let own = std::iter::once(Some(Place::Hub(context.id(resource))));
    let ends = own.chain(ends).chain(more).collect();
    push(context, resource, ends);
}

/// A known address, which stands for the object that has it.
fn address(values: &Values<'_>, attribute: &str) -> Option<End> {
    values.text(attribute).filter(|text| !text.is_empty()).map(|text| Some(Place::Hub(text.to_owned())))
}

/// The other end of a VPN: the object whose address an attribute in the block `outer` has. Before the apply, only the
/// configuration shows it; a site that is not in the file is no end.
fn peer(
    context: &Context<'_>,
    resource: &Resource<'_>,
    values: &Values<'_>,
    (attribute, outer): (&str, &str),
    roles: &[Role],
) -> Option<End> {
    if !matches!(values.attribute(attribute), Attribute::Unknown) {
        return address(values, attribute);
    }
    let found = context.locator.references.candidates(resource, outer, roles).found;
    let only = found.first().filter(|_| found.len() == 1)?;
    Some(Some(Place::Hub(context.id(context.by_address.get(only.as_str())?))))
}

/// The gateway of a virtual network is in one of its subnets.
fn azure_gateway(context: &mut Context<'_>, resource: &Resource<'_>) {
    let subnets: &[Role] = &["azure.subnet"];
    let known = resource.values.nested("ip_configuration").and_then(|values| values.text("subnet_id"));
    // The ID of a subnet begins with that of its network.
    let network = known.and_then(|id| id.split_once("/subnets/")).map(|(network, _)| network.to_owned());
    let network = network.or_else(|| {
        let found = context.locator.references.candidates(resource, "ip_configuration", subnets).found;
        let subnet = context.by_address.get(found.first().filter(|_| found.len() == 1)?.as_str())?;
        match azure::of(context, subnet).0 {
            NetworkRef::Id(id) => Some(id),
            NetworkRef::None | NetworkRef::Unknown => None,
        }
    });
    let own = Some(Place::Hub(context.id(resource)));
    push(context, resource, vec![own, network.map(Place::Network)]);
}

/// A VLAN attachment connects the network of its router with the site at the other end of the interconnect.
fn interconnect(context: &mut Context<'_>, resource: &Resource<'_>) {
    const ROUTERS: &[Role] = &["gcp.router"];
    let own = Some(Place::Hub(context.id(resource)));
    let router = match resource.values.text("router") {
        Some(text) => context.with_id(ROUTERS, text).or_else(|| {
            let mut named =
                context.of_roles(ROUTERS).filter(|router| router.values.text("name") == Some(text));
            named.next().filter(|_| named.next().is_none())
        }),
        None => {
            let found = context.locator.references.candidates(resource, "router", ROUTERS).found;
            let only = found.first().filter(|_| found.len() == 1);
            only.and_then(|address| context.by_address.get(address.as_str()).copied())
        }
    };
    let network = match router.map(|router| context.network(router, "network")) {
        Some(NetworkRef::Id(id)) => Some(Place::Network(id)),
        _ => None,
    };
    // The interconnect of a partner has no resource.
    let circuit = resource.values.text("interconnect").map(|text| Some(Place::Hub(canonical(text))));
    push(context, resource, [own, network].into_iter().chain(circuit).collect());
}

/// Networks with VPNs to one customer gateway share its site.
fn vpn_connection(context: &mut Context<'_>, resource: &Resource<'_>) {
    let customer: &[Role] = &["aws.customer_gateway"];
    let ends = ["tunnel1_address", "tunnel2_address"];
    let ends = ends.iter().filter_map(|attribute| address(&resource.values, attribute)).collect();
    gateway_with(
        context,
        resource,
        &[("customer_gateway_id", customer), ("vpn_gateway_id", AWS_VPN), ("transit_gateway_id", TRANSIT)],
        ends,
    );
}

/// Both ends of a tunnel. The gateway at the other end belongs to another network, or to a site.
fn vpn_tunnel(context: &mut Context<'_>, resource: &Resource<'_>) {
    let attributes = ["vpn_gateway", "target_vpn_gateway", "peer_gcp_gateway", "peer_external_gateway"];
    let peer = peer(context, resource, &resource.values, ("peer_ip", "peer_ip"), CONNECTIONS);
    // The tunnels of a VPN are themselves attached to hubs.
    let attributes = attributes.map(|attribute| (attribute, GCP_VPN));
    gateway_with(context, resource, &attributes, peer.into_iter().collect());
}

fn spoke(context: &mut Context<'_>, resource: &Resource<'_>) {
    let values = &resource.values;
    let mut ends = vec![end(context, resource, values, "hub", &["gcp.connectivity_hub"])];
    for block in ["linked_vpc_network", "linked_producer_vpc_network"] {
        for (_, inner) in values.children(block) {
            let attribute = if block == "linked_vpc_network" { "uri" } else { "network" };
            ends.push(end_in_block(context, &inner, attribute));
        }
    }
    for block in ["linked_vpn_tunnels", "linked_interconnect_attachments"] {
        for (_, inner) in values.children(block) {
            match inner.attribute("uris") {
                Attribute::Known(uris) => {
                    let uris = uris.items().iter();
                    ends.extend(uris.map(|uri| Some(uri.text().map(|uri| Place::Hub(canonical(uri))))));
                }
                Attribute::Unknown | Attribute::Sensitive => ends.push(Some(None)),
                Attribute::Absent => {}
            }
        }
    }
    // The network of a router appliance is that of its instance.
    for (_, inner) in values.children("linked_router_appliance_instances") {
        for (_, instance) in inner.children("instances") {
            let id = instance.text("virtual_machine");
            let found = id.and_then(|id| context.with_id(&["gcp.instance"], id));
            let network = found
                .and_then(|found| found.values.nested("network_interface")?.text("network"))
                .map(|text| Place::Network(context.known_network(resource, text)));
            ends.push(Some(network));
        }
        if !matches!(inner.attribute("instances"), Attribute::Known(_)) {
            ends.push(Some(None));
        }
    }
    push(context, resource, ends.into_iter().flatten().collect());
}

/// The network that an attribute of a block names.
fn end_in_block(context: &Context<'_>, values: &Values<'_>, attribute: &str) -> Option<End> {
    match values.attribute(attribute) {
        Attribute::Known(_) => Some(values.text(attribute).map(|text| Place::Network(canonical(text)))),
        // References in blocks are not followed, but one network has no other.
        Attribute::Unknown => {
            let mut all = context.ids.values();
            Some(all.next().filter(|_| all.next().is_none()).cloned().map(Place::Network))
        }
        Attribute::Sensitive => Some(None),
        Attribute::Absent => None,
    }
}

/// What a link connects. `None` if nothing shows it.
type End = Option<Place>;

/// The identity of a network or hub.
enum Place {
    Network(String),
    Hub(String),
}

/// What an attribute names. `None` if it is not set, `Some(None)` if it is known only after apply and nothing shows it.
fn end(
    context: &Context<'_>,
    resource: &Resource<'_>,
    values: &Values<'_>,
    attribute: &str,
    roles: &[Role],
) -> Option<End> {
    let place = |id: String| if roles == NETWORKS { Place::Network(id) } else { Place::Hub(id) };
    match values.attribute(attribute) {
        Attribute::Known(_) => {
            let text = values.text(attribute)?;
            // The ARN of a VPC ends in its ID.
            let text = text.split_once(":vpc/").map_or(text, |(_, id)| id);
            let network = || context.known_network(resource, text);
            return Some(Some(place(if roles == NETWORKS { network() } else { canonical(text) })));
        }
        Attribute::Sensitive => return Some(None),
        Attribute::Absent => return None,
        Attribute::Unknown => {}
    }
    let candidates = context.locator.references.candidates(resource, attribute, roles);
    // Providers mark an attribute that the configuration does not set as unknown, too.
    if candidates.unset {
        return None;
    }
    if roles == NETWORKS {
        return Some(match context.network(resource, attribute) {
            NetworkRef::Id(id) => Some(place(id)),
            NetworkRef::None | NetworkRef::Unknown => None,
        });
    }
    let only = match candidates.found.iter().collect::<Vec<_>>().as_slice() {
        [address] => context.by_address.get(address.as_str()).copied(),
        // Modules hide the reference in a local value. The only hub of the file is then the one that is meant. What a data source
        // reads may be any hub, also one of another team.
        [] if candidates.data.is_empty() => {
            let mut all = context.of_roles(roles);
            all.next().filter(|_| all.next().is_none())
        }
        _ => None,
    };
    Some(only.map(|hub| place(context.id(hub))))
}

/// The identity of the hub that an attribute names, if it is known.
pub(super) fn hub_of(
    context: &Context<'_>,
    resource: &Resource<'_>,
    attribute: &str,
    roles: &[Role],
) -> Option<String> {
    match end(context, resource, &resource.values, attribute, roles)?? {
        Place::Network(id) | Place::Hub(id) => Some(id),
    }
}

fn push(context: &mut Context<'_>, resource: &Resource<'_>, ends: Vec<End>) {
    let open = ends.iter().any(Option::is_none);
    let (mut networks, mut hubs) = (Vec::new(), Vec::new());
    for place in ends.into_iter().flatten() {
        match place {
            Place::Network(id) => networks.push(id),
            Place::Hub(id) => hubs.push(id),
        }
    }
    context.model.links.push(Link { name: resource.address.clone(), networks, hubs, open });
}
