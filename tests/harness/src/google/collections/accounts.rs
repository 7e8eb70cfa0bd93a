//! Service accounts.

use serde_json::json;

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};
use super::{Change, Rules, text};
use crate::pattern;

pub(crate) struct Accounts;

impl Rules for Accounts {
    fn kind(&self) -> &'static str {
        "google.iam.admin.v1.ServiceAccount"
    }

    fn word(&self) -> &'static str {
        "service account"
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        let id = key.name.split('@').next().unwrap_or_default();
        if pattern::fits("[a-z](?:[-a-z0-9]{4,28}[a-z0-9])", id) != Some(true) {
            let message = "Invalid account id: it has 6 to 30 lower case letters, digits and dashes.";
            return Err(Refusal::bad("invalid", message));
        }
        judge(body)?;
        let serial = world.next();
        body.insert("name".to_owned(), json!(key.path()));
        body.insert("projectId".to_owned(), json!(key.project));
        body.insert(
            "uniqueId".to_owned(),
            json!(format!("{}", 100_000_000_000_000_000_000_u128 + u128::from(serial))),
        );
        body.insert("email".to_owned(), json!(key.name));
        body.insert("etag".to_owned(), json!("MDEwMjE5MjA="));
        body.insert("oauth2ClientId".to_owned(), json!(serial.to_string()));
        Ok(())
    }

    fn change(&self, _world: &mut World, _key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        change.keep(&["name", "projectId", "uniqueId", "email"])?;
        judge(change.new)
    }
}

/// Lengths, as the fields' prose has them.
fn judge(body: &Body) -> Result<(), Refusal> {
    for (field, most) in [("displayName", 100), ("description", 256)] {
        if text(body, field).len() > most {
            return Err(Refusal::bad("invalid", format!("{field} is longer than {most} bytes")));
        }
    }
    Ok(())
}
