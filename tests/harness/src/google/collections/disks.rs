//! Disks that were made on their own. The disks that come with an instance are not shown.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{COMPUTE, Key, Place};
use super::super::world::{Body, World};
use super::{Rules, default, labels, list, text};

pub(crate) struct Disks;

impl Rules for Disks {
    fn kind(&self) -> &'static str {
        "compute#disk"
    }

    fn word(&self) -> &'static str {
        "disk"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("DISKS_TOTAL_GB", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        labels::judge(body.get("labels").unwrap_or(&Value::Null))?;
        let Place::Zone(zone) = &key.place else { return Err(Refusal::not_found(&key.path())) };
        let standard = format!("projects/{}/zones/{zone}/diskTypes/pd-standard", key.project);
        default(body, "type", standard);
        let kind = text(body, "type").to_owned();
        if !kind.contains(&format!("zones/{zone}/diskTypes/")) {
            let why = "Must be the URL of a disk type in the disk's zone.";
            return Err(Refusal::invalid("resource.type", &kind, why));
        }
        if !kind.starts_with(COMPUTE) {
            body.insert("type".to_owned(), json!(format!("{COMPUTE}{kind}")));
        }
        let smallest = if kind.ends_with("hyperdisk-balanced") { 4 } else { 10 };
        default(body, "sizeGb", "500");
        let size = text(body, "sizeGb").to_owned();
        if size.parse::<u32>().is_ok_and(|size| size < smallest) {
            let why = format!("Disk size cannot be smaller than {smallest} GB.");
            return Err(Refusal::invalid("resource.sizeGb", &size, &why));
        }
        if let Some(name) = body.get_mut("diskEncryptionKey").and_then(|key| key.get_mut("kmsKeyName")) {
            *name = json!(format!("{}/cryptoKeyVersions/1", name.as_str().unwrap_or_default()));
        }
        body.insert("labelFingerprint".to_owned(), json!(world.fingerprint()));
        Ok(())
    }

    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        match users(world, key).first() {
            Some(user) => Err(Refusal::in_use("disk", &key.path(), &user.path())),
            None => Ok(()),
        }
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        (verb == "setLabels").then(|| labels::set(world, key, sent))
    }

    fn present(&self, world: &World, key: &Key, body: &mut Body) {
        let unborn =
            world.find(key).is_some_and(|object| object.busy.as_ref().is_some_and(|busy| busy.unborn));
        body.insert("status".to_owned(), json!(if unborn { "CREATING" } else { "READY" }));
        let users: Vec<String> = users(world, key).iter().map(Key::link).collect();
        if !users.is_empty() {
            body.insert("users".to_owned(), json!(users));
        }
    }
}

/// The instances that a disk is attached to.
pub(crate) fn users(world: &World, key: &Key) -> Vec<Key> {
    let has = |instance: &Key, body: &Body| {
        let links = list(body, "disks").iter().filter_map(|disk| disk["source"].as_str());
        links.filter_map(|link| Key::parse(link, &instance.project)).any(|link| link == *key)
    };
    let instances = world.of("instances").filter(|(instance, body)| has(instance, body));
    instances.map(|(instance, _)| instance.clone()).collect()
}
