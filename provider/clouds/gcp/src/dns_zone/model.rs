//! The schema and state of `warren_gcp_dns_zone`.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use tf_provider_rs::{Attr, Choice, Diagnostics, Object, Path, Resource, Value};
use warren_managed::HasShared;
use warren_managed::sets::Set;

use crate::account::Gcp;
use crate::common::{self, GcpObject, Located};
use crate::dns;
use crate::labels::{GcpLabels, LabelMap, Labelled};
use crate::link::NetworkRef;

/// Manages a private zone of Cloud DNS: names that only the listed networks resolve. The zone either holds records, or
/// forwards queries to name servers, or has another network resolve them (a peering zone).
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_dns_zone",
    noun = "zone",
    scope = "project",
    id = "`projects/PROJECT/managedZones/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Zone {
    #[attr(flatten)]
    pub(crate) object: GcpObject<GcpLabels>,
    /// DNS name of the zone, in lowercase and with a final dot, such as `googleapis.com.`. Changing this replaces the
    /// zone.
    #[attr(required, replaces, validate = check_dns_name)]
    pub(crate) dns_name: Attr<String>,
    /// Description, 1 to 1024 characters. Updated in place. Defaults to `Managed by Warren`.
    #[attr(default = "Managed by Warren", validate = check_description)]
    pub(crate) description: Attr<String>,
    /// IDs or self links of the networks that resolve names with the zone, from this provider or from hashicorp/google. A
    /// network can use only one zone of a DNS name. Updated in place. Defaults to no network.
    #[attr(optional)]
    pub(crate) networks: Set<NetworkRef>,
    /// Name servers that answer queries for the zone. Set either this or `peering_network`, or neither for a zone with
    /// records. Updated in place; adding the first or removing the last one replaces the zone.
    #[attr(optional)]
    pub(crate) forwarding_targets: Attr<BTreeSet<Target>>,
    /// ID or self link of the network that answers queries for the zone, by its own zones. Updated in place; adding or
    /// removing it replaces the zone.
    #[attr(optional)]
    pub(crate) peering_network: Attr<NetworkRef>,
}

/// A name server that queries are forwarded to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Target {
    /// IPv4 address of the name server.
    #[attr(required)]
    pub(crate) ipv4_address: Attr<Ipv4Addr>,
    /// Path of the queries: `private` for through the network, `default` for through the network to RFC 1918 addresses
    /// and through the internet to others. Defaults to `default`.
    #[attr(optional)]
    pub(crate) forwarding_path: Attr<ForwardingPath>,
}

/// The path of forwarded queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Choice)]
pub(crate) enum ForwardingPath {
    #[choice("default")]
    Default,
    #[choice("private")]
    Private,
}

/// Where the answers of a zone come from. A zone keeps its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Records,
    Forwarding,
    Peering,
}

impl Zone {
    /// The type of the zone; `None` while it is not known.
    pub(crate) fn r#type(&self) -> Option<Type> {
        match (&self.forwarding_targets, &self.peering_network) {
            (Attr::Unknown, _) | (_, Attr::Unknown) => None,
            (_, Attr::Known(_)) => Some(Type::Peering),
            (Attr::Known(_), Attr::Null) => Some(Type::Forwarding),
            (Attr::Null, Attr::Null) => Some(Type::Records),
        }
    }
}

impl HasShared for Zone {
    type Shared = GcpObject<GcpLabels>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Zone {
    const COLLECTION: &'static str = "managedZones";
}

impl Labelled for Zone {
    fn labels(&self) -> &LabelMap {
        &self.object.mark.labels
    }
}

fn check_dns_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    if name == "." || name.starts_with('*') || !dns::is_name(name) {
        diagnostics.error_at(
            path.clone(),
            "Invalid DNS name",
            format!(
                "{name:?} is not the DNS name of a zone. Write it in lowercase and with a final dot, such as \
                 `googleapis.com.`."
            ),
        );
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let length = value.as_str().unwrap_or_default().chars().count();
    if !(1..=1024).contains(&length) {
        diagnostics.error_at(
            path.clone(),
            "Invalid description",
            format!("The description has {length} characters. Use 1 to 1024, or omit the attribute."),
        );
    }
}
