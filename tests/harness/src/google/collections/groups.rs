//! Managed instance groups: they create their instances from a template, give them what their configurations preserve, and
//! create them again when they are gone.
//!
//! ```text
//! createInstances ─> CREATING ──────> NONE <────── RECREATING, REFRESHING <─ gone, stopped, other template
//! deleteInstances ─> DELETING ─> no longer managed
//! ```
//!
//! Every call to Compute lets each group go one step further, as a moment in time would. From Google's pages "About
//! repairing VMs in a MIG", "Configuring stateful IP addresses in MIGs" and "How some operations affect preserved state of
//! managed instances".

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{COMPUTE, Key, Place};
use super::super::list;
use super::super::request::Request;
use super::super::world::{Body, World};
use super::{Change, Rules, addresses, default, instances, link, number, text};

/// The field with the managed instances, which is not shown.
pub(crate) const MANAGED: &str = "managed";

pub(crate) struct Groups;

impl Rules for Groups {
    fn kind(&self) -> &'static str {
        "compute#instanceGroupManager"
    }

    fn word(&self) -> &'static str {
        "instance_group_manager"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("INSTANCE_GROUP_MANAGERS", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if link(world, key, body, "instanceTemplate", "instanceTemplates")?.is_none() {
            return Err(Refusal::bad("required", "Required field 'resource.instanceTemplate' not specified"));
        }
        default(body, "baseInstanceName", key.name.clone());
        default(body, "updatePolicy", json!({}));
        default(body, "listManagedInstancesResults", "PAGELESS");
        judge(body)?;
        let template = text(body, "instanceTemplate").to_owned();
        let size = body.get("targetSize").and_then(Value::as_u64).unwrap_or_default();
        let managed: Vec<Value> = (0..size)
            .map(|_| {
                let name = format!("{}-{:04x}", text(body, "baseInstanceName"), world.next());
                created(&name, &template, &Value::Null, world.config.polls)
            })
            .collect();
        body.insert(MANAGED.to_owned(), json!(managed));
        body.insert("fingerprint".to_owned(), json!(world.fingerprint()));
        let group = key.beside("instanceGroups", key.place.clone(), &key.name);
        body.insert("instanceGroup".to_owned(), json!(group.link()));
        Ok(())
    }

    fn change(&self, world: &mut World, key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        change.fingerprint("Instance group manager")?;
        change.keep(&["name", "baseInstanceName", "targetSize"])?;
        link(world, key, change.new, "instanceTemplate", "instanceTemplates")?;
        judge(change.new)
    }

    fn delete(&self, _world: &World, _key: &Key) -> Result<(), Refusal> {
        Ok(())
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        match verb {
            "createInstances" => Some(create(world, key, sent)),
            "deleteInstances" => Some(dismiss(world, key, sent)),
            _ => None,
        }
    }

    /// The instances of a group go with it.
    fn deleted(&self, world: &mut World, key: &Key) {
        let by = creator(world, key);
        let of_group = |body: &Body| {
            let items = body.get("metadata").and_then(|metadata| metadata["items"].as_array());
            items.into_iter().flatten().any(|item| item["key"] == CREATOR && item["value"] == by.as_str())
        };
        let instances = world.of("instances").filter(|(_, body)| of_group(body));
        for instance in instances.map(|(instance, _)| instance.clone()).collect::<Vec<_>>() {
            world.remove(&instance);
        }
    }

    fn present(&self, _world: &World, _key: &Key, body: &mut Body) {
        let managed = body.remove(MANAGED);
        let managed = managed.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let template = text(body, "instanceTemplate").to_owned();
        let mut actions = json!({});
        for (action, field) in [
            ("NONE", "none"),
            ("CREATING", "creating"),
            ("RECREATING", "recreating"),
            ("REFRESHING", "refreshing"),
            ("DELETING", "deleting"),
        ] {
            actions[field] = json!(managed.iter().filter(|one| one["currentAction"] == action).count());
        }
        body.insert("currentActions".to_owned(), actions);
        body.insert("versions".to_owned(), json!([{"instanceTemplate": template}]));
        let is_stable = managed.iter().all(|one| one["currentAction"] == "NONE");
        let has_state = managed.iter().any(is_stateful);
        body.insert(
            "status".to_owned(),
            json!({
                "isStable": is_stable,
                "stateful": {"hasStatefulConfig": has_state},
                "versionTarget": {"isReached": managed.iter().all(|one| one["template"] == template.as_str())},
            }),
        );
    }
}

