//! Attributes and state of `warren_gcp_network_peering`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, model};
use warren_managed::{Common, Timeouts};

use super::api::{self, Found};
use crate::common;
use crate::link;
use crate::session::Gcp;

model! {
    /// One side of a peering.
    pub struct NetworkPeering {
        /// Unique in the network.
        pub name: Attr<String>,
        /// `projects/P/global/networks/N/peerings/NAME`.
        pub id: Attr<String>,
        /// The network of this side.
        pub network: Attr<String>,
        /// The other network.
        pub peer_network: Attr<String>,
        /// Whether this network exports its custom routes.
        pub export_custom_routes: Attr<bool>,
        /// Whether this network imports the other's custom routes.
        pub import_custom_routes: Attr<bool>,
        /// `ACTIVE` if both sides exist.
        pub state: Attr<String>,
        /// Details of the state.
        pub state_details: Attr<String>,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

impl Common for NetworkPeering {
    type Cloud = Gcp;
    const KIND: &'static str = "warren_gcp_network_peering";

    warren_managed::accessors!();
    /// A peering has no description.
    fn marks(&self, _gcp: &Gcp) -> Result<String, tf_provider_rs::NotKnown> {
        Ok(String::new())
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "One side of a VPC Network Peering between two networks. The peering is active once both networks have their \
         side; subnetworks of both can then reach each other. Peering is not transitive: a network reaches its peers \
         but never their peers, even if custom routes are exchanged. The plan fails if subnetworks of the two \
         networks overlap.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(link::check_name).describe(
            "Name of the peering, unique in its network: 1 to 63 lowercase letters, digits or hyphens, starting with \
             a letter and not ending with a hyphen. Changing this replaces the peering.",
        ),
        Attribute::string("id").computed().keeps().describe("ID in the form `projects/PROJECT/global/networks/NETWORK/peerings/NAME`."),
    ])
    .attribute(common::network("peering"))
    .attributes([
        Attribute::string("peer_network").required().replaces().validate(link::check("networks")).describe(
            "ID or self link of the other network, which can be in another project. Changing this replaces the \
             peering.",
        ),
        Attribute::bool("export_custom_routes").default(false).describe(
            "Whether this network exports its custom routes (`warren_gcp_route` and routes that a Cloud Router \
             learned) to the other network, which must import them. Routes to the internet gateway and routes with \
             tags are never exported. Updated in place. Defaults to `false`.",
        ),
        Attribute::bool("import_custom_routes").default(false).describe(
            "Whether this network imports the custom routes that the other network exports. Updated in place. \
             Defaults to `false`.",
        ),
        Attribute::string("state").computed().describe("State of the peering: `ACTIVE` if both sides exist, \
             otherwise `INACTIVE`."),
        Attribute::string("state_details").computed().describe("Details of the state, from Google."),
    ])
    .attributes(common::tail())
}

/// A model with the ID and its parts, for the next read: `projects/P/global/networks/N/peerings/NAME`, or
/// hashicorp/google's `P/N/NAME`.
pub(super) fn imported(id: &str) -> Result<NetworkPeering, Diagnostics> {
    let parts: Vec<&str> = id.split('/').collect();
    let (project, network, name) = match parts[..] {
        ["projects", project, "global", "networks", network, "peerings", name] => (project, network, name),
        [project, network, name] => (project, network, name),
        _ => {
            return Err(Diagnostic::error(
                "Invalid peering ID",
                format!(
                    "{id:?} is not the ID of a peering. Use \
                     `projects/PROJECT/global/networks/NETWORK/peerings/NAME` or `PROJECT/NETWORK/NAME`."
                ),
            )
            .into());
        }
    };
    let network = format!("projects/{project}/global/networks/{network}");
    Ok(NetworkPeering {
        name: name.into(),
        id: api::id(&network, name).into(),
        network: network.into(),
        ..NetworkPeering::default()
    })
}

/// Updates the state `before` with what the API returned.
pub(super) fn state(found: Found, before: &NetworkPeering) -> NetworkPeering {
    let mut state = before.clone();
    state.peer_network = link::kept(&before.peer_network, &found.peer_network);
    state.export_custom_routes = found.export_routes.into();
    state.import_custom_routes = found.import_routes.into();
    state.state = found.state.into();
    state.state_details = found.details.into();
    state
}
