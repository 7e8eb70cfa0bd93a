//! Projects, regions and zones.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::COMPUTE;
use super::super::world::World;
use super::counted;

/// A project with its quotas.
pub(crate) fn project(world: &World, id: &str) -> Result<Value, Refusal> {
    let place = known(world, id)?;
    let quotas: Vec<Value> = counted()
        .map(|(collection, metric)| {
            let usage = world.of(collection).filter(|(key, _)| key.project == id).count();
            let limit = world.config.quotas.get(metric).copied().unwrap_or(1000);
            json!({"metric": metric, "limit": limit, "usage": usage})
        })
        .collect();
    Ok(json!({
        "kind": "compute#project",
        "id": (1_000_000 + place).to_string(),
        "name": id,
        "creationTimestamp": World::time(0),
        "selfLink": format!("{COMPUTE}projects/{id}"),
        "defaultServiceAccount": format!("{}-compute@developer.gserviceaccount.com", 1_000_000 + place),
        "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
        "defaultNetworkTier": "PREMIUM",
        "quotas": quotas,
    }))
}

/// The place of a project among those that exist.
pub(crate) fn known(world: &World, id: &str) -> Result<usize, Refusal> {
    let place = world.config.projects.iter().position(|known| known == id);
    place.ok_or_else(|| Refusal::not_found(&format!("projects/{id}")))
}

/// The number of a project, which some services write in place of its id.
pub(crate) fn number(world: &World, id: &str) -> usize {
    1_000_000 + known(world, id).unwrap_or_default()
}

/// A region.
pub(crate) fn region(world: &World, project: &str, name: &str) -> Result<Value, Refusal> {
    let place = world.config.regions.iter().position(|region| region == name);
    let place = place.ok_or_else(|| Refusal::not_found(&format!("projects/{project}/regions/{name}")))?;
    let zones: Vec<String> =
        zones(name).iter().map(|zone| format!("{COMPUTE}projects/{project}/zones/{zone}")).collect();
    Ok(json!({
        "kind": "compute#region",
        "id": (1000 + place).to_string(),
        "name": name,
        "creationTimestamp": World::time(0),
        "description": name,
        "status": "UP",
        "zones": zones,
        "selfLink": format!("{COMPUTE}projects/{project}/regions/{name}"),
    }))
}

/// A zone.
pub(crate) fn zone(world: &World, project: &str, name: &str) -> Result<Value, Refusal> {
    let home = world.config.regions.iter().position(|region| zones(region).iter().any(|zone| zone == name));
    let home = home.ok_or_else(|| Refusal::not_found(&format!("projects/{project}/zones/{name}")))?;
    Ok(json!({
        "kind": "compute#zone",
        "id": (2000 + home * 10 + name.len() % 10).to_string(),
        "name": name,
        "creationTimestamp": World::time(0),
        "description": name,
        "status": "UP",
        "region": format!("{COMPUTE}projects/{project}/regions/{}", world.config.regions[home]),
        "selfLink": format!("{COMPUTE}projects/{project}/zones/{name}"),
    }))
}

/// The zones of a region.
pub(crate) fn zones(region: &str) -> [String; 3] {
    ["a", "b", "c"].map(|letter| format!("{region}-{letter}"))
}
