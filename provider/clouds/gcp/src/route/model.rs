//! The schema and state of `warren_gcp_route`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};
use warren_managed::Timeouts;
use warren_managed::sets::Texts;

use crate::common::{self, common};

/// The next hop that leads to the internet.
pub(super) const INTERNET: &str = "default-internet-gateway";

model! {
    /// A route.
    pub struct Route {
        /// Unique in the project.
        pub name: Attr<String>,
        /// `projects/P/global/routes/N`.
        pub id: Attr<String>,
        /// The network.
        pub network: Attr<String>,
        /// Destination of the packets.
        pub dest_range: Attr<String>,
        /// `default-internet-gateway`.
        pub next_hop_gateway: Attr<String>,
        /// An address of the network.
        pub next_hop_ip: Attr<String>,
        /// ID or URL of a VM.
        pub next_hop_instance: Attr<String>,
        /// An internal load balancer: its address or its forwarding rule.
        pub next_hop_ilb: Attr<String>,
        /// The lowest value wins.
        pub priority: Attr<i64>,
        /// Only for VMs with one of these tags.
        pub tags: Texts,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Route, "warren_gcp_route", global "routes");

pub(super) fn schema() -> Schema {
    let hop = |name: &str, text: &str| Attribute::string(name).optional().replaces().describe(text);
    Schema::new(
        "A static route in a VPC network, with exactly one next hop. Google Cloud cannot update routes, so any \
         change recreates it. A peered network imports the route only if the peering exports custom routes, \
         and never if its next hop is the internet gateway or if it has tags.",
    )
    .attributes(common::head("route", "projects/PROJECT/global/routes/NAME"))
    .attribute(common::network("route"))
    .attributes([
        Attribute::string("dest_range").required().replaces().validate(destination).describe(
            "Destination in CIDR notation; `0.0.0.0/0` matches all IPv4 destinations. Changing this replaces the \
             route.",
        ),
        hop("next_hop_gateway", "Next hop gateway: `default-internet-gateway`, which leads to the internet and to \
             the public addresses of Google APIs. Changing this replaces the route.")
            .validate(common::one_of(&[INTERNET])),
        hop("next_hop_ip", "IPv4 address of a VM in the network that forwards packets. Changing this replaces the \
             route."),
        hop("next_hop_instance", "ID or URL of a VM that forwards packets, such as \
             `projects/PROJECT/zones/ZONE/instances/NAME`. Changing this replaces the route."),
        hop("next_hop_ilb", "Internal passthrough load balancer that forwards packets: its IP address, or the URL of \
             its forwarding rule. Changing this replaces the route."),
        Attribute::number("priority").default(1000).replaces().validate(common::between(0, 65535)).describe(
            "Priority, 0 to 65535. Among routes to the same destination, the lowest value wins. Changing this \
             replaces the route. Defaults to `1000`.",
        ),
        Attribute::of("tags", Type::set(Type::String)).optional().replaces().describe(
            "Network tags: the route applies only to VMs with at least one of them. Changing this replaces the \
             route. Defaults to all VMs.",
        ),
    ])
    .attribute(common::fixed_description("route"))
    .attribute(common::self_link())
    .attributes(common::tail())
}

fn destination(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if let Err(error) = warren_cidr::parse_cidr(text) {
        diagnostics.error_at(path.clone(), "Invalid CIDR range", common::sentence(&error.to_string()));
    }
}
