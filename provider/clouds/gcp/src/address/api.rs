//! API calls for regional external addresses.

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::address as sdk;
use tf_provider_rs::Attr;

use super::model::Address;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::link;

const GET: &str = "addresses.get";

/// Finds the address of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Address) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || Ok(state(&found, planned)?.network_tier == planned.network_tier);
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts reserving an address and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Address, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let body = model::Address::new()
        .set_name(planned.object.name()?)
        .set_description(description)
        .set_address_type("EXTERNAL")
        .set_network_tier(planned.network_tier.value()?.as_str());
    let call =
        gcp.clients.addresses().await?.insert().set_project(&gcp.project).set_region(planned.region.value()?);
    gcp.began(&id, begin!("addresses.insert", &id, call.set_body(body)));
    Ok(id)
}

/// Reads the address; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Address) -> Result<Address, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, region, name) = link::regional("addresses.delete", id)?;
    let call =
        gcp.clients.addresses().await?.delete().set_project(project).set_region(region).set_address(name);
    Ok(begin!("addresses.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Address, ApiError> {
    let (project, region, name) = link::regional(GET, id)?;
    let call = gcp.clients.addresses().await?.get().set_project(project).set_region(region).set_address(name);
    call.send().await.named(GET)
}

/// The state of an address as the API returns it, whose ID and timeouts are those of `before`.
fn state(found: &model::Address, before: &Address) -> Result<Address, ApiError> {
    let tier = found.network_tier.as_ref();
    Ok(Address {
        object: before
            .object
            .found(found.name.as_deref().or_missing(GET, "name")?, found.description.as_deref().into()),
        region: link::last(found.region.as_deref()).or_missing(GET, "region")?.into(),
        // Google assigns it while it reserves the address.
        address: found.address.as_deref().parsed_if_set(GET, "address")?.into(),
        network_tier: tier.and_then(sdk::NetworkTier::name).parsed(GET, "networkTier").map(Attr::Known)?,
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}
