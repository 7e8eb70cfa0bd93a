//! What connects networks, besides peerings: transit gateways, VPNs to one site, hubs, and Warren's fabrics.

use super::resource::{Attribute, Resource, Values};
use super::role::{Role, is};
use super::{Context, NETWORKS, Reader, canonical};
use std::collections::BTreeMap;
use warren_model::{Link, NetworkRef};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.transit_gateway", hub),
    ("aws.core_network", hub),
    ("aws.direct_connect_gateway", hub),
    ("aws.customer_gateway", hub),
    ("gcp.connectivity_hub", hub),
    ("gcp.vpn_peer", hub),
    ("azure.hub", hub),
    ("aws.transit_gateway_attachment", |context, resource| {
        link(context, resource, &[("vpc_id", NETWORKS), ("transit_gateway_id", TRANSIT)]);
    }),
    ("aws.transit_gateway_peering", |context, resource| {
        link(context, resource, &[("transit_gateway_id", TRANSIT), ("peer_transit_gateway_id", TRANSIT)]);
    }),
    ("aws.core_network_attachment", |context, resource| {
        link(context, resource, &[("vpc_arn", NETWORKS), ("core_network_id", &["aws.core_network"])]);
    }),
    ("aws.vpn_gateway", |context, resource| of_gateway(context, resource, "vpc_id")),
    ("aws.vpn_gateway_attachment", |context, resource| {
        link(context, resource, &[("vpc_id", NETWORKS), ("vpn_gateway_id", AWS_VPN)]);
    }),
    ("aws.vpn_connection", vpn_connection),
    ("aws.direct_connect_association", |context, resource| {
        let gateway: &[Role] = &["aws.vpn_gateway", "aws.transit_gateway"];
        let direct: &[Role] = &["aws.direct_connect_gateway"];
        link(context, resource, &[("dx_gateway_id", direct), ("associated_gateway_id", gateway)]);
    }),
    ("gcp.vpn_gateway", |context, resource| of_gateway(context, resource, "network")),
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
const GCP_VPN: &[Role] = &["gcp.vpn_gateway", "gcp.vpn_peer"];

/// Warren refuses overlaps in one fabric, so networks that it manages are connected even if no link shows it.
pub(super) fn warren(context: &mut Context<'_>, resource: &Resource<'_>) {
    if !resource.kind.starts_with("warren_") {
        return;
    }
    let fabric = context.fabric.unwrap_or_default();
    let name = match fabric {
        "" => "the provider `warren`, which manages both".to_owned(),
        fabric => format!("the fabric {fabric} of the provider `warren`"),
    };
    let ends = vec![context.id(resource), format!("fabric!{fabric}")];
    context.model.links.push(Link { name, ends, open: false });
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
    let own = Some(context.id(resource));
    push(context, resource, vec![own]);
}

/// A gateway of a network is what tunnels and associations name.
fn of_gateway(context: &mut Context<'_>, resource: &Resource<'_>, attribute: &str) {
    if let Some(network) = end(context, resource, &resource.values, attribute, NETWORKS) {
        let own = Some(context.id(resource));
        push(context, resource, vec![own, network]);
    }
}

/// Networks with VPNs to one customer gateway share its site.
fn vpn_connection(context: &mut Context<'_>, resource: &Resource<'_>) {
    let customer: &[Role] = &["aws.customer_gateway"];
    link(
        context,
        resource,
        &[("customer_gateway_id", customer), ("vpn_gateway_id", AWS_VPN), ("transit_gateway_id", TRANSIT)],
    );
}

/// Both ends of a tunnel. The gateway at the other end belongs to another network, or to a site.
fn vpn_tunnel(context: &mut Context<'_>, resource: &Resource<'_>) {
    let attributes = ["vpn_gateway", "target_vpn_gateway", "peer_gcp_gateway", "peer_external_gateway"];
    link(context, resource, &attributes.map(|attribute| (attribute, GCP_VPN)));
}

fn spoke(context: &mut Context<'_>, resource: &Resource<'_>) {
    let values = &resource.values;
    let mut ends = vec![end(context, resource, values, "hub", &["gcp.connectivity_hub"])];
    let vpc = values.nested("linked_vpc_network");
    ends.push(vpc.and_then(|vpc| inner(context, &vpc, "uri")));
    let tunnels = values.nested("linked_vpn_tunnels");
    if let Some(Attribute::Known(uris)) = tunnels.map(|tunnels| tunnels.attribute("uris")) {
        ends.extend(uris.items().iter().map(|uri| Some(uri.text().map(canonical))));
    }
    push(context, resource, ends.into_iter().flatten().collect());
}

/// An attribute of a block.
fn inner(context: &Context<'_>, values: &Values<'_>, attribute: &str) -> Option<Option<String>> {
    match values.attribute(attribute) {
        Attribute::Known(_) => Some(values.text(attribute).map(canonical)),
        // References in blocks are not followed, but one network has no other.
        Attribute::Unknown => {
            let mut all = context.ids.values();
            Some(all.next().filter(|_| all.next().is_none()).cloned())
        }
        Attribute::Absent | Attribute::Sensitive => None,
    }
}

/// What an attribute names. `None` if it is not set, `Some(None)` if it is known only after apply and nothing shows it.
fn end(
    context: &Context<'_>,
    resource: &Resource<'_>,
    values: &Values<'_>,
    attribute: &str,
    roles: &[Role],
) -> Option<Option<String>> {
    let unknown = match values.attribute(attribute) {
        Attribute::Known(_) => false,
        Attribute::Unknown => true,
        Attribute::Absent | Attribute::Sensitive => return None,
    };
    if !unknown {
        let text = values.text(attribute)?;
        // The ARN of a VPC ends in its ID.
        let text = text.split_once(":vpc/").map_or(text, |(_, id)| id);
        let network = || context.known_network(resource, text);
        return Some(Some(if roles == NETWORKS { network() } else { canonical(text) }));
    }
    if roles == NETWORKS {
        return Some(match context.network(resource, attribute) {
            NetworkRef::Id(id) => Some(id),
            NetworkRef::None | NetworkRef::Unknown => None,
        });
    }
    let candidates = context.locator.references.candidates(resource, attribute, roles);
    // Providers mark an attribute that the configuration does not set as unknown, too.
    if candidates.unset {
        return None;
    }
    let mut all = context.resources.iter().filter(|other| match candidates.found.len() {
        0 => is(other.kind, roles),
        _ => candidates.found.contains(&other.address),
    });
    // Modules hide the reference in a local value. The only hub of the file is then the one that is meant.
    let only = all.next().filter(|_| all.next().is_none());
    Some(only.map(|hub| context.id(hub)))
}

fn push(context: &mut Context<'_>, resource: &Resource<'_>, ends: Vec<Option<String>>) {
    let open = ends.iter().any(Option::is_none);
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    let own = context.id(resource);
    // The tunnels of a VPN are themselves attached to hubs.
    let ends = if is(resource.kind, &["gcp.vpn_tunnel"]) { [vec![own], ends].concat() } else { ends };
    context.model.links.push(Link { name: resource.address.clone(), ends, open });
}
