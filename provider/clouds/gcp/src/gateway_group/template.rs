//! API calls for instance templates.
//!
//! A template cannot be changed. Its name contains digests of its contents, so that the current one is known by its name.

use google_cloud_compute_v1::model;
use sha2::{Digest as _, Sha256};
use tf_provider_rs::NotKnown;
use warren_managed::sets;

use super::api;
use super::model::GatewayGroup;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, non_empty};
use crate::gateway::vm;
use crate::labels;
use crate::link::{self, Link};
use crate::marker::{self, Marker};

const GET: &str = "instanceTemplates.get";

/// Digits of the digest of what a VM must be recreated for.
const BOOT: usize = 8;
/// Digits of the digest of what a running VM can be given.
const GIVEN: usize = 4;

/// The name of the template of a gateway.
///
/// # Errors
/// A value is not known yet.
pub(super) fn name(group: &GatewayGroup) -> Result<String, NotKnown> {
    let cloud_logging = if group.cloud_logging.is_true() { "logs" } else { "" };
    let boot = [
        group.machine_type.value()?.as_str(),
        group.image.value()?,
        &group.subnetwork.value()?.id(),
        group.service_account.value()?,
        &group.disk_gib.value()?.to_string(),
        group.kms_key_name.as_deref().unwrap_or_default(),
        cloud_logging,
        group.startup_script.value()?,
    ]
    .map(str::to_owned);
    let labels = group.object.mark.effective_labels.value()?;
    // Google's own labels are not in the template.
    let labels = labels.iter().filter(|(key, _)| !key.starts_with("goog-"));
    let labels = labels.map(|(key, value)| Ok(format!("{key}={}", value.value()?)));
    let labels = labels.collect::<Result<Vec<_>, NotKnown>>()?;
    let given: Vec<String> = labels.into_iter().chain(sets::known(&group.tags)).collect();
    Ok(format!("{}-{}{}", group.object.name()?, digest(&boot, BOOT), digest(&given, GIVEN)))
}

/// Whether a VM with the template `have` must be recreated for the template `want`.
pub(super) fn recreates(have: &str, want: &str) -> bool {
    let boot = |name: &str| name.len().checked_sub(GIVEN).and_then(|end| name.get(..end)).map(str::to_owned);
    boot(have) != boot(want)
}

fn digest(parts: &[String], digits: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..digits].to_owned()
}

/// The ID of the template of a gateway.
pub(super) fn id(gcp: &Gcp, group: &GatewayGroup) -> Result<String, NotKnown> {
    Ok(id_of(&gcp.project, name(group)?))
}

fn id_of(project: &str, name: String) -> String {
    Link { project: project.to_owned(), region: None, collection: "instanceTemplates".to_owned(), name }
        .to_string()
}

/// Finds the current template.
pub(super) async fn find(gcp: &Gcp, group: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    let id = id(gcp, group)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    group.adoptable(gcp, found.description.as_deref(), || Ok(true)).map(|_| vec![id])
}

/// Starts creating the current template, and returns its ID.
pub(super) async fn create(gcp: &Gcp, group: &GatewayGroup) -> Result<String, ApiError> {
    let id = id(gcp, group)?;
    let first = model::AttachedDiskInitializeParams::new()
        .set_source_image(group.image.value()?)
        .set_disk_type(vm::disk_type(group.machine_type.value()?))
        .set_or_clear_disk_size_gb(group.disk_gib.known().copied());
    let mut disk =
        model::AttachedDisk::new().set_boot(true).set_auto_delete(true).set_initialize_params(first);
    if let Some(key) = group.kms_key_name.known() {
        disk = disk.set_disk_encryption_key(model::CustomerEncryptionKey::new().set_kms_key_name(key));
    }
    // The configuration of the VM names the addresses. Address and access configuration must have the same network tier.
    let external = api::external_address(gcp, group.address.value()?).await?;
    let outside = model::AccessConfig::new()
        .set_type("ONE_TO_ONE_NAT")
        .set_name("External NAT")
        .set_network_tier(api::tier(&external));
    let interface = model::NetworkInterface::new()
        .set_subnetwork(group.subnetwork.value()?.id())
        .set_access_configs([outside]);
    let properties = model::InstanceProperties::new()
        .set_description("Warren gateway")
        .set_machine_type(group.machine_type.value()?)
        .set_can_ip_forward(true)
        .set_disks([disk])
        .set_network_interfaces([interface])
        .set_service_accounts([vm::account(&group.service_account)?])
        .set_shielded_instance_config(vm::shielded())
        .set_metadata(vm::metadata(&group.startup_script, &group.image, group.cloud_logging)?)
        .set_tags(model::Tags::new().set_items(sets::known(&group.tags)))
        .set_labels(labels::all(gcp, group)?);
    let body = model::InstanceTemplate::new()
        .set_name(name(group)?)
        .set_description(description(gcp, group)?)
        .set_properties(properties);
    let call = gcp.clients.templates().await?.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("instanceTemplates.insert", &id, call));
    Ok(id)
}

