//! Secrets, over GraphQL: the REST API of this version has none.
//!
//! RunPod publishes no schema of them that could be checked against. The three requests are known by their root field;
//! their variables are checked by hand, and any other request is refused.

use serde_json::{Value, json};

use super::error::Refusal;
use super::world::{Body, Secret, World, text};

/// What a request asks for, by its root field.
pub(crate) fn action(body: &Value) -> Option<&'static str> {
    let query = body["query"].as_str()?;
    let squeezed: String = query.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        ("mutation", "{ secretCreate(input: $input)", "secretCreate"),
        ("mutation", "{ secretDelete(id: $id)", "secretDelete"),
        ("query", "{ myself { secrets {", "listSecrets"),
    ]
    .into_iter()
    .find(|(kind, field, _)| squeezed.starts_with(kind) && squeezed.contains(field))
    .map(|(_, _, action)| action)
}

/// What is wrong with the variables.
pub(crate) fn problems(action: &str, variables: &Value) -> Vec<String> {
    let empty = Body::new();
    let members = variables.as_object().unwrap_or(&empty);
    let mut problems = Vec::new();
    let mut only = |at: &str, members: &Body, required: &[&str], optional: &[&str]| {
        for name in required
            .iter()
            .filter(|name| !members.get(**name).is_some_and(|v| v.is_string() || v.is_object()))
        {
            problems.push(format!("{at}: Variable {name} of required type was not provided."));
        }
        for name in members
            .keys()
            .filter(|name| !required.contains(&name.as_str()) && !optional.contains(&name.as_str()))
        {
            problems.push(format!("{at}: Field {name} is not defined."));
        }
    };
    match action {
        "secretCreate" => {
            only("$", members, &["input"], &[]);
            let input = members.get("input").and_then(Value::as_object).unwrap_or(&empty);
            only("$.input", input, &["name", "value"], &["description"]);
        }
        "secretDelete" => only("$", members, &["id"], &[]),
        _ => only("$", members, &[], &[]),
    }
    problems
}

impl World {
    /// The `data` of an answer.
    pub(crate) fn graphql(&mut self, action: &str, variables: &Value) -> Result<Value, Refusal> {
        match action {
            "secretCreate" => {
                let input = variables["input"].as_object().cloned().unwrap_or_default();
                let name = text(&input, "name");
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
                    return Err(Refusal::bad(
                        "Secret name may only contain letters, numbers, hyphens and underscores",
                    ));
                }
                if self.secrets.values().any(|secret| secret.name == name) {
                    return Err(Refusal::bad(format!("Secret with name {name} already exists")));
                }
                let id = self.id("sec");
                let description = input.get("description").and_then(Value::as_str).map(str::to_owned);
                let shown = json!({"id": id, "name": name, "description": description});
                self.secrets.insert(id, Secret { name, description, value: text(&input, "value") });
                Ok(json!({"secretCreate": shown}))
            }
            "secretDelete" => {
                let id = variables["id"].as_str().unwrap_or_default();
                match self.secrets.remove(id) {
                    Some(_) => Ok(json!({"secretDelete": true})),
                    None => Err(Refusal::not_found("Secret")),
                }
            }
            _ => {
                let secrets: Vec<Value> = self
                    .secrets
                    .iter()
                    .map(|(id, secret)| {
                        json!({"id": id, "name": secret.name, "description": secret.description})
                    })
                    .collect();
                Ok(json!({"myself": {"secrets": secrets}}))
            }
        }
    }
}
