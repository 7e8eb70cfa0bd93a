//! The ranges of a subnetwork: how they may change, and how they compare with each other and with the rest of the run.

use ipnet::{IpNet, Ipv4Net};
use tf_provider_rs::{Attr, Diagnostics, NotKnown, Path};
use warren_cidr::Family;
use warren_guard::{PlannedResource, Role};
use warren_managed::key;

use super::model::Subnetwork;
use crate::account::Gcp;

/// Whether the planned range equals or contains the current one; true while it is unknown.
pub(super) fn grows(prior: &Subnetwork, planned: &Subnetwork) -> bool {
    match (&prior.ip_cidr_range, &planned.ip_cidr_range) {
        (Attr::Known(before), Attr::Known(after)) => after.contains(before),
        _ => true,
    }
}

/// Whether the last secondary range is removed.
pub(super) fn loses_secondary(prior: &Subnetwork, planned: &Subnetwork) -> bool {
    let has =
        |subnet: &Subnetwork| subnet.secondary_ip_ranges.known().is_some_and(|ranges| !ranges.is_empty());
    has(prior) && !has(planned) && !planned.secondary_ip_ranges.is_unknown()
}

/// Reports ranges of one subnetwork that overlap.
pub(super) fn check(subnet: &Subnetwork, diagnostics: &mut Diagnostics) {
    let all: Vec<(Path, Ipv4Net)> =
        parts(subnet).filter_map(|(path, range)| Some((path, range.into_known()?))).collect();
    for (index, (path, net)) in all.iter().enumerate() {
        for (other, theirs) in &all[..index] {
            if net.contains(theirs) || theirs.contains(net) {
                diagnostics.error_at(
                    path.clone(),
                    "Overlapping ranges in one subnetwork",
                    format!("{net} overlaps {theirs} of `{other}`. Use ranges that do not overlap."),
                );
            }
        }
    }
}

/// The attributes that hold ranges.
fn parts(subnet: &Subnetwork) -> impl Iterator<Item = (Path, Attr<Ipv4Net>)> {
    let secondary = subnet.secondary_ip_ranges.known().into_iter().flatten();
    std::iter::once((Path::of("ip_cidr_range"), subnet.ip_cidr_range))
        .chain(secondary.map(|(name, range)| (Path::of("secondary_ip_ranges").key(name), *range)))
}

/// The ranges that are known.
pub(super) fn nets(subnet: &Subnetwork) -> Vec<IpNet> {
    parts(subnet).filter_map(|(_, range)| range.into_known().map(IpNet::V4)).collect()
}

/// The subnetwork's ranges for the guard. Its network has no range of its own, so it is compared with every network.
/// The ID of a subnetwork is known before it exists, and the guard takes an ID for that of an object.
pub(super) fn occupied(
    subnet: &Subnetwork,
    exists: bool,
    gcp: Option<&Gcp>,
) -> Result<PlannedResource, NotKnown> {
    let id = subnet.object.id_here().filter(|_| exists);
    let mut resource = PlannedResource::new(key(subnet, gcp)?).id(id);
    if subnet.secondary_ip_ranges.is_unknown() {
        resource = resource.unknown(Family::V4);
    }
    for (path, range) in parts(subnet) {
        resource = match range {
            Attr::Unknown => resource.unknown(Family::V4),
            Attr::Known(net) => resource.range(net.into(), path, Role::Occupy),
            Attr::Null => resource,
        };
    }
    Ok(resource)
}
