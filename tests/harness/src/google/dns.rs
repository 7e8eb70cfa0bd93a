//! Cloud DNS's methods about managed zones and their record sets.

use http::StatusCode;
use serde_json::{Value, json};

use super::collections::zones::{RRSETS, Zones};
use super::collections::{self, Change as Judged, Rules as _, records, text};
use super::compute::unserved;
use super::error::Refusal;
use super::key::{Key, Place, ZONES};
use super::list;
use super::operation::Operation;
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
    let project = request.path("project").to_owned();
    collections::known_project(world, &project)?;
    if let Some(Effect::FailLate { code, message }) = effect {
        return Err(Refusal::bad(code, message.as_str()));
    }
    let key = Key::new(ZONES, &project, Place::Global, request.path("managedZone"));
    let (resource, verb) = method.split_once('.').unwrap_or((method, ""));
    match (resource, verb) {
        ("managedZones", "create") => create(world, request, &project),
        ("managedZones", "list") => list(world, request, &project),
        ("managedZones", "get") => {
            let zone = found(world, &key)?;
            world.look(&key);
            Ok(world.present(&key, &zone))
        }
        ("managedZones", "patch" | "update") => change(world, request, &key, (verb, effect)),
        ("managedZones", "delete") => {
            found(world, &key)?;
            Zones.delete(world, &key)?;
            world.remove(&key);
            Ok(Value::Null)
        }
        ("managedZoneOperations", "get") => operation(world, request, &key),
        ("resourceRecordSets", _) => of_records(world, request, &key, (verb, effect)),
        _ => Err(unserved(&request.action())),
    }
}

fn create(world: &mut World, request: &Request, project: &str) -> Result<Value, Refusal> {
    let mut body: Body = request.body().into_iter().filter(|(_, value)| !value.is_null()).collect();
    let key = Key::new(ZONES, project, Place::Global, text(&body, "name"));
    if world.find(&key).is_some() {
        return Err(exists("entity.managedZone", &key.name));
    }
    within(world, "MANAGED_ZONES", world.of(ZONES).filter(|(other, _)| other.project == project).count())?;
    Zones.insert(world, &key, &mut body)?;
    world.put(key.clone(), body.clone());
    Ok(world.present(&key, &body))
}

fn list(world: &World, request: &Request, project: &str) -> Result<Value, Refusal> {
    let name = request.query("dnsName").unwrap_or_default();
    let own = world
        .of(ZONES)
        .filter(|(key, body)| key.project == project && (name.is_empty() || text(body, "dnsName") == name));
    let items = own.map(|(key, body)| world.present(key, body)).collect();
    page(world, request, ("dns#managedZonesListResponse", "managedZones"), items)
}

/// A patch merges what is sent; an update replaces everything that the service does not set.
fn change(
    world: &mut World,
    request: &Request,
    key: &Key,
    (verb, effect): (&str, Option<&Effect>),
) -> Result<Value, Refusal> {
    let (old, sent) = (found(world, key)?, request.body());
    if world.find(key).is_some_and(|object| object.busy.is_some()) {
        return Err(Refusal::not_ready(&key.path()));
    }
    overtaken(effect, "entity.managedZone")?;
    let mut new = if verb == "patch" { old.clone() } else { Body::new() };
    merge(&mut new, &sent);
    for field in ["id", "kind", "name", "creationTime", "nameServers", RRSETS] {
        if let Some(value) = old.get(field) {
            new.insert(field.to_owned(), value.clone());
        }
    }
    if text(&sent, "name") != key.name && sent.contains_key("name") {
        return Err(Refusal::dns_invalid("entity.managedZone.name", text(&sent, "name")));
    }
    Zones.change(world, key, Judged { old: &old, new: &mut new, sent: &sent })?;
    let (before, after) = (world.present(key, &old), world.present(key, &new));
    let action = request.action();
    let asked =
        Asked { method: &action, key: key.clone(), text: request.text(), request_id: None, fail: None };
    let name = world.begin(asked, Change::Replace(new));
    let mut shown = world.operations.get(&name).map(Operation::dns).unwrap_or_default();
    shown["zoneContext"] = json!({"oldValue": before, "newValue": after});
    Ok(shown)
}

