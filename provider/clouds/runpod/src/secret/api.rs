//! API calls for secrets, over GraphQL because this version of the REST API does not cover them.

use serde_json::{Value, json};

use super::schema::Secret;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

/// A secret as the API returns it, without its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    /// With its marker.
    pub(super) description: String,
}

// prose: verbatim
const LIST: &str = "query Secrets { myself { secrets { id name description } } }";
const CREATE: &str =
    "mutation Create($input: SecretCreateInput!) { secretCreate(input: $input) { id name description } }";
const DELETE: &str = "mutation Delete($id: ID!) { secretDelete(id: $id) }";

/// The ID of the secret with this name, if it belongs to this fabric and owner. Names are unique in the account.
pub(super) async fn find(runpod: &RunPod, name: &str) -> Result<Vec<String>, ApiError> {
    let Some(found) = list(runpod).await?.into_iter().find(|found| found.name == name) else {
        return Ok(Vec::new());
    };
    if marker::is_ours(&runpod.scope, &found.description) {
        return Ok(vec![found.id]);
    }
    let message = format!("the secret {name} already exists and does not belong to this fabric and owner");
    Err(ApiError::answered("secretCreate", 409, "Name taken", message))
}

pub(super) async fn create(runpod: &RunPod, planned: &Secret, description: &str) -> Result<String, ApiError> {
    let value = planned.value_wo.known().map(|value| value.0.as_str()).unwrap_or_default();
    let input = json!({"name": planned.name.text(), "value": value, "description": description});
    let made = runpod
        .client
        .graphql("secretCreate", "secretCreate", CREATE, json!({"input": input}), &[value])
        .await?;
    Ok(found(&made).id)
}

/// Reads the secret `id`. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, id: &str) -> Result<Found, ApiError> {
    let found = list(runpod).await?.into_iter().find(|found| found.id == id);
    found.ok_or_else(|| ApiError::absent("listSecrets", &format!("the secret {id}")))
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.graphql("secretDelete", "secretDelete", DELETE, json!({"id": id}), &[]).await.map(drop)
}

async fn list(runpod: &RunPod) -> Result<Vec<Found>, ApiError> {
    let answer = runpod.client.graphql("listSecrets", "myself", LIST, json!({}), &[]).await?;
    Ok(answer["secrets"].as_array().into_iter().flatten().map(found).collect())
}

fn found(body: &Value) -> Found {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Found { id: text("id"), name: text("name"), description: text("description") }
}
