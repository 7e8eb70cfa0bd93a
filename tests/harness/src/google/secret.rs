//! Secret Manager's methods.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};

use super::artifact::masked;
use super::collections::secrets::{Secrets, VERSIONS, name, replication_status};
use super::collections::{self, Change as Judged, Rules as _};
use super::compute::unserved;
use super::error::Refusal;
use super::key::{Key, Place, SECRETS};
use super::list;
use super::metadata;
use super::policy;
use super::request::Request;
use super::world::{Body, World};
use crate::front::Effect;

/// Handles a request that fits the document. `method` is the id without the service.
pub(crate) fn answer(
    world: &mut World,
    request: &Request,
    method: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    let full = ["name", "parent", "resource"].map(|name| request.path(name));
    let full = full.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned();
    let parts: Vec<&str> = full.split('/').collect();
    let ["projects", project, rest @ ..] = parts.as_slice() else { return Err(unserved(&request.action())) };
    collections::known_project(world, project)?;
    let key = |id: &str| Key::new(SECRETS, project, Place::Global, id);
    match (method.trim_start_matches("projects.secrets."), rest) {
        ("create", []) => create(world, request, &key(request.query("secretId").unwrap_or_default())),
        ("list", []) => {
            let own = world.of(SECRETS).filter(|(key, _)| key.project == *project);
            let items = own.map(|(key, body)| world.present(key, body)).collect();
            page(world, request, "secrets", items)
        }
        ("get", [_, id]) => {
            let key = key(id);
            Ok(world.present(&key, &found(world, &key)?))
        }
        ("patch", [_, id]) => patch(world, request, &key(id), effect),
        ("delete", [_, id]) => {
            let key = key(id);
            found(world, &key)?;
            world.remove(&key);
            Ok(json!({}))
        }
        ("getIamPolicy", [_, id]) => {
            found(world, &key(id))?;
            policy::get(world, &key(id))
        }
        ("setIamPolicy", [_, id]) => {
            found(world, &key(id))?;
            if effect == Some(&Effect::Overtaken) {
                let mut now = request.body();
                now.insert("policy".to_owned(), policy::get(world, &key(id))?);
                policy::set(world, &key(id), &now)?;
            }
            policy::set(world, &key(id), &request.body())
        }
        ("addVersion", [_, id]) => add(world, &key(id), &request.body()),
        ("versions.list", [_, id]) => {
            let versions = versions(&found(world, &key(id))?);
            // The newest first.
            let numbers = (1..=versions.len()).rev();
            let items = numbers.map(|number| shown(world, &key(id), &versions[number - 1], number)).collect();
            page(world, request, "versions", items)
        }
        (verb, [_, id, _, version]) => of_version(world, request, verb, (&key(id), version)),
        _ => Err(unserved(&request.action())),
    }
}

fn create(world: &mut World, request: &Request, key: &Key) -> Result<Value, Refusal> {
    if world.find(key).is_some() {
        let message = format!("Secret [{}] already exists.", name(world, key));
        return Err(Refusal::new(http::StatusCode::CONFLICT, "alreadyExists", message));
    }
    let mut body: Body = request.body().into_iter().filter(|(_, value)| !value.is_null()).collect();
    Secrets.insert(world, key, &mut body)?;
    world.put(key.clone(), body.clone());
    Ok(world.present(key, &body))
}

fn patch(world: &mut World, request: &Request, key: &Key, effect: Option<&Effect>) -> Result<Value, Refusal> {
    if effect == Some(&Effect::Overtaken) {
        world.overtake(key);
    }
    let Some(mask) = request.query("updateMask").filter(|mask| !mask.is_empty()) else {
        return Err(Refusal::bad("invalid", "The update mask must not be empty"));
    };
    let (old, sent) = (found(world, key)?, request.body());
    let mut new = masked(&old, &sent, mask);
    Secrets.change(world, key, Judged { old: &old, new: &mut new, sent: &sent })?;
    world.put(key.clone(), new.clone());
    Ok(world.present(key, &new))
}

fn found(world: &World, key: &Key) -> Result<Body, Refusal> {
    let missing = || {
        Refusal::new(
            http::StatusCode::NOT_FOUND,
            "notFound",
            format!("Secret [{}] not found.", name(world, key)),
        )
    };
    world.find(key).map(|object| object.body.clone()).ok_or_else(missing)
}

