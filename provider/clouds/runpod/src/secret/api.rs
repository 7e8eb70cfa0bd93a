//! API calls for secrets: docs.runpod.io/api-reference-v2/account.

use reqwest::Method;
use serde_json::{Value, json};
use tf_provider_rs::Attr;

use super::model::{Secret, reference};
use crate::answer::Answer as _;
use crate::client::Call;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

const LIST: &str = "listSecrets";
const GET: &str = "getSecret";

/// The ID of the secret with this name, if it belongs to this fabric and owner. Names are unique in the account.
pub(super) async fn find(runpod: &RunPod, name: &str) -> Result<Vec<String>, ApiError> {
    let Some(found) = named(runpod, name).await? else { return Ok(Vec::new()) };
    if is_ours(runpod, &found) {
        return Ok(vec![found.member(LIST, "id")?.to_owned()]);
    }
    let message = format!("the secret {name} already exists and does not belong to this fabric and owner");
    Err(ApiError::answered("createSecret", 409, "Name taken", message))
}

pub(super) async fn create(runpod: &RunPod, planned: &Secret, description: &str) -> Result<String, ApiError> {
    let value = planned.value_wo.value()?.0.as_str();
    let call = Call {
        operation: "createSecret",
        method: &Method::POST,
        path: "/v2/account/secrets",
        body: Some(&json!({"name": planned.object.name()?, "value": value, "description": description})),
        secrets: &[value],
    };
    runpod.client.call(call).await?.member("createSecret", "id").map(str::to_owned)
}

/// Reads the secret. Fails if it does not exist.
///
/// The ID of a secret that was created over GraphQL may not be its ID here, so a secret whose name is known is found by
/// its name, and is the same if its ID or its marker is.
pub(super) async fn get(runpod: &RunPod, before: &Secret) -> Result<Secret, ApiError> {
    let id = before.object.id()?;
    let found = match before.object.naming.name.known() {
        Some(name) => named(runpod, name)
            .await?
            .filter(|found| found["id"] == json!(id) || is_ours(runpod, found))
            .ok_or_else(|| ApiError::absent(GET, &format!("the secret {name}")))?,
        None => runpod.client.get(GET, &path(id)).await?,
    };
    state(&found, before)
}

/// Changes the description, the value, or both. The API does not apply them atomically, so each has a call of its own.
pub(super) async fn update(
    runpod: &RunPod,
    id: &str,
    change: &Value,
    secrets: &[&str],
) -> Result<(), ApiError> {
    let call = Call {
        operation: "updateSecret",
        method: &Method::PATCH,
        path: &path(id),
        body: Some(change),
        secrets,
    };
    runpod.client.call(call).await.map(drop)
}

pub(super) async fn delete(runpod: &RunPod, before: &Secret) -> Result<(), ApiError> {
    let found = get(runpod, before).await?;
    runpod.client.delete("deleteSecret", &path(found.object.id()?)).await
}

/// The secret with this name. The API compares names without regard to case.
async fn named(runpod: &RunPod, name: &str) -> Result<Option<Value>, ApiError> {
    let answer = runpod.client.query(LIST, "/v2/account/secrets", &[("name", name.to_owned())]).await?;
    Ok(answer.list(LIST, "secrets")?.iter().find(|secret| secret["name"] == json!(name)).cloned())
}

fn is_ours(runpod: &RunPod, found: &Value) -> bool {
    found.text("description").is_some_and(|text| marker::is_ours(&runpod.scope, text))
}

fn path(id: &str) -> String {
    format!("/v2/account/secrets/{id}")
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
