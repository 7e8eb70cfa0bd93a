//! The nearest free range of the same size.

use ipnet::IpNet;
use warren_cidr::{Cloud, Severity, nearest_free};

use crate::claims::Claims;
use crate::live::Live;
use crate::report::Free;
use crate::run::{Home, Run};
use crate::{PlannedRange, PlannedResource, Role};

/// Private address space: RFC 1918 and RFC 4193.
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// A nearby free range of the same size as `range`. For a subnet it is in the network; for a network it is in the
/// address-plan pools that contain `range`, or else in the same private block.
pub(crate) fn free(
    run: &Run,
    live: &Live,
    claims: &Claims,
    resource: &PlannedResource,
    range: &PlannedRange,
) -> Free {
    let (space, taken) = match &range.role {
        Role::Part(parent) => {
            let space = match run.home(&range.net, parent, &resource.key.location) {
                Home::Planned(network) | Home::Candidate(network) => blocks(network),
                Home::Foreign(id) => live.nets_of(id),
                Home::OutsideCandidates(networks) => networks.into_iter().flat_map(blocks).collect(),
                Home::Unknown => parent.cidrs.clone(),
            };
            let parts = run.ranges().filter(|range| !matches!(range.role, Role::Reserve | Role::Occupy));
            let mut taken: Vec<IpNet> = parts.map(|range| range.net).collect();
            let siblings =
                live.ranges().iter().filter(|live| live.parent.is_some() && live.parent == parent.id);
            taken.extend(siblings.map(|live| live.net));
            (space, taken)
        }
        Role::Reserve | Role::Occupy | Role::Excluded => {
            let networks = run.ranges().filter(|range| !matches!(range.role, Role::Part(_)));
            let mut taken: Vec<IpNet> = networks.map(|range| range.net).collect();
            let counts = live.ranges().iter().filter(|live| !live.is_summary_of(&range.net));
            taken.extend(counts.map(|live| live.net));
            taken.extend(claims.nets());
            taken.extend(unwanted(&resource.key.kind));
            (home_space(run, &range.net), taken)
        }
    };
    if space.is_empty() {
        return Free::NoSpace;
    }
    match nearest_free(&space, &taken, range.net.prefix_len(), &range.net) {
        Some(net) => Free::Range(net),
        None => Free::None(space),
    }
}

fn blocks(network: &PlannedResource) -> Vec<IpNet> {
    let networks = network.ranges.iter().filter(|range| range.role == Role::Occupy);
    networks.map(|range| range.net).collect()
}

fn home_space(run: &Run, net: &IpNet) -> Vec<IpNet> {
    let pools: Vec<IpNet> =
        run.pools().filter(|pool| pool.iter().any(|block| block.contains(net))).flatten().copied().collect();
    if !pools.is_empty() {
        return pools;
    }
    PRIVATE.iter().filter_map(|text| text.parse().ok()).filter(|block: &IpNet| block.contains(net)).collect()
}

/// Blocks that the cloud rejects or discourages.
fn unwanted(kind: &str) -> Vec<IpNet> {
    let cloud = if kind.starts_with("warren_aws_") {
        Cloud::Aws
    } else if kind.starts_with("warren_gcp_") {
        Cloud::Gcp
    } else {
        return Vec::new();
    };
    let mut blocks = cloud.special_blocks(Severity::Error);
    blocks.extend(cloud.special_blocks(Severity::Warning));
    blocks
}
