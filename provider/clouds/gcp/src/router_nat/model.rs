//! The schema and state of `warren_gcp_router_nat`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Type, model};
use warren_managed::Timeouts;
use warren_managed::sets::Texts;

use crate::common::{self, common};

model! {
    /// A router with a NAT.
    pub struct RouterNat {
        /// Unique in the project and region.
        pub name: Attr<String>,
        /// `projects/P/regions/R/routers/N`.
        pub id: Attr<String>,
        /// The network.
        pub network: Attr<String>,
        /// Such as `us-central1`.
        pub region: Attr<String>,
        /// Subnetworks that it serves; null means all of the region.
        pub subnetworks: Texts,
        /// Reserved external IP addresses; null means that Google allocates them.
        pub nat_ips: Texts,
        /// Minimum number of ports per VM.
        pub min_ports_per_vm: Attr<i64>,
        /// Maximum number of ports per VM; null means a fixed number.
        pub max_ports_per_vm: Attr<i64>,
        /// Events that are logged; null means none.
        pub log_filter: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL of the router.
        pub self_link: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(RouterNat, "warren_gcp_router_nat", in region "routers");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A Cloud Router with one Cloud NAT gateway, which gives VMs without an external IP address outbound access \
         to the internet. It serves the VMs of its own network and region only, not those of peered networks. The \
         network needs a route to `default-internet-gateway`.",
    )
    .attributes(common::head("router", "projects/PROJECT/regions/REGION/routers/NAME"))
    .attribute(common::network("router"))
    .attribute(common::region("router"))
    .attributes([
        Attribute::of("subnetworks", Type::set(Type::String)).optional().describe(
            "IDs of the subnetworks that the gateway serves, with all their ranges. Updated in place. Defaults to \
             all subnetworks of the network in the region.",
        ),
        Attribute::of("nat_ips", Type::set(Type::String)).optional().describe(
            "IDs or self links of reserved external IP addresses (such as `google_compute_address.nat.self_link`), \
             so that the source addresses of outbound connections stay the same. Updated in place. Defaults to \
             addresses that Google allocates on demand.",
        ),
        Attribute::number("min_ports_per_vm").default(64).validate(common::between(2, 65536)).describe(
            "Minimum number of ports per VM, 2 to 65536, which limits its concurrent connections to one destination. \
             Updated in place. Defaults to `64`.",
        ),
        Attribute::number("max_ports_per_vm").optional().validate(common::between(32, 65536)).describe(
            "Maximum number of ports that a busy VM can use, a power of 2 from 32 to 65536. If set, \
             `min_ports_per_vm` must be a smaller power of 2, at least 32. Updated in place. Defaults to \
             `min_ports_per_vm` ports for every VM.",
        ),
        Attribute::string("log_filter")
            .optional()
            .validate(common::one_of(&["ERRORS_ONLY", "TRANSLATIONS_ONLY", "ALL"]))
            .describe("NAT events to log: failed translations (`ERRORS_ONLY`), successful ones (`TRANSLATIONS_ONLY`) \
                 or both (`ALL`). Updated in place. Defaults to no logging."),
    ])
    .attribute(common::description())
    .attribute(common::self_link())
    .attributes(common::tail())
}
