//! API calls for endpoints of Google's APIs: global addresses and forwarding rules.

use google_cloud_compute_v1::model;
use tf_provider_rs::Attr;

use super::model::{Endpoint, State, dns_suffix};
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::link::{self, Link};

const GET: &str = "globalForwardingRules.get";
const GET_ADDRESS: &str = "globalAddresses.get";

/// The ID of the address of an endpoint: both have the same name.
pub(super) fn address_id(project: &str, name: &str) -> String {
    let (project, name) = (project.to_owned(), name.to_owned());
    Link { project, region: None, collection: "addresses".to_owned(), name }.to_string()
}

/// Finds the address of this name if an interrupted create of ours left it.
pub(super) async fn find_address(gcp: &Gcp, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let id = address_id(&gcp.project, planned.object.name()?);
    let Some(found) = ApiError::if_found(get_address(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || {
        let network = link::found(GET_ADDRESS, "network", found.network.as_deref(), &planned.network)?;
        let address = found.address.as_deref().parsed(GET_ADDRESS, "address")?;
        Ok((network, Attr::Known(address)) == (planned.network.clone(), planned.address))
    };
    planned.adoptable(gcp, found.description.as_deref(), same).map(|_| vec![id])
}

/// Starts reserving the address and returns its ID.
pub(super) async fn create_address(gcp: &Gcp, planned: &Endpoint) -> Result<String, ApiError> {
    let name = planned.object.name()?;
    let id = address_id(&gcp.project, name);
    let body = model::Address::new()
        .set_name(name)
        .set_description(planned.marks(gcp)?)
        .set_address(planned.address.value()?.to_string())
        .set_address_type("INTERNAL")
        .set_purpose("PRIVATE_SERVICE_CONNECT")
        .set_network(planned.network.value()?.id());
    let call = gcp.clients.global_addresses().await?.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("globalAddresses.insert", &id, call));
    Ok(id)
}

/// Reads the address `id`; not found is an error.
pub(super) async fn get_address(gcp: &Gcp, id: &str) -> Result<model::Address, ApiError> {
    let (project, name) = link::global(GET_ADDRESS, id)?;
    let call = gcp.clients.global_addresses().await?.get().set_project(project).set_address(name);
    call.send().await.named(GET_ADDRESS)
}

pub(super) async fn delete_address(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, name) = link::global("globalAddresses.delete", id)?;
    let call = gcp.clients.global_addresses().await?.delete().set_project(project).set_address(name);
    Ok(begin!("globalAddresses.delete", id, call))
}

/// Finds the rule of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || {
        let have = state(&found, &gcp.project, planned)?;
        Ok((&have.network, &have.bundle) == (&planned.network, &planned.bundle))
    };
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts creating the rule and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Endpoint, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let name = planned.object.name()?;
    // Without a load balancing scheme: with a target of Google's APIs the rule is neither external nor internal.
    let body = model::ForwardingRule::new()
        .set_name(name)
        .set_description(description)
        .set_ip_address(address_id(&gcp.project, name))
        .set_network(planned.network.value()?.id())
        .set_target(planned.bundle.value()?.as_str())
        .set_no_automate_dns_zone(planned.automate_dns == Attr::Known(false));
    let call = gcp.clients.forwarding_rules().await?.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("globalForwardingRules.insert", &id, call));
    Ok(id)
}

/// Reads the endpoint with its rule; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Endpoint) -> Result<Endpoint, ApiError> {
    let id = before.object.id()?;
    state(&fetch(gcp, id).await?, &link::global(GET, id)?.0, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, name) = link::global("globalForwardingRules.delete", id)?;
    let call = gcp.clients.forwarding_rules().await?.delete().set_project(project).set_forwarding_rule(name);
    Ok(begin!("globalForwardingRules.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::ForwardingRule, ApiError> {
    let (project, name) = link::global(GET, id)?;
    let call = gcp.clients.forwarding_rules().await?.get().set_project(project).set_forwarding_rule(name);
    call.send().await.named(GET)
}

/// The state of an endpoint whose rule the API returns, whose ID and timeouts are those of `before`.
fn state(found: &model::ForwardingRule, project: &str, before: &Endpoint) -> Result<Endpoint, ApiError> {
    let name = found.name.as_deref().or_missing(GET, "name")?;
    // Google stores `noAutomateDnsZone`, but does not return it (hashicorp/google ignores it on read). After an import, the value
    // is therefore null.
    let automate_dns: Attr<bool> = before.automate_dns.known().copied().into();
    Ok(Endpoint {
        object: before.object.found(name, found.description.as_deref().into()),
        network: link::found(GET, "network", found.network.as_deref(), &before.network)?,
        address: Attr::Known(found.ip_address.as_deref().parsed(GET, "IPAddress")?),
        bundle: Attr::Known(link::last(found.target.as_deref()).parsed(GET, "target")?),
        automate_dns,
        dns_suffix: dns_suffix(name, automate_dns),
        // The rule contains the address, not the ID of the reserved address.
        address_id: address_id(project, name).into(),
        state: State::Active.into(),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}
