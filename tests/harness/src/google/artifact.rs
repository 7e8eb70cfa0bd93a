//! Artifact Registry's methods.

use serde_json::{Value, json};

use super::collections::repositories::Repositories;
use super::collections::{self, Change as Judged, Rules};
use super::compute::unserved;
use super::error::Refusal;
use super::key::{Key, Place};
use super::list;
use super::policy;
use super::request::Request;
use super::world::{Asked, Body, Change, World, merge};
use crate::front::Effect;

/// Handles a request that fits the document. `method` is the id without the service.
pub(crate) fn answer(
    world: &mut World,
    request: &Request,
    method: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    let name = ["name", "parent", "resource"]
        .into_iter()
        .map(|name| request.path(name))
        .find(|name| !name.is_empty());
    let name = name.unwrap_or_default().to_owned();
    let parts: Vec<&str> = name.split('/').collect();
    let ["projects", project, "locations", location, rest @ ..] = parts.as_slice() else {
        return Err(unserved(&request.action()));
    };
    collections::known_project(world, project)?;
    let multi = ["us", "europe", "asia"];
    if !multi.contains(location) && !world.config.regions.iter().any(|region| region == location) {
        return Err(Refusal::bad(
            "invalid",
            format!("Location {location} is not found or access is unauthorized."),
        ));
    }
    let place = Place::Region((*location).to_owned());
    let key = |id: &str| Key::new("repositories", project, place.clone(), id);
    match (method.trim_start_matches("projects.locations."), rest) {
        ("repositories.create", []) => {
            let key = key(request.query("repositoryId").unwrap_or_default());
            create(world, request, &Repositories, &key, effect)
        }
        ("repositories.list", []) => {
            let items =
                world.of("repositories").filter(|(key, _)| key.project == *project && key.place == place);
            let items = items.map(|(key, body)| world.present(key, body)).collect();
            let page = list::page(request, items, world.config.page_size)?;
            let mut answer = json!({});
            if !page.items.is_empty() {
                answer["repositories"] = Value::Array(page.items);
            }
            if let Some(next) = page.next {
                answer["nextPageToken"] = json!(next);
            }
            Ok(answer)
        }
        ("repositories.get", ["repositories", id]) => {
            let key = key(id);
            let found = world.shown(&key).map(|object| world.present(&key, &object.body));
            world.look(&key);
            found
        }
        ("repositories.patch", ["repositories", id]) => patch(world, request, &key(id)),
        ("repositories.delete", ["repositories", id]) => {
            let key = key(id);
            world.idle(&key)?;
            Ok(begin(world, request, key, Change::Delete, effect))
        }
        ("repositories.getIamPolicy", ["repositories", id]) => policy::get(world, &key(id)),
        ("repositories.setIamPolicy", ["repositories", id]) => policy::set(world, &key(id), &request.body()),
        ("repositories.testIamPermissions", ["repositories", id]) => {
            world.shown(&key(id))?;
            Ok(
                json!({"permissions": request.body().get("permissions").cloned().unwrap_or_else(|| json!([]))}),
            )
        }
        ("operations.get", ["operations", id]) => {
            let here = world.operations.get(*id).is_some_and(|operation| {
                operation.target.collection == "repositories"
                    && operation.target.project == *project
                    && operation.target.place == place
            });
            if !here {
                return Err(Refusal::not_found(&name));
            }
            world.advance(id);
            Ok(long_running(world, id))
        }
        _ => Err(unserved(&request.action())),
    }
}

pub(super) fn create(
    world: &mut World,
    request: &Request,
    rules: &impl Rules,
    key: &Key,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    if world.find(key).is_some() {
        return Err(Refusal::exists(&key.path()));
    }
    let mut body = request.body();
    body.retain(|_, value| !value.is_null());
    rules.insert(world, key, &mut body)?;
    Ok(begin(world, request, key.clone(), Change::Insert(body), effect))
}

/// Only the fields of the mask change; those that the body leaves out are cleared. Without a mask all that are sent do.
fn patch(world: &mut World, request: &Request, key: &Key) -> Result<Value, Refusal> {
    let (old, sent) = (world.idle(key)?.clone(), request.body());
    let mut new = match request.query("updateMask").filter(|mask| !mask.is_empty()) {
        None => {
            let mut new = old.clone();
            merge(&mut new, &sent);
            new
        }
        Some(mask) => masked(&old, &sent, mask),
    };
    new.insert("name".to_owned(), json!(key.path()));
    Repositories.change(world, key, Judged { old: &old, new: &mut new, sent: &sent })?;
    world.put(key.clone(), new.clone());
    Ok(world.present(key, &new))
}

/// The object with the fields of the mask as they were sent; those that were not are cleared.
pub(crate) fn masked(old: &Body, sent: &Body, mask: &str) -> Body {
    let mut new = old.clone();
    for field in mask.split(',') {
        let field = camel(field);
        let (top, deeper) = field.split_once('.').unwrap_or((&field, ""));
        if !deeper.is_empty() && top != "labels" {
            let mut part = Body::new();
            part.insert(top.to_owned(), sent.get(top).cloned().unwrap_or_else(|| json!({})));
            merge(&mut new, &part);
            continue;
        }
        match sent.get(top) {
            Some(value) => new.insert(top.to_owned(), value.clone()),
            None => new.remove(top),
        };
    }
    new
}

/// Masks are written `cleanup_policies` or `cleanupPolicies`.
fn camel(field: &str) -> String {
    let mut parts = field.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut name, part| {
        let mut letters = part.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
        name
    })
}

/// Begins an operation and shows it.
pub(crate) fn begin(
    world: &mut World,
    request: &Request,
    key: Key,
    change: Change,
    effect: Option<&Effect>,
) -> Value {
    let fail = match effect {
        Some(Effect::FailLate { code, message }) if code == "ABORTED" => {
            Some(Refusal::new(http::StatusCode::CONFLICT, "aborted", message.as_str()))
        }
        Some(Effect::FailLate { code, message }) => Some(Refusal::bad(code, message.as_str())),
        _ => None,
    };
    let action = request.action();
    let asked = Asked { method: &action, key, text: request.text(), request_id: None, fail };
    let name = world.begin(asked, change);
    long_running(world, &name)
}

/// An operation as `google.longrunning` shows it.
pub(crate) fn long_running(world: &World, name: &str) -> Value {
    let Some(operation) = world.operations.get(name) else { return Value::Null };
    let result = world.find(&operation.target).map(|object| world.present(&operation.target, &object.body));
    let kind =
        collections::rules(&operation.target.collection).map_or(Repositories.kind(), |rules| rules.kind());
    operation.long_running(kind, result)
}