/// Judges the update policy, and sets Google's defaults. Instances with a state of their own are recreated, and without
/// others beside them.
fn judge(body: &mut Body) -> Result<(), Refusal> {
    let has_state = managed(body).iter().any(is_stateful);
    let Some(policy) = body.get_mut("updatePolicy").and_then(Value::as_object_mut) else { return Ok(()) };
    default(policy, "type", "OPPORTUNISTIC");
    default(policy, "minimalAction", "REPLACE");
    default(policy, "mostDisruptiveAllowedAction", "REPLACE");
    default(policy, "replacementMethod", "SUBSTITUTE");
    for field in ["maxSurge", "maxUnavailable"] {
        default(policy, field, json!({"fixed": 1}));
        if let Some(fixed) = policy[field]["fixed"].as_u64() {
            policy[field]["calculated"] = json!(fixed);
        }
    }
    let at = "resource.updatePolicy";
    let is_recreated = policy["replacementMethod"] == "RECREATE";
    if is_recreated && policy["maxSurge"]["fixed"] != 0 {
        let surge = policy["maxSurge"]["fixed"].to_string();
        let why = "The replacement method RECREATE excludes surge: maxSurge must be 0.";
        return Err(Refusal::invalid(&format!("{at}.maxSurge"), &surge, why));
    }
    if policy["maxSurge"]["fixed"] == 0 && policy["maxUnavailable"]["fixed"] == 0 {
        let why = "At least one of maxSurge and maxUnavailable must be greater than 0.";
        return Err(Refusal::invalid(&format!("{at}.maxUnavailable"), "0", why));
    }
    if has_state && policy["type"] == "PROACTIVE" && !is_recreated {
        let why = "A group with stateful instances needs the replacement method RECREATE.";
        return Err(Refusal::invalid(
            &format!("{at}.replacementMethod"),
            text(policy, "replacementMethod"),
            why,
        ));
    }
    Ok(())
}

/// The first group that has an instance with a template.
pub(crate) fn with_template<'a>(world: &'a World, template: &Key) -> Option<&'a Key> {
    let link = template.link();
    let mut groups = world.of("instanceGroupManagers");
    groups
        .find(|(_, body)| managed(body).iter().any(|one| one["template"] == link.as_str()))
        .map(|(key, _)| key)
}