fn operation(world: &mut World, request: &Request, key: &Key) -> Result<Value, Refusal> {
    let name = request.path("operation").to_owned();
    if world.operations.get(&name).is_none_or(|operation| operation.target != *key) {
        return Err(missing("parameters.operation", &name));
    }
    world.advance(&name);
    Ok(world.operations.get(&name).map(Operation::dns).unwrap_or_default())
}

fn of_records(
    world: &mut World,
    request: &Request,
    key: &Key,
    (verb, effect): (&str, Option<&Effect>),
) -> Result<Value, Refusal> {
    let mut zone = found(world, key)?;
    let mut sets = records::of(&zone);
    if verb == "list" {
        let wanted = |field: &str, set: &Value| {
            let query = request.query(field).unwrap_or_default();
            query.is_empty() || set[field] == query
        };
        let items = sets.into_iter().filter(|set| wanted("name", set) && wanted("type", set)).collect();
        return page(world, request, ("dns#resourceRecordSetsListResponse", "rrsets"), items);
    }
    let sent = request.body();
    let (name, kind) = match verb {
        "create" => (text(&sent, "name").to_owned(), text(&sent, "type").to_owned()),
        _ => (request.path("name").to_owned(), request.path("type").to_owned()),
    };
    let label = format!("{name} ({kind})");
    let place = sets.iter().position(|set| set["name"] == name.as_str() && set["type"] == kind.as_str());
    let there = || place.ok_or_else(|| missing("entity.rrset", &label));
    let answer = match verb {
        "get" => return there().map(|place| sets[place].clone()),
        "create" => {
            if place.is_some() {
                return Err(exists("entity.rrset", &label));
            }
            within(world, "RRSETS_PER_MANAGED_ZONE", sets.len())?;
            let set = records::judged(&zone, &sets, &sent)?;
            sets.push(set.clone());
            set
        }
        "patch" => {
            let place = there()?;
            overtaken(effect, "entity.rrset")?;
            let mut new = sets[place].as_object().cloned().unwrap_or_default();
            merge(&mut new, &sent);
            if (text(&new, "name"), text(&new, "type")) != (name.as_str(), kind.as_str()) {
                return Err(Refusal::dns_invalid("entity.rrset.name", text(&new, "name")));
            }
            sets.remove(place);
            let set = records::judged(&zone, &sets, &new)?;
            sets.push(set.clone());
            set
        }
        "delete" => {
            let place = there()?;
            overtaken(effect, "entity.rrset")?;
            records::deletable(&zone, &sets[place])?;
            sets.remove(place);
            json!({})
        }
        _ => return Err(unserved(&request.action())),
    };
    zone.insert(RRSETS.to_owned(), Value::Array(sets));
    world.replace(key, zone);
    Ok(answer)
}

fn found(world: &World, key: &Key) -> Result<Body, Refusal> {
    let zone = world.find(key).map(|object| object.body.clone());
    zone.ok_or_else(|| missing("parameters.managedZone", &key.name))
}

/// `Error 409: The resource 'entity.rrset' named '… (A)' already exists`, hashicorp/google issue 9112.
fn exists(what: &str, name: &str) -> Refusal {
    let message = format!("The resource '{what}' named '{name}' already exists");
    Refusal::new(StatusCode::CONFLICT, "alreadyExists", message)
}

fn missing(what: &str, name: &str) -> Refusal {
    let message = format!("The '{what}' resource named '{name}' does not exist.");
    Refusal::new(StatusCode::NOT_FOUND, "notFound", message)
}

/// Another change came first, which Cloud DNS answers with 412.
fn overtaken(effect: Option<&Effect>, what: &str) -> Result<(), Refusal> {
    if effect != Some(&Effect::Overtaken) {
        return Ok(());
    }
    let message = format!("Precondition not met for '{what}'");
    Err(Refusal::new(StatusCode::PRECONDITION_FAILED, "conditionNotMet", message))
}

fn within(world: &World, metric: &str, used: usize) -> Result<(), Refusal> {
    match world.config.quotas.get(metric) {
        Some(limit) if used as u64 >= *limit => Err(Refusal::quota(metric, *limit, "per project")),
        _ => Ok(()),
    }
}

fn page(
    world: &World,
    request: &Request,
    (kind, field): (&str, &str),
    items: Vec<Value>,
) -> Result<Value, Refusal> {
    let page = list::page(request, items, world.config.page_size)?;
    let mut answer = json!({"kind": kind, field: page.items});
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}
