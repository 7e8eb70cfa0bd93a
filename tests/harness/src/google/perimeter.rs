//! Access Context Manager's methods about service perimeters.

use serde_json::{Value, json};

use super::artifact::{self, begin, long_running, masked};
use super::collections::perimeters::Perimeters;
use super::collections::{Change as Judged, Rules as _};
use super::compute::unserved;
use super::error::Refusal;
use super::key::{Key, PERIMETERS, Place};
use super::list;
use super::request::Request;
use super::world::{Change, World};
use crate::front::Effect;

/// Handles a request that fits the document. `method` is the id without the service.
pub(crate) fn answer(
    world: &mut World,
    request: &Request,
    method: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    if method == "operations.get" {
        return operation(world, request.path("name"));
    }
    let name = ["name", "parent"].map(|name| request.path(name)).into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or_default().to_owned();
    let parts: Vec<&str> = name.split('/').collect();
    let ["accessPolicies", policy, rest @ ..] = parts.as_slice() else {
        return Err(unserved(&request.action()));
    };
    if !world.config.access_policies.iter().any(|known| known == policy) {
        let message = "The caller does not have permission";
        return Err(Refusal::new(http::StatusCode::FORBIDDEN, "forbidden", message));
    }
    let key = |id: &str| Key::new(PERIMETERS, policy, Place::Global, id);
    let verb = method.rsplit('.').next().unwrap_or_default();
    match (verb, rest) {
        ("create", []) => {
            let sent = request.body();
            let full = sent.get("name").and_then(Value::as_str).unwrap_or_default();
            let id = full.strip_prefix(&format!("{name}/{PERIMETERS}/")).ok_or_else(|| {
                Refusal::bad("invalid", format!("'{full}' is no name of a service perimeter in {name}"))
            })?;
            create(world, request, &key(id), effect)
        }
        ("list", []) => {
            let items = world.of(PERIMETERS).filter(|(key, _)| key.project == *policy);
            let items = items.map(|(key, body)| world.present(key, body)).collect();
            let page = list::page(request, items, world.config.page_size)?;
            let mut answer = json!({});
            if !page.items.is_empty() {
                answer[PERIMETERS] = Value::Array(page.items);
            }
            if let Some(next) = page.next {
                answer["nextPageToken"] = json!(next);
            }
            Ok(answer)
        }
        ("get", [_, id]) => {
            let key = key(id);
            let found = world.shown(&key).map(|object| world.present(&key, &object.body));
            world.look(&key);
            found
        }
        ("patch", [_, id]) => patch(world, request, &key(id), effect),
        ("delete", [_, id]) => {
            let key = key(id);
            alone(world, &key)?;
            world.idle(&key)?;
            Ok(begin(world, request, key, Change::Delete, effect))
        }
        _ => Err(unserved(&request.action())),
    }
}

fn create(
    world: &mut World,
    request: &Request,
    key: &Key,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    if world.find(key).is_none() {
        alone(world, key)?;
    }
    artifact::create(world, request, &Perimeters, key, effect)
}

fn patch(world: &mut World, request: &Request, key: &Key, effect: Option<&Effect>) -> Result<Value, Refusal> {
    alone(world, key)?;
    if effect == Some(&Effect::Overtaken) {
        world.overtake(key);
    }
    let Some(mask) = request.query("updateMask").filter(|mask| !mask.is_empty()) else {
        return Err(Refusal::bad("invalid", "The update mask must not be empty"));
    };
    let (old, sent) = (world.idle(key)?.clone(), request.body());
    let mut new = masked(&old, &sent, mask);
    Perimeters.change(world, key, Judged { old: &old, new: &mut new, sent: &sent })?;
    Ok(begin(world, request, key.clone(), Change::Replace(new), effect))
}

/// Changes of one access policy are made one at a time.
fn alone(world: &World, key: &Key) -> Result<(), Refusal> {
    let busy = world.of(PERIMETERS).any(|(other, _)| {
        other.project == key.project && world.find(other).is_some_and(|object| object.busy.is_some())
    });
    if busy {
        let message = "Another change of the access policy is in progress.";
        return Err(Refusal::new(http::StatusCode::CONFLICT, "aborted", message).for_now());
    }
    Ok(())
}

fn operation(world: &mut World, name: &str) -> Result<Value, Refusal> {
    let id = name.rsplit('/').next().unwrap_or_default();
    let here = world.operations.get(id).is_some_and(|operation| operation.target.collection == PERIMETERS);
    if !here {
        return Err(Refusal::not_found(name));
    }
    world.advance(id);
    Ok(long_running(world, id))
}
