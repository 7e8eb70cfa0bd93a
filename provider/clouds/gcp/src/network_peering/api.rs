//! API calls for peerings, which are parts of networks.

use google_cloud_compute_v1::model;

use super::schema::NetworkPeering;
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// One side of a peering as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) peer_network: String,
    pub(super) export_routes: bool,
    pub(super) import_routes: bool,
    pub(super) state: String,
    pub(super) details: String,
}

/// The ID of a peering of this network.
pub(super) fn id(network: &str, name: &str) -> String {
    format!("{}/peerings/{name}", link::id(network))
}

/// Finds the peering if an interrupted create left it.
pub(super) async fn find(gcp: &Gcp, planned: &NetworkPeering) -> Result<Vec<String>, ApiError> {
    let Some(found) = ApiError::if_found(get(gcp, planned).await)? else { return Ok(Vec::new()) };
    let id = id(planned.network.text(), planned.name.text());
    if link::same(&found.peer_network, planned.peer_network.text()) {
        return Ok(vec![id]);
    }
    let peer = link::id(&found.peer_network);
    Err(ApiError::taken("networks.addPeering", format!("{id} already exists and leads to {peer}")))
}

/// Starts creating this side of the peering and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &NetworkPeering) -> Result<String, ApiError> {
    let id = id(planned.network.text(), planned.name.text());
    let Link { project, name, .. } = link::parsed("networks.addPeering", planned.network.text())?;
    let body = model::NetworksAddPeeringRequest::new().set_network_peering(side(planned));
    let call = gcp.clients.networks.add_peering().set_project(project).set_network(name).set_body(body);
    gcp.began(&id, begin!("networks.addPeering", planned.network.text(), call));
    Ok(id)
}

/// Starts to change which routes are exchanged, when they are not as planned.
pub(super) async fn update(gcp: &Gcp, want: &NetworkPeering) -> Result<Option<Begun>, ApiError> {
    let have = get(gcp, want).await?;
    if have.export_routes == want.export_custom_routes.is_true()
        && have.import_routes == want.import_custom_routes.is_true()
    {
        return Ok(None);
    }
    let Link { project, name, .. } = link::parsed("networks.updatePeering", want.network.text())?;
    let body = model::NetworksUpdatePeeringRequest::new().set_network_peering(side(want));
    let call = gcp.clients.networks.update_peering().set_project(project).set_network(name).set_body(body);
    Ok(Some(begin!("networks.updatePeering", want.network.text(), call)))
}

/// This side of the peering; not found is an error.
pub(super) async fn get(gcp: &Gcp, peering: &NetworkPeering) -> Result<Found, ApiError> {
    let Link { project, name, .. } = link::parsed("networks.get", peering.network.text())?;
    let call = gcp.clients.networks.get().set_project(project).set_network(name);
    let network = call.send().await.named("networks.get")?;
    let mut sides = network.peerings.into_iter();
    let side = sides.find(|side| side.name.as_deref() == Some(peering.name.text()));
    let side = side
        .ok_or_else(|| ApiError::absent("networks.get", &id(peering.network.text(), peering.name.text())))?;
    Ok(Found {
        peer_network: side.network.unwrap_or_default(),
        export_routes: side.export_custom_routes.unwrap_or_default(),
        import_routes: side.import_custom_routes.unwrap_or_default(),
        state: side.state.and_then(|it| it.name().map(str::to_owned)).unwrap_or_default(),
        details: side.state_details.unwrap_or_default(),
    })
}

/// Starts removing this side if it exists: Google does not report an absent peering as "not found".
pub(super) async fn delete(gcp: &Gcp, peering: &NetworkPeering) -> Result<Begun, ApiError> {
    get(gcp, peering).await?;
    let Link { project, name, .. } = link::parsed("networks.removePeering", peering.network.text())?;
    let body = model::NetworksRemovePeeringRequest::new().set_name(peering.name.text());
    let call = gcp.clients.networks.remove_peering().set_project(project).set_network(name).set_body(body);
    Ok(begin!("networks.removePeering", peering.network.text(), call))
}

fn side(peering: &NetworkPeering) -> model::NetworkPeering {
    model::NetworkPeering::new()
        .set_name(peering.name.text())
        .set_network(link::id(peering.peer_network.text()))
        .set_exchange_subnet_routes(true)
        .set_export_custom_routes(peering.export_custom_routes.is_true())
        .set_import_custom_routes(peering.import_custom_routes.is_true())
}