fn versions(body: &Body) -> Vec<Value> {
    body.get(VERSIONS).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// A version without its payload. Numbers begin with 1.
fn shown(world: &World, key: &Key, version: &Value, number: usize) -> Value {
    let mut version = version.clone();
    if let Some(version) = version.as_object_mut() {
        version.remove("data");
        version.remove("dataCrc32c");
        version.insert("name".to_owned(), json!(format!("{}/versions/{number}", name(world, key))));
    }
    version
}

fn page(world: &World, request: &Request, field: &str, items: Vec<Value>) -> Result<Value, Refusal> {
    let total = items.len();
    let page = list::page(request, items, world.config.page_size)?;
    let mut answer = json!({"totalSize": total});
    if !page.items.is_empty() {
        answer[field] = Value::Array(page.items);
    }
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}

fn add(world: &mut World, key: &Key, sent: &Body) -> Result<Value, Refusal> {
    let mut body = found(world, key)?;
    let payload = sent.get("payload").unwrap_or(&Value::Null);
    let data = payload["data"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(data).or_else(|_| URL_SAFE.decode(data)).unwrap_or_default();
    if !(1..=65536).contains(&bytes.len()) {
        return Err(Refusal::bad("invalid", "The payload must have 1 to 65536 bytes."));
    }
    let sum = crc32c::crc32c(&bytes).to_string();
    if payload["dataCrc32c"].as_str().is_some_and(|sent| sent != sum) {
        return Err(Refusal::bad("invalid", "The checksum given in data_crc32c is not that of the data."));
    }
    let mut versions = versions(&body);
    versions.push(json!({
        "createTime": world.stamp(),
        "state": "ENABLED",
        "etag": format!("\"{:x}\"", world.next()),
        "replicationStatus": replication_status(&body),
        "clientSpecifiedPayloadChecksum": !payload["dataCrc32c"].is_null(),
        "data": STANDARD.encode(bytes),
        "dataCrc32c": sum,
    }));
    let made = shown(world, key, &versions[versions.len() - 1], versions.len());
    body.insert(VERSIONS.to_owned(), Value::Array(versions));
    world.put(key.clone(), body);
    Ok(made)
}

/// Methods about one version: a number, or `latest`, which is the one that was added last.
fn of_version(
    world: &mut World,
    request: &Request,
    verb: &str,
    (key, version): (&Key, &str),
) -> Result<Value, Refusal> {
    let mut body = found(world, key)?;
    let mut versions = versions(&body);
    let number = if version == "latest" { versions.len() } else { version.parse().unwrap_or_default() };
    let Some(stored) = number.checked_sub(1).and_then(|place| versions.get_mut(place)) else {
        let message = format!("Secret Version [{}/versions/{version}] not found.", name(world, key));
        return Err(Refusal::new(http::StatusCode::NOT_FOUND, "notFound", message));
    };
    let state = stored["state"].as_str().unwrap_or_default().to_owned();
    let wrong = || {
        let message = format!("Secret Version [{}/versions/{number}] is in {state} state.", key.path());
        Refusal::bad("failedPrecondition", message)
    };
    match verb {
        "versions.get" => return Ok(shown(world, key, stored, number)),
        "versions.access" => {
            metadata::may_read(world, request, key)?;
            if state != "ENABLED" {
                return Err(wrong());
            }
            return Ok(json!({
                "name": format!("{}/versions/{number}", name(world, key)),
                "payload": {"data": stored["data"], "dataCrc32c": stored["dataCrc32c"]},
            }));
        }
        "versions.disable" if state != "DESTROYED" => stored["state"] = json!("DISABLED"),
        "versions.destroy" if state != "DESTROYED" => {
            stored["state"] = json!("DESTROYED");
            stored["destroyTime"] = json!(world.stamp());
            if let Some(stored) = stored.as_object_mut() {
                stored.remove("data");
                stored.remove("dataCrc32c");
            }
        }
        "versions.disable" | "versions.destroy" => return Err(wrong()),
        _ => return Err(unserved(&request.action())),
    }
    let made = shown(world, key, stored, number);
    body.insert(VERSIONS.to_owned(), Value::Array(versions));
    world.put(key.clone(), body);
    Ok(made)
}
