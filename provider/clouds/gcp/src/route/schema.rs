//! Attributes and state of `warren_gcp_route`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use super::api::Found;
use crate::common::{self, common};
use crate::{link, marker};

/// The next hop that is the internet.
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
        /// Where packets go.
        pub dest_range: Attr<String>,
        /// `default-internet-gateway`.
        pub next_hop_gateway: Attr<String>,
        /// An address of the network.
        pub next_hop_ip: Attr<String>,
        /// Name, id or URL of a machine.
        pub next_hop_instance: Attr<String>,
        /// An internal load balancer: its address or its forwarding rule.
        pub next_hop_ilb: Attr<String>,
        /// The lowest wins.
        pub priority: Attr<i64>,
        /// Only for machines with one of these tags.
        pub tags: Texts,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Route, "warren_gcp_route", global "routes");

pub(super) fn schema() -> Schema {
    let hop = |name: &str, text: &str| Attribute::string(name).optional().replaces().describe(text);
    Schema::new(
        "A route of a network. Exactly one next hop is set. Google has no change of a route: every change replaces it. A \
         peer network gets it only if its peering exports custom routes, and never one whose next hop is the internet \
         gateway or that has tags.",
    )
    .attributes(common::head("route", "projects/P/global/routes/N"))
    .attribute(common::network("route"))
    .attributes([
        Attribute::string("dest_range").required().replaces().validate(destination).describe(
            "Where packets go, in CIDR notation; `0.0.0.0/0` is everywhere. A change replaces the route.",
        ),
        hop("next_hop_gateway", "`default-internet-gateway`: the internet, and the public ranges of Google's APIs.")
            .validate(common::one_of(&[INTERNET])),
        hop("next_hop_ip", "Address of a machine in the network that forwards."),
        hop("next_hop_instance", "Id or URL of a machine that forwards, `projects/P/zones/Z/instances/N`."),
        hop("next_hop_ilb", "An internal load balancer that forwards: its address, or the URL of its forwarding rule."),
        Attribute::number("priority").default(1000).replaces().validate(common::between(0, 65535)).describe(
            "Of routes to one range the lowest wins, 0 to 65535. A change replaces the route. Default: 1000.",
        ),
        Attribute::of("tags", Type::set(Type::String)).optional().replaces().describe(
            "Only for machines with one of these network tags. A change replaces the route. Default: for all.",
        ),
    ])
    .attribute(common::description().replaces())
    .attribute(common::self_link())
    .attributes(common::tail())
}

fn destination(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if let Err(error) = warren_cidr::parse_cidr(text) {
        diagnostics.error_at(path.clone(), "Not a CIDR range", format!("{error}."));
    }
}

/// Exactly one next hop.
pub(super) fn check(route: &Route, diagnostics: &mut Diagnostics) {
    let hops = [&route.next_hop_gateway, &route.next_hop_ip, &route.next_hop_instance, &route.next_hop_ilb];
    let known = hops.iter().filter(|hop| hop.is_known()).count();
    let unknown = hops.iter().filter(|hop| hop.is_unknown()).count();
    if known > 1 || (known == 0 && unknown == 0) {
        diagnostics.error_at(
            Path::of("next_hop_gateway"),
            "Not one next hop",
            "Set exactly one of `next_hop_gateway`, `next_hop_ip`, `next_hop_instance` and `next_hop_ilb`.",
        );
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Route) -> Route {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.network = link::kept(&before.network, &found.network);
    state.dest_range = found.destination.into();
    state.next_hop_gateway = found.gateway.into();
    state.next_hop_ip = found.ip.into();
    state.next_hop_instance = hop(&before.next_hop_instance, found.instance);
    state.next_hop_ilb = hop(&before.next_hop_ilb, found.ilb);
    state.priority = found.priority.into();
    state.tags = sets::found(found.tags, &before.tags);
    state.description = marker::user(&found.description);
    state.self_link = found.self_link.into();
    state
}

/// A next hop that may be written as a URL or as a part of one.
fn hop(before: &Attr<String>, found: Option<String>) -> Attr<String> {
    let Some(found) = found else { return Attr::Null };
    match before.known() {
        Some(before) if found.ends_with(before.as_str()) => Attr::Known(before.clone()),
        _ => found.into(),
    }
}
