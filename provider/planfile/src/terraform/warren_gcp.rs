//! Warren's Google resources: the attribute names of hashicorp/google, with maps and strings instead of blocks.

use super::resource::{Attribute, Resource};
use super::{Context, Reader, google};
use warren_cidr::Cloud;
use warren_model::Subnet;

pub(super) const READERS: &[(&str, Reader)] = &[
    ("warren_gcp_network", google::network),
    ("warren_gcp_subnetwork", subnetwork),
    ("warren_gcp_network_peering", google::peering),
    ("warren_gcp_private_service_connect", endpoint),
];

/// Like `google_compute_subnetwork`, with the secondary ranges as a map of strings.
fn subnetwork(context: &mut Context<'_>, resource: &Resource<'_>) {
    google::subnetwork(context, resource);
    let (id, network) = (context.id(resource), context.network(resource, "network"));
    match resource.values.attribute("secondary_ip_ranges") {
        Attribute::Known(node) => {
            for entry in node.entries() {
                let name = &entry.key;
                let site =
                    context.site(resource, &format!("secondary_ip_ranges[{name:?}]"), Some(entry.value.at));
                // An unknown item is null in the map.
                let Some(text) = entry.value.text() else {
                    context.model.unknown += 1;
                    continue;
                };
                let Ok(Some(block)) = context.parse(text, site) else { continue };
                let (id, name) = (format!("{id}#{name}"), format!("{} ({name})", resource.address));
                google::push(context, resource, id, name, network.clone(), block);
            }
        }
        Attribute::Absent => {}
        Attribute::Unknown => context.model.unknown += 1,
        Attribute::Sensitive => context.model.sensitive += 1,
    }
}

/// The address of an endpoint for Google's APIs, which is in no subnetwork.
fn endpoint(context: &mut Context<'_>, resource: &Resource<'_>) {
    let Some(address) = resource.values.text("address") else {
        context.model.unknown += 1;
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
        blocks: vec![block],
    });
}
