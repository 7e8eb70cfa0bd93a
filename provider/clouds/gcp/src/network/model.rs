//! The schema and state of `warren_gcp_network`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};
use warren_managed::Timeouts;

use crate::common::{self, common};

model! {
    /// A network.
    pub struct Network {
        /// Unique in the project.
        pub name: Attr<String>,
        /// `projects/P/global/networks/N`.
        pub id: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// `REGIONAL` or `GLOBAL`.
        pub routing_mode: Attr<String>,
        /// Maximum transmission unit in bytes.
        pub mtu: Attr<i64>,
        /// Whether to delete the routes to the internet that Google creates.
        pub delete_default_routes: Attr<bool>,
        /// URL.
        pub self_link: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Network, "warren_gcp_network", global "networks");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A VPC network in custom mode. It spans all regions, and has no IP range of its own and no subnetworks until \
         you create them.",
    )
    .attributes(common::head("network", "projects/PROJECT/global/networks/NAME"))
    .attribute(common::fixed_description("network"))
    .attributes([
        Attribute::string("routing_mode")
            .default("REGIONAL")
            .validate(common::one_of(&["REGIONAL", "GLOBAL"]))
            .describe(
                "Whether Cloud Routers advertise subnetworks and learned routes in their own region only \
                 (`REGIONAL`) or in all regions (`GLOBAL`). Updated in place. Defaults to `REGIONAL`.",
            ),
        Attribute::number("mtu").default(1460).replaces().validate(common::between(1300, 8896)).describe(
            "Maximum transmission unit in bytes, 1300 to 8896. WireGuard inside the network needs up to 80 of these \
             bytes. Changing this replaces the network. Defaults to `1460`.",
        ),
        Attribute::bool("delete_default_routes").default(false).describe(
            "Whether to delete the default routes to the internet that Google creates with the network. Without \
             them, nothing reaches the internet unless a `warren_gcp_route` permits it; Cloud NAT needs such a \
             route. Updated in place: setting this back to `false` does not restore the routes. Defaults to `false`.",
        ),
    ])
    .attribute(common::self_link())
    .attributes(common::tail())
}
