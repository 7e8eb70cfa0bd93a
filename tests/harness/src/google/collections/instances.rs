//! Instances: enough to stand in a subnetwork, be a next hop and go again.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{Key, Place};
use super::super::world::{Body, World};
use super::{Rules, addresses, default, flag, labels, list, text};

pub(crate) struct Instances;

impl Rules for Instances {
    fn kind(&self) -> &'static str {
        "compute#instance"
    }

    fn word(&self) -> &'static str {
        "instance"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("INSTANCES", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        labels::judge(body.get("labels").unwrap_or(&Value::Null))?;
        let Place::Zone(zone) = &key.place else { return Err(Refusal::not_found(&key.path())) };
        let machine = text(body, "machineType").to_owned();
        if !machine.contains(&format!("zones/{zone}/machineTypes/")) {
            let why = "Must be the URL of a machine type in the instance's zone.";
            return Err(Refusal::invalid("resource.machineType", &machine, why));
        }
        if !list(body, "disks").iter().any(|disk| disk["boot"] == true) {
            return Err(Refusal::invalid("resource.disks", "", "At least one boot disk must be specified."));
        }
        if list(body, "networkInterfaces").is_empty() {
            return Err(Refusal::invalid(
                "resource.networkInterfaces",
                "",
                "At least one network interface is needed.",
            ));
        }
        let mut nics = list(body, "networkInterfaces").to_vec();
        for (place, nic) in nics.iter_mut().enumerate() {
            if let Some(nic) = nic.as_object_mut() {
                interface(world, key, nic, place, zone)?;
            }
        }
        body.insert("networkInterfaces".to_owned(), Value::Array(nics));
        for field in ["metadata", "tags"] {
            default(body, field, json!({}));
            let fingerprint = world.fingerprint();
            if let Some(block) = body.get_mut(field).and_then(Value::as_object_mut) {
                block.insert("fingerprint".to_owned(), json!(fingerprint));
            }
        }
        default(body, "canIpForward", false);
        default(body, "deletionProtection", false);
        body.insert("labelFingerprint".to_owned(), json!(world.fingerprint()));
        body.insert("fingerprint".to_owned(), json!(world.fingerprint()));
        Ok(())
    }

    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        if world.find(key).is_some_and(|instance| flag(&instance.body, "deletionProtection")) {
            let message = format!("Invalid resource usage: '{key} is protected from deletion'.");
            return Err(Refusal::bad("invalidUsage", message));
        }
        // A route through an instance stays, and leads nowhere.
        Ok(())
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        (verb == "setLabels").then(|| labels::set(world, key, sent))
    }

    fn present(&self, world: &World, key: &Key, body: &mut Body) {
        let status = match world.find(key).and_then(|object| object.busy.as_ref()) {
            Some(busy) if busy.unborn => "PROVISIONING",
            Some(busy) if busy.unusable => "STOPPING",
            _ => "RUNNING",
        };
        body.insert("status".to_owned(), json!(status));
    }
}

fn interface(world: &mut World, key: &Key, nic: &mut Body, place: usize, zone: &str) -> Result<(), Refusal> {
    let at = format!("resource.networkInterfaces[{place}]");
    let link = text(nic, "subnetwork").to_owned();
    if link.is_empty() {
        return Err(Refusal::bad("required", format!("Required field '{at}.subnetwork' not specified")));
    }
    let (subnet, body) = world.linked(&format!("{at}.subnetwork"), &link, "subnetworks", &key.project)?;
    if !subnet.region().is_some_and(|region| zone.starts_with(region)) {
        return Err(Refusal::invalid(
            &format!("{at}.subnetwork"),
            &link,
            "It is not in the instance's region.",
        ));
    }
    let network = text(body, "network").to_owned();
    let wanted = text(nic, "networkIP").to_owned();
    let address = addresses::free_in(world, &subnet, &wanted)?;
    nic.insert("network".to_owned(), json!(network));
    nic.insert("subnetwork".to_owned(), json!(subnet.link()));
    nic.insert("networkIP".to_owned(), json!(address));
    nic.insert("name".to_owned(), json!(format!("nic{place}")));
    nic.insert("kind".to_owned(), json!("compute#networkInterface"));
    nic.insert("fingerprint".to_owned(), json!(world.fingerprint()));
    default(nic, "stackType", "IPV4_ONLY");
    let serial = world.next();
    for config in nic.get_mut("accessConfigs").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(config) = config.as_object_mut() else { continue };
        default(config, "type", "ONE_TO_ONE_NAT");
        default(config, "name", "External NAT");
        default(config, "natIP", format!("34.65.{}.{}", serial / 250 % 250, serial % 250 + 1));
        default(config, "networkTier", "PREMIUM");
        config.insert("kind".to_owned(), json!("compute#accessConfig"));
    }
    Ok(())
}
