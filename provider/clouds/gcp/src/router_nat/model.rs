//! The schema and state of `warren_gcp_router_nat`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Resource};
use warren_managed::HasShared;
use warren_managed::sets::{Set, Texts};

use crate::account::Gcp;
use crate::common::{self, Description, GcpObject, Located};
use crate::link::{NetworkRef, SubnetworkRef};

/// Manages a Cloud Router with one Cloud NAT gateway, which gives VMs without an external IP address outbound access
/// to the internet. It serves the VMs of its own network and region only, not those of peered networks. The network
/// needs a route to `default-internet-gateway`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_router_nat",
    noun = "router",
    scope = "project and region",
    id = "`projects/PROJECT/regions/REGION/routers/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct RouterNat {
    #[attr(flatten)]
    pub(crate) object: GcpObject<Description>,
    /// ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the router.
    #[attr(required, replaces)]
    pub(crate) network: Attr<NetworkRef>,
    /// Region, such as `us-central1`. Defaults to the provider's region. Changing this replaces the router.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) region: Attr<String>,
    /// IDs of the subnetworks that the gateway serves, with all their ranges. Updated in place. Defaults to all
    /// subnetworks of the network in the region.
    #[attr(optional)]
    pub(crate) subnetworks: Set<SubnetworkRef>,
    /// IDs or self links of reserved external IP addresses (such as `google_compute_address.nat.self_link`), so that
    /// the source addresses of outbound connections stay the same. Updated in place. Defaults to addresses that Google
    /// allocates on demand.
    #[attr(optional)]
    pub(crate) nat_ips: Texts,
    /// Minimum number of ports per VM, 2 to 65536, which limits its concurrent connections to one destination. Updated
    /// in place. Defaults to `64`.
    #[attr(default = 64, validate = between(2, 65536))]
    pub(crate) min_ports_per_vm: Attr<i32>,
    /// Maximum number of ports that a busy VM can use, a power of 2 from 32 to 65536. If set, `min_ports_per_vm` must be
    /// a smaller power of 2, at least 32. Updated in place. Defaults to `min_ports_per_vm` ports for every VM.
    #[attr(optional, validate = between(32, 65536))]
    pub(crate) max_ports_per_vm: Attr<i32>,
    /// NAT events to log: failed translations (`ERRORS_ONLY`), successful ones (`TRANSLATIONS_ONLY`) or both (`ALL`).
    /// Updated in place. Defaults to no logging.
    #[attr(optional)]
    pub(crate) log_filter: Attr<LogFilter>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// NAT events to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum LogFilter {
    #[choice("ERRORS_ONLY")]
    Errors,
    #[choice("TRANSLATIONS_ONLY")]
    Translations,
    #[choice("ALL")]
    All,
}

impl HasShared for RouterNat {
    type Shared = GcpObject<Description>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for RouterNat {
    const COLLECTION: &'static str = "routers";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.region)
    }

    fn region_mut(&mut self) -> Option<&mut Attr<String>> {
        Some(&mut self.region)
    }
}
