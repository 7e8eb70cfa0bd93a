//! API calls for instances.

use std::collections::{BTreeMap, BTreeSet};

use google_cloud_compute_v1::model;
use warren_managed::sets;

use super::schema::{self, Gateway};
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _};
use crate::labels;
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// Metadata with the boot script: Google's guest agent runs it at every boot.
const SCRIPT: &str = "startup-script";

/// Metadata with the image as the configuration names it: the API returns only the disk of an instance.
const IMAGE: &str = "warren-image";

/// Access scope of the service account; IAM bindings restrict its permissions.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// An instance as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) zone: String,
    pub(super) machine_type: String,
    pub(super) image: Option<String>,
    pub(super) subnetwork: String,
    pub(super) network_ip: Option<String>,
    pub(super) nat_ip: Option<String>,
    pub(super) service_account: Option<String>,
    pub(super) tags: BTreeSet<String>,
    pub(super) disk_gib: Option<i64>,
    pub(super) kms_key: Option<String>,
    pub(super) script: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    /// Whether it forwards packets, and boots signed code only.
    pub(super) right: bool,
    pub(super) status: String,
    pub(super) self_link: String,
    pub(super) tags_fingerprint: bytes::Bytes,
    pub(super) labels_fingerprint: bytes::Bytes,
}

/// Finds the instance of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Gateway) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let state = schema::state(found.clone(), planned);
    let same = state.machine_type == planned.machine_type
        && state.image == planned.image
        && state.subnetwork == planned.subnetwork
        && state.nat_ip == planned.nat_ip
        && state.service_account == planned.service_account
        && state.startup_script == planned.startup_script;
    labels::adoptable(gcp, planned, &found.labels, same)
}

/// Starts creating an instance and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Gateway) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let zone = planned.zone.text();
    let labels = labels::all(gcp, planned);
    let mut first = model::AttachedDiskInitializeParams::new()
        .set_source_image(planned.image.text())
        .set_disk_type(format!("projects/{}/zones/{zone}/diskTypes/pd-balanced", gcp.project))
        .set_labels(labels.clone());
    if let Some(size) = planned.disk_gib.known() {
        first = first.set_disk_size_gb(*size);
    }
    let mut disk =
        model::AttachedDisk::new().set_boot(true).set_auto_delete(true).set_initialize_params(first);
    if let Some(key) = planned.kms_key_name.known() {
        disk = disk.set_disk_encryption_key(model::CustomerEncryptionKey::new().set_kms_key_name(key));
    }
    let outside = planned.nat_ip.known().map(|address| {
        model::AccessConfig::new().set_type("ONE_TO_ONE_NAT").set_name("External NAT").set_nat_ip(address)
    });
    let interface = model::NetworkInterface::new()
        .set_subnetwork(link::id(planned.subnetwork.text()))
        .set_or_clear_network_ip(planned.network_ip.known().cloned())
        .set_access_configs(outside);
    let metadata = [
        (SCRIPT, planned.startup_script.text()),
        (IMAGE, planned.image.text()),
        // Disables SSH access with keys from the project's metadata.
        ("block-project-ssh-keys", "TRUE"),
        ("enable-oslogin", "TRUE"),
        ("serial-port-enable", "FALSE"),
    ];
    let items = metadata.map(|(key, value)| model::metadata::Items::new().set_key(key).set_value(value));
    let body = model::Instance::new()
        .set_name(planned.name.text())
        .set_description("Warren gateway")
        .set_machine_type(format!(
            "projects/{}/zones/{zone}/machineTypes/{}",
            gcp.project,
            planned.machine_type.text()
        ))
        .set_can_ip_forward(true)
        .set_disks([disk])
        .set_network_interfaces([interface])
        .set_service_accounts([model::ServiceAccount::new()
            .set_email(planned.service_account.text())
            .set_scopes([SCOPE])])
        .set_shielded_instance_config(
            model::ShieldedInstanceConfig::new()
                .set_enable_secure_boot(true)
                .set_enable_vtpm(true)
                .set_enable_integrity_monitoring(true),
        )
        .set_metadata(model::Metadata::new().set_items(items))
        .set_tags(model::Tags::new().set_items(sets::known(&planned.tags)))
        .set_labels(labels);
    let call = gcp.clients.instances.insert().set_project(&gcp.project).set_zone(zone).set_body(body);
    gcp.began(&id, begin!("instances.insert", &id, call));
    Ok(id)
}

