//! Attributes and state of `warren_gcp_router_nat`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, model};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use super::api::Found;
use crate::common::{self, common};
use crate::{link, marker};

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
        /// Subnetworks whose machines it serves; null is all of the region.
        pub subnetworks: Texts,
        /// Reserved public addresses; null is what Google gives.
        pub nat_ips: Texts,
        /// Ports that each machine has at least.
        pub min_ports_per_vm: Attr<i64>,
        /// Ports that each machine has at most; null is no growth.
        pub max_ports_per_vm: Attr<i64>,
        /// Which translations are logged; null is none.
        pub log_filter: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL of the router.
        pub self_link: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(RouterNat, "warren_gcp_router_nat", in region "routers");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A Cloud Router with one Cloud NAT, which gives machines without a public address a way to the internet. It \
         serves the machines of its own network and region, never those of a peered network; it needs a route to \
         `default-internet-gateway`.",
    )
    .attributes(common::head("router and its NAT", "projects/P/regions/R/routers/N"))
    .attribute(common::network("router"))
    .attribute(common::region("router"))
    .attributes([
        Attribute::of("subnetworks", Type::set(Type::String)).optional().describe(
            "Ids of the subnetworks that it serves, with all their ranges. Changes in place. Default: all of the \
             region.",
        ),
        Attribute::of("nat_ips", Type::set(Type::String)).optional().describe(
            "URLs of reserved public addresses (`google_compute_address.nat.self_link`), which do not change. Changes \
             in place. Default: Google gives addresses as they are needed.",
        ),
        Attribute::number("min_ports_per_vm").default(64).validate(common::between(2, 65536)).describe(
            "Ports that each machine has at least: connections at a time to one destination. Default: 64.",
        ),
        Attribute::number("max_ports_per_vm").optional().validate(common::between(32, 65536)).describe(
            "Ports that a busy machine may grow to, a power of 2; `min_ports_per_vm` is one too then. Default: no \
             growth.",
        ),
        Attribute::string("log_filter")
            .optional()
            .validate(common::one_of(&["ERRORS_ONLY", "TRANSLATIONS_ONLY", "ALL"]))
            .describe("Logs failed translations, successful ones, or all. Default: none."),
    ])
    .attribute(common::description())
    .attribute(common::self_link())
    .attributes(common::tail())
}

/// What Google refuses.
pub(super) fn check(nat: &RouterNat, diagnostics: &mut Diagnostics) {
    let power = |ports: &i64| u64::try_from(*ports).is_ok_and(u64::is_power_of_two);
    let Some(most) = nat.max_ports_per_vm.known() else { return };
    if !power(most) {
        diagnostics.error_at(
            Path::of("max_ports_per_vm"),
            "Not a power of 2",
            format!("`max_ports_per_vm` is a power of 2, and {most} is none."),
        );
    }
    let least = nat.min_ports_per_vm.known().copied().unwrap_or(64);
    if !nat.min_ports_per_vm.is_unknown() && (least >= *most || least < 32 || !power(&least)) {
        diagnostics.error_at(
            Path::of("min_ports_per_vm"),
            "Ports cannot grow",
            format!(
                "With `max_ports_per_vm` set, `min_ports_per_vm` is a power of 2 from 32 and less than {most}; it is \
                 {least}."
            ),
        );
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &RouterNat) -> RouterNat {
    let mut state = before.clone();
    state.name = found.name.into();
    state.id = found.id.into();
    state.network = link::kept(&before.network, &found.network);
    state.region = found.region.into();
    state.subnetworks = links(found.subnetworks, &before.subnetworks);
    state.nat_ips = links(found.nat_ips, &before.nat_ips);
    state.min_ports_per_vm = found.min_ports.into();
    state.max_ports_per_vm = found.max_ports.into();
    state.log_filter = found.log_filter.into();
    state.description = marker::user(&found.description);
    state.self_link = found.self_link.into();
    state
}

/// References as they were written, where they mean the same.
fn links(found: Vec<String>, before: &Texts) -> Texts {
    let wrote = sets::known(before);
    let kept = found.into_iter().map(|found| {
        let same = wrote.iter().find(|wrote| link::same(wrote, &found)).cloned();
        same.unwrap_or_else(|| link::id(&found))
    });
    sets::found(kept, before)
}
