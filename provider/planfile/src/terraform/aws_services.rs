//! Ranges of AWS that are neither VPCs nor subnets: services of clusters, clients and sites behind VPNs.

use super::resource::{Attribute, Resource};
use super::role::Role;
use super::{Context, Reader};
use warren_model::{Excluded, SiteRoute};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.cluster", cluster),
    ("aws.client_vpn", client_vpn),
    ("aws.vpn_route", site_route),
    ("aws.transit_gateway_route", transit_route),
];

const VPNS: &[Role] = &["aws.vpn_connection"];

/// The range of Kubernetes services. Each cluster has its own behind its nodes, so those of two clusters may be equal, but no
/// network that pods need to reach may use it (Amazon EKS User Guide, "View Amazon EKS networking requirements for VPC and
/// subnets": the range must not overlap with that of the VPC).
fn cluster(context: &mut Context<'_>, resource: &Resource<'_>) {
    for (index, values) in resource.values.children("kubernetes_network_config") {
        if values.text("service_ipv4_cidr").is_none() {
            continue;
        }
        let path = format!("kubernetes_network_config{index}.service_ipv4_cidr");
        let block = context.block(resource, &values, "service_ipv4_cidr", &path);
        exclude(context, resource, "services", block.ok().flatten());
    }
}

/// The range of clients. An endpoint translates their addresses, so those of two endpoints may be equal, but no VPC of the
/// endpoint may use it (AWS Client VPN Administrator Guide, "Rules and best practices for using AWS Client VPN").
fn client_vpn(context: &mut Context<'_>, resource: &Resource<'_>) {
    let block = context.block(resource, &resource.values, "client_cidr_block", "client_cidr_block");
    exclude(context, resource, "clients", block.ok().flatten());
}

fn exclude(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    what: &str,
    block: Option<warren_model::Block>,
) {
    let (name, owner) = (format!("{} ({what})", resource.address), context.owner.to_owned());
    context.model.excluded.extend(block.map(|block| Excluded { name, owner, block }));
}

/// Only routes to a VPN lead to a site. A route to another VPC is normal, because a firewall may be there.
fn transit_route(context: &mut Context<'_>, resource: &Resource<'_>) {
    const ATTRIBUTE: &str = "transit_gateway_attachment_id";
    let to_vpn = match resource.values.attribute(ATTRIBUTE) {
        Attribute::Known(node) => {
            let mut vpns = context.resources.iter().filter(|other| super::is(other.kind, VPNS));
            node.text().is_some_and(|id| vpns.any(|vpn| vpn.values.text(ATTRIBUTE) == Some(id)))
        }
        Attribute::Unknown => {
            let candidates = context.locator.references.candidates(resource, ATTRIBUTE, VPNS);
            !candidates.blurred && candidates.found.len() == 1
        }
        Attribute::Absent | Attribute::Sensitive => false,
    };
    if to_vpn {
        site_route(context, resource);
    }
}

/// A static route of a VPN connection.
fn site_route(context: &mut Context<'_>, resource: &Resource<'_>) {
    const ATTRIBUTE: &str = "destination_cidr_block";
    let Ok(Some(block)) = context.block(resource, &resource.values, ATTRIBUTE, ATTRIBUTE) else { return };
    let (name, owner) = (resource.address.clone(), context.owner.to_owned());
    context.model.site_routes.push(SiteRoute { name, owner, block });
}
