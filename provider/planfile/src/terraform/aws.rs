//! AWS: resources of hashicorp/aws, and Warren's resources with the same attribute names.

use super::resource::Resource;
use super::role::Role;
use super::{Context, Reader, links};
use warren_cidr::Cloud;
use warren_model::{Network, NetworkRef, Peering, Subnet};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.vpc", vpc),
    ("aws.ipv4_range_association", association_v4),
    ("aws.ipv6_range_association", association_v6),
    ("aws.subnet", subnet),
    ("aws.vpc_peering", peering),
];

fn vpc(context: &mut Context<'_>, resource: &Resource<'_>) {
    network(context, resource, context.id(resource), &["cidr_block", "ipv6_cidr_block"]);
    let (mut blocks, complete) = context.blocks(resource, "secondary_cidr_blocks");
    // The data source lists all ranges as blocks.
    for (index, values) in resource.values.children("cidr_block_associations") {
        let path = format!("cidr_block_associations{index}.cidr_block");
        let block = context.block(resource, &values, "cidr_block", &path);
        blocks.extend(
            block
                .ok()
                .flatten()
                .filter(|block| resource.values.text("cidr_block") != Some(&block.net.to_string())),
        );
    }
    if let Some(network) = context.model.networks.last_mut() {
        network.blocks.extend(blocks);
        network.complete &= complete;
    }
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
    let external = resource.external;
    // Only the data source says so by an attribute.
    let fixed = resource.kind == "aws_default_vpc" || resource.values.is_true("default");
    let (live, tags) = (resource.live, links::tags(resource));
    let (file, fabric) = (context.file.to_owned(), links::fabric(context, resource));
    let network =
        Network { id, name, owner, file, cloud, blocks, complete, external, fixed, live, tags, fabric };
    context.model.networks.push(network);
}

fn subnet(context: &mut Context<'_>, resource: &Resource<'_>) {
    let mut blocks = Vec::new();
    for attribute in ["cidr_block", "ipv6_cidr_block"] {
        if attribute.starts_with("ipv6") && !context.asked_for(resource, attribute) {
            continue;
        }
        blocks.extend(context.block(resource, &resource.values, attribute, attribute).ok().flatten());
    }
    let network = context.attach(resource, "vpc_id");
    let subnet = Subnet {
        id: context.id(resource),
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: Some(Cloud::Aws),
        network,
        nested: true,
        live: resource.live,
        fixed: resource.kind == "aws_default_subnet",
        blocks,
    };
    context.model.subnets.push(subnet);
}

fn peering(context: &mut Context<'_>, resource: &Resource<'_>) {
    let peering = Peering {
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: Some(Cloud::Aws),
        site: context.site(resource, "peer_vpc_id", None),
        left: context.network(resource, "vpc_id"),
        right: context.network(resource, "peer_vpc_id"),
        transit: false,
    };
    context.model.peerings.push(peering);
}
