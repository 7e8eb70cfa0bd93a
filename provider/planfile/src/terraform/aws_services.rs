//! Ranges of AWS that are neither VPCs nor subnets: services of clusters, clients and sites behind VPNs.

use super::resource::{Attribute, Resource};
use super::role::Role;
use super::{Context, Reader, links};
use std::collections::BTreeSet;
use warren_model::{Excluded, NetworkRef, SiteRoute};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.cluster", cluster),
    ("aws.client_vpn", client_vpn),
    // Read with its endpoint.
    ("aws.client_vpn_association", |_, _| {}),
    ("aws.vpn_route", vpn_route),
    ("aws.transit_gateway_route", transit_route),
];

const SUBNETS: &[Role] = &["aws.subnet"];
const VPNS: &[Role] = &["aws.vpn_connection"];

/// The range of Kubernetes services. Each cluster has its own behind its nodes, so those of two clusters may be equal, but neither
/// its VPC nor a network that pods need to reach may use it (Amazon EKS User Guide, "View Amazon EKS networking requirements for
/// VPC and subnets": the range must not overlap with that of the VPC).
fn cluster(context: &mut Context<'_>, resource: &Resource<'_>) {
    for (index, values) in resource.values.children("kubernetes_network_config") {
        if values.text("service_ipv4_cidr").is_none() {
            continue;
        }
        let path = format!("kubernetes_network_config{index}.service_ipv4_cidr");
        let block = context.block(resource, &values, "service_ipv4_cidr", &path);
        let network = cluster_network(context, resource);
        exclude(context, resource, "services", network, block.ok().flatten());
    }
}

/// The VPC of a cluster: AWS reports its ID, and before that its subnets show it.
fn cluster_network(context: &Context<'_>, resource: &Resource<'_>) -> NetworkRef {
    const BLOCK: &str = "vpc_config";
    let values = resource.values.nested(BLOCK);
    if let Some(id) = values.and_then(|values| values.text("vpc_id")) {
        return NetworkRef::Id(context.known_network(resource, id));
    }
    let mut subnets = Vec::new();
    if let Some(Attribute::Known(ids)) = values.map(|values| values.attribute("subnet_ids")) {
        subnets.extend(ids.items().iter().filter_map(|id| context.with_id(SUBNETS, id.text()?)));
    }
    if subnets.is_empty() {
        let found = context.locator.references.candidates(resource, BLOCK, SUBNETS).found;
        subnets.extend(found.iter().filter_map(|address| context.by_address.get(address.as_str()).copied()));
    }
    only(subnets.into_iter().map(|subnet| context.network(subnet, "vpc_id")))
}

/// The range of clients. An endpoint translates their addresses, so those of two endpoints may be equal, but neither its VPC nor a
/// network that clients need to reach may use it (AWS Client VPN Administrator Guide, "Rules and best practices for using AWS
/// Client VPN").
fn client_vpn(context: &mut Context<'_>, resource: &Resource<'_>) {
    let block = context.block(resource, &resource.values, "client_cidr_block", "client_cidr_block");
    let network = match context.network(resource, "vpc_id") {
        NetworkRef::Id(id) => NetworkRef::Id(id),
        NetworkRef::None | NetworkRef::Unknown => associated_network(context, resource),
    };
    exclude(context, resource, "clients", network, block.ok().flatten());
}

/// The VPC of the subnets that an endpoint is associated with.
fn associated_network(context: &Context<'_>, resource: &Resource<'_>) -> NetworkRef {
    const ENDPOINT: &str = "client_vpn_endpoint_id";
    let own = resource.values.text("id");
    let names = |association: &&Resource<'_>| match association.values.attribute(ENDPOINT) {
        Attribute::Known(node) => own.is_some() && node.text() == own,
        _ => {
            let found =
                context.locator.references.candidates(association, ENDPOINT, &["aws.client_vpn"]).found;
            found.len() == 1 && found.contains(&resource.address)
        }
    };
    let associations = context.of_roles(&["aws.client_vpn_association"]).filter(names);
    let networks = associations.filter_map(|association| {
        if let Some(id) = association.values.text("vpc_id") {
            return Some(NetworkRef::Id(id.to_owned()));
        }
        let subnet = match association.values.text("subnet_id") {
            Some(id) => context.with_id(SUBNETS, id),
            None => {
                let found = context.locator.references.candidates(association, "subnet_id", SUBNETS).found;
                found.first().and_then(|address| context.by_address.get(address.as_str()).copied())
            }
        };
        Some(context.network(subnet?, "vpc_id"))
    });
    only(networks)
}

/// The network that all of them are.
fn only(networks: impl Iterator<Item = NetworkRef>) -> NetworkRef {
    let found: BTreeSet<NetworkRef> = networks.collect();
    match found.into_iter().collect::<Vec<_>>().as_slice() {
        [one] => one.clone(),
        _ => NetworkRef::Unknown,
    }
}

fn exclude(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    what: &str,
    network: NetworkRef,
    block: Option<warren_model::Block>,
) {
    let (name, owner) = (format!("{} ({what})", resource.address), context.owner.to_owned());
    let network = Some(network);
    context.model.excluded.extend(block.map(|block| Excluded { name, owner, network, block }));
}

/// Only routes to a VPN lead to a site. A route to another VPC is normal, because a firewall may be there.
fn transit_route(context: &mut Context<'_>, resource: &Resource<'_>) {
    const ATTRIBUTE: &str = "transit_gateway_attachment_id";
    let vpn = match resource.values.attribute(ATTRIBUTE) {
        Attribute::Known(node) => node
            .text()
            .and_then(|id| context.of_roles(VPNS).find(|vpn| vpn.values.text(ATTRIBUTE) == Some(id)))
            .map(|vpn| context.id(vpn)),
        Attribute::Unknown => {
            let candidates = context.locator.references.candidates(resource, ATTRIBUTE, VPNS);
            let found =
                candidates.found.first().filter(|_| candidates.found.len() == 1 && !candidates.blurred);
            found.and_then(|address| context.by_address.get(address.as_str())).map(|vpn| context.id(vpn))
        }
        Attribute::Absent | Attribute::Sensitive => None,
    };
    if vpn.is_some() {
        site_route(context, resource, vpn);
    }
}

/// A static route of a VPN connection.
fn vpn_route(context: &mut Context<'_>, resource: &Resource<'_>) {
    let hub = links::hub_of(context, resource, "vpn_connection_id", VPNS);
    site_route(context, resource, hub);
}

fn site_route(context: &mut Context<'_>, resource: &Resource<'_>, hub: Option<String>) {
    const ATTRIBUTE: &str = "destination_cidr_block";
    let Ok(Some(block)) = context.block(resource, &resource.values, ATTRIBUTE, ATTRIBUTE) else { return };
    let (name, owner) = (resource.address.clone(), context.owner.to_owned());
    context.model.site_routes.push(SiteRoute { name, owner, hub, block });
}
