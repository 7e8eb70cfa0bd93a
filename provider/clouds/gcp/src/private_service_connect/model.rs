//! The schema and state of `warren_gcp_private_service_connect`.

use std::net::Ipv4Addr;

use tf_provider_rs::{Attr, Choice, Diagnostics, Path, Resource, Value};
use warren_guard::Location;
use warren_managed::HasShared;

use crate::account::Gcp;
use crate::common::{self, FixedDescription, GcpObject, Located, Naming};
use crate::link::NetworkRef;

/// Manages a Private Service Connect endpoint: an IP address in a network through which clients reach Google APIs, such
/// as Cloud Storage and Artifact Registry, without internet access. The endpoint serves its own network only, not
/// peered networks, so each spoke needs its own.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_private_service_connect",
    noun = "endpoint",
    id = "`projects/PROJECT/global/forwardingRules/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Endpoint {
    #[attr(flatten)]
    pub(crate) object: GcpObject<FixedDescription, EndpointName>,
    /// ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the
    /// endpoint.
    #[attr(required, replaces)]
    pub(crate) network: Attr<NetworkRef>,
    /// IPv4 address of the endpoint. It must not be in the range of a subnetwork; the plan fails if it overlaps a range
    /// of any network. Changing this replaces the endpoint.
    #[attr(required, replaces)]
    pub(crate) address: Attr<Ipv4Addr>,
    /// API bundle: `all-apis`, or `vpc-sc` for only the APIs that VPC Service Controls protects. Changing this replaces
    /// the endpoint. Defaults to `all-apis`.
    #[attr(default = Bundle::AllApis, replaces)]
    pub(crate) bundle: Attr<Bundle>,
    /// Whether Google creates DNS names for the endpoint in a private zone of the network. This needs the Service
    /// Directory API. Changing this replaces the endpoint. Defaults to `true`.
    #[attr(default = true, replaces)]
    pub(crate) automate_dns: Attr<bool>,
    /// Suffix of the DNS names: with `-apis.p.googleapis.com`, Cloud Storage is `storage-apis.p.googleapis.com`. Null
    /// if `automate_dns` is `false`.
    #[attr(computed)]
    pub(crate) dns_suffix: Attr<String>,
    /// ID of the reserved address, in the form `projects/PROJECT/global/addresses/NAME`.
    #[attr(computed, keeps)]
    pub(crate) address_id: Attr<String>,
    /// State of the endpoint: `ACTIVE`, or `INCOMPLETE` if the forwarding rule is missing; the next apply creates it
    /// again.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<State>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

/// An API bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Bundle {
    #[choice("all-apis")]
    AllApis,
    #[choice("vpc-sc")]
    Protected,
}

/// State of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum State {
    #[choice("ACTIVE")]
    Active,
    /// The address has no rule.
    #[choice("INCOMPLETE")]
    Incomplete,
}

/// The name of an endpoint, which is part of DNS names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EndpointName;

impl Naming for EndpointName {
    const DESCRIPTION: &'static str = "Name of the endpoint, which is part of its DNS names: 1 to 20 lowercase \
                                       letters and digits, starting with a letter. Changing this replaces the \
                                       endpoint.";

    fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
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
}

impl HasShared for Endpoint {
    type Shared = GcpObject<FixedDescription, EndpointName>;

    fn location(&self, gcp: Option<&Gcp>) -> Location {
        common::location(self, gcp)
    }

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Endpoint {
    const COLLECTION: &'static str = "forwardingRules";
}

/// The suffix of the DNS names of an endpoint.
pub(super) fn dns_suffix(name: &str, automate: Attr<bool>) -> Attr<String> {
    match automate {
        Attr::Unknown => Attr::Unknown,
        Attr::Known(false) => Attr::Null,
        _ => format!("-{name}.p.googleapis.com").into(),
    }
}
