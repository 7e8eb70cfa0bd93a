//! Secrets of the account: created, rotated and deleted, never shown.

use serde_json::{Value, json};

use super::error::Refusal;
use super::world::{Body, MADE, Secret, World, text};

impl Secret {
    fn shown(&self, id: &str) -> Value {
        json!({
            "id": id, "name": self.name, "description": self.description, "createdAt": MADE, "valueLastUpdatedAt": MADE,
        })
    }
}

impl World {
    /// All secrets, or the one with a name, whatever its case.
    pub(crate) fn list_secrets(&self, name: &str) -> Value {
        let wanted = |secret: &Secret| name.is_empty() || secret.name.eq_ignore_ascii_case(name);
        let found = self.secrets.iter().filter(|(_, secret)| wanted(secret));
        json!({"secrets": found.map(|(id, secret)| secret.shown(id)).collect::<Vec<_>>()})
    }

    pub(crate) fn create_secret(&mut self, body: &Body) -> Result<Value, Refusal> {
        let name = text(body, "name");
        if name.to_ascii_uppercase().starts_with("RUNPOD") {
            return Err(Refusal::bad("secret names cannot begin with RUNPOD"));
        }
        if self.secrets.values().any(|secret| secret.name == name) {
            return Err(Refusal::conflict("A secret with this name already exists."));
        }
        let description = body.get("description").and_then(Value::as_str).map(str::to_owned);
        let secret = Secret { name, description, value: text(body, "value") };
        let id = self.id("sec");
        let shown = secret.shown(&id);
        self.secrets.insert(id, secret);
        Ok(shown)
    }

    pub(crate) fn secret(&self, id: &str) -> Result<Value, Refusal> {
        let secret = self.secrets.get(id).ok_or_else(|| Refusal::not_found("secret"))?;
        Ok(secret.shown(id))
    }

    pub(crate) fn update_secret(&mut self, id: &str, change: &Body) -> Result<Value, Refusal> {
        let secret = self.secrets.get_mut(id).ok_or_else(|| Refusal::not_found("secret"))?;
        if let Some(value) = change.get("value").and_then(Value::as_str) {
            value.clone_into(&mut secret.value);
        }
        if let Some(description) = change.get("description").and_then(Value::as_str) {
            secret.description = (!description.is_empty()).then(|| description.to_owned());
        }
        self.secret(id)
    }

    /// A secret in use goes all the same.
    pub(crate) fn delete_secret(&mut self, id: &str) -> Result<Value, Refusal> {
        self.secrets.remove(id).map(|_| Value::Null).ok_or_else(|| Refusal::not_found("secret"))
    }
}
