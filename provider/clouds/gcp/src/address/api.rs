//! API calls for regional external addresses.

use google_cloud_compute_v1::model;

use super::schema::Address;
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// An address as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) region: String,
    pub(super) description: String,
    pub(super) address: String,
    pub(super) network_tier: String,
    pub(super) self_link: String,
}

/// Finds the address of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Address) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    planned.adoptable(gcp, &found.description, found.network_tier == planned.network_tier.text())
}

/// Starts reserving an address and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Address, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let body = model::Address::new()
        .set_name(planned.name.text())
        .set_description(description)
        .set_address_type("EXTERNAL")
        .set_network_tier(planned.network_tier.text());
    let call = gcp.clients.addresses.insert().set_project(&gcp.project).set_region(planned.region.text());
    gcp.began(&id, begin!("addresses.insert", &id, call.set_body(body)));
    Ok(id)
}

/// Reads the address `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let link = link::parsed("addresses.get", id)?;
    let call = gcp.clients.addresses.get().set_project(&link.project).set_region(link.region());
    let address = call.set_address(&link.name).send().await.named("addresses.get")?;
    let tier = address.network_tier.and_then(|tier| tier.name().map(str::to_owned));
    Ok(Found {
        id: id.to_owned(),
        region: link.region().to_owned(),
        name: link.name,
        description: address.description.unwrap_or_default(),
        address: address.address.unwrap_or_default(),
        network_tier: tier.unwrap_or_default(),
        self_link: address.self_link.unwrap_or_default(),
    })
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let link = link::parsed("addresses.get", id)?;
    let Link { project, name, .. } = &link;
    let call = gcp.clients.addresses.delete().set_project(project).set_region(link.region());
    Ok(begin!("addresses.delete", id, call.set_address(name)))
}