fn managed(body: &Body) -> Vec<Value> {
    body.get(MANAGED).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn is_stateful(managed: &Value) -> bool {
    managed["state"].is_object()
}

fn created(name: &str, template: &str, state: &Value, polls: u32) -> Value {
    json!({"name": name, "template": template, "state": state, "currentAction": "CREATING", "left": polls})
}

/// `createInstances`: instances with these names and states, from the current template.
fn create(world: &mut World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut body = world.idle(key)?.clone();
    let template = text(&body, "instanceTemplate").to_owned();
    let mut have = managed(&body);
    for wanted in super::list(sent, "instances") {
        let name = wanted["name"].as_str().unwrap_or_default();
        let instance = key.beside("instances", key.place.clone(), name);
        if have.iter().any(|one| one["name"] == name) {
            // hashicorp/terraform-provider-google #14065.
            let message = format!("Resource {instance} is already a member of {key}.");
            return Err(Refusal::bad("invalid", message).later());
        }
        if world.find(&instance).is_some() {
            return Err(Refusal::exists(&instance.path()));
        }
        let state = &wanted["preservedState"];
        let at = "resource.instances.preservedState";
        for disk in state["disks"].as_object().into_iter().flat_map(serde_json::Map::values) {
            let source = disk["source"].as_str().unwrap_or_default();
            world.linked(&format!("{at}.disks.source"), source, "disks", &key.project)?;
        }
        for field in ["internalIPs", "externalIPs"] {
            for kept in state[field].as_object().into_iter().flat_map(serde_json::Map::values) {
                let address = kept["ipAddress"]["address"].as_str().unwrap_or_default();
                world.linked(
                    &format!("{at}.{field}.ipAddress.address"),
                    address,
                    "addresses",
                    &key.project,
                )?;
            }
        }
        have.push(created(name, &template, state, world.config.polls));
    }
    body.insert("targetSize".to_owned(), json!(have.len()));
    body.insert(MANAGED.to_owned(), json!(have));
    judge(&mut body)?;
    Ok(body)
}

/// `deleteInstances`: these are managed no longer, once they are gone.
fn dismiss(world: &mut World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut body = world.idle(key)?.clone();
    let mut have = managed(&body);
    for url in super::texts(sent, "instances") {
        let name = Key::parse(url, &key.project).map(|instance| instance.name).unwrap_or_default();
        let Some(one) = have.iter_mut().find(|one| one["name"] == name.as_str()) else {
            let why = "The instance is not a member of the group.";
            return Err(Refusal::invalid("resource.instances", url, why).later());
        };
        one["currentAction"] = json!("DELETING");
        one["left"] = json!(world.config.polls);
    }
    let size = have.iter().filter(|one| one["currentAction"] != "DELETING").count();
    body.insert("targetSize".to_owned(), json!(size));
    body.insert(MANAGED.to_owned(), json!(have));
    Ok(body)
}

/// `listManagedInstances`.
pub(crate) fn list_managed(world: &World, request: &Request) -> Result<Value, Refusal> {
    let key = request.key("instanceGroupManagers");
    let group = world.shown(&key)?;
    let items = managed(&group.body).iter().map(|one| shown(world, &key, one)).collect();
    let page = list::page(request, items, world.config.page_size)?;
    let mut answer = json!({"managedInstances": page.items});
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}

fn shown(world: &World, key: &Key, one: &Value) -> Value {
    let name = one["name"].as_str().unwrap_or_default();
    let instance = key.beside("instances", key.place.clone(), name);
    let leaves = one["currentAction"] == "DELETING";
    let mut shown = json!({
        "name": name,
        "instance": instance.link(),
        "currentAction": one["currentAction"],
        "targetStatus": if leaves { "DELETED" } else { "RUNNING" },
    });
    if !leaves {
        shown["version"] = json!({"instanceTemplate": one["template"]});
    }
    if is_stateful(one) {
        shown["preservedStateFromConfig"] = one["state"].clone();
    }
    if let Some(object) = world.find(&instance) {
        let live = world.present(&instance, &object.body);
        shown["id"] = live["id"].clone();
        shown["instanceStatus"] = live["status"].clone();
    }
    if let Some(error) = one.get("error") {
        shown["lastAttempt"] = json!({"errors": {"errors": [error]}});
    }
    shown
}

/// Lets every group go one step further.
pub(crate) fn proceed(world: &mut World) {
    let groups: Vec<Key> = world.of("instanceGroupManagers").map(|(key, _)| key.clone()).collect();
    for key in groups {
        let Some(group) = world.find(&key).filter(|group| group.busy.is_none()) else { continue };
        let mut body = group.body.clone();
        let mut have = managed(&body);
        have.retain_mut(|one| step(world, &key, &body, one));
        body.insert(MANAGED.to_owned(), json!(have));
        world.replace(&key, body);
    }
}

/// One step of one instance: what is under way goes on, and what is amiss begins to be mended. Returns whether the instance
/// is still managed.
fn step(world: &mut World, key: &Key, group: &Body, one: &mut Value) -> bool {
    let name = one["name"].as_str().unwrap_or_default().to_owned();
    let instance = key.beside("instances", key.place.clone(), &name);
    if one["currentAction"] == "NONE" {
        let Some(action) = amiss(world, &instance, group, one) else { return true };
        one["currentAction"] = json!(action);
        one["left"] = json!(world.config.polls);
    }
    let left = one["left"].as_u64().unwrap_or_default();
    if left > 0 {
        one["left"] = json!(left - 1);
        return true;
    }
    let action = one["currentAction"].as_str().unwrap_or_default().to_owned();
    match action.as_str() {
        "DELETING" => {
            world.remove(&instance);
            return false;
        }
        "REFRESHING" => {
            one["template"] = group["instanceTemplate"].clone();
            refresh(world, key, &instance, one);
        }
        _ => {
            world.remove(&instance);
            if action == "RECREATING" && group["updatePolicy"]["type"] == "PROACTIVE" {
                one["template"] = group["instanceTemplate"].clone();
            }
            if let Err(refusal) = boot(world, key, &instance, one) {
                one["error"] = json!({"code": refusal.code(), "message": refusal.message});
                return true;
            }
        }
    }
    one["currentAction"] = json!("NONE");
    if let Some(one) = one.as_object_mut() {
        one.remove("error");
    }
    true
}

/// What a group has to do with an instance that it is not doing anything with.
fn amiss(world: &World, instance: &Key, group: &Body, one: &Value) -> Option<&'static str> {
    let Some(found) = world.find(instance) else { return Some("RECREATING") };
    // Someone deletes it, or starts or stops it: the group looks again when that is done.
    if found.busy.is_some() {
        return None;
    }
    if found.body.get("status").is_some_and(|status| status != "RUNNING") {
        return Some("RECREATING");
    }
    let policy = &group["updatePolicy"];
    if policy["type"] != "PROACTIVE" || one["template"] == group["instanceTemplate"] {
        return None;
    }
    let is_small = policy["minimalAction"] == "REFRESH" && only_refreshes(world, instance, group, one);
    Some(if is_small { "REFRESHING" } else { "RECREATING" })
}

