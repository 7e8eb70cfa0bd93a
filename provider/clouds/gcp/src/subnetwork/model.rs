//! The schema and state of `warren_gcp_subnetwork`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use tf_provider_rs::{Attr, Choice, Diagnostics, Object, Path, Resource, Value};
use warren_cidr::{Cloud, Family};
use warren_guard::Location;
use warren_managed::{HasShared, ranges};

use crate::account::Gcp;
use crate::common::{self, FixedDescription, GcpObject, Located};
use crate::link::{self, NetworkRef};

/// Manages a subnetwork: IPv4 ranges of a VPC network in one region. The plan fails if a range overlaps another
/// network of the run in any cloud, a live network, or a range that another owner claims. VMs reach Google APIs
/// without an external IP address unless you disable `private_ip_google_access`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_subnetwork",
    noun = "subnetwork",
    scope = "project and region",
    id = "`projects/PROJECT/regions/REGION/subnetworks/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Subnetwork {
    #[attr(flatten)]
    pub(crate) object: GcpObject<FixedDescription>,
    /// ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the
    /// subnetwork.
    #[attr(required, replaces)]
    pub(crate) network: Attr<NetworkRef>,
    /// Region, such as `us-central1`. Defaults to the provider's region. Changing this replaces the subnetwork.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) region: Attr<String>,
    /// Primary IPv4 range in CIDR notation, `/8` to `/29`. Google reserves the first two and the last two addresses. A
    /// larger range that contains the current one is updated in place; any other change replaces the subnetwork.
    #[attr(required, validate = ranges::subnet(Cloud::Gcp, Family::V4))]
    pub(crate) ip_cidr_range: Attr<Ipv4Net>,
    /// Secondary IPv4 ranges in CIDR notation by name, such as the pod and service ranges of a GKE cluster. Updated in
    /// place, except that removing the last range replaces the subnetwork.
    #[attr(optional, validate = check_secondary)]
    pub(crate) secondary_ip_ranges: Attr<BTreeMap<String, Attr<Ipv4Net>>>,
    /// Whether VMs without an external IP address can reach Google APIs, such as Cloud Storage and Artifact Registry.
    /// Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) private_ip_google_access: Attr<bool>,
    /// VPC Flow Logs of the subnetwork. Updated in place. Defaults to no flow logs.
    #[attr(optional)]
    pub(crate) flow_logs: Attr<FlowLogs>,
    /// Default gateway: the first address of the primary range.
    #[attr(computed, keeps)]
    pub(crate) gateway_address: Attr<Ipv4Addr>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// Flow logs of a subnetwork.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct FlowLogs {
    /// Interval over which packets of a flow are aggregated. Defaults to `INTERVAL_5_SEC`.
    #[attr(default = Interval::Seconds5)]
    pub(crate) aggregation_interval: Attr<Interval>,
    /// Fraction of the flows that is logged, 0 to 1. Defaults to `0.5`.
    #[attr(default = 0.5, validate = check_sampling)]
    pub(crate) sampling: Attr<f64>,
    /// Whether logs include metadata, such as the names of VMs and networks. Defaults to `EXCLUDE_ALL_METADATA`.
    #[attr(default = Metadata::Exclude)]
    pub(crate) metadata: Attr<Metadata>,
    /// CEL expression that selects the flows to log. Defaults to `true`, which selects all.
    #[attr(default = "true")]
    pub(crate) filter: Attr<String>,
}

/// An aggregation interval of flow logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Interval {
    #[choice("INTERVAL_5_SEC")]
    Seconds5,
    #[choice("INTERVAL_30_SEC")]
    Seconds30,
    #[choice("INTERVAL_1_MIN")]
    Minutes1,
    #[choice("INTERVAL_5_MIN")]
    Minutes5,
    #[choice("INTERVAL_10_MIN")]
    Minutes10,
    #[choice("INTERVAL_15_MIN")]
    Minutes15,
}

/// Metadata in flow logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Metadata {
    #[choice("EXCLUDE_ALL_METADATA")]
    Exclude,
    #[choice("INCLUDE_ALL_METADATA")]
    Include,
}

impl HasShared for Subnetwork {
    type Shared = GcpObject<FixedDescription>;

    fn location(&self, gcp: Option<&Gcp>) -> Location {
        common::location(self, gcp)
    }

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Subnetwork {
    const COLLECTION: &'static str = "subnetworks";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.region)
    }

    fn region_mut(&mut self) -> Option<&mut Attr<String>> {
        Some(&mut self.region)
    }
}

fn check_secondary(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(items) = value else { return };
    for (name, item) in items {
        link::check_name(&Value::from(name.clone()), &path.key(name), diagnostics);
        if item.as_str().is_some() {
            ranges::subnet(Cloud::Gcp, Family::V4)(item, &path.key(name), diagnostics);
        }
    }
}

fn check_sampling(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let part = match value {
        Value::Number(number) => number.to_f64(),
        _ => None,
    };
    if !part.is_some_and(|part| (0.0..=1.0).contains(&part)) {
        let detail = "`sampling` must be a number from 0 to 1.";
        diagnostics.error_at(path.clone(), "Invalid sampling rate", detail);
    }
}