/// The description of parts that have no labels, with the marker of their owner.
pub(super) fn description(gcp: &Gcp, group: &GatewayGroup) -> Result<String, NotKnown> {
    Ok(Marker::new(&gcp.scope, group.object.name()?).with(Some("Warren gateway")))
}

/// Reads a template; not found is an error.
pub(super) async fn fetch(gcp: &Gcp, id: &str) -> Result<model::InstanceTemplate, ApiError> {
    let (project, name) = link::global(GET, id)?;
    let call = gcp.clients.templates().await?.get().set_project(project).set_instance_template(name);
    call.send().await.named(GET)
}

/// The IDs of all templates of a gateway.
pub(super) async fn all(gcp: &Gcp, group: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    const LIST: &str = "instanceTemplates.list";
    let name = group.object.name()?;
    let ours = Marker::new(&gcp.scope, name);
    let (mut found, mut page) = (Vec::new(), None);
    loop {
        let call = gcp.clients.templates().await?.list().set_project(&gcp.project);
        let call = call.set_filter(format!("name eq {name}-.*")).set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        for template in answer.items {
            let is_ours = marker::split(template.description.as_deref()).0.as_ref() == Some(&ours);
            found.extend(template.name.filter(|_| is_ours).map(|name| id_of(&gcp.project, name)));
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(found);
        }
    }
}

/// The IDs of the templates that a gateway no longer uses.
pub(super) async fn former(gcp: &Gcp, group: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    let current = id(gcp, group)?;
    Ok(all(gcp, group).await?.into_iter().filter(|id| *id != current).collect())
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, name) = link::global("instanceTemplates.delete", id)?;
    let call = gcp.clients.templates().await?.delete().set_project(project).set_instance_template(name);
    Ok(begin!("instanceTemplates.delete", id, call))
}

/// The settings of a gateway that its template contains.
pub(super) fn read(found: &model::InstanceTemplate, state: &mut GatewayGroup) -> Result<(), ApiError> {
    let properties = found.properties.clone().unwrap_or_default();
    let booted = vm::Booted::of(properties.metadata.as_ref());
    let disk = properties.disks.iter().find(|disk| disk.boot == Some(true));
    let first = disk.and_then(|disk| disk.initialize_params.as_ref());
    let interface = properties.network_interfaces.first();
    state.machine_type = link::last(properties.machine_type.as_deref()).map(str::to_owned).into();
    state.image = booted.image;
    state.startup_script = booted.script;
    state.cloud_logging = booted.cloud_logging;
    if let Some(subnetwork) = interface.and_then(|interface| interface.subnetwork.as_deref()) {
        state.subnetwork =
            link::found(GET, "networkInterfaces.subnetwork", Some(subnetwork), &state.subnetwork)?;
    }
    state.service_account =
        properties.service_accounts.iter().find_map(|account| account.email.clone()).into();
    state.tags = sets::found(properties.tags.into_iter().flat_map(|tags| tags.items), &state.tags);
    state.disk_gib = first.and_then(|first| first.disk_size_gb).into();
    Ok(())
}

/// Whether VMs with the template forward and boot only signed code.
pub(super) fn is_sound(found: &model::InstanceTemplate) -> bool {
    found.properties.as_ref().is_some_and(|it| {
        it.can_ip_forward == Some(true) && vm::is_shielded(it.shielded_instance_config.as_ref())
    })
}
