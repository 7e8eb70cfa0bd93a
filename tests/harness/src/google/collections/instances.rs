//! Instances: they stand in a subnetwork, boot a disk, have addresses and a service account, stop and start; nothing runs.

use serde_json::{Value, json};

use super::super::account;
use super::super::error::Refusal;
use super::super::key::{COMPUTE, Key, Place};
use super::super::world::{Body, World};
use super::{Rules, addresses, default, disks, flag, labels, list, text};

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
        if !machine.starts_with(COMPUTE) {
            body.insert("machineType".to_owned(), json!(format!("{COMPUTE}{machine}")));
        }
        let mut disks = list(body, "disks").to_vec();
        for source in disks.iter().filter_map(|disk| disk["source"].as_str()) {
            let (disk, _) = world.linked("resource.disks.source", source, "disks", &key.project)?;
            if let Some(user) = disks::users(world, &disk).first() {
                return Err(Refusal::in_use("disk", &disk.path(), &user.path()));
            }
        }
        for (place, disk) in disks.iter_mut().enumerate() {
            if let Some(disk) = disk.as_object_mut() {
                attached(key, disk, place, zone);
            }
        }
        body.insert("disks".to_owned(), Value::Array(disks));
        for email in list(body, "serviceAccounts").iter().filter_map(|account| account["email"].as_str()) {
            account::known(world, email)?;
        }
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
        match verb {
            "setLabels" => Some(labels::set(world, key, sent)),
            "setTags" => Some(set_tags(world, key, sent)),
            "start" | "resume" => Some(with_status(world, key, "RUNNING")),
            "stop" => Some(with_status(world, key, "TERMINATED")),
            _ => None,
        }
    }

    fn present(&self, world: &World, key: &Key, body: &mut Body) {
        let status = match world.find(key).and_then(|object| object.busy.as_ref()) {
            Some(busy) if busy.unborn => "PROVISIONING",
            Some(busy) if busy.unusable => "STOPPING",
            _ if body.contains_key("status") => return,
            _ => "RUNNING",
        };
        body.insert("status".to_owned(), json!(status));
    }
}

/// An instance in another status, when the operation is done.
fn with_status(world: &World, key: &Key, status: &str) -> Result<Body, Refusal> {
    let mut body = world.idle(key)?.clone();
    body.insert("status".to_owned(), json!(status));
    Ok(body)
}

/// `setTags`: the tags are replaced, and the fingerprint must be the current one.
fn set_tags(world: &mut World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut body = world.idle(key)?.clone();
    if sent.get("fingerprint") != body.get("tags").and_then(|tags| tags.get("fingerprint")) {
        return Err(Refusal::stale("Tags"));
    }
    let items = sent.get("items").cloned().unwrap_or_else(|| json!([]));
    body.insert("tags".to_owned(), json!({"items": items, "fingerprint": world.fingerprint()}));
    Ok(body)
}

/// A disk as the instance shows it: what it was made of is not told again.
fn attached(key: &Key, disk: &mut Body, place: usize, zone: &str) {
    let first = disk.remove("initializeParams").unwrap_or_default();
    let source = format!("{COMPUTE}projects/{}/zones/{zone}/disks/{}", key.project, key.name);
    default(disk, "source", source);
    default(disk, "deviceName", format!("persistent-disk-{place}"));
    let size = first["diskSizeGb"].as_str().map_or_else(|| "10".to_owned(), str::to_owned);
    default(disk, "diskSizeGb", size);
    default(disk, "mode", "READ_WRITE");
    default(disk, "type", "PERSISTENT");
    disk.insert("index".to_owned(), json!(place));
    disk.insert("kind".to_owned(), json!("compute#attachedDisk"));
    if let Some(key) = disk.get_mut("diskEncryptionKey").and_then(|key| key.get_mut("kmsKeyName")) {
        *key = json!(format!("{}/cryptoKeyVersions/1", key.as_str().unwrap_or_default()));
    }
}

/// A public address that is asked for must be reserved in the region, have the tier of the access configuration, and be used by
/// nobody. The message about the tier is that of doitintl/kubeip issue 155.
fn reserved(world: &World, key: &Key, at: &str, config: &Value, zone: &str) -> Result<(), Refusal> {
    let Some(wanted) = config["natIP"].as_str() else { return Ok(()) };
    let mut own = world.of("addresses").filter(|(address, body)| {
        address.project == key.project
            && text(body, "address") == wanted
            && address.region().is_some_and(|region| zone.starts_with(region))
    });
    let Some((address, body)) = own.next() else {
        let why = "The specified external IP address was not found in the region.";
        return Err(Refusal::invalid(&format!("{at}.accessConfigs[0].natIP"), wanted, why));
    };
    let (tier, used) = (text(body, "networkTier"), config["networkTier"].as_str().unwrap_or("PREMIUM"));
    if tier != used {
        let message = format!(
            "External IP address: {wanted} has a different network tier {tier} from the network tier in instance access \
             config {used}."
        );
        return Err(Refusal::bad("invalid", message));
    }
    match addresses::users(world, address).first() {
        Some(user) => Err(Refusal::in_use("address", &address.path(), &user.path())),
        None => Ok(()),
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
    let address = match addresses::reserved_in(world, &subnet, &wanted) {
        Some(reserved) => match addresses::users(world, &reserved).first() {
            Some(user) => return Err(Refusal::in_use("address", &reserved.path(), &user.path())),
            None => wanted,
        },
        None => addresses::free_in(world, &subnet, &wanted)?,
    };
    nic.insert("network".to_owned(), json!(network));
    nic.insert("subnetwork".to_owned(), json!(subnet.link()));
    nic.insert("networkIP".to_owned(), json!(address));
    nic.insert("name".to_owned(), json!(format!("nic{place}")));
    nic.insert("kind".to_owned(), json!("compute#networkInterface"));
    nic.insert("fingerprint".to_owned(), json!(world.fingerprint()));
    default(nic, "stackType", "IPV4_ONLY");
    let serial = world.next();
    for config in nic.get("accessConfigs").and_then(Value::as_array).into_iter().flatten() {
        reserved(world, key, &at, config, zone)?;
    }
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
