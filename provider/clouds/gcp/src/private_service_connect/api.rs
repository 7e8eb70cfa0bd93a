//! API calls for endpoints of Google's APIs: global addresses and forwarding rules.

use google_cloud_compute_v1::model;

use super::schema::Endpoint;
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// A forwarding rule as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) network: String,
    pub(super) address: String,
    pub(super) address_id: String,
    pub(super) bundle: String,
    pub(super) automate_dns: bool,
    pub(super) self_link: String,
}

/// An address as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) description: String,
    pub(super) network: String,
    pub(super) address: String,
}

/// The ID of the endpoint's address.
pub(super) fn address_id(gcp: &Gcp, endpoint: &Endpoint) -> String {
    Link {
        project: gcp.project.clone(),
        region: None,
        collection: "addresses".to_owned(),
        name: endpoint.name.text().to_owned(),
    }
    .to_string()
}

/// Finds the address of this name if an interrupted create of ours left it.
pub(super) async fn find_address(gcp: &Gcp, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let id = address_id(gcp, planned);
    let Some(found) = ApiError::if_found(get_address(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = link::same(&found.network, planned.network.text()) && found.address == planned.address.text();
    planned.adoptable(gcp, &found.description, same).map(|_| vec![id])
}

/// Starts reserving the address and returns its ID.
pub(super) async fn create_address(gcp: &Gcp, planned: &Endpoint) -> Result<String, ApiError> {
    let id = address_id(gcp, planned);
    let body = model::Address::new()
        .set_name(planned.name.text())
        .set_description(planned.marks(gcp)?)
        .set_address(planned.address.text())
        .set_address_type("INTERNAL")
        .set_purpose("PRIVATE_SERVICE_CONNECT")
        .set_network(link::id(planned.network.text()));
    let call = gcp.clients.global_addresses.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("globalAddresses.insert", &id, call));
    Ok(id)
}

/// Reads the address `id`; not found is an error.
pub(super) async fn get_address(gcp: &Gcp, id: &str) -> Result<Address, ApiError> {
    let Link { project, name, .. } = link::parsed("globalAddresses.get", id)?;
    let call = gcp.clients.global_addresses.get().set_project(project).set_address(name);
    let address = call.send().await.named("globalAddresses.get")?;
    Ok(Address {
        description: address.description.unwrap_or_default(),
        network: address.network.unwrap_or_default(),
        address: address.address.unwrap_or_default(),
    })
}

pub(super) async fn delete_address(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, name, .. } = link::parsed("globalAddresses.get", id)?;
    let call = gcp.clients.global_addresses.delete().set_project(project).set_address(name);
    Ok(begin!("globalAddresses.delete", id, call))
}

/// Finds the rule of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = link::same(&found.network, planned.network.text()) && found.bundle == planned.bundle.text();
    planned.adoptable(gcp, &found.description, same)
}

/// Starts creating the rule and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Endpoint, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    // Without a load balancing scheme: with a target of Google's APIs the rule is neither external nor internal.
    let body = model::ForwardingRule::new()
        .set_name(planned.name.text())
        .set_description(description)
        .set_ip_address(address_id(gcp, planned))
        .set_network(link::id(planned.network.text()))
        .set_target(planned.bundle.text())
        .set_no_automate_dns_zone(!planned.automate_dns.is_true());
    let call = gcp.clients.forwarding_rules.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("globalForwardingRules.insert", &id, call));
    Ok(id)
}

/// Reads the rule `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let Link { project, name, .. } = link::parsed("globalForwardingRules.get", id)?;
    let call = gcp.clients.forwarding_rules.get().set_project(&project).set_forwarding_rule(&name);
    let rule = call.send().await.named("globalForwardingRules.get")?;
    let target = rule.target.unwrap_or_default();
    Ok(Found {
        id: id.to_owned(),
        description: rule.description.unwrap_or_default(),
        network: rule.network.unwrap_or_default(),
        address: rule.ip_address.unwrap_or_default(),
        // The rule contains the address, not the ID of the reserved address; both have the same name.
        address_id: Link { project, region: None, collection: "addresses".to_owned(), name }.to_string(),
        bundle: target.rsplit('/').next().unwrap_or_default().to_owned(),
        automate_dns: !rule.no_automate_dns_zone.unwrap_or_default(),
        name: rule.name.unwrap_or_default(),
        self_link: rule.self_link.unwrap_or_default(),
    })
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, name, .. } = link::parsed("globalForwardingRules.get", id)?;
    let call = gcp.clients.forwarding_rules.delete().set_project(project).set_forwarding_rule(name);
    Ok(begin!("globalForwardingRules.delete", id, call))
}
