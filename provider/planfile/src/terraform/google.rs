//! Google Cloud: resources of hashicorp/google, and Warren's resources with the same attribute names. A Google network has no range of its own; only its subnetworks have.

use super::resource::{Attribute, Resource};
use super::role::{Role, is};
use super::{Context, Reader, google_services, links};
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{Cloud, IpNet};
use warren_model::{Block, Network, NetworkRef, Peering, Subnet};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("gcp.network", network),
    ("gcp.subnetwork", subnetwork),
    ("gcp.global_address", global_address),
    ("gcp.network_peering", peering),
    ("gcp.private_service_connect", private_service_connect),
    ("gcp.cluster", cluster),
];

fn network(context: &mut Context<'_>, resource: &Resource<'_>) {
    let network = Network {
        id: context.id(resource),
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        file: context.file.to_owned(),
        cloud: Some(Cloud::Gcp),
        blocks: Vec::new(),
        complete: false,
        external: resource.external,
        // The ranges of auto mode are those of its subnetworks.
        fixed: false,
        live: resource.live,
        tags: BTreeMap::new(),
        fabric: links::fabric(context, resource),
    };
    context.model.networks.push(network);
    google_services::auto_mode(context, resource);
}

fn subnetwork(context: &mut Context<'_>, resource: &Resource<'_>) {
    let id = context.id(resource);
    let network = context.attach(resource, "network");
    if let Ok(Some(block)) = context.block(resource, &resource.values, "ip_cidr_range", "ip_cidr_range") {
        push(context, resource, id.clone(), resource.address.clone(), network.clone(), block);
    }
    let secondary = resource.values.attribute("secondary_ip_range");
    if matches!(secondary, Attribute::Unknown) && context.asked_for(resource, "secondary_ip_range") {
        context.late(resource, "secondary_ip_range");
    }
    for (index, values) in resource.values.children("secondary_ip_range") {
        let path = format!("secondary_ip_range{index}.ip_cidr_range");
        let Ok(Some(block)) = context.block(resource, &values, "ip_cidr_range", &path) else { continue };
        let name = values.text("range_name").unwrap_or(&index);
        let (id, name) = (format!("{id}#{name}"), format!("{} ({name})", resource.address));
        push(context, resource, id, name, network.clone(), block);
    }
    named_secondary(context, resource);
}

/// The secondary ranges, which Warren's subnetwork has as a map of strings.
fn named_secondary(context: &mut Context<'_>, resource: &Resource<'_>) {
    let (id, network) = (context.id(resource), context.network(resource, "network"));
    match resource.values.attribute("secondary_ip_ranges") {
        Attribute::Known(node) => {
            for entry in node.entries() {
                let name = &entry.key;
                let site =
                    context.site(resource, &format!("secondary_ip_ranges[{name:?}]"), Some(entry.value.at));
                // An unknown item is null in the map.
                let Some(text) = entry.value.text() else {
                    context.late(resource, &format!("secondary_ip_ranges[{name:?}]"));
                    continue;
                };
                let Ok(Some(block)) = context.parse(text, site) else { continue };
                let (id, name) = (format!("{id}#{name}"), format!("{} ({name})", resource.address));
                push(context, resource, id, name, network.clone(), block);
            }
        }
        Attribute::Absent => {}
        Attribute::Unknown => context.late(resource, "secondary_ip_ranges"),
        Attribute::Sensitive => context.model.sensitive += 1,
    }
}

/// A range allocated to Google services by private services access.
fn global_address(context: &mut Context<'_>, resource: &Resource<'_>) {
    let values = &resource.values;
    if values.text("purpose") != Some("VPC_PEERING") {
        return;
    }
    let (Some(address), Some(prefix)) = (values.text("address"), values.number("prefix_length")) else {
        context.late(resource, "address");
        return;
    };
    let site = context.site(resource, "address", None);
    if let Ok(Some(block)) = context.parse(&format!("{address}/{prefix}"), site) {
        let (id, network) = (context.id(resource), context.network(resource, "network"));
        let name = resource.address.clone();
        let (owner, live) = (context.owner.to_owned(), resource.live);
        // The limits of subnets do not hold for it.
        let subnet = Subnet {
            id,
            name,
            owner,
            cloud: None,
            network,
            nested: false,
            live,
            fixed: false,
            blocks: vec![block],
        };
        context.model.subnets.push(subnet);
    }
}

/// The range that Google gives the services of every cluster without one of its own, and that is not routed in the network ("VPC-native
/// clusters", "IP address ranges for VPC-native clusters").
const GKE_SERVICES: &str = "34.118.224.0/20";

/// A range of a GKE cluster, until the ranges of all subnetworks are known.
pub(super) struct ClusterRange {
    subnet: Subnet,
    /// Whether Google reports it because a subnetwork may have it.
    reported: bool,
}

