//! Compute's methods: what all collections have in common.

use serde_json::{Value, json};

use super::collections::{self, Change as Judged, Rules, groups, project, region, zone, zones};
use super::error::Refusal;
use super::exchanged;
use super::key::{COMPUTE, Key, Place};
use super::list;
use super::operation::Operation;
use super::request::Request;
use super::world::{Asked, Body, Change, World, merge};
use crate::front::Effect;

/// Handles a request that fits the document. `method` is the id without the service: `networks.insert`.
pub(crate) fn answer(
    world: &mut World,
    request: &Request,
    method: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    let answer = serve(world, request, method, effect);
    groups::proceed(world);
    answer
}

fn serve(
    world: &mut World,
    request: &Request,
    method: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    let (resource, verb) = method.split_once('.').unwrap_or((method, ""));
    collections::known_project(world, request.path("project"))?;
    check_place(world, request)?;
    match (resource, verb) {
        ("instanceGroupManagers", "listManagedInstances") => return groups::list_managed(world, request),
        ("networks", "listPeeringRoutes") => return exchanged::peering_routes(world, request),
        ("projects", "getXpnHost") => return exchanged::xpn_host(world, request),
        ("subnetworks", "listUsable") => return exchanged::usable(world, request),
        ("routers", "getRouterStatus") => return exchanged::router_status(world, request),
        _ => {}
    }
    match resource {
        "projects" if verb == "get" => project(world, request.path("project")),
        "regions" | "zones" => places(world, request, resource, verb),
        "globalOperations" | "regionOperations" | "zoneOperations" => operations(world, request, verb),
        _ => match collections::served(resource) {
            Some((collection, rules)) => objects(world, request, (collection, rules), verb, effect),
            None => Err(unserved(&request.action())),
        },
    }
}

/// What the double does not do. The status is one that clients do not repeat.
pub(crate) fn unserved(action: &str) -> Refusal {
    let message = format!("{action} is not served by the double");
    Refusal::new(http::StatusCode::NOT_IMPLEMENTED, "notImplemented", message)
}

fn check_place(world: &World, request: &Request) -> Result<(), Refusal> {
    let project = request.path("project");
    let unknown = |field: &str, name: &str| Refusal::invalid(field, name, &format!("Unknown {field}."));
    let named = (request.path("region"), request.path("zone"));
    if !named.0.is_empty() && region(world, project, named.0).is_err() {
        return Err(unknown("region", named.0));
    }
    if !named.1.is_empty() && zone(world, project, named.1).is_err() {
        return Err(unknown("zone", named.1));
    }
    Ok(())
}

fn places(world: &World, request: &Request, resource: &str, verb: &str) -> Result<Value, Refusal> {
    let project = request.path("project");
    let show = |name: &str| match resource {
        "regions" => region(world, project, name),
        _ => zone(world, project, name),
    };
    match verb {
        "get" => show(request.path(resource.trim_end_matches('s'))),
        "list" => {
            let mut names = world.config.regions.clone();
            if resource == "zones" {
                names = names.iter().flat_map(|region| zones(region)).collect();
            }
            names.sort();
            let items: Result<Vec<Value>, Refusal> = names.iter().map(|name| show(name)).collect();
            let kind = format!("compute#{}", resource.trim_end_matches('s'));
            let link = format!("{COMPUTE}projects/{project}/{resource}");
            Ok(list::page(request, items?, world.config.page_size)?.compute(&kind, &link))
        }
        _ => Err(unserved(&request.action())),
    }
}

fn operations(world: &mut World, request: &Request, verb: &str) -> Result<Value, Refusal> {
    let (project, place) = (request.path("project").to_owned(), request.place());
    let here = |operation: &Operation| {
        operation.method.starts_with("compute.")
            && operation.target.project == project
            && operation.target.place == place
    };
    if verb == "list" {
        let items =
            world.operations.values().filter(|operation| here(operation)).map(Operation::compute).collect();
        let link = format!("{}operations", home(&project, &place));
        return Ok(list::page(request, items, world.config.page_size)?.compute("compute#operation", &link));
    }
    let name = request.path("operation").to_owned();
    if !world.operations.get(&name).is_some_and(here) {
        let path = format!("{}operations/{name}", home(&project, &place));
        return Err(Refusal::not_found(path.trim_start_matches(COMPUTE)));
    }
    match verb {
        "get" => world.advance(&name),
        // Google holds the call for up to two minutes; whatever is asked for here takes less.
        "wait" => world.finish(&name),
        "delete" => {
            world.finish(&name);
            world.operations.remove(&name);
            return Ok(Value::Null);
        }
        _ => return Err(unserved(&request.action())),
    }
    Ok(world.operations.get(&name).map(Operation::compute).unwrap_or_default())
}

