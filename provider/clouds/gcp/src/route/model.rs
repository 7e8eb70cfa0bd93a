//! The schema and state of `warren_gcp_route`.

use std::net::IpAddr;

use ipnet::IpNet;
use tf_provider_rs::{Attr, Choice, Diagnostics, Path, Resource, Value};
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::account::Gcp;
use crate::common::{self, FixedDescription, GcpObject, Located};
use crate::link::NetworkRef;

/// Manages a static route in a VPC network, with exactly one next hop. Google Cloud cannot update routes, so any
/// change recreates it. A peered network imports the route only if the peering exports custom routes, and never if its
/// next hop is the internet gateway or if it has tags.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_route",
    noun = "route",
    scope = "project",
    id = "`projects/PROJECT/global/routes/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Route {
    #[attr(flatten)]
    pub(crate) object: GcpObject<FixedDescription>,
    /// ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the route.
    #[attr(required, replaces)]
    pub(crate) network: Attr<NetworkRef>,
    /// Destination in CIDR notation; `0.0.0.0/0` matches all IPv4 destinations. Changing this replaces the route.
    #[attr(required, replaces, validate = destination)]
    pub(crate) dest_range: Attr<IpNet>,
    /// Next hop gateway: `default-internet-gateway`, which leads to the internet and to the public addresses of Google
    /// APIs. Changing this replaces the route.
    #[attr(optional, replaces)]
    pub(crate) next_hop_gateway: Attr<HopGateway>,
    /// IPv4 address of a VM in the network that forwards packets. Changing this replaces the route.
    #[attr(optional, replaces)]
    pub(crate) next_hop_ip: Attr<IpAddr>,
    /// ID or URL of a VM that forwards packets, such as `projects/PROJECT/zones/ZONE/instances/NAME`. Changing this
    /// replaces the route.
    #[attr(optional, replaces)]
    pub(crate) next_hop_instance: Attr<String>,
    /// Internal passthrough load balancer that forwards packets: its IP address, or the URL of its forwarding rule.
    /// Changing this replaces the route.
    #[attr(optional, replaces)]
    pub(crate) next_hop_ilb: Attr<String>,
    /// Priority, 0 to 65535. Among routes to the same destination, the lowest value wins. Changing this replaces the
    /// route. Defaults to `1000`.
    #[attr(default = 1000, replaces)]
    pub(crate) priority: Attr<u16>,
    /// Network tags: the route applies only to VMs with at least one of them. Changing this replaces the route.
    /// Defaults to all VMs.
    #[attr(optional, replaces)]
    pub(crate) tags: Texts,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// A gateway that a route can lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum HopGateway {
    #[choice("default-internet-gateway")]
    Internet,
}

impl HasShared for Route {
    type Shared = GcpObject<FixedDescription>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Route {
    const COLLECTION: &'static str = "routes";
}

fn destination(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if let Err(error) = warren_cidr::parse_cidr(text) {
        diagnostics.error_at(path.clone(), "Invalid CIDR range", common::sentence(&error.to_string()));
    }
}
