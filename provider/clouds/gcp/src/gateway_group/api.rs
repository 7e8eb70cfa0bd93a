//! API calls for the disk and the addresses, and the state of all parts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::address::NetworkTier;
use tf_provider_rs::NotKnown;

use super::group::{self, Vm};
use super::model::{GatewayGroup, INCOMPLETE, RUNNING};
use super::template;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::gateway::vm;
use crate::labels;
use crate::link::{self, AddressRef, Link};

const GET_DISK: &str = "disks.get";
const GET_ADDRESS: &str = "addresses.get";

/// Size of the disk with the leases in GiB: the smallest of a balanced persistent disk (Compute Engine documentation,
/// "About Persistent Disk").
const SIZE: i64 = 10;

/// The ID of the disk of the group `id`.
pub(super) fn disk_id(id: &str) -> Result<String, ApiError> {
    let link = Link::parse(id).ok_or_else(|| ApiError::absent(GET_DISK, id))?;
    Ok(Link { collection: "disks".to_owned(), name: format!("{}-leases", link.name), ..link }.to_string())
}

/// The ID of the internal address of a gateway.
pub(super) fn address_id(gcp: &Gcp, group: &GatewayGroup) -> Result<String, NotKnown> {
    let zone = group.zone.value()?;
    let region = zone.rsplit_once('-').map_or(zone.as_str(), |(region, _)| region);
    Ok(Link {
        project: gcp.project.clone(),
        region: Some(region.to_owned()),
        collection: "addresses".to_owned(),
        name: format!("{}-internal", group.object.name()?),
    }
    .to_string())
}

/// Finds the disk if an interrupted create of ours left it, and returns the ID of its group.
pub(super) async fn find(gcp: &Gcp, planned: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(disk(gcp, &id).await)? else { return Ok(Vec::new()) };
    let labels = found.labels.clone().into_iter().collect();
    labels::adoptable(gcp, planned, &labels, || {
        Ok(vm::kms_key(found.disk_encryption_key.as_ref()) == planned.kms_key_name
            && link::last(found.r#type.as_deref()) == Some(vm::disk_type(planned.machine_type.value()?)))
    })
}

/// Starts creating the disk and returns the ID of its group.
pub(super) async fn create(gcp: &Gcp, planned: &GatewayGroup) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let (project, zone, name) = link::regional("disks.insert", &disk_id(&id)?)?;
    let kind = vm::disk_type(planned.machine_type.value()?);
    let mut body = model::Disk::new()
        .set_name(name)
        .set_description("Leases of a Warren gateway")
        .set_type(format!("projects/{project}/zones/{zone}/diskTypes/{kind}"))
        .set_size_gb(SIZE)
        .set_labels(labels::all(gcp, planned)?);
    if let Some(key) = planned.kms_key_name.known() {
        body = body.set_disk_encryption_key(model::CustomerEncryptionKey::new().set_kms_key_name(key));
    }
    let call = gcp.clients.disks().await?.insert().set_project(project).set_zone(zone).set_body(body);
    gcp.began(&id, begin!("disks.insert", &id, call));
    Ok(id)
}

/// Reads the disk of the group `id`; not found is an error.
pub(super) async fn disk(gcp: &Gcp, id: &str) -> Result<model::Disk, ApiError> {
    let (project, zone, name) = link::regional(GET_DISK, &disk_id(id)?)?;
    gcp.clients
        .disks()
        .await?
        .get()
        .set_project(project)
        .set_zone(zone)
        .set_disk(name)
        .send()
        .await
        .named(GET_DISK)
}

/// Starts setting the planned labels of the disk if they differ.
pub(super) async fn set_labels(gcp: &Gcp, want: &GatewayGroup) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let (found, labels) = (disk(gcp, id).await?, labels::all(gcp, want)?);
    if found.labels.into_iter().collect::<BTreeMap<_, _>>() == labels {
        return Ok(None);
    }
    let body = model::ZoneSetLabelsRequest::new()
        .set_labels(labels)
        .set_label_fingerprint(found.label_fingerprint.or_missing(GET_DISK, "labelFingerprint")?);
    let (project, zone, name) = link::regional("disks.setLabels", &disk_id(id)?)?;
    let call = gcp.clients.disks().await?.set_labels().set_project(project).set_zone(zone).set_resource(name);
    Ok(Some(begin!("disks.setLabels", id, call.set_body(body))))
}

pub(super) async fn delete_disk(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, zone, name) = link::regional("disks.delete", &disk_id(id)?)?;
    let call = gcp.clients.disks().await?.delete().set_project(project).set_zone(zone).set_disk(name);
    Ok(begin!("disks.delete", id, call))
}

/// Finds the internal address if we have reserved it.
pub(super) async fn find_address(gcp: &Gcp, planned: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    let Some(found) = ApiError::if_found(internal_address(gcp, planned).await)? else {
        return Ok(Vec::new());
    };
    let same = || {
        let wanted = planned.network_ip.known().map(Ipv4Addr::to_string);
        let subnetwork = found.subnetwork.as_deref();
        Ok(subnetwork
            .is_some_and(|have| planned.subnetwork.known().is_none_or(|it| link::same(have, &it.id())))
            && wanted.is_none_or(|wanted| found.address.as_ref() == Some(&wanted)))
    };
    planned.adoptable(gcp, found.description.as_deref(), same)?;
    Ok(vec![address_id(gcp, planned)?])
}