/// Ranges of a GKE cluster besides the subnetwork of its nodes: the range of the control plane, and the ranges of pods and
/// services if the cluster creates them. Sizes alone, such as `/14`, do not determine a range.
///
/// Google reports all of them, also where a secondary range of the subnetwork holds them: `clusterIpv4Cidr`, and
/// `clusterIpv4CidrBlock` and `servicesIpv4CidrBlock` of `ipAllocationPolicy` (Kubernetes Engine API, `projects.locations.clusters`),
/// which hashicorp/google stores as computed attributes. `private_endpoint_subnetwork` names the subnetwork that has the range of
/// the control plane.
fn cluster(context: &mut Context<'_>, resource: &Resource<'_>) {
    const POLICY: &str = "ip_allocation_policy";
    const CONTROL: &str = "private_cluster_config";
    let network = context.network(resource, "network");
    let policy = resource.values.nested(POLICY);
    let names = |key: &str| policy.is_some_and(|policy| policy.text(key).is_some());
    let (pods, services) = ("cluster_secondary_range_name", "services_secondary_range_name");
    let own = ["cluster_ipv4_cidr"].map(|key| (resource.values, key.to_owned(), key, Some(pods)));
    let blocks = [
        (CONTROL, "master_ipv4_cidr_block", None),
        (POLICY, "cluster_ipv4_cidr_block", Some(pods)),
        (POLICY, "services_ipv4_cidr_block", Some(services)),
    ];
    let nested = blocks.iter().flat_map(|(block, key, named)| {
        let children = resource.values.children(block);
        children
            .into_iter()
            .map(move |(index, values)| (values, format!("{block}{index}.{key}"), *key, *named))
    });
    let mut seen = Vec::new();
    for (values, path, key, named) in own.into_iter().chain(nested) {
        let whole = values.text(key).is_some_and(|text| !text.starts_with('/'));
        // Google reports the range of pods twice, and chooses ranges that are not configured.
        if !whole || values.text(key).is_some_and(|text| seen.contains(&text)) {
            continue;
        }
        seen.extend(values.text(key));
        // The subnetwork has the range, or all clusters do.
        if named.is_some_and(names) || values.text(key) == Some(GKE_SERVICES) {
            continue;
        }
        let Ok(Some(block)) = context.block(resource, &values, key, &path) else { continue };
        let (id, name) = (format!("{}#{key}", context.id(resource)), format!("{} ({key})", resource.address));
        let (owner, live) = (context.owner.to_owned(), resource.live);
        let reported = live && (named.is_some() || values.text("private_endpoint_subnetwork").is_some());
        // The limits of subnets do not hold for it.
        let subnet = Subnet {
            id,
            name,
            owner,
            cloud: None,
            network: network.clone(),
            nested: false,
            live,
            fixed: false,
            blocks: vec![block],
        };
        context.clusters.push(ClusterRange { subnet, reported });
    }
}

/// Adds the ranges of clusters that are not those of subnetworks.
pub(super) fn settle(context: &mut Context<'_>) {
    let clusters = std::mem::take(&mut context.clusters);
    let known: BTreeSet<(&NetworkRef, IpNet)> = context
        .model
        .subnets
        .iter()
        .flat_map(|subnet| subnet.blocks.iter().map(move |block| (&subnet.network, block.net)))
        .collect();
    let held =
        |subnet: &Subnet| subnet.blocks.iter().all(|block| known.contains(&(&subnet.network, block.net)));
    let added: Vec<Subnet> = clusters
        .into_iter()
        .filter(|range| !range.reported || !held(&range.subnet))
        .map(|range| range.subnet)
        .collect();
    context.model.subnets.extend(added);
}

fn peering(context: &mut Context<'_>, resource: &Resource<'_>) {
    let peering = Peering {
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: Some(Cloud::Gcp),
        site: context.site(resource, "peer_network", None),
        left: context.network(resource, "network"),
        right: context.network(resource, "peer_network"),
        transit: ["export_custom_routes", "import_custom_routes"]
            .into_iter()
            .any(|attribute| resource.values.is_true(attribute)),
    };
    context.model.peerings.push(peering);
}

/// The ranges of all resources with one role.
pub(super) fn blocks_of(context: &Context<'_>, role: Role) -> Vec<IpNet> {
    let of_role: BTreeSet<&str> = context
        .resources
        .iter()
        .filter(|resource| is(resource.kind, &[role]))
        .map(|resource| resource.address.as_str())
        .collect();
    let subnets = context.model.subnets.iter().filter(|subnet| of_role.contains(subnet.name.as_str()));
    subnets.flat_map(|subnet| subnet.blocks.iter().map(|block| block.net)).collect()
}

fn push(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    id: String,
    name: String,
    network: NetworkRef,
    block: Block,
) {
    let (owner, cloud, live) = (context.owner.to_owned(), Some(Cloud::Gcp), resource.live);
    let subnet =
        Subnet { id, name, owner, cloud, network, nested: false, live, fixed: false, blocks: vec![block] };
    context.model.subnets.push(subnet);
}

/// The address of an endpoint for Google's APIs, which is in no subnetwork.
fn private_service_connect(context: &mut Context<'_>, resource: &Resource<'_>) {
    let Some(address) = resource.values.text("address") else {
        context.late(resource, "address");
        return;
    };
    let site = context.site(resource, "address", None);
    let Ok(Some(block)) = context.parse(&format!("{address}/32"), site) else { return };
    let (id, network) = (context.id(resource), context.network(resource, "network"));
    let (owner, live) = (context.owner.to_owned(), resource.live);
    let name = resource.address.clone();
    // The limits of subnets do not hold for it.
    let cloud: Option<Cloud> = None;
    context.model.subnets.push(Subnet {
        id,
        name,
        owner,
        cloud,
        network,
        nested: false,
        live,
        fixed: false,
        blocks: vec![block],
    });
}
