//! Ranges that services of Google Cloud occupy in a network.

use super::google::blocks_of;
use super::resource::{Attribute, Resource, Values};
use super::role::Role;
use super::{Context, Reader};
use warren_cidr::parse_cidr;
use warren_model::{Block, NetworkRef, Subnet};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("gcp.connector", connector),
    ("gcp.redis", redis),
    ("gcp.filestore", filestore),
    ("gcp.database", database),
];

/// What the block of an auto mode network is called.
const AUTO: &str = "auto mode";

/// The block in which an auto mode network creates one subnet in each region ("VPC networks", "Auto mode IPv4 ranges").
const AUTO_MODE: &str = "10.128.0.0/9";

pub(super) fn auto_mode(context: &mut Context<'_>, resource: &Resource<'_>) {
    let Attribute::Known(node) = resource.values.attribute("auto_create_subnetworks") else { return };
    if !node.is_true() {
        return;
    }
    let site = context.site(resource, "auto_create_subnetworks", Some(node.at));
    let Ok(Some(block)) = context.parse(AUTO_MODE, site) else { return };
    let network = NetworkRef::Id(context.id(resource));
    let subnet = service(context, resource, AUTO, network, block);
    context.auto_mode.push(subnet);
}

/// Serverless VPC Access: a /28 that no subnet may overlap.
fn connector(context: &mut Context<'_>, resource: &Resource<'_>) {
    let network = context.network(resource, "network");
    range(context, resource, &resource.values, "ip_cidr_range", "ip_cidr_range", network);
}

fn redis(context: &mut Context<'_>, resource: &Resource<'_>) {
    let network = context.network(resource, "authorized_network");
    range(context, resource, &resource.values, "reserved_ip_range", "reserved_ip_range", network);
}

fn filestore(context: &mut Context<'_>, resource: &Resource<'_>) {
    for (index, values) in resource.values.children("networks") {
        let network = match values.text("network") {
            Some(text) => NetworkRef::Id(context.known_network(resource, text)),
            None => NetworkRef::Unknown,
        };
        let path = format!("networks{index}.reserved_ip_range");
        range(context, resource, &values, "reserved_ip_range", &path, network);
    }
}

/// The address of a Cloud SQL instance, which is in a range allocated by private services access.
fn database(context: &mut Context<'_>, resource: &Resource<'_>) {
    let Some(address) = resource.values.text("private_ip_address") else { return };
    let site = context.site(resource, "private_ip_address", None);
    let Ok(Some(block)) = context.parse(&format!("{address}/32"), site) else { return };
    let subnet = service(context, resource, "private address", NetworkRef::Unknown, block);
    context.services.push(subnet);
}

/// A range of a service. The attribute may also contain the name of an allocated range, which is compared as such.
fn range(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    values: &Values<'_>,
    key: &str,
    path: &str,
    network: NetworkRef,
) {
    let Attribute::Known(node) = values.attribute(key) else { return };
    if node.text().is_none_or(|text| parse_cidr(text).is_err()) {
        return;
    }
    let Ok(Some(block)) = context.block(resource, values, key, path) else { return };
    let subnet = service(context, resource, key, network, block);
    context.services.push(subnet);
}

fn service(
    context: &Context<'_>,
    resource: &Resource<'_>,
    what: &str,
    network: NetworkRef,
    block: Block,
) -> Subnet {
    Subnet {
        id: format!("{}#{what}", context.id(resource)),
        name: format!("{} ({what})", resource.address),
        owner: context.owner.to_owned(),
        // The limits of subnets do not hold for it.
        cloud: None,
        network,
        nested: false,
        live: resource.live,
        fixed: what == AUTO,
        blocks: vec![block],
    }
}

/// Adds the ranges of services that are not inside a range allocated by private services access, which stands for them, and
/// the blocks of auto mode networks.
pub(super) fn settle(context: &mut Context<'_>) {
    let allocated = blocks_of(context, "gcp.global_address");
    let services = std::mem::take(&mut context.services);
    let inside = |subnet: &Subnet| {
        subnet.blocks.iter().all(|block| allocated.iter().any(|range| range.contains(&block.net)))
    };
    context.model.subnets.extend(services.into_iter().filter(|subnet| !inside(subnet)));
    // Subnets that exist in the block are those that the network created.
    let known = |auto: &Subnet| {
        let mut subnets =
            context.model.subnets.iter().filter(|subnet| subnet.live && subnet.network == auto.network);
        subnets.any(|subnet| {
            auto.blocks.iter().zip(&subnet.blocks).any(|(auto, own)| auto.net.contains(&own.net))
        })
    };
    let autos = std::mem::take(&mut context.auto_mode);
    let autos: Vec<Subnet> = autos.into_iter().filter(|auto| !known(auto)).collect();
    context.model.subnets.extend(autos);
}
