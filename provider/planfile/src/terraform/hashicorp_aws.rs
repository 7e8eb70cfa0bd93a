//! Resources of hashicorp/aws. Warren's AWS resources with the same attribute names share these readers.

use super::resource::Resource;
use super::{Context, Reader};
use warren_cidr::Cloud;
use warren_model::{Network, NetworkRef, Peering, Subnet};

pub(super) const READERS: &[(&str, Reader)] = &[
    ("aws_vpc", vpc),
    ("aws_default_vpc", vpc),
    ("aws_vpc_ipv4_cidr_block_association", association_v4),
    ("aws_vpc_ipv6_cidr_block_association", association_v6),
    ("aws_subnet", subnet),
    ("aws_default_subnet", subnet),
    ("aws_vpc_peering_connection", peering),
];

pub(super) fn vpc(context: &mut Context<'_>, resource: &Resource<'_>) {
    network(context, resource, context.id(resource), &["cidr_block", "ipv6_cidr_block"]);
}

fn association_v4(context: &mut Context<'_>, resource: &Resource<'_>) {
    association(context, resource, "cidr_block");
}

fn association_v6(context: &mut Context<'_>, resource: &Resource<'_>) {
    association(context, resource, "ipv6_cidr_block");
}

fn association(context: &mut Context<'_>, resource: &Resource<'_>, attribute: &str) {
    let NetworkRef::Id(id) = context.network(resource, "vpc_id") else {
        return network(context, resource, context.id(resource), &[attribute]);
    };
    network(context, resource, id, &[attribute]);
}

/// Adds ranges of the network `id`.
pub(super) fn network(context: &mut Context<'_>, resource: &Resource<'_>, id: String, attributes: &[&str]) {
    let (mut blocks, mut complete) = (Vec::new(), true);
    for attribute in attributes {
        if attribute.starts_with("ipv6") && !context.asked_for(resource, attribute) {
            continue;
        }
        match context.block(resource, &resource.values, attribute, attribute) {
            Ok(block) => blocks.extend(block),
            // An IPv6 range that Amazon gives says nothing of the IPv4 ranges.
            Err(()) if attributes.len() > 1 && *attribute == "ipv6_cidr_block" => {}
            Err(()) => complete = false,
        }
    }
    let (name, owner) = (resource.address.clone(), context.owner.to_owned());
    let cloud = Some(Cloud::Aws);
    context.model.networks.push(Network { id, name, owner, cloud, blocks, complete });
}

pub(super) fn subnet(context: &mut Context<'_>, resource: &Resource<'_>) {
    let mut blocks = Vec::new();
    for attribute in ["cidr_block", "ipv6_cidr_block"] {
        if attribute.starts_with("ipv6") && !context.asked_for(resource, attribute) {
            continue;
        }
        blocks.extend(context.block(resource, &resource.values, attribute, attribute).ok().flatten());
    }
    let subnet = Subnet {
        id: context.id(resource),
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: Some(Cloud::Aws),
        network: context.network(resource, "vpc_id"),
        nested: true,
        live: resource.live,
        blocks,
    };
    context.model.subnets.push(subnet);
}

pub(super) fn peering(context: &mut Context<'_>, resource: &Resource<'_>) {
    let peering = Peering {
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: Cloud::Aws,
        site: context.site(resource, "peer_vpc_id", None),
        left: context.network(resource, "vpc_id"),
        right: context.network(resource, "peer_vpc_id"),
    };
    context.model.peerings.push(peering);
}
