//! IAM's methods about service accounts.

use serde_json::{Value, json};

use super::artifact::masked;
use super::collections::accounts::Accounts;
use super::collections::{self, Change as Judged, Rules as _};
use super::compute::unserved;
use super::error::Refusal;
use super::key::{ACCOUNTS, Key, Place};
use super::list;
use super::policy::POLICY;
use super::request::Request;
use super::world::World;

/// Handles a request that fits the document. `method` is the id without the service.
pub(crate) fn answer(world: &mut World, request: &Request, method: &str) -> Result<Value, Refusal> {
    let name = ["name", "serviceAccount.name"].map(|name| request.path(name));
    let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned();
    let parts: Vec<&str> = name.split('/').collect();
    let ["projects", project, rest @ ..] = parts.as_slice() else { return Err(unserved(&request.action())) };
    collections::known_project(world, project)?;
    let key = |email: &str| Key::new(ACCOUNTS, project, Place::Global, email);
    match (method.rsplit('.').next().unwrap_or_default(), rest) {
        ("create", []) => {
            let sent = request.body();
            let id = sent.get("accountId").and_then(Value::as_str).unwrap_or_default();
            let key = key(&format!("{id}@{project}.iam.gserviceaccount.com"));
            if world.find(&key).is_some() {
                let message =
                    format!("Service account {id} already exists within project projects/{project}.");
                return Err(Refusal::new(http::StatusCode::CONFLICT, "alreadyExists", message));
            }
            let mut body = sent.get("serviceAccount").and_then(Value::as_object).cloned().unwrap_or_default();
            Accounts.insert(world, &key, &mut body)?;
            world.late.insert(key.clone(), world.config.account_delay);
            world.put(key, body.clone());
            Ok(Value::Object(body))
        }
        ("list", []) => {
            let own = world.of(ACCOUNTS).filter(|(key, _)| key.project == *project);
            let items = own.map(|(_, body)| Value::Object(body.clone())).collect();
            let page = list::page(request, items, world.config.page_size)?;
            let mut answer = json!({});
            if !page.items.is_empty() {
                answer["accounts"] = Value::Array(page.items);
            }
            if let Some(next) = page.next {
                answer["nextPageToken"] = json!(next);
            }
            Ok(answer)
        }
        ("get", [_, email]) => {
            let key = key(email);
            known_everywhere(world, &key, "get")?;
            Ok(Value::Object(world.shown(&key)?.body.clone()))
        }
        ("patch", [_, email]) => {
            let key = key(email);
            known_everywhere(world, &key, "update")?;
            let (old, sent) = (world.idle(&key)?.clone(), request.body());
            let account = sent.get("serviceAccount").and_then(Value::as_object).cloned().unwrap_or_default();
            let mask = sent.get("updateMask").and_then(Value::as_str).unwrap_or_default();
            if mask.is_empty() {
                return Err(Refusal::bad("invalid", "The update mask must not be empty"));
            }
            let mut new = masked(&old, &account, mask);
            Accounts.change(world, &key, Judged { old: &old, new: &mut new, sent: &account })?;
            world.put(key, new.clone());
            Ok(Value::Object(new))
        }
        ("delete", [_, email]) => {
            let key = key(email);
            world.idle(&key)?;
            world.remove(&key);
            orphan(world, email);
            Ok(json!({}))
        }
        _ => Err(unserved(&request.action())),
    }
}

/// Refuses a call about a new account, for which IAM answers 404 and 403 for a while (hashicorp/google issues 15042 and 19624).
fn known_everywhere(world: &mut World, key: &Key, verb: &str) -> Result<(), Refusal> {
    let Some(left) = world.late.get_mut(key).filter(|left| **left > 0) else { return Ok(()) };
    let first = *left == world.config.account_delay;
    *left -= 1;
    if first {
        return Err(Refusal::not_found(&key.path()));
    }
    let message = format!(
        "Permission iam.serviceAccounts.{verb} is required to perform this operation on service account {}.",
        key.path()
    );
    Err(Refusal::new(http::StatusCode::FORBIDDEN, "forbidden", message))
}

/// Refuses an account that is named and is not there; those of projects that the double does not have are taken as
/// given.
pub(crate) fn known(world: &World, email: &str) -> Result<(), Refusal> {
    let project =
        email.split_once('@').and_then(|(_, domain)| domain.strip_suffix(".iam.gserviceaccount.com"));
    let Some(project) = project.filter(|project| collections::known_project(world, project).is_ok()) else {
        return Ok(());
    };
    match world.find(&Key::new(ACCOUNTS, project, Place::Global, email)) {
        Some(_) => Ok(()),
        None => Err(Refusal::bad("invalid", format!("Service account {email} does not exist."))),
    }
}

/// Policies go on naming an account that is gone, as one that nobody can be again.
fn orphan(world: &mut World, email: &str) {
    let member = json!(format!("serviceAccount:{email}"));
    let gone = json!(format!("deleted:serviceAccount:{email}?uid=1"));
    let named: Vec<Key> = world
        .objects()
        .filter(|(_, object)| object.body.contains_key(POLICY))
        .map(|(key, _)| key.clone())
        .collect();
    for key in named {
        let Some(mut body) = world.find(&key).map(|object| object.body.clone()) else { continue };
        let bindings = body.get_mut(POLICY).and_then(|policy| policy.get_mut("bindings")?.as_array_mut());
        for binding in bindings.into_iter().flatten() {
            let members = binding.get_mut("members").and_then(Value::as_array_mut);
            for other in members.into_iter().flatten() {
                if *other == member {
                    *other = gone.clone();
                }
            }
        }
        world.put(key, body);
    }
}
