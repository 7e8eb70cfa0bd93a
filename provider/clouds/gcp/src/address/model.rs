//! The schema and state of `warren_gcp_address`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};
use warren_managed::Timeouts;

use crate::common::{self, common};

model! {
    /// A static external address.
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
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Address, "warren_gcp_address", in region "addresses");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A static external IPv4 address in a region. As a separate object, it survives the replacement of the \
         gateway that uses it, so peers keep their endpoint.",
    )
    .attributes(common::head("address", "projects/PROJECT/regions/REGION/addresses/NAME"))
    .attribute(common::region("address"))
    .attributes([
        Attribute::string("address").computed().keeps().describe("The IPv4 address."),
        Attribute::string("network_tier")
            .default("PREMIUM")
            .replaces()
            .validate(common::one_of(&["PREMIUM", "STANDARD"]))
            .describe(
                "Network Service Tier: `PREMIUM` routes traffic over Google's network as far as possible, `STANDARD` \
                 routes it over the internet at lower cost. Changing this replaces the address. Defaults to \
                 `PREMIUM`.",
            ),
    ])
    .attribute(common::fixed_description("address"))
    .attribute(common::self_link())
    .attributes(common::tail())
}
