//! API calls for secrets, over GraphQL because this version of the REST API does not cover them.

use serde_json::{Value, json};
use tf_provider_rs::Attr;

use super::model::{Secret, reference};
use crate::answer::Answer as _;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

// prose: verbatim
const LIST: &str = "query Secrets { myself { secrets { id name description } } }";
const CREATE: &str =
    "mutation Create($input: SecretCreateInput!) { secretCreate(input: $input) { id name description } }";
const DELETE: &str = "mutation Delete($id: ID!) { secretDelete(id: $id) }";

/// The name of [`LIST`] in errors.
const GET: &str = "listSecrets";

/// The ID of the secret with this name, if it belongs to this fabric and owner. Names are unique in the account.
pub(super) async fn find(runpod: &RunPod, name: &str) -> Result<Vec<String>, ApiError> {
    let all = list(runpod).await?;
    let Some(found) = all.iter().find(|secret| secret["name"] == json!(name)) else { return Ok(Vec::new()) };
    if found.text("description").is_some_and(|text| marker::is_ours(&runpod.scope, text)) {
        return Ok(vec![found.member(GET, "id")?.to_owned()]);
    }
    let message = format!("the secret {name} already exists and does not belong to this fabric and owner");
    Err(ApiError::answered("secretCreate", 409, "Name taken", message))
}

pub(super) async fn create(runpod: &RunPod, planned: &Secret, description: &str) -> Result<String, ApiError> {
    let value = planned.value_wo.value()?.0.as_str();
    let input = json!({"name": planned.object.name()?, "value": value, "description": description});
    let made = runpod
        .client
        .graphql("secretCreate", "secretCreate", CREATE, json!({"input": input}), &[value])
        .await?;
    made.member("secretCreate", "id").map(str::to_owned)
}

/// Reads the secret. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, before: &Secret) -> Result<Secret, ApiError> {
    let id = before.object.id()?;
    let all = list(runpod).await?;
    let found = all.iter().find(|secret| secret["id"] == json!(id));
    state(found.ok_or_else(|| ApiError::absent(GET, &format!("the secret {id}")))?, before)
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.graphql("secretDelete", "secretDelete", DELETE, json!({"id": id}), &[]).await.map(drop)
}

async fn list(runpod: &RunPod) -> Result<Vec<Value>, ApiError> {
    let answer = runpod.client.graphql(GET, "myself", LIST, json!({}), &[]).await?;
    answer.list(GET, "secrets").map(<[Value]>::to_vec)
}

/// The state of a secret as the API returns it; its version and timeouts are those of `before`.
pub(super) fn state(found: &Value, before: &Secret) -> Result<Secret, ApiError> {
    let name = found.member(GET, "name")?;
    Ok(Secret {
        object: before.object.found(name, found.member(GET, "id")?),
        description: found.text("description").and_then(marker::plain_description).map(str::to_owned).into(),
        value_wo: Attr::Null,
        value_wo_version: before.value_wo_version,
        reference: reference(name).into(),
    })
}
