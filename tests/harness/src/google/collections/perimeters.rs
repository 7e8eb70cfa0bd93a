//! Service perimeters of VPC Service Controls.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};
use super::{Change, Rules, default, flag, list, text, texts};
use crate::pattern;

pub(crate) struct Perimeters;

impl Rules for Perimeters {
    fn kind(&self) -> &'static str {
        "google.identity.accesscontextmanager.v1.ServicePerimeter"
    }

    fn word(&self) -> &'static str {
        "service perimeter"
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if pattern::fits("[A-Za-z][A-Za-z0-9_]{0,49}", &key.name) != Some(true) {
            return Err(Refusal::bad("invalid", format!("Invalid service perimeter name: {}", key.name)));
        }
        default(body, "perimeterType", "PERIMETER_TYPE_REGULAR");
        body.insert("name".to_owned(), json!(key.path()));
        judge(world, key, body)?;
        body.insert("etag".to_owned(), json!(world.fingerprint()));
        Ok(())
    }

    fn change(&self, world: &mut World, key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        change.keep(&["name", "perimeterType"])?;
        let sent = text(change.sent, "etag");
        if !sent.is_empty() && sent != text(change.old, "etag") {
            let message = "The etag does not match the current one of the service perimeter.";
            return Err(Refusal::new(http::StatusCode::CONFLICT, "aborted", message));
        }
        judge(world, key, change.new)?;
        change.new.insert("etag".to_owned(), json!(world.fingerprint()));
        Ok(())
    }
}

/// Judges a perimeter as a whole: by the prose of the document's fields.
fn judge(world: &World, key: &Key, body: &Body) -> Result<(), Refusal> {
    let others =
        || world.of(&key.collection).filter(|(other, _)| *other != key && other.project == key.project);
    let title = text(body, "title");
    if title.is_empty() {
        return Err(Refusal::bad("invalid", "A service perimeter needs a title"));
    }
    if let Some((other, _)) = others().find(|(_, other)| text(other, "title") == title) {
        return Err(Refusal::bad("invalid", format!("The title '{title}' is used by {other}")));
    }
    if body.contains_key("spec") && !flag(body, "useExplicitDryRunSpec") {
        return Err(Refusal::bad("invalid", "spec is set, and use_explicit_dry_run_spec is not"));
    }
    let bridge = text(body, "perimeterType") == "PERIMETER_TYPE_BRIDGE";
    for config in ["status", "spec"].into_iter().filter_map(|name| body.get(name)?.as_object()) {
        let rules = ["restrictedServices", "accessLevels", "ingressPolicies", "egressPolicies"];
        if let Some(field) = rules.into_iter().find(|field| bridge && !list(config, field).is_empty()) {
            return Err(Refusal::bad("invalid", format!("{field} must be empty in a perimeter bridge")));
        }
        judge_config(key, config)?;
    }
    let mine = members(body);
    let regular = |other: &Body| text(other, "perimeterType") != "PERIMETER_TYPE_BRIDGE";
    for (other, theirs) in others().filter(|(_, other)| !bridge && regular(other)) {
        if let Some(member) = members(theirs).into_iter().find(|member| mine.contains(member)) {
            let message = format!("{member} is in the regular perimeter {other} already");
            return Err(Refusal::bad("invalid", message));
        }
    }
    Ok(())
}

fn members(body: &Body) -> Vec<&str> {
    body.get("status").and_then(Value::as_object).map(|status| texts(status, "resources")).unwrap_or_default()
}

fn judge_config(key: &Key, config: &Body) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::bad("invalid", message));
    if let Some(member) = texts(config, "resources").into_iter().find(|member| !is_member(member)) {
        return invalid(format!("Invalid resource of a service perimeter: {member}"));
    }
    let prefix = format!("accessPolicies/{}/accessLevels/", key.project);
    let levels =
        |levels: Vec<&str>| levels.into_iter().find(|level| !level.starts_with(&prefix)).map(str::to_owned);
    if let Some(level) = levels(texts(config, "accessLevels")) {
        return invalid(format!("{level} is no access level of the policy"));
    }
    if let Some(api) =
        texts(config, "restrictedServices").into_iter().find(|api| !api.ends_with(".googleapis.com"))
    {
        return invalid(format!("{api} is not a supported service"));
    }
    let open = config.get("vpcAccessibleServices").and_then(Value::as_object);
    if open.is_some_and(|open| !flag(open, "enableRestriction") && !list(open, "allowedServices").is_empty())
    {
        return invalid("allowed_services must be empty unless enable_restriction is true".to_owned());
    }
    for policy in list(config, "ingressPolicies") {
        judge_policy(&policy["ingressFrom"], &policy["ingressTo"])?;
        let sources = policy["ingressFrom"]["sources"].as_array().cloned().unwrap_or_default();
        let named = sources.iter().filter_map(|source| source["accessLevel"].as_str());
        if let Some(level) = levels(named.filter(|level| *level != "*").collect()) {
            return invalid(format!("{level} is no access level of the policy"));
        }
        if sources.iter().any(|source| source["resource"] == "*") {
            return invalid("'*' is not allowed as a resource of an ingress source".to_owned());
        }
    }
    for policy in list(config, "egressPolicies") {
        judge_policy(&policy["egressFrom"], &policy["egressTo"])?;
        let from = &policy["egressFrom"];
        let sources = from["sources"].as_array().is_some_and(|sources| !sources.is_empty());
        if sources && from["sourceRestriction"] != "SOURCE_RESTRICTION_ENABLED" {
            return invalid("sources need source_restriction = SOURCE_RESTRICTION_ENABLED".to_owned());
        }
    }
    Ok(())
}

fn judge_policy(from: &Value, to: &Value) -> Result<(), Refusal> {
    let named = from["identities"].as_array().is_some_and(|identities| !identities.is_empty());
    let kind = from["identityType"].as_str().is_some_and(|kind| kind != "IDENTITY_TYPE_UNSPECIFIED");
    if named && kind {
        return Err(Refusal::bad("invalid", "identities and identity_type exclude each other"));
    }
    for operation in to["operations"].as_array().into_iter().flatten() {
        let selectors =
            operation["methodSelectors"].as_array().is_some_and(|selectors| !selectors.is_empty());
        if selectors == (operation["serviceName"] == "*") {
            let message = format!("Invalid method selectors of the service {}", operation["serviceName"]);
            return Err(Refusal::bad("invalid", message));
        }
    }
    let members = to["resources"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match members.into_iter().find(|member| *member != "*" && !is_member(member)) {
        Some(member) => Err(Refusal::bad("invalid", format!("Invalid resource of a policy: {member}"))),
        None => Ok(()),
    }
}

/// Projects are named by their number.
fn is_member(member: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    match member.strip_prefix("//compute.googleapis.com/projects/") {
        Some(network) => matches!(network.split('/').collect::<Vec<_>>()[..], [_, "global", "networks", _]),
        None => member
            .split_once('/')
            .is_some_and(|(kind, id)| ["projects", "folders", "organizations"].contains(&kind) && number(id)),
    }
}
