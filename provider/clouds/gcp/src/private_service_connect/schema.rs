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
    /// An endpoint for Google APIs.
    pub struct Endpoint {
        /// Unique in the project; also in DNS names.
        pub name: Attr<String>,
        /// `projects/P/global/forwardingRules/N`.
        pub id: Attr<String>,
        /// The network.
        pub network: Attr<String>,
        /// Address of the endpoint in the network.
        pub address: Attr<String>,
        /// `all-apis` or `vpc-sc`.
        pub bundle: Attr<String>,
        /// Whether Google creates DNS names for it.
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
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Endpoint, "warren_gcp_private_service_connect", global "forwardingRules");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A Private Service Connect endpoint: an IP address in a network through which clients reach Google APIs, \
         such as Cloud Storage and Artifact Registry, without internet access. The endpoint serves its own network \
         only, not peered networks, so each spoke needs its own.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(name).describe(
            "Name of the endpoint, which is part of its DNS names: 1 to 20 lowercase letters and digits, starting \
             with a letter. Changing this replaces the endpoint.",
        ),
        Attribute::string("id")
            .computed()
            .keeps()
            .describe("ID in the form `projects/PROJECT/global/forwardingRules/NAME`, the same as in \
                 hashicorp/google."),
    ])
    .attribute(common::network("endpoint"))
    .attributes([
        Attribute::string("address").required().replaces().validate(address).describe(
            "IPv4 address of the endpoint. It must not be in the range of a subnetwork; the plan fails if it \
             overlaps a range of any network. Changing this replaces the endpoint.",
        ),
        Attribute::string("bundle").default("all-apis").replaces().validate(common::one_of(&["all-apis", "vpc-sc"]))
            .describe(
                "API bundle: `all-apis`, or `vpc-sc` for only the APIs that VPC Service Controls protects. Changing \
                 this replaces the endpoint. Defaults to `all-apis`.",
            ),
        Attribute::bool("automate_dns").default(true).replaces().describe(
            "Whether Google creates DNS names for the endpoint in a private zone of the network. This needs the \
             Service Directory API. Changing this replaces the endpoint. Defaults to `true`.",
        ),
        Attribute::string("dns_suffix").computed().describe(
            "Suffix of the DNS names: with `-apis.p.googleapis.com`, Cloud Storage is \
             `storage-apis.p.googleapis.com`. Null if `automate_dns` is `false`.",
        ),
        Attribute::string("address_id").computed().keeps().describe("ID of the reserved address, in the form `projects/PROJECT/global/addresses/NAME`."),
        Attribute::string("state").computed().keeps().describe(
            "State of the endpoint: `ACTIVE`, or `INCOMPLETE` if the forwarding rule is missing; the next apply \
             creates it again.",
        ),
    ])
    .attribute(common::fixed_description("endpoint"))
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
            "Invalid name",
            format!(
                "{name:?} is not a valid name of an endpoint for Google APIs. Use 1 to 20 lowercase letters and \
                 digits, starting with a letter."
            ),
        );
    }
}

fn address(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.parse::<Ipv4Addr>().is_err() {
        diagnostics.error_at(
            path.clone(),
            "Invalid IPv4 address",
            format!("{text:?} is not an IPv4 address."),
        );
    }
}

/// The address as a range.
pub(super) fn net(address: &Attr<String>) -> Option<IpNet> {
    let address: Ipv4Addr = address.known()?.parse().ok()?;
    Some(IpNet::from(std::net::IpAddr::V4(address)))
}

/// The endpoint's address for the guard.
pub(super) fn occupied(endpoint: &Endpoint) -> Result<PlannedResource, tf_provider_rs::NotKnown> {
    let resource = PlannedResource::new(key(endpoint)?).id(endpoint.id.known().map(String::as_str));
    Ok(match net(&endpoint.address) {
        Some(net) => resource.range(net, Path::of("address"), Role::Occupy),
        None => resource.unknown(Family::V4),
    })
}

/// Updates the state `before` with what the API returned.
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
