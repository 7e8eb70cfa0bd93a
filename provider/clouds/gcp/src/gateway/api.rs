//! API calls for instances.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::access_config::NetworkTier;
use google_cloud_compute_v1::model::address as sdk;
use google_cloud_compute_v1::model::instance::Status;
use warren_managed::sets;

use super::model::{Gateway, MISCONFIGURED, RUNNING};
use super::vm;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::labels;
use crate::link;

const GET: &str = "instances.get";

/// Finds the instance of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Gateway) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let labels = found.labels.clone().into_iter().collect();
    labels::adoptable(gcp, planned, &labels, || {
        let have = state(&found, planned)?;
        Ok(have.machine_type == planned.machine_type
            && have.image == planned.image
            && have.subnetwork == planned.subnetwork
            && have.nat_ip == planned.nat_ip
            && have.service_account == planned.service_account
            && have.startup_script == planned.startup_script)
    })
}

/// Starts creating an instance and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Gateway) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let zone = planned.zone.value()?;
    let labels = labels::all(gcp, planned)?;
    let first = model::AttachedDiskInitializeParams::new()
        .set_source_image(planned.image.value()?)
        .set_disk_type(format!(
            "projects/{}/zones/{zone}/diskTypes/{}",
            gcp.project,
            vm::disk_type(planned.machine_type.value()?)
        ))
        .set_or_clear_disk_size_gb(planned.disk_gib.known().copied())
        .set_labels(labels.clone());
    let mut disk =
        model::AttachedDisk::new().set_boot(true).set_auto_delete(true).set_initialize_params(first);
    if let Some(key) = planned.kms_key_name.known() {
        disk = disk.set_disk_encryption_key(model::CustomerEncryptionKey::new().set_kms_key_name(key));
    }
    let outside = match planned.nat_ip.known() {
        Some(address) => Some(
            model::AccessConfig::new()
                .set_type("ONE_TO_ONE_NAT")
                .set_name("External NAT")
                .set_nat_ip(address.to_string())
                .set_or_clear_network_tier(tier(gcp, zone, *address).await?),
        ),
        None => None,
    };
    let interface = model::NetworkInterface::new()
        .set_subnetwork(planned.subnetwork.value()?.id())
        .set_or_clear_network_ip(planned.network_ip.known().map(Ipv4Addr::to_string))
        .set_access_configs(outside);
    let metadata = vm::metadata(&planned.startup_script, &planned.image, planned.cloud_logging)?;
    let machine_type =
        format!("projects/{}/zones/{zone}/machineTypes/{}", gcp.project, planned.machine_type.value()?);
    let body = model::Instance::new()
        .set_name(planned.object.name()?)
        .set_description("Warren gateway")
        .set_machine_type(machine_type)
        .set_can_ip_forward(true)
        .set_disks([disk])
        .set_network_interfaces([interface])
        .set_service_accounts([vm::account(&planned.service_account)?])
        .set_shielded_instance_config(vm::shielded())
        .set_metadata(metadata)
        .set_tags(model::Tags::new().set_items(sets::known(&planned.tags)))
        .set_labels(labels);
    let call =
        gcp.clients.instances().await?.insert().set_project(&gcp.project).set_zone(zone).set_body(body);
    gcp.began(&id, begin!("instances.insert", &id, call));
    Ok(id)
}

/// Reads the instance; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Gateway) -> Result<Gateway, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

/// Starts the instance if it is stopped or suspended, and returns its status, if it is not running yet.
pub(super) async fn start(gcp: &Gcp, id: &str) -> Result<Option<String>, ApiError> {
    let found = fetch(gcp, id).await?;
    let status = status(&found)?;
    let (project, zone, name) = link::regional("instances.start", id)?;
    match status {
        RUNNING => return Ok(None),
        "TERMINATED" | "STOPPED" => {
            let call =
                gcp.clients.instances().await?.start().set_project(project).set_zone(zone).set_instance(name);
            begin!("instances.start", id, call);
        }
        "SUSPENDED" => {
            let call = gcp
                .clients
                .instances()
                .await?
                .resume()
                .set_project(project)
                .set_zone(zone)
                .set_instance(name);
            begin!("instances.resume", id, call);
        }
        _ => {}
    }
    Ok(Some(status.to_owned()))
}

/// Starts setting the planned labels if they differ.
pub(super) async fn set_labels(gcp: &Gcp, want: &Gateway) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let (found, labels) = (fetch(gcp, id).await?, labels::all(gcp, want)?);
    if found.labels.into_iter().collect::<BTreeMap<_, _>>() == labels {
        return Ok(None);
    }
    let body = model::InstancesSetLabelsRequest::new()
        .set_labels(labels)
        .set_label_fingerprint(found.label_fingerprint.or_missing(GET, "labelFingerprint")?);
    let (project, zone, name) = link::regional("instances.setLabels", id)?;
    let call =
        gcp.clients.instances().await?.set_labels().set_project(project).set_zone(zone).set_instance(name);
    Ok(Some(begin!("instances.setLabels", id, call.set_body(body))))
}

