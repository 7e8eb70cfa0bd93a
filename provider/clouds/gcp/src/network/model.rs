//! The schema and state of `warren_gcp_network`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Resource};
use warren_managed::HasShared;

use crate::account::Gcp;
use crate::common::{self, FixedDescription, GcpObject, Located};

/// Manages a VPC network in custom mode. It spans all regions, and has no IP range of its own and no subnetworks until
/// you create them.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_network",
    noun = "network",
    scope = "project",
    id = "`projects/PROJECT/global/networks/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Network {
    #[attr(flatten)]
    pub(crate) object: GcpObject<FixedDescription>,
    /// Whether Cloud Routers advertise subnetworks and learned routes in their own region only (`REGIONAL`) or in all
    /// regions (`GLOBAL`). Updated in place. Defaults to `REGIONAL`.
    #[attr(default = RoutingMode::Regional)]
    pub(crate) routing_mode: Attr<RoutingMode>,
    /// Maximum transmission unit in bytes, 1300 to 8896. WireGuard inside the network needs up to 80 of these bytes.
    /// Changing this replaces the network. Defaults to `1460`.
    #[attr(default = 1460, replaces, validate = between(1300, 8896))]
    pub(crate) mtu: Attr<i32>,
    /// Whether to delete the default routes to the internet that Google creates with the network. Without them, nothing
    /// reaches the internet unless a `warren_gcp_route` permits it; Cloud NAT needs such a route. Updated in place:
    /// setting this back to `false` does not restore the routes. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) delete_default_routes: Attr<bool>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// Where Cloud Routers advertise routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum RoutingMode {
    #[choice("REGIONAL")]
    Regional,
    #[choice("GLOBAL")]
    Global,
}

impl HasShared for Network {
    type Shared = GcpObject<FixedDescription>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Network {
    const COLLECTION: &'static str = "networks";
}
