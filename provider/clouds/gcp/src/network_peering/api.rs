//! API calls for peerings, which are parts of networks.

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::network_peering::State;

use super::model::{NetworkPeering, id};
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _};
use crate::link::{self, Link, Reference as _};

const GET: &str = "networks.get";

/// Finds the peering if an interrupted create left it.
pub(super) async fn find(gcp: &Gcp, planned: &NetworkPeering) -> Result<Vec<String>, ApiError> {
    let Some(have) = ApiError::if_found(get(gcp, planned).await)? else { return Ok(Vec::new()) };
    let id = id(planned.network.value()?, planned.object.name()?);
    if have.peer_network == planned.peer_network {
        return Ok(vec![id]);
    }
    let peer = have.peer_network.value()?.id();
    Err(ApiError::taken("networks.addPeering", format!("{id} already exists and leads to {peer}")))
}

/// Starts creating this side of the peering and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &NetworkPeering) -> Result<String, ApiError> {
    let network = planned.network.value()?;
    let Link { project, name, .. } = network.link();
    let body = model::NetworksAddPeeringRequest::new().set_network_peering(side(planned)?);
    let call =
        gcp.clients.networks().await?.add_peering().set_project(project).set_network(name).set_body(body);
    let id = id(network, planned.object.name()?);
    gcp.began(&id, begin!("networks.addPeering", &network.id(), call));
    Ok(id)
}

/// Starts to change which routes are exchanged, when they are not as planned.
pub(super) async fn update(gcp: &Gcp, want: &NetworkPeering) -> Result<Option<Begun>, ApiError> {
    let have = get(gcp, want).await?;
    if (have.export_custom_routes, have.import_custom_routes)
        == (want.export_custom_routes, want.import_custom_routes)
    {
        return Ok(None);
    }
    let network = want.network.value()?;
    let Link { project, name, .. } = network.link();
    let body = model::NetworksUpdatePeeringRequest::new().set_network_peering(side(want)?);
    let call =
        gcp.clients.networks().await?.update_peering().set_project(project).set_network(name).set_body(body);
    Ok(Some(begin!("networks.updatePeering", &network.id(), call)))
}

/// Reads this side of the peering; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &NetworkPeering) -> Result<NetworkPeering, ApiError> {
    let (network, peering) = (before.network.value()?, before.object.name()?);
    let Link { project, name, .. } = network.link();
    let found =
        gcp.clients.networks().await?.get().set_project(project).set_network(name).send().await.named(GET)?;
    let side = found.peerings.iter().find(|side| side.name.as_deref() == Some(peering));
    state(side.ok_or_else(|| ApiError::absent(GET, &id(network, peering)))?, before)
}

/// Starts removing this side if it exists: Google does not report an absent peering as "not found".
pub(super) async fn delete(gcp: &Gcp, peering: &NetworkPeering) -> Result<Begun, ApiError> {
    get(gcp, peering).await?;
    let network = peering.network.value()?;
    let Link { project, name, .. } = network.link();
    let body = model::NetworksRemovePeeringRequest::new().set_name(peering.object.name()?);
    let call =
        gcp.clients.networks().await?.remove_peering().set_project(project).set_network(name).set_body(body);
    Ok(begin!("networks.removePeering", &network.id(), call))
}

fn side(peering: &NetworkPeering) -> Result<model::NetworkPeering, ApiError> {
    Ok(model::NetworkPeering::new()
        .set_name(peering.object.name()?)
        .set_network(peering.peer_network.value()?.id())
        .set_exchange_subnet_routes(true)
        .set_export_custom_routes(peering.export_custom_routes.is_true())
        .set_import_custom_routes(peering.import_custom_routes.is_true()))
}

/// The state of one side as the API returns it; its ID and timeouts are those of `before`.
fn state(found: &model::NetworkPeering, before: &NetworkPeering) -> Result<NetworkPeering, ApiError> {
    let peer = found.network.as_deref();
    Ok(NetworkPeering {
        object: before.object.clone(),
        network: before.network.clone(),
        peer_network: link::found(GET, "peerings.network", peer, &before.peer_network)?,
        export_custom_routes: found.export_custom_routes.unwrap_or_default().into(),
        import_custom_routes: found.import_custom_routes.unwrap_or_default().into(),
        state: found.state.as_ref().and_then(State::name).or_missing(GET, "peerings.state")?.into(),
        state_details: found.state_details.clone().into(),
    })
}
