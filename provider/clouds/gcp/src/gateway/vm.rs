//! What the VMs of all gateways have in common.

use google_cloud_compute_v1::model;
use tf_provider_rs::{Attr, NotKnown};

/// Metadata with the boot script: Google's guest agent runs it at every boot.
const SCRIPT: &str = "startup-script";

/// Metadata with the image as the configuration names it: the API returns only the disk of an instance.
const IMAGE: &str = "warren-image";

/// Metadata with which Compute Engine copies the serial console to Cloud Logging (Compute Engine documentation, "View
/// serial port output").
const CONSOLE_LOGS: &str = "serial-port-logging-enable";

/// Series of machine types whose disks are Hyperdisks only (Compute Engine documentation, "Hyperdisk support by machine
/// series").
const HYPERDISK: [&str; 8] = ["c4", "c4a", "c4d", "n4", "n4a", "n4d", "m4", "x4"];

/// Access scope of the service account; IAM bindings restrict its permissions.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The metadata with which a VM boots as a gateway.
pub(crate) fn metadata(
    script: &Attr<String>,
    image: &Attr<String>,
    cloud_logging: Attr<bool>,
) -> Result<model::Metadata, NotKnown> {
    let metadata = [
        (SCRIPT, script.value()?.as_str()),
        (IMAGE, image.value()?.as_str()),
        // Disables SSH access with keys from the project's metadata.
        ("block-project-ssh-keys", "TRUE"),
        ("enable-oslogin", "TRUE"),
        ("serial-port-enable", "FALSE"),
    ];
    let logs = cloud_logging.is_true().then_some((CONSOLE_LOGS, "TRUE"));
    let items = metadata
        .into_iter()
        .chain(logs)
        .map(|(key, value)| model::metadata::Items::new().set_key(key).set_value(value));
    Ok(model::Metadata::new().set_items(items))
}

/// What the metadata of a VM contain.
#[derive(Clone, Debug)]
pub(crate) struct Booted {
    pub(crate) script: Attr<String>,
    pub(crate) image: Attr<String>,
    pub(crate) cloud_logging: Attr<bool>,
}

impl Booted {
    pub(crate) fn of(metadata: Option<&model::Metadata>) -> Booted {
        let items = metadata.map(|metadata| metadata.items.as_slice()).unwrap_or_default();
        let item = |key: &str| items.iter().find(|item| item.key.as_deref() == Some(key))?.value.clone();
        Booted {
            script: item(SCRIPT).into(),
            image: item(IMAGE).into(),
            cloud_logging: item(CONSOLE_LOGS).is_some_and(|value| value.eq_ignore_ascii_case("true")).into(),
        }
    }
}

/// The service account with this address, restricted by IAM alone.
pub(crate) fn account(email: &Attr<String>) -> Result<model::ServiceAccount, NotKnown> {
    Ok(model::ServiceAccount::new().set_email(email.value()?).set_scopes([SCOPE]))
}

pub(crate) fn shielded() -> model::ShieldedInstanceConfig {
    model::ShieldedInstanceConfig::new()
        .set_enable_secure_boot(true)
        .set_enable_vtpm(true)
        .set_enable_integrity_monitoring(true)
}

pub(crate) fn is_shielded(found: Option<&model::ShieldedInstanceConfig>) -> bool {
    found.is_some_and(|it| it.enable_secure_boot == Some(true) && it.enable_vtpm == Some(true))
}

/// The key that encrypts a disk. Google appends the version of the key that it uses.
pub(crate) fn kms_key(found: Option<&model::CustomerEncryptionKey>) -> Attr<String> {
    let key = found.and_then(|key| key.kms_key_name.as_deref());
    key.and_then(|key| key.split("/cryptoKeyVersions/").next()).map(str::to_owned).into()
}

/// The type of disks that a VM of this machine type can use.
pub(crate) fn disk_type(machine_type: &str) -> &'static str {
    let series = machine_type.split('-').next().unwrap_or_default();
    if HYPERDISK.contains(&series) { "hyperdisk-balanced" } else { "pd-balanced" }
}
