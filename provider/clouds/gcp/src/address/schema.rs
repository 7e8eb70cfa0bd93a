//! Attributes and state of `warren_gcp_address`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};
use warren_managed::Timeouts;

use super::api::Found;
use crate::common::{self, common};
use crate::marker;

model! {
    /// A public address.
    pub struct Address {
        /// Unique in the project and region.
        pub name: Attr<String>,
        /// `projects/P/regions/R/addresses/N`.
        pub id: Attr<String>,
        /// Such as `us-central1`.
        pub region: Attr<String>,
        /// The address.
        pub address: Attr<String>,
        /// `PREMIUM` or `STANDARD`.
        pub network_tier: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Address, "warren_gcp_address", in region "addresses");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A static external IPv4 address of a region. As an object of its own it stays when the gateway that has it is \
         replaced, so that peers find the next one where the last one was.",
    )
    .attributes(common::head("address", "projects/P/regions/R/addresses/N"))
    .attribute(common::region("address"))
    .attributes([
        Attribute::string("address").computed().keeps().describe("The address."),
        Attribute::string("network_tier")
            .default("PREMIUM")
            .replaces()
            .validate(common::one_of(&["PREMIUM", "STANDARD"]))
            .describe(
                "`PREMIUM`: packets travel in Google's network as far as they can; `STANDARD`: by the internet, at less \
                 cost. A change replaces the address. Default: `PREMIUM`.",
            ),
    ])
    .attribute(common::description().replaces())
    .attribute(common::self_link())
    .attributes(common::tail())
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Address) -> Address {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.region = found.region.into();
    state.address = found.address.into();
    state.network_tier = found.network_tier.into();
    state.description = marker::user(&found.description);
    state.self_link = found.self_link.into();
    state
}
