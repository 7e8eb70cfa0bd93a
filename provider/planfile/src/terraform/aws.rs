//! AWS: resources of hashicorp/aws, and Warren's resources with the same attribute names.

use super::resource::{Attribute, Resource};
use super::role::Role;
use super::{Context, Reader};
use warren_cidr::Cloud;
use warren_model::{Block, Network, NetworkRef, Peering, Subnet};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.vpc", vpc),
    ("aws.ipv4_range_association", association_v4),
    ("aws.ipv6_range_association", association_v6),
    ("aws.subnet", subnet),
    ("aws.vpc_peering", peering),
];

fn vpc(context: &mut Context<'_>, resource: &Resource<'_>) {
    network(context, resource, context.id(resource), &["cidr_block", "ipv6_cidr_block"]);
    let (blocks, complete) = secondary(context, resource);
    if let Some(network) = context.model.networks.last_mut() {
        network.blocks.extend(blocks);
        network.complete &= complete;
    }
}

/// The secondary ranges, which Warren's VPC has as a list of strings, and whether all are known.
fn secondary(context: &mut Context<'_>, resource: &Resource<'_>) -> (Vec<Block>, bool) {
    let (mut blocks, mut complete) = (Vec::new(), true);
    match resource.values.attribute("secondary_cidr_blocks") {
        Attribute::Known(node) => {
            for (index, item) in node.items().iter().enumerate() {
                let site = context.site(resource, &format!("secondary_cidr_blocks[{index}]"), Some(item.at));
                // An unknown item is null in the list.
                match item.text().map(|text| context.parse(text, site)) {
                    Some(Ok(block)) => blocks.extend(block),
                    Some(Err(())) => complete = false,
                    None => {
                        context.model.unknown += 1;
                        complete = false;
                    }
                }
            }
        }
        Attribute::Absent => {}
        Attribute::Unknown => {
            context.model.unknown += 1;
            complete = false;
        }
        Attribute::Sensitive => {
            context.model.sensitive += 1;
            complete = false;
        }
    }
    (blocks, complete)
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
fn network(context: &mut Context<'_>, resource: &Resource<'_>, id: String, attributes: &[&str]) {
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

fn subnet(context: &mut Context<'_>, resource: &Resource<'_>) {
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

fn peering(context: &mut Context<'_>, resource: &Resource<'_>) {
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