fn home(project: &str, place: &Place) -> String {
    match place {
        Place::Global => format!("{COMPUTE}projects/{project}/global/"),
        Place::Region(region) => format!("{COMPUTE}projects/{project}/regions/{region}/"),
        Place::Zone(zone) => format!("{COMPUTE}projects/{project}/zones/{zone}/"),
    }
}

fn objects(
    world: &mut World,
    request: &Request,
    (collection, rules): (&str, &dyn Rules),
    verb: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    match verb {
        "get" => get(world, &request.key(collection), rules),
        "list" => {
            let link = format!("{}{collection}", home(request.path("project"), &request.place()));
            let items = shown(world, (collection, rules), request.path("project"), Some(&request.place()));
            let items = items.into_iter().map(|(_, item)| item).collect();
            Ok(list::page(request, items, world.config.page_size)?.compute(rules.kind(), &link))
        }
        "aggregatedList" => aggregated(world, request, (collection, rules)),
        _ => change(world, request, (collection, rules), verb, effect),
    }
}

fn get(world: &mut World, key: &Key, rules: &dyn Rules) -> Result<Value, Refusal> {
    let implied = rules.implied(world, &key.project);
    if let Some((_, item)) = implied.into_iter().find(|(other, _)| other == key) {
        return Ok(item);
    }
    // Objects are also known by their number.
    let key = world
        .of(&key.collection)
        .find(|(other, body)| {
            other.project == key.project
                && other.place == key.place
                && collections::text(body, "id") == key.name
        })
        .map_or_else(|| key.clone(), |(found, _)| found.clone());
    let found = world.shown(&key).map(|object| world.present(&key, &object.body));
    world.look(&key);
    found
}

/// The objects of a collection in a place, or in all places, as the API shows them.
fn shown(
    world: &mut World,
    (collection, rules): (&str, &dyn Rules),
    project: &str,
    place: Option<&Place>,
) -> Vec<(Key, Value)> {
    let here = |key: &Key| key.project == project && place.is_none_or(|place| key.place == *place);
    let keys: Vec<Key> = world.of(collection).map(|(key, _)| key.clone()).filter(here).collect();
    let mut items: Vec<(Key, Value)> = Vec::new();
    for key in &keys {
        if let Ok(object) = world.shown(key) {
            items.push((key.clone(), world.present(key, &object.body)));
        }
    }
    items.extend(rules.implied(world, project).into_iter().filter(|(key, _)| here(key)));
    keys.iter().for_each(|key| world.look(key));
    items
}

fn aggregated(
    world: &mut World,
    request: &Request,
    (collection, rules): (&str, &dyn Rules),
) -> Result<Value, Refusal> {
    let project = request.path("project");
    let keyed = shown(world, (collection, rules), project, None);
    let scope = |key: &Key| match &key.place {
        Place::Global => "global".to_owned(),
        Place::Region(region) => format!("regions/{region}"),
        Place::Zone(zone) => format!("zones/{zone}"),
    };
    let mut scopes: Vec<(String, Value)> = Vec::new();
    let page =
        list::page(request, keyed.iter().map(|(_, item)| item.clone()).collect(), world.config.page_size)?;
    for region in &world.config.regions {
        let scope = format!("regions/{region}");
        let message = format!("There are no results for scope '{scope}' on this page.");
        scopes.push((
            scope.clone(),
            json!({"warning": {
                "code": "NO_RESULTS_ON_PAGE", "message": message, "data": [{"key": "scope", "value": scope}],
            }}),
        ));
    }
    for item in page.items {
        let Some((key, _)) = keyed.iter().find(|(_, other)| other["selfLink"] == item["selfLink"]) else {
            continue;
        };
        let scope = scope(key);
        let place = match scopes.iter().position(|(name, _)| *name == scope) {
            Some(place) => place,
            None => {
                scopes.push((scope, json!({})));
                scopes.len() - 1
            }
        };
        match scopes[place].1.get_mut(collection).and_then(Value::as_array_mut) {
            Some(items) => items.push(item),
            None => scopes[place].1 = json!({ collection: [item] }),
        }
    }
    let kind = rules.kind();
    let mut answer = json!({
        "kind": format!("{kind}AggregatedList"),
        "id": format!("projects/{project}/aggregated/{collection}"),
        "selfLink": format!("{COMPUTE}projects/{project}/aggregated/{collection}"),
        "items": scopes.into_iter().collect::<serde_json::Map<_, _>>(),
    });
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}