/// Starts reserving the internal address and returns its ID.
pub(super) async fn create_address(gcp: &Gcp, planned: &GatewayGroup) -> Result<String, ApiError> {
    let id = address_id(gcp, planned)?;
    let (project, region, name) = link::regional("addresses.insert", &id)?;
    let body = model::Address::new()
        .set_name(name)
        .set_description(template::description(gcp, planned)?)
        .set_address_type("INTERNAL")
        .set_purpose("GCE_ENDPOINT")
        .set_subnetwork(planned.subnetwork.value()?.id())
        .set_or_clear_address(planned.network_ip.known().map(Ipv4Addr::to_string));
    let call = gcp.clients.addresses().await?.insert().set_project(project).set_region(region).set_body(body);
    gcp.began(&id, begin!("addresses.insert", &id, call));
    Ok(id)
}

/// Reads the internal address; not found is an error.
pub(super) async fn internal_address(gcp: &Gcp, group: &GatewayGroup) -> Result<model::Address, ApiError> {
    address(gcp, &address_id(gcp, group)?).await
}

/// Reads the external address; not found is an error.
pub(super) async fn external_address(gcp: &Gcp, external: &AddressRef) -> Result<model::Address, ApiError> {
    address(gcp, &external.id()).await
}

async fn address(gcp: &Gcp, id: &str) -> Result<model::Address, ApiError> {
    let (project, region, name) = link::regional(GET_ADDRESS, id)?;
    let call = gcp.clients.addresses().await?.get().set_project(project).set_region(region).set_address(name);
    call.send().await.named(GET_ADDRESS)
}

pub(super) async fn delete_address(gcp: &Gcp, group: &GatewayGroup) -> Result<Begun, ApiError> {
    let id = address_id(gcp, group)?;
    let (project, region, name) = link::regional("addresses.delete", &id)?;
    let call =
        gcp.clients.addresses().await?.delete().set_project(project).set_region(region).set_address(name);
    Ok(begin!("addresses.delete", &id, call))
}

/// The network tier of an address.
pub(super) fn tier(address: &model::Address) -> &str {
    address.network_tier.as_ref().and_then(NetworkTier::name).unwrap_or("PREMIUM")
}

/// All parts of a gateway group, as far as they exist.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) disk: Option<model::Disk>,
    pub(super) group: Option<model::InstanceGroupManager>,
    pub(super) template: Option<model::InstanceTemplate>,
    pub(super) vms: Vec<Vm>,
    pub(super) internal: Option<model::Address>,
    pub(super) external: Option<model::Address>,
}

/// The gateway group as it is now; an error if neither its disk nor its group exists.
pub(super) async fn get(gcp: &Gcp, before: &GatewayGroup) -> Result<GatewayGroup, ApiError> {
    const GET: &str = "instanceGroupManagers.get";
    let id = before.object.id()?;
    let (_, zone, name) = link::regional(GET, id)?;
    let mut before = GatewayGroup { zone: zone.into(), ..before.clone() };
    before.object.name = name.into();
    let mut parts = Parts {
        disk: ApiError::if_found(disk(gcp, id).await)?,
        group: ApiError::if_found(group::fetch(gcp, id).await)?,
        ..Parts::default()
    };
    if parts.disk.is_none() && parts.group.is_none() {
        return Err(ApiError::absent(GET, id));
    }
    if let Some(group) = &parts.group {
        parts.vms = ApiError::if_found(group::vms(gcp, id).await)?.unwrap_or_default();
        if let Some(template) = group.instance_template.as_deref() {
            parts.template = ApiError::if_found(template::fetch(gcp, template).await)?;
        }
    }
    parts.internal = ApiError::if_found(internal_address(gcp, &before).await)?;
    before.address = group::address(&parts.vms, &before.address);
    if let Some(external) = before.address.known() {
        parts.external = ApiError::if_found(external_address(gcp, external).await)?;
    }
    state(gcp, &parts, &before)
}

/// The state of these parts; what they do not show is as in `before`.
pub(super) fn state(gcp: &Gcp, parts: &Parts, before: &GatewayGroup) -> Result<GatewayGroup, ApiError> {
    let mut state = before.clone();
    if let Some(disk) = &parts.disk {
        state.object.mark = before.object.mark.found(&disk.labels);
        state.kms_key_name = vm::kms_key(disk.disk_encryption_key.as_ref());
    }
    if let Some(template) = &parts.template {
        template::read(template, &mut state)?;
    }
    if let Some(internal) = &parts.internal {
        state.network_ip = internal.address.as_deref().parsed_if_set(GET_ADDRESS, "address")?.into();
    }
    if let Some(external) = &parts.external {
        state.nat_ip = external.address.as_deref().parsed_if_set(GET_ADDRESS, "address")?.into();
    }
    if let Some(link) = parts.group.as_ref().and_then(|group| group.self_link.clone()) {
        state.self_link = link.into();
    }
    let is_whole = parts.disk.is_some() && parts.internal.is_some() && is_managed(gcp, parts, &state)?;
    state.state = if is_whole { RUNNING } else { INCOMPLETE }.into();
    Ok(state)
}

/// Whether the group has the template with these settings, and manages the VM with the disk and the addresses alone.
///
/// A VM that the group is recreating is one that it manages.
fn is_managed(gcp: &Gcp, parts: &Parts, state: &GatewayGroup) -> Result<bool, ApiError> {
    let ([vm], Some(group), Some(template)) = (&parts.vms[..], &parts.group, &parts.template) else {
        return Ok(false);
    };
    let Ok(name) = template::id(gcp, state) else { return Ok(false) };
    let has_template = vm.template.as_deref().is_none_or(|have| Some(have) == link::last(Some(&name)));
    Ok(group::is_current(group, &name)
        && template::is_sound(template)
        && has_template
        && vm.is_gateway(gcp, state)?)
}
