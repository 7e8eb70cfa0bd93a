//! API calls for networks.

use google_cloud_compute_v1::model;

use super::schema::Network;
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// A network as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) routing_mode: String,
    pub(super) mtu: i64,
    pub(super) auto: bool,
    pub(super) self_link: String,
}

/// Finds the network of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Network) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same =
        !found.auto && Some(&found.mtu) == planned.mtu.known() && found.description == planned.marks(gcp)?;
    planned.adoptable(gcp, &found.description, same)
}

/// Starts creating a network and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Network, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let mut body = model::Network::new()
        .set_name(planned.name.text())
        .set_description(description)
        .set_auto_create_subnetworks(false)
        .set_routing_config(routing(planned.routing_mode.text()));
    if let Some(mtu) = planned.mtu.known().and_then(|mtu| i32::try_from(*mtu).ok()) {
        body = body.set_mtu(mtu);
    }
    let call = gcp.clients.networks.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("networks.insert", &id, call));
    Ok(id)
}

/// Reads the network `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let Link { project, name, .. } = link::parsed("networks.get", id)?;
    let call = gcp.clients.networks.get().set_project(project).set_network(name);
    let network = call.send().await.named("networks.get")?;
    let mode = network.routing_config.and_then(|routing| routing.routing_mode);
    Ok(Found {
        id: id.to_owned(),
        name: network.name.unwrap_or_default(),
        description: network.description.unwrap_or_default(),
        routing_mode: mode.and_then(|mode| mode.name().map(str::to_owned)).unwrap_or_default(),
        // Networks of before this setting have Google's default.
        mtu: network.mtu.filter(|mtu| *mtu != 0).unwrap_or(1460).into(),
        auto: network.auto_create_subnetworks.unwrap_or_default(),
        self_link: network.self_link.unwrap_or_default(),
    })
}

pub(super) async fn set_routing_mode(gcp: &Gcp, id: &str, mode: &str) -> Result<Begun, ApiError> {
    let Link { project, name, .. } = link::parsed("networks.get", id)?;
    let body = model::Network::new().set_routing_config(routing(mode));
    let call = gcp.clients.networks.patch().set_project(project).set_network(name).set_body(body);
    Ok(begin!("networks.patch", id, call))
}

/// Names of the routes to the internet that Google made with the network: their next hop is its gateway, and their
/// names are Google's.
pub(super) async fn default_routes(gcp: &Gcp, id: &str) -> Result<Vec<String>, ApiError> {
    let Link { project, .. } = link::parsed("networks.get", id)?;
    let mut found = Vec::new();
    let mut page = None;
    loop {
        let call = gcp.clients.routes.list().set_project(&project).set_or_clear_page_token(page);
        let answer = call.send().await.named("routes.list")?;
        found.extend(answer.items.into_iter().filter_map(|route| {
            let ours = route.network.as_deref().is_some_and(|network| link::same(network, id));
            let internet =
                route.next_hop_gateway.as_deref().is_some_and(|hop| hop.contains("default-internet"));
            let everywhere = matches!(route.dest_range.as_deref(), Some("0.0.0.0/0" | "::/0"));
            route.name.filter(|name| ours && internet && everywhere && name.starts_with("default-route-"))
        }));
        page = answer.next_page_token.filter(|token| !token.is_empty());
        if page.is_none() {
            return Ok(found);
        }
    }
}

/// Starts to delete a route of the network `id`.
pub(super) async fn delete_route(gcp: &Gcp, id: &str, route: &str) -> Result<Begun, ApiError> {
    let Link { project, .. } = link::parsed("networks.get", id)?;
    let call = gcp.clients.routes.delete().set_project(project).set_route(route);
    Ok(begin!("routes.delete", id, call))
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, name, .. } = link::parsed("networks.get", id)?;
    let call = gcp.clients.networks.delete().set_project(project).set_network(name);
    Ok(begin!("networks.delete", id, call))
}

fn routing(mode: &str) -> model::NetworkRoutingConfig {
    model::NetworkRoutingConfig::new().set_routing_mode(mode)
}
