//! Attributes and state of `warren_gcp_private_service_connect`.

use std::net::Ipv4Addr;

use ipnet::IpNet;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Value, model};
use warren_cidr::Family;
use warren_guard::{PlannedResource, Role};
use warren_managed::{Timeouts, key};

use super::api::Found;
use crate::common::{self, common};
use crate::{link, marker};

/// The endpoint works.
pub(super) const ACTIVE: &str = "ACTIVE";
/// The address has no rule.
pub(super) const INCOMPLETE: &str = "INCOMPLETE";

model! {
    /// An endpoint of Google's APIs.
    pub struct Endpoint {
        /// Unique in the project; also in DNS names.
        pub name: Attr<String>,
        /// `projects/P/global/forwardingRules/N`.
        pub id: Attr<String>,
        /// The network.
        pub network: Attr<String>,
        /// Address in the network at which the APIs answer.
        pub address: Attr<String>,
        /// `all-apis` or `vpc-sc`.
        pub bundle: Attr<String>,
        /// Whether Google writes DNS names for it.
        pub automate_dns: Attr<bool>,
        /// Such as `-apis.p.googleapis.com`.
        pub dns_suffix: Attr<String>,
        /// `projects/P/global/addresses/N`.
        pub address_id: Attr<String>,
        /// `ACTIVE`, or `INCOMPLETE` while the rule is missing.
        pub state: Attr<String>,
        /// The user's part of the description.
        pub description: Attr<String>,
        /// URL of the rule.
        pub self_link: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Endpoint, "warren_gcp_private_service_connect", global "forwardingRules");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A Private Service Connect endpoint: an address of a network at which Google's APIs (Cloud Storage, Artifact \
         Registry) answer, without a way to the internet. It is reached from its own network, not over a peering: each \
         spoke has its own.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(name).describe(
            "Name of the endpoint, a part of its DNS names: 1 to 20 characters of `a-z` and `0-9`, a letter first. A \
             change replaces the endpoint.",
        ),
        Attribute::string("id")
            .computed()
            .keeps()
            .describe("`projects/P/global/forwardingRules/N`, as hashicorp/google writes it."),
    ])
    .attribute(common::network("endpoint"))
    .attributes([
        Attribute::string("address").required().replaces().validate(address).describe(
            "IPv4 address of the endpoint, in no subnetwork's range; it is checked at plan against all networks. A \
             change replaces the endpoint.",
        ),
        Attribute::string("bundle").default("all-apis").replaces().validate(common::one_of(&["all-apis", "vpc-sc"]))
            .describe(
                "`all-apis`, or `vpc-sc`: only the APIs that VPC Service Controls guard. A change replaces the \
                 endpoint. Default: `all-apis`.",
            ),
        Attribute::bool("automate_dns").default(true).replaces().describe(
            "Whether Google writes DNS names for the endpoint into a private zone of the network (by Service \
             Directory, whose API must be on). A change replaces the endpoint. Default: `true`.",
        ),
        Attribute::string("dns_suffix").computed().describe(
            "What follows the API in those names: with `-apis.p.googleapis.com` Cloud Storage is \
             `storage-apis.p.googleapis.com`. Null without them.",
        ),
        Attribute::string("address_id").computed().keeps().describe("`projects/P/global/addresses/N`."),
        Attribute::string("state").computed().keeps().describe(
            "`ACTIVE`, or `INCOMPLETE` when the forwarding rule is missing; the next apply makes it.",
        ),
    ])
    .attribute(common::description().replaces())
    .attribute(common::self_link())
    .attributes(common::tail())
}

pub(super) fn dns_suffix(name: &str, automate: &Attr<bool>) -> Attr<String> {
    match automate {
        Attr::Unknown => Attr::Unknown,
        Attr::Known(false) => Attr::Null,
        _ => format!("-{name}.p.googleapis.com").into(),
    }
}

fn name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !(1..=20).contains(&name.len()) || !plain || name.starts_with(|c: char| c.is_ascii_digit()) {
        diagnostics.error_at(
            path.clone(),
            "Name not possible",
            format!(
                "{name:?} is no name of an endpoint for Google's APIs: 1 to 20 characters of `a-z` and `0-9`, a letter \
                 first."
            ),
        );
    }
}

fn address(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.parse::<Ipv4Addr>().is_err() {
        diagnostics.error_at(path.clone(), "Not an address", format!("{text:?} is no IPv4 address."));
    }
}

/// The address as a range.
pub(super) fn net(address: &Attr<String>) -> Option<IpNet> {
    let address: Ipv4Addr = address.known()?.parse().ok()?;
    Some(IpNet::from(std::net::IpAddr::V4(address)))
}

/// What the endpoint tells the guard.
pub(super) fn occupied(endpoint: &Endpoint) -> PlannedResource {
    let resource = PlannedResource::new(key(endpoint)).id(endpoint.id.known().map(String::as_str));
    match net(&endpoint.address) {
        Some(net) => resource.range(net, Path::of("address"), Role::Occupy),
        None => resource.unknown(Family::V4),
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Endpoint) -> Endpoint {
    let mut state = before.clone();
    state.dns_suffix = dns_suffix(&found.name, &found.automate_dns.into());
    state.name = found.name.into();
    state.id = found.id.into();
    state.network = link::kept(&before.network, &found.network);
    state.address = found.address.into();
    state.bundle = found.bundle.into();
    state.automate_dns = found.automate_dns.into();
    state.address_id = found.address_id.into();
    state.state = ACTIVE.into();
    state.description = marker::user(&found.description);
    state.self_link = found.self_link.into();
    state
}