fn properties(world: &World, project: &str, template: &Value) -> Body {
    let key = template.as_str().and_then(|link| Key::parse(link, project));
    let found =
        key.and_then(|key| world.find(&key)).and_then(|found| found.body.get("properties")?.as_object());
    found.cloned().unwrap_or_default()
}

/// Whether two templates differ only in what a running instance can be given.
fn only_refreshes(world: &World, instance: &Key, group: &Body, one: &Value) -> bool {
    let of = |template: &Value| {
        let mut properties = properties(world, &instance.project, template);
        properties.remove("labels");
        properties.remove("tags");
        properties
    };
    of(&one["template"]) == of(&group["instanceTemplate"])
}

fn refresh(world: &mut World, key: &Key, instance: &Key, one: &Value) {
    let properties = properties(world, &key.project, &one["template"]);
    let Some(mut body) = world.find(instance).map(|found| found.body.clone()) else { return };
    let mut tags = properties.get("tags").cloned().unwrap_or_else(|| json!({}));
    tags["fingerprint"] = json!(world.fingerprint());
    body.insert("tags".to_owned(), tags);
    body.insert("labels".to_owned(), properties.get("labels").cloned().unwrap_or_else(|| json!({})));
    body.insert("labelFingerprint".to_owned(), json!(world.fingerprint()));
    world.replace(instance, body);
}

/// Metadata of an instance with the group that created it.
const CREATOR: &str = "created-by";

fn creator(world: &World, key: &Key) -> String {
    let number = number(world, &key.project);
    key.path().replacen(&format!("projects/{}", key.project), &format!("projects/{number}"), 1)
}

/// Creates the instance from its template, with the disks and the addresses of its state.
fn boot(world: &mut World, key: &Key, instance: &Key, one: &Value) -> Result<(), Refusal> {
    let Place::Zone(zone) = &key.place else { return Err(Refusal::not_found(&key.path())) };
    let mut body = properties(world, &key.project, &one["template"]);
    let home = format!("{COMPUTE}projects/{}/zones/{zone}", key.project);
    let machine = text(&body, "machineType").to_owned();
    body.insert("machineType".to_owned(), json!(format!("{home}/machineTypes/{machine}")));
    body.insert("name".to_owned(), json!(instance.name));
    let creator = creator(world, key);
    if let Some(items) = body.get_mut("metadata").and_then(|metadata| metadata["items"].as_array_mut()) {
        items.push(json!({"key": CREATOR, "value": creator}));
    } else {
        body.insert("metadata".to_owned(), json!({"items": [{"key": CREATOR, "value": creator}]}));
    }
    let mut disks = super::list(&body, "disks").to_vec();
    for disk in &mut disks {
        if let Some(kind) = disk["initializeParams"]["diskType"].as_str().map(str::to_owned) {
            disk["initializeParams"]["diskType"] = json!(format!("{home}/diskTypes/{kind}"));
        }
    }
    for (device, kept) in one["state"]["disks"].as_object().into_iter().flatten() {
        let source = kept["source"].as_str().unwrap_or_default();
        let (disk, _) = world.linked("preservedState.disks.source", source, "disks", &key.project)?;
        let mode = kept["mode"].as_str().unwrap_or("READ_WRITE");
        disks.push(json!({"source": disk.link(), "deviceName": device, "mode": mode, "autoDelete": false}));
    }
    body.insert("disks".to_owned(), json!(disks));
    let mut interfaces = super::list(&body, "networkInterfaces").to_vec();
    for (place, interface) in interfaces.iter_mut().enumerate() {
        let kept = |field: &str| {
            let link = one["state"][field][format!("nic{place}")]["ipAddress"]["address"].as_str();
            link.map(|link| addresses::number_of(world, link, &key.project)).transpose()
        };
        if let Some(address) = kept("internalIPs")? {
            interface["networkIP"] = json!(address);
        }
        let outside = kept("externalIPs")?;
        let config = interface["accessConfigs"].as_array_mut().and_then(|configs| configs.first_mut());
        match (outside, config) {
            (Some(address), Some(config)) => config["natIP"] = json!(address),
            (Some(_), None) => {
                let why = "The template has no access configuration for the stateful external address.";
                return Err(Refusal::bad("invalid", why));
            }
            (None, _) => {}
        }
    }
    body.insert("networkInterfaces".to_owned(), json!(interfaces));
    let rules = instances::Instances;
    rules.insert(world, instance, &mut body)?;
    world.complete(instance, rules.kind(), &mut body);
    world.put(instance.clone(), body);
    Ok(())
}
