//! The schema and state of `warren_gcp_network_peering`.

use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Resource};
use warren_managed::HasShared;

use crate::common::{GcpObject, Name, Part, Unmarked};
use crate::link::NetworkRef;

/// Manages one side of a VPC Network Peering between two networks. The peering is active once both networks have their
/// side; subnetworks of both can then reach each other. Peering is not transitive: a network reaches its peers but
/// never their peers, even if custom routes are exchanged. The plan fails if subnetworks of the two networks overlap.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_network_peering",
    noun = "peering",
    scope = "network",
    id = "`projects/PROJECT/global/networks/NETWORK/peerings/NAME`"
)]
pub(crate) struct NetworkPeering {
    #[attr(flatten)]
    pub(crate) object: GcpObject<Unmarked, Name, Part>,
    /// ID or self link of the network, from this provider or from hashicorp/google. Changing this replaces the peering.
    #[attr(required, replaces)]
    pub(crate) network: Attr<NetworkRef>,
    /// ID or self link of the other network, which can be in another project. Changing this replaces the peering.
    #[attr(required, replaces)]
    pub(crate) peer_network: Attr<NetworkRef>,
    /// Whether this network exports its custom routes (`warren_gcp_route` and routes that a Cloud Router learned) to the
    /// other network, which must import them. Routes to the internet gateway and routes with tags are never exported.
    /// Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) export_custom_routes: Attr<bool>,
    /// Whether this network imports the custom routes that the other network exports. Updated in place. Defaults to
    /// `false`.
    #[attr(default = false)]
    pub(crate) import_custom_routes: Attr<bool>,
    /// State of the peering: `ACTIVE` if both sides exist, otherwise `INACTIVE`.
    #[attr(computed)]
    pub(crate) state: Attr<String>,
    /// Details of the state, from Google.
    #[attr(computed)]
    pub(crate) state_details: Attr<String>,
}

impl HasShared for NetworkPeering {
    type Shared = GcpObject<Unmarked, Name, Part>;
}

/// The ID of the peering `name` of this network.
pub(super) fn id(network: &NetworkRef, name: &str) -> String {
    format!("{}/peerings/{name}", network.id())
}

/// A model with the ID and its parts, for the next read: `projects/P/global/networks/N/peerings/NAME`, or
/// hashicorp/google's `P/N/NAME`.
pub(super) fn imported(text: &str) -> Result<NetworkPeering, Diagnostics> {
    let parts: Vec<&str> = text.split('/').collect();
    let parsed = match parts[..] {
        ["projects", project, "global", "networks", network, "peerings", name] | [project, network, name] => {
            let network = format!("projects/{project}/global/networks/{network}").parse::<NetworkRef>();
            network.ok().map(|network| (network, name))
        }
        _ => None,
    };
    let Some((network, name)) = parsed else {
        return Err(Diagnostic::error(
            "Invalid peering ID",
            format!(
                "{text:?} is not the ID of a peering. Use \
                 `projects/PROJECT/global/networks/NETWORK/peerings/NAME` or `PROJECT/NETWORK/NAME`."
            ),
        )
        .into());
    };
    let object = GcpObject { name: name.into(), id: id(&network, name).into(), ..GcpObject::default() };
    Ok(NetworkPeering { object, network: network.into(), ..NetworkPeering::default() })
}