/// Reads the instance `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let link = link::parsed("instances.get", id)?;
    let call = gcp.clients.instances.get().set_project(&link.project).set_zone(link.region());
    let instance = call.set_instance(&link.name).send().await.named("instances.get")?;
    let items = instance.metadata.map(|metadata| metadata.items).unwrap_or_default();
    let item = |key: &str| items.iter().find(|item| item.key.as_deref() == Some(key))?.value.clone();
    let interface = instance.network_interfaces.into_iter().next().unwrap_or_default();
    let disk = instance.disks.into_iter().find(|disk| disk.boot.unwrap_or_default()).unwrap_or_default();
    let shielded = instance.shielded_instance_config.unwrap_or_default();
    let tags = instance.tags.unwrap_or_default();
    let machine_type = instance.machine_type.unwrap_or_default();
    Ok(Found {
        id: id.to_owned(),
        zone: link.region().to_owned(),
        name: link.name,
        machine_type: machine_type.rsplit('/').next().unwrap_or_default().to_owned(),
        image: item(IMAGE),
        script: item(SCRIPT),
        subnetwork: interface.subnetwork.unwrap_or_default(),
        network_ip: interface.network_ip,
        nat_ip: interface.access_configs.into_iter().find_map(|config| config.nat_ip),
        service_account: instance.service_accounts.into_iter().find_map(|account| account.email),
        tags: tags.items.into_iter().collect(),
        disk_gib: disk.disk_size_gb,
        kms_key: disk.disk_encryption_key.and_then(|key| key.kms_key_name),
        labels: instance.labels.into_iter().collect(),
        right: instance.can_ip_forward.unwrap_or_default()
            && shielded.enable_secure_boot.unwrap_or_default()
            && shielded.enable_vtpm.unwrap_or_default(),
        status: instance.status.and_then(|status| status.name().map(str::to_owned)).unwrap_or_default(),
        self_link: instance.self_link.unwrap_or_default(),
        tags_fingerprint: tags.fingerprint.unwrap_or_default(),
        labels_fingerprint: instance.label_fingerprint.unwrap_or_default(),
    })
}

/// Starts setting the planned labels if they differ.
pub(super) async fn set_labels(gcp: &Gcp, id: &str, want: &Gateway) -> Result<Option<Begun>, ApiError> {
    let (have, labels) = (get(gcp, id).await?, labels::all(gcp, want));
    if have.labels == labels {
        return Ok(None);
    }
    let body = model::InstancesSetLabelsRequest::new()
        .set_labels(labels)
        .set_label_fingerprint(have.labels_fingerprint);
    let Link { project, region, name, .. } = link::parsed("instances.setLabels", id)?;
    let call = gcp.clients.instances.set_labels().set_project(project).set_instance(name).set_body(body);
    Ok(Some(begin!("instances.setLabels", id, call.set_zone(region.unwrap_or_default()))))
}

/// Starts setting the planned network tags if they differ.
pub(super) async fn set_tags(gcp: &Gcp, id: &str, want: &Gateway) -> Result<Option<Begun>, ApiError> {
    let (have, tags) = (get(gcp, id).await?, sets::known(&want.tags));
    if have.tags == tags {
        return Ok(None);
    }
    let body = model::Tags::new().set_items(tags).set_fingerprint(have.tags_fingerprint);
    let Link { project, region, name, .. } = link::parsed("instances.setTags", id)?;
    let call = gcp.clients.instances.set_tags().set_project(project).set_instance(name).set_body(body);
    Ok(Some(begin!("instances.setTags", id, call.set_zone(region.unwrap_or_default()))))
}

/// Starts to start an instance that was stopped.
pub(super) async fn start(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    let Link { project, region, name, .. } = link::parsed("instances.start", id)?;
    let call = gcp.clients.instances.start().set_project(project).set_instance(name);
    begin!("instances.start", id, call.set_zone(region.unwrap_or_default()));
    Ok(())
}

/// Starts to resume an instance that was suspended.
pub(super) async fn resume(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    let Link { project, region, name, .. } = link::parsed("instances.resume", id)?;
    let call = gcp.clients.instances.resume().set_project(project).set_instance(name);
    begin!("instances.resume", id, call.set_zone(region.unwrap_or_default()));
    Ok(())
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, region, name, .. } = link::parsed("instances.delete", id)?;
    let call = gcp.clients.instances.delete().set_project(project).set_instance(name);
    Ok(begin!("instances.delete", id, call.set_zone(region.unwrap_or_default())))
}
