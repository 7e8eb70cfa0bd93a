//! API calls for routes.

use google_cloud_compute_v1::model;
use warren_managed::sets;

use super::schema::{INTERNET, Route};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// A route as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) network: String,
    pub(super) destination: String,
    pub(super) gateway: Option<String>,
    pub(super) ip: Option<String>,
    pub(super) instance: Option<String>,
    pub(super) ilb: Option<String>,
    pub(super) priority: i64,
    pub(super) tags: Vec<String>,
    pub(super) self_link: String,
}

/// Finds the route of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Route) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let state = super::schema::state(found.clone(), planned);
    let same = found.description == planned.marks(gcp)?
        && (&state.network, &state.dest_range, &state.priority, sets::known(&state.tags))
            == (&planned.network, &planned.dest_range, &planned.priority, sets::known(&planned.tags))
        && (&state.next_hop_gateway, &state.next_hop_ip, &state.next_hop_instance, &state.next_hop_ilb)
            == (
                &planned.next_hop_gateway,
                &planned.next_hop_ip,
                &planned.next_hop_instance,
                &planned.next_hop_ilb,
            );
    planned.adoptable(gcp, &found.description, same)
}

/// Starts creating a route and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Route, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let gateway = planned
        .next_hop_gateway
        .known()
        .map(|_| format!("projects/{}/global/gateways/{INTERNET}", gcp.project));
    let mut body = model::Route::new()
        .set_name(planned.name.text())
        .set_description(description)
        .set_network(link::id(planned.network.text()))
        .set_dest_range(planned.dest_range.text())
        .set_or_clear_next_hop_gateway(gateway)
        .set_or_clear_next_hop_ip(planned.next_hop_ip.known().cloned())
        .set_or_clear_next_hop_instance(planned.next_hop_instance.known().cloned())
        .set_or_clear_next_hop_ilb(planned.next_hop_ilb.known().cloned())
        .set_tags(sets::known(&planned.tags));
    if let Some(priority) = planned.priority.known().and_then(|priority| u32::try_from(*priority).ok()) {
        body = body.set_priority(priority);
    }
    let call = gcp.clients.routes.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("routes.insert", &id, call));
    Ok(id)
}

/// Reads the route `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let Link { project, name, .. } = link::parsed("routes.get", id)?;
    let call = gcp.clients.routes.get().set_project(project).set_route(name);
    let route = call.send().await.named("routes.get")?;
    let gateway = route.next_hop_gateway.as_deref().and_then(|url| url.rsplit('/').next());
    Ok(Found {
        id: id.to_owned(),
        name: route.name.unwrap_or_default(),
        description: route.description.unwrap_or_default(),
        network: route.network.unwrap_or_default(),
        destination: route.dest_range.unwrap_or_default(),
        gateway: gateway.map(str::to_owned),
        ip: route.next_hop_ip,
        instance: route.next_hop_instance,
        ilb: route.next_hop_ilb,
        priority: route.priority.unwrap_or_default().into(),
        tags: route.tags,
        self_link: route.self_link.unwrap_or_default(),
    })
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, name, .. } = link::parsed("routes.get", id)?;
    let call = gcp.clients.routes.delete().set_project(project).set_route(name);
    Ok(begin!("routes.delete", id, call))
}
