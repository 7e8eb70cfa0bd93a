//! Artifact Registry's repositories.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::policy::POLICY;
use super::super::world::{Body, World};
use super::{Change, Rules, default, labels, text};
use crate::pattern;

pub(crate) struct Repositories;

impl Rules for Repositories {
    fn kind(&self) -> &'static str {
        "google.devtools.artifactregistry.v1.Repository"
    }

    fn word(&self) -> &'static str {
        "repository"
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if pattern::fits("[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", &key.name) != Some(true) {
            return Err(Refusal::bad(
                "invalid",
                "repository ID must match ^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
            ));
        }
        if matches!(text(body, "format"), "" | "FORMAT_UNSPECIFIED") {
            return Err(Refusal::bad("invalid", "invalid repository format: FORMAT_UNSPECIFIED"));
        }
        judge(body)?;
        default(body, "mode", "STANDARD_REPOSITORY");
        let now = world.stamp();
        body.insert("name".to_owned(), json!(key.path()));
        body.insert("createTime".to_owned(), json!(now));
        body.insert("updateTime".to_owned(), json!(now));
        body.insert("sizeBytes".to_owned(), json!("0"));
        let (location, kind) = (key.region().unwrap_or_default(), text(body, "format").to_lowercase());
        let address = format!("{location}-{kind}.pkg.dev/{}/{}", key.project, key.name);
        body.insert("registryUri".to_owned(), json!(address));
        Ok(())
    }

    fn change(&self, world: &mut World, _key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        change.keep(&["name", "format", "mode", "kmsKeyName"])?;
        judge(change.new)?;
        let now = world.stamp();
        change.new.insert("updateTime".to_owned(), json!(now));
        Ok(())
    }

    fn present(&self, _world: &World, _key: &Key, body: &mut Body) {
        // The policy is an object of its own methods.
        body.remove(POLICY);
    }
}

fn judge(body: &Body) -> Result<(), Refusal> {
    labels::judge(body.get("labels").unwrap_or(&Value::Null))?;
    let policies = body.get("cleanupPolicies").and_then(Value::as_object);
    for (name, policy) in policies.into_iter().flatten() {
        if policy["id"] != name.as_str() {
            return Err(Refusal::bad("invalid", format!("cleanup policy key {name} does not match its id")));
        }
        let (condition, recent) = (!policy["condition"].is_null(), !policy["mostRecentVersions"].is_null());
        if condition == recent || (recent && policy["action"] != "KEEP") {
            let message =
                format!("cleanup policy {name} needs either a condition or, to keep, mostRecentVersions");
            return Err(Refusal::bad("invalid", message));
        }
    }
    if body.contains_key("dockerConfig") && text(body, "format") != "DOCKER" {
        return Err(Refusal::bad("invalid", "dockerConfig goes with the format DOCKER"));
    }
    Ok(())
}
