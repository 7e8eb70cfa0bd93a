//! API calls for routes.

use std::net::IpAddr;

use google_cloud_compute_v1::model;
use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::Route;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::link;

const GET: &str = "routes.get";

/// Finds the route of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Route) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || {
        // Only Google knows the self link of a planned route.
        let have = Route { self_link: planned.self_link.clone(), ..state(&found, planned)? };
        Ok(found.description == Some(planned.marks(gcp)?) && have == *planned)
    };
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts creating a route and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Route, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let gateway = |gateway| format!("projects/{}/global/gateways/{gateway}", gcp.project);
    let body = model::Route::new()
        .set_name(planned.object.name()?)
        .set_description(description)
        .set_network(planned.network.value()?.id())
        .set_dest_range(planned.dest_range.value()?.to_string())
        .set_or_clear_next_hop_gateway(planned.next_hop_gateway.known().map(gateway))
        .set_or_clear_next_hop_ip(planned.next_hop_ip.known().map(IpAddr::to_string))
        .set_or_clear_next_hop_instance(planned.next_hop_instance.known().cloned())
        .set_or_clear_next_hop_ilb(planned.next_hop_ilb.known().cloned())
        .set_or_clear_priority(planned.priority.into_known().map(u32::from))
        .set_tags(sets::known(&planned.tags));
    let call = gcp.clients.routes().await?.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("routes.insert", &id, call));
    Ok(id)
}

/// Reads the route; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Route) -> Result<Route, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, name) = link::global("routes.delete", id)?;
    let call = gcp.clients.routes().await?.delete().set_project(project).set_route(name);
    Ok(begin!("routes.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Route, ApiError> {
    let (project, name) = link::global(GET, id)?;
    gcp.clients.routes().await?.get().set_project(project).set_route(name).send().await.named(GET)
}

/// The state of a route as the API returns it, whose ID and timeouts are those of `before`.
fn state(found: &model::Route, before: &Route) -> Result<Route, ApiError> {
    let gateway = link::last(found.next_hop_gateway.as_deref());
    let priority = found.priority.and_then(|priority| u16::try_from(priority).ok());
    Ok(Route {
        object: before
            .object
            .found(found.name.as_deref().or_missing(GET, "name")?, found.description.as_deref().into()),
        network: link::found(GET, "network", found.network.as_deref(), &before.network)?,
        dest_range: Attr::Known(found.dest_range.as_deref().parsed(GET, "destRange")?),
        next_hop_gateway: gateway.parsed_if_set(GET, "nextHopGateway")?.into(),
        next_hop_ip: found.next_hop_ip.as_deref().parsed_if_set(GET, "nextHopIp")?.into(),
        next_hop_instance: hop(&before.next_hop_instance, found.next_hop_instance.as_ref()),
        next_hop_ilb: hop(&before.next_hop_ilb, found.next_hop_ilb.as_ref()),
        priority: priority.or_missing(GET, "priority")?.into(),
        tags: sets::found(found.tags.iter().cloned(), &before.tags),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}

/// A next hop, which can be written as a URL or as part of one.
fn hop(before: &Attr<String>, found: Option<&String>) -> Attr<String> {
    match (before, found) {
        (Attr::Known(before), Some(found)) if found.ends_with(before.as_str()) => Attr::Known(before.clone()),
        (_, found) => found.cloned().into(),
    }
}
