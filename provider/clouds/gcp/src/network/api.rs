//! API calls for networks.

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::network_routing_config::RoutingMode;
use tf_provider_rs::Attr;

use super::model::Network;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _, non_empty};
use crate::link;

const GET: &str = "networks.get";

/// Finds the network of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Network) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || {
        Ok(found.auto_create_subnetworks != Some(true)
            && state(&found, planned)?.mtu == planned.mtu
            && found.description == Some(planned.marks(gcp)?))
    };
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts creating a network and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Network, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let body = model::Network::new()
        .set_name(planned.object.name()?)
        .set_description(description)
        .set_auto_create_subnetworks(false)
        .set_routing_config(routing(planned)?)
        .set_or_clear_mtu(planned.mtu.into_known());
    let call = gcp.clients.networks().await?.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("networks.insert", &id, call));
    Ok(id)
}

/// Reads the network; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Network) -> Result<Network, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

/// Starts setting the planned routing mode if it differs.
pub(super) async fn set_routing_mode(gcp: &Gcp, want: &Network) -> Result<Option<Begun>, ApiError> {
    if get(gcp, want).await?.routing_mode == want.routing_mode {
        return Ok(None);
    }
    let id = want.object.id()?;
    let (project, name) = link::global("networks.patch", id)?;
    let body = model::Network::new().set_routing_config(routing(want)?);
    let call = gcp.clients.networks().await?.patch().set_project(project).set_network(name).set_body(body);
    Ok(Some(begin!("networks.patch", id, call)))
}

/// Names of the routes to the internet that Google made with the network: their next hop is its gateway, and their
/// names are Google's.
pub(super) async fn default_routes(gcp: &Gcp, id: &str) -> Result<Vec<String>, ApiError> {
    let (project, _) = link::global("routes.list", id)?;
    let mut found = Vec::new();
    let mut page = None;
    loop {
        let call = gcp.clients.routes().await?.list().set_project(&project).set_or_clear_page_token(page);
        let answer = call.send().await.named("routes.list")?;
        found.extend(answer.items.into_iter().filter_map(|route| {
            let ours = route.network.as_deref().is_some_and(|network| link::same(network, id));
            let internet =
                route.next_hop_gateway.as_deref().is_some_and(|hop| hop.contains("default-internet"));
            let everywhere = matches!(route.dest_range.as_deref(), Some("0.0.0.0/0" | "::/0"));
            route.name.filter(|name| ours && internet && everywhere && name.starts_with("default-route-"))
        }));
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(found);
        }
    }
}

/// Starts to delete a route of the network `id`.
pub(super) async fn delete_route(gcp: &Gcp, id: &str, route: &str) -> Result<Begun, ApiError> {
    let (project, _) = link::global("routes.delete", id)?;
    let call = gcp.clients.routes().await?.delete().set_project(project).set_route(route);
    Ok(begin!("routes.delete", id, call))
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, name) = link::global("networks.delete", id)?;
    let call = gcp.clients.networks().await?.delete().set_project(project).set_network(name);
    Ok(begin!("networks.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Network, ApiError> {
    let (project, name) = link::global(GET, id)?;
    let call = gcp.clients.networks().await?.get().set_project(project).set_network(name);
    call.send().await.named(GET)
}

fn routing(network: &Network) -> Result<model::NetworkRoutingConfig, ApiError> {
    Ok(model::NetworkRoutingConfig::new().set_routing_mode(network.routing_mode.value()?.as_str()))
}

/// The state of a network as the API returns it; what Google does not store is as in `before`.
fn state(found: &model::Network, before: &Network) -> Result<Network, ApiError> {
    let mode = found.routing_config.as_ref().and_then(|routing| routing.routing_mode.as_ref());
    Ok(Network {
        object: before
            .object
            .found(found.name.as_deref().or_missing(GET, "name")?, found.description.as_deref().into()),
        routing_mode: Attr::Known(mode.and_then(RoutingMode::name).parsed(GET, "routingConfig.routingMode")?),
        // Networks of before this setting have Google's default.
        mtu: found.mtu.filter(|mtu| *mtu != 0).unwrap_or(1460).into(),
        delete_default_routes: before.delete_default_routes.known().copied().unwrap_or(false).into(),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}
