//! Attributes and state of `warren_gcp_subnetwork`.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostics, Number, Path, Type, Value, model};
use warren_cidr::{Cloud, Family};
use warren_guard::{PlannedResource, Role};
use warren_managed::{Timeouts, key, ranges};

use super::api::Found;
use crate::common::{self, common};
use crate::{link, marker};

model! {
    /// A subnetwork.
    pub struct Subnetwork {
        /// Unique in the project and region.
        pub name: Attr<String>,
        /// `projects/P/regions/R/subnetworks/N`.
        pub id: Attr<String>,
        /// The network.
        pub network: Attr<String>,
        /// Such as `us-central1`.
        pub region: Attr<String>,
        /// Primary IPv4 range.
        pub ip_cidr_range: Attr<String>,
        /// Further IPv4 ranges by name.
        pub secondary_ip_ranges: Attr<BTreeMap<String, Attr<String>>>,
        /// Whether VMs without an external IP address reach Google APIs.
        pub private_ip_google_access: Attr<bool>,
        /// Flow logs; null means none.
        pub flow_logs: Attr<FlowLogs>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// Default gateway.
        pub gateway_address: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }

    /// Flow logs of a subnetwork.
    pub struct FlowLogs {
        /// Such as `INTERVAL_5_SEC`.
        pub aggregation_interval: Attr<String>,
        /// Fraction of the flows, 0 to 1.
        pub sampling: Attr<Number>,
        /// `EXCLUDE_ALL_METADATA` or `INCLUDE_ALL_METADATA`.
        pub metadata: Attr<String>,
        /// Filter of flows, in CEL.
        pub filter: Attr<String>,
    }
}

common!(Subnetwork, "warren_gcp_subnetwork", in region "subnetworks");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A subnetwork: IPv4 ranges of a VPC network in one region. The plan fails if a range overlaps another \
         network of the run in any cloud, a live network, or a range that another owner claims. VMs reach Google \
         APIs without an external IP address unless you disable `private_ip_google_access`.",
    )
    .attributes(common::head("subnetwork", "projects/PROJECT/regions/REGION/subnetworks/NAME"))
    .attribute(common::network("subnetwork"))
    .attribute(common::region("subnetwork"))
    .attributes([
        Attribute::string("ip_cidr_range").required().validate(ranges::subnet(Cloud::Gcp, Family::V4)).describe(
            "Primary IPv4 range in CIDR notation, `/8` to `/29`. Google reserves the first two and the last two \
             addresses. A larger range that contains the current one is updated in place; any other change replaces \
             the subnetwork.",
        ),
        Attribute::of("secondary_ip_ranges", Type::map(Type::String))
            .optional()
            .validate(|value, path, diagnostics| {
                let Value::Map(items) = value else { return };
                for (name, item) in items {
                    link::check_name(&Value::from(name.clone()), &path.key(name), diagnostics);
                    if item.as_str().is_some() {
                        ranges::subnet(Cloud::Gcp, Family::V4)(item, &path.key(name), diagnostics);
                    }
                }
            })
            .describe(
                "Secondary IPv4 ranges in CIDR notation by name, such as the pod and service ranges of a GKE \
                 cluster. Updated in place, except that removing the last range replaces the subnetwork.",
            ),
        Attribute::bool("private_ip_google_access").default(true).describe(
            "Whether VMs without an external IP address can reach Google APIs, such as Cloud Storage and Artifact \
             Registry. Updated in place. Defaults to `true`.",
        ),
        Attribute::nested(
            "flow_logs",
            Nesting::Single,
            [
                Attribute::string("aggregation_interval")
                    .default("INTERVAL_5_SEC")
                    .validate(common::one_of(&[
                        "INTERVAL_5_SEC",
                        "INTERVAL_30_SEC",
                        "INTERVAL_1_MIN",
                        "INTERVAL_5_MIN",
                        "INTERVAL_10_MIN",
                        "INTERVAL_15_MIN",
                    ]))
                    .describe("Interval over which packets of a flow are aggregated. Defaults to `INTERVAL_5_SEC`."),
                Attribute::number("sampling")
                    .default(Value::Number(Number::from_f64(0.5).unwrap_or_else(|| Number::from(1_i64))))
                    .validate(|value, path, diagnostics| {
                        let part = match value {
                            Value::Number(number) => number.to_f64(),
                            _ => None,
                        };
                        if !part.is_some_and(|part| (0.0..=1.0).contains(&part)) {
                            diagnostics.error_at(path.clone(), "Invalid sampling rate", "`sampling` must be a number from 0 to 1.");
                        }
                    })
                    .describe("Fraction of the flows that is logged, 0 to 1. Defaults to `0.5`."),
                Attribute::string("metadata")
                    .default("EXCLUDE_ALL_METADATA")
                    .validate(common::one_of(&["EXCLUDE_ALL_METADATA", "INCLUDE_ALL_METADATA"]))
                    .describe("Whether logs include metadata, such as the names of VMs and networks. Defaults to \
                         `EXCLUDE_ALL_METADATA`."),
                Attribute::string("filter")
                    .default("true")
                    .describe("CEL expression that selects the flows to log. Defaults to `true`, which selects all."),
            ],
        )
        .optional()
        .describe("VPC Flow Logs of the subnetwork. Updated in place. Defaults to no flow logs."),
    ])
    .attribute(common::fixed_description("subnetwork"))
    .attribute(
        Attribute::string("gateway_address").computed().keeps().describe("Default gateway: the first address of the \
             primary range."),
    )
    .attribute(common::self_link())
    .attributes(common::tail())
}

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

/// Updates the state `before` with what the API returned.
pub(super) fn state(found: Found, before: &Subnetwork) -> Subnetwork {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.network = link::kept(&before.network, &found.network);
    state.region = found.region.into();
    state.ip_cidr_range = found.range.into();
    let secondary: BTreeMap<String, Attr<String>> =
        found.secondary.into_iter().map(|(name, range)| (name, range.into())).collect();
    state.secondary_ip_ranges = if secondary.is_empty() && !before.secondary_ip_ranges.is_known() {
        Attr::Null
    } else {
        secondary.into()
    };
    state.private_ip_google_access = found.private_access.into();
    state.flow_logs = found.logs.into();
    state.description = marker::user(&found.description);
    state.gateway_address = found.gateway.into();
    state.self_link = found.self_link.into();
    state
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
pub(super) fn occupied(subnet: &Subnetwork) -> Result<PlannedResource, tf_provider_rs::NotKnown> {
    let mut resource = PlannedResource::new(key(subnet)?).id(subnet.id.known().map(String::as_str));
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
    Ok(resource)
}
