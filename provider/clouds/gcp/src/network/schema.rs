//! Attributes and state of `warren_gcp_network`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};
use warren_managed::Timeouts;

use super::api::Found;
use crate::common::{self, common};
use crate::marker;

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
        /// Bytes of the largest packet.
        pub mtu: Attr<i64>,
        /// Whether routes to the internet that Google makes are removed.
        pub delete_default_routes: Attr<bool>,
        /// URL.
        pub self_link: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Network, "warren_gcp_network", global "networks");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A VPC network in custom mode: it has no subnetworks but those that are made in it. It reaches every region, \
         and has no range of its own.",
    )
    .attributes(common::head("network", "projects/P/global/networks/N"))
    .attribute(common::description().replaces())
    .attributes([
        Attribute::string("routing_mode")
            .default("REGIONAL")
            .validate(common::one_of(&["REGIONAL", "GLOBAL"]))
            .describe(
                "Whether Cloud Routers tell the routes that they learn to their own region (`REGIONAL`) or to all \
                 (`GLOBAL`). Changes in place. Default: `REGIONAL`.",
            ),
        Attribute::number("mtu").default(1460).replaces().validate(common::between(1300, 8896)).describe(
            "Bytes of the largest packet, 1300 to 8896. A tunnel inside has less, WireGuard 80 bytes. A change \
             replaces the network. Default: 1460.",
        ),
        Attribute::bool("delete_default_routes").default(false).describe(
            "Whether the default routes that Google makes are removed, so that nothing reaches the internet unless a \
             `warren_gcp_route` says so; Cloud NAT needs one. Setting it back to `false` makes no route. Default: \
             `false`.",
        ),
    ])
    .attribute(common::self_link())
    .attributes(common::tail())
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Network) -> Network {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.description = marker::user(&found.description);
    state.routing_mode = found.routing_mode.into();
    state.mtu = found.mtu.into();
    if !before.delete_default_routes.is_known() {
        state.delete_default_routes = false.into();
    }
    state.self_link = found.self_link.into();
    state
}
