//! The ranges of a subnetwork: how they may change, and how they compare with each other and with the rest of the run.

use ipnet::IpNet;
use tf_provider_rs::{Attr, Diagnostics, Path};
use warren_cidr::Family;
use warren_guard::{PlannedResource, Role};
use warren_managed::{key, ranges};

use super::model::Subnetwork;

/// Whether the planned range equals or contains the current one; true while it is unknown.
pub(super) fn grows(prior: &Subnetwork, planned: &Subnetwork) -> bool {
    match (ranges::known(&prior.ip_cidr_range), ranges::known(&planned.ip_cidr_range)) {
        (Some(before), Some(after)) => after.contains(&before),
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
    let all: Vec<(Path, IpNet)> =
        parts(subnet).filter_map(|(path, range)| Some((path, ranges::known(range)?))).collect();
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
fn parts(subnet: &Subnetwork) -> impl Iterator<Item = (Path, &Attr<String>)> {
    let secondary = subnet.secondary_ip_ranges.known().into_iter().flatten();
    std::iter::once((Path::of("ip_cidr_range"), &subnet.ip_cidr_range))
        .chain(secondary.map(|(name, range)| (Path::of("secondary_ip_ranges").key(name), range)))
}

/// The ranges that are known.
pub(super) fn nets(subnet: &Subnetwork) -> Vec<IpNet> {
    parts(subnet).filter_map(|(_, range)| ranges::known(range)).collect()
}

/// The subnetwork's ranges for the guard. Its network has no range of its own, so it is compared with every network.
pub(super) fn occupied(subnet: &Subnetwork) -> PlannedResource {
    let mut resource = PlannedResource::new(key(subnet)).id(subnet.id.known().map(String::as_str));
    if subnet.secondary_ip_ranges.is_unknown() {
        resource = resource.unknown(Family::V4);
    }
    for (path, range) in parts(subnet) {
        if range.is_unknown() {
            resource = resource.unknown(Family::V4);
        } else if let Some(net) = ranges::known(range) {
            resource = resource.range(net, path, Role::Occupy);
        }
    }
    resource
}