/// Starts setting the planned network tags if they differ.
pub(super) async fn set_tags(gcp: &Gcp, want: &Gateway) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let tags = fetch(gcp, id).await?.tags.or_missing(GET, "tags")?;
    let wanted = sets::known(&want.tags);
    if tags.items.iter().collect::<BTreeSet<_>>() == wanted.iter().collect() {
        return Ok(None);
    }
    let fingerprint = tags.fingerprint.or_missing(GET, "tags.fingerprint")?;
    let body = model::Tags::new().set_items(wanted).set_fingerprint(fingerprint);
    let (project, zone, name) = link::regional("instances.setTags", id)?;
    let call =
        gcp.clients.instances().await?.set_tags().set_project(project).set_zone(zone).set_instance(name);
    Ok(Some(begin!("instances.setTags", id, call.set_body(body))))
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, zone, name) = link::regional("instances.delete", id)?;
    let call = gcp.clients.instances().await?.delete().set_project(project).set_zone(zone).set_instance(name);
    Ok(begin!("instances.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Instance, ApiError> {
    let (project, zone, name) = link::regional(GET, id)?;
    let call = gcp.clients.instances().await?.get().set_project(project).set_zone(zone).set_instance(name);
    call.send().await.named(GET)
}

/// The network tier of a reserved address in the region of a zone, which an access configuration must have too (discovery
/// document, `AccessConfig.networkTier`). `None` leaves the default of the project, for an address that is not reserved here.
async fn tier(gcp: &Gcp, zone: &str, address: Ipv4Addr) -> Result<Option<NetworkTier>, ApiError> {
    let region = zone.rsplit_once('-').map_or(zone, |(region, _)| region);
    let call = gcp.clients.addresses().await?.list().set_project(&gcp.project).set_region(region);
    let found = call.set_filter(format!("address = \"{address}\"")).send().await.named("addresses.list")?;
    let tier = found.items.first().and_then(|found| found.network_tier.as_ref());
    Ok(tier.and_then(sdk::NetworkTier::name).map(NetworkTier::from))
}

fn status(found: &model::Instance) -> Result<&str, ApiError> {
    found.status.as_ref().and_then(Status::name).or_missing(GET, "status")
}

/// The state of an instance as the API returns it, whose ID and timeouts are those of `before`.
pub(super) fn state(found: &model::Instance, before: &Gateway) -> Result<Gateway, ApiError> {
    let booted = vm::Booted::of(found.metadata.as_ref());
    let interface = found.network_interfaces.first().or_missing(GET, "networkInterfaces")?;
    let nat_ip = interface.access_configs.iter().find_map(|config| config.nat_ip.as_deref());
    let disk = found.disks.iter().find(|disk| disk.boot == Some(true));
    let as_wanted =
        found.can_ip_forward == Some(true) && vm::is_shielded(found.shielded_instance_config.as_ref());
    let status = status(found)?;
    let tags = found.tags.iter().flat_map(|tags| &tags.items);
    let name = found.name.as_deref().or_missing(GET, "name")?;
    Ok(Gateway {
        object: before.object.found(name, before.object.mark.found(&found.labels)),
        zone: link::last(found.zone.as_deref()).or_missing(GET, "zone")?.into(),
        machine_type: link::last(found.machine_type.as_deref()).or_missing(GET, "machineType")?.into(),
        image: booted.image,
        subnetwork: link::found(
            GET,
            "networkInterfaces.subnetwork",
            interface.subnetwork.as_deref(),
            &before.subnetwork,
        )?,
        network_ip: interface.network_ip.as_deref().parsed_if_set(GET, "networkInterfaces.networkIP")?.into(),
        nat_ip: nat_ip.parsed_if_set(GET, "networkInterfaces.accessConfigs.natIP")?.into(),
        service_account: found.service_accounts.iter().find_map(|account| account.email.clone()).into(),
        tags: sets::found(tags.cloned(), &before.tags),
        disk_gib: disk.and_then(|disk| disk.disk_size_gb).into(),
        kms_key_name: vm::kms_key(disk.and_then(|disk| disk.disk_encryption_key.as_ref())),
        config: before.config.clone(),
        wireguard_key: before.wireguard_key.clone(),
        tls_key: before.tls_key.clone(),
        release: before.release.clone(),
        cloud_logging: booted.cloud_logging,
        startup_script: booted.script,
        state: if as_wanted || status != RUNNING { status } else { MISCONFIGURED }.into(),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}
