//! Secrets, without their versions.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::policy::POLICY;
use super::super::world::{Body, World};
use super::{Change, Rules, labels, networks, number};
use crate::pattern;

pub(crate) struct Secrets;

/// The member of a stored secret that holds its versions, with their payloads.
pub(crate) const VERSIONS: &str = "versions";

impl Rules for Secrets {
    fn kind(&self) -> &'static str {
        "google.cloud.secretmanager.v1.Secret"
    }

    fn word(&self) -> &'static str {
        "secret"
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if pattern::fits("[A-Za-z0-9_-]{1,255}", &key.name) != Some(true) {
            return Err(Refusal::bad("invalid", "The provided Secret ID does not match [a-zA-Z_0-9-]+"));
        }
        let replication = body.get("replication").and_then(Value::as_object);
        let policies = replication.map_or(0, serde_json::Map::len);
        if policies != 1 {
            return Err(Refusal::bad("invalid", "Secret.replication must have one policy"));
        }
        placed(body)?;
        judge(body)?;
        body.insert("name".to_owned(), json!(name(world, key)));
        body.insert("createTime".to_owned(), json!(world.stamp()));
        body.insert("etag".to_owned(), json!(etag(world)));
        Ok(())
    }

    fn change(&self, world: &mut World, _key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        change.keep(&["name", "replication", "secretType", "tags"])?;
        let sent = change.sent.get("etag").and_then(Value::as_str).unwrap_or_default();
        if !sent.is_empty() && Some(&json!(sent)) != change.old.get("etag") {
            let message = "The etag provided in the request does not match the resource's current etag.";
            return Err(Refusal::bad("failedPrecondition", message));
        }
        judge(change.new)?;
        change.new.insert("etag".to_owned(), json!(etag(world)));
        Ok(())
    }

    fn present(&self, _world: &World, _key: &Key, body: &mut Body) {
        body.remove(POLICY);
        body.remove(VERSIONS);
    }
}

/// Of `userManaged`: at least one replica, each in a region of its own.
fn placed(body: &Body) -> Result<(), Refusal> {
    let Some(replicas) = body["replication"].get("userManaged").map(|policy| &policy["replicas"]) else {
        return Ok(());
    };
    let replicas = replicas.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut places: Vec<&str> =
        replicas.iter().map(|replica| replica["location"].as_str().unwrap_or_default()).collect();
    places.sort_unstable();
    places.dedup();
    if places.is_empty() || places.len() != replicas.len() {
        return Err(Refusal::bad("invalid", "Secret.replication must have replicas in distinct locations"));
    }
    match places.iter().find(|place| !networks::is_region(place)) {
        Some(place) => Err(Refusal::bad("invalid", format!("The location {place} is not supported"))),
        None => Ok(()),
    }
}

/// How a version says where its payload is, as its secret's replication has it.
pub(crate) fn replication_status(body: &Body) -> Value {
    match body["replication"].get("userManaged") {
        None => json!({"automatic": {}}),
        Some(policy) => {
            let replicas = policy["replicas"].as_array().into_iter().flatten();
            let replicas: Vec<Value> =
                replicas.map(|replica| json!({"location": replica["location"]})).collect();
            json!({"userManaged": {"replicas": replicas}})
        }
    }
}

/// The name in answers, which has the project's number.
pub(crate) fn name(world: &World, key: &Key) -> String {
    format!("projects/{}/secrets/{}", number(world, &key.project), key.name)
}

fn etag(world: &mut World) -> String {
    format!("\"{:x}\"", world.next())
}

/// Labels, and annotations of up to 16 KiB whose keys the field's prose describes.
fn judge(body: &Body) -> Result<(), Refusal> {
    labels::judge(body.get("labels").unwrap_or(&Value::Null))?;
    let annotations = body.get("annotations").and_then(Value::as_object);
    let mut size = 0;
    for (key, value) in annotations.into_iter().flatten() {
        if pattern::fits("[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", key) != Some(true) {
            return Err(Refusal::bad("invalid", format!("Invalid annotation key: {key}")));
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 16 * 1024 {
        return Err(Refusal::bad("invalid", "The annotations are larger than 16 KiB"));
    }
    Ok(())
}