/// A call that begins an operation.
fn change(
    world: &mut World,
    request: &Request,
    (collection, rules): (&str, &dyn Rules),
    verb: &str,
    effect: Option<&Effect>,
) -> Result<Value, Refusal> {
    let key = request.key(collection);
    let fail = match effect {
        Some(Effect::FailLate { code, message }) => Some(Refusal::bad(code, message.as_str())),
        _ => None,
    };
    if effect == Some(&Effect::Overtaken) {
        world.overtake(&key);
    }
    let action = request.action();
    let mut asked = Asked {
        method: &action,
        key: key.clone(),
        text: request.text(),
        request_id: request.request_id()?,
        fail,
    };
    if let Some(earlier) = world.replay(&asked)? {
        return Ok(world.operations.get(&earlier).map(Operation::compute).unwrap_or_default());
    }
    let change = match decide(world, request, &key, verb, rules) {
        Ok(change) => change,
        Err(refusal) if refusal.in_operation && world.config.refuse_in_operation => {
            if refusal.for_now {
                world.pass();
            }
            asked.fail = Some(refusal);
            Change::Nothing
        }
        Err(refusal) => return Err(refusal),
    };
    let name = world.begin(asked, change);
    Ok(world.operations.get(&name).map(Operation::compute).unwrap_or_default())
}

fn decide(
    world: &mut World,
    request: &Request,
    key: &Key,
    verb: &str,
    rules: &dyn Rules,
) -> Result<Change, Refusal> {
    let sent = request.body();
    match verb {
        "insert" => {
            if world.find(key).is_some() {
                return Err(Refusal::exists(&key.path()));
            }
            let mut body: Body = sent.into_iter().filter(|(_, value)| !value.is_null()).collect();
            body.remove("params");
            rules.insert(world, key, &mut body)?;
            within_quota(world, key, rules)?;
            world.complete(key, rules.kind(), &mut body);
            Ok(Change::Insert(body))
        }
        "patch" | "update" => {
            let old = world.idle(key)?.clone();
            let mut new = old.clone();
            if verb == "update" {
                // What only the service sets stays as it is.
                let served = ["kind", "id", "creationTimestamp", "selfLink", "region", "zone", "fingerprint"];
                new.retain(|field, _| served.contains(&field.as_str()));
            }
            let mut patch = sent.clone();
            ["kind", "id", "creationTimestamp", "selfLink", "region", "zone", "fingerprint", "params"]
                .iter()
                .for_each(|field| {
                    patch.remove(*field);
                });
            merge(&mut new, &patch);
            rules.change(world, key, Judged { old: &old, new: &mut new, sent: &sent })?;
            Ok(Change::Replace(new))
        }
        "delete" => {
            world.idle(key)?;
            rules.delete(world, key)?;
            Ok(Change::Delete)
        }
        _ => {
            world.shown(key)?;
            match rules.act(world, key, verb, &sent) {
                Some(done) => done.map(Change::Replace),
                None => Err(unserved(&request.action())),
            }
        }
    }
}

fn within_quota(world: &World, key: &Key, rules: &dyn Rules) -> Result<(), Refusal> {
    let Some((metric, place)) = rules.quota() else { return Ok(()) };
    let Some(limit) = world.config.quotas.get(metric) else { return Ok(()) };
    let used = world.of(&key.collection).filter(|(other, _)| other.project == key.project).count();
    if used as u64 >= *limit { Err(Refusal::quota(metric, *limit, place)) } else { Ok(()) }
}
