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
        /// Whether the other network gets this one's custom routes.
        pub export_custom_routes: Attr<bool>,
        /// Whether this network takes the other's custom routes.
        pub import_custom_routes: Attr<bool>,
        /// `ACTIVE` when both sides are there.
        pub state: Attr<String>,
        /// Google's words on the state.
        pub state_details: Attr<String>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

impl Common for NetworkPeering {
    type Cloud = Gcp;
    const KIND: &'static str = "warren_gcp_network_peering";

    warren_managed::accessors!();
    /// A peering has no description.
    fn marks(&self, _gcp: &Gcp) -> String {
        String::new()
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "One side of a peering of two networks; it is active when the other network has its side too. Subnetworks of \
         both reach each other. Peering is not transitive: a network reaches its peers, never the peers of its peers, \
         whatever routes are exchanged. Networks whose subnetworks overlap are refused at plan.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(link::check_name).describe(
            "Name of the peering, unique in its network: 1 to 63 characters of `a-z`, `0-9` and `-`. A change replaces \
             the peering.",
        ),
        Attribute::string("id").computed().keeps().describe("`projects/P/global/networks/N/peerings/NAME`."),
    ])
    .attribute(common::network("peering"))
    .attributes([
        Attribute::string("peer_network").required().replaces().validate(link::check("networks")).describe(
            "Id or self link of the other network, also of another project. A change replaces the peering.",
        ),
        Attribute::bool("export_custom_routes").default(false).describe(
            "Whether the other network gets the routes of this one that are no subnetworks' (`warren_gcp_route`, \
             routes that a Cloud Router learnt), if it imports them. Routes to the internet gateway and routes with \
             tags never go over. Changes in place. Default: `false`.",
        ),
        Attribute::bool("import_custom_routes").default(false).describe(
            "Whether this network takes what the other exports. Changes in place. Default: `false`.",
        ),
        Attribute::string("state").computed().describe("`ACTIVE` when both sides are there, else `INACTIVE`."),
        Attribute::string("state_details").computed().describe("Google's words on the state."),
    ])
    .attributes(common::tail())
}

/// A model with the id and what it tells, to be read next: `projects/P/global/networks/N/peerings/NAME`, or
/// hashicorp/google's `P/N/NAME`.
pub(super) fn imported(id: &str) -> Result<NetworkPeering, Diagnostics> {
    let parts: Vec<&str> = id.split('/').collect();
    let (project, network, name) = match parts[..] {
        ["projects", project, "global", "networks", network, "peerings", name] => (project, network, name),
        [project, network, name] => (project, network, name),
        _ => {
            return Err(Diagnostic::error(
                "Not a peering",
                format!("{id:?} is no `projects/P/global/networks/N/peerings/NAME`, nor `P/N/NAME`."),
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

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &NetworkPeering) -> NetworkPeering {
    let mut state = before.clone();
    state.peer_network = link::kept(&before.peer_network, &found.peer_network);
    state.export_custom_routes = found.export_routes.into();
    state.import_custom_routes = found.import_routes.into();
    state.state = found.state.into();
    state.state_details = found.details.into();
    state
}
