//! The schema and state of `warren_gcp_address`.

use std::net::Ipv4Addr;

use tf_provider_rs::{Attr, Choice, Resource};
use warren_managed::HasShared;

use crate::account::Gcp;
use crate::common::{self, FixedDescription, GcpObject, Located};

/// Manages a static external IPv4 address in a region. As a separate object, it survives the replacement of the
/// gateway that uses it, so peers keep their endpoint.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_address",
    noun = "address",
    scope = "project and region",
    id = "`projects/PROJECT/regions/REGION/addresses/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Address {
    #[attr(flatten)]
    pub(crate) object: GcpObject<FixedDescription>,
    /// Region, such as `us-central1`. Defaults to the provider's region. Changing this replaces the address.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) region: Attr<String>,
    /// The IPv4 address.
    #[attr(computed, keeps)]
    pub(crate) address: Attr<Ipv4Addr>,
    /// Network Service Tier: `PREMIUM` routes traffic over Google's network as far as possible, `STANDARD` routes it
    /// over the internet at lower cost. Changing this replaces the address. Defaults to `PREMIUM`.
    #[attr(default = NetworkTier::Premium, replaces)]
    pub(crate) network_tier: Attr<NetworkTier>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// A Network Service Tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum NetworkTier {
    #[choice("PREMIUM")]
    Premium,
    #[choice("STANDARD")]
    Standard,
}

impl HasShared for Address {
    type Shared = GcpObject<FixedDescription>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Address {
    const COLLECTION: &'static str = "addresses";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.region)
    }

    fn region_mut(&mut self) -> Option<&mut Attr<String>> {
        Some(&mut self.region)
    }
}
