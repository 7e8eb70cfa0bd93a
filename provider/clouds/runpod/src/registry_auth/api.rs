//! API calls for registry credentials.

use reqwest::Method;
use serde_json::{Value, json};
use tf_provider_rs::Attr;

use super::model::RegistryAuth;
use crate::answer::Answer as _;
use crate::client::Call;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

const GET: &str = "getRegistry";

/// IDs of credentials with this name at RunPod.
pub(super) async fn find(runpod: &RunPod, name: &str) -> Result<Vec<String>, ApiError> {
    const LIST: &str = "listRegistries";
    let answer = runpod.client.get(LIST, "/v2/registries").await?;
    let all = answer.list(LIST, "registries")?.iter();
    all.filter(|credential| credential["name"] == json!(name))
        .map(|credential| credential.member(LIST, "id").map(str::to_owned))
        .collect()
}

pub(super) async fn create(runpod: &RunPod, planned: &RegistryAuth, name: &str) -> Result<String, ApiError> {
    let password = planned.password_wo.value()?.0.as_str();
    let body = json!({"name": name, "username": planned.username.value()?, "password": password});
    let call = Call {
        operation: "createRegistry",
        method: &Method::POST,
        path: "/v2/registries",
        body: Some(&body),
        secrets: &[password],
    };
    runpod.client.call(call).await?.member("createRegistry", "id").map(str::to_owned)
}

/// Reads the credential. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, before: &RegistryAuth) -> Result<RegistryAuth, ApiError> {
    let path = format!("/v2/registries/{}", before.object.id()?);
    state(&runpod.client.get(GET, &path).await?, before)
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("deleteRegistry", &format!("/v2/registries/{id}")).await
}

/// The state of a credential as the API returns it, without user name and password; the rest is as in `before`.
pub(super) fn state(found: &Value, before: &RegistryAuth) -> Result<RegistryAuth, ApiError> {
    let name = marker::plain_name(found.member(GET, "name")?);
    // An import reads the version from the name.
    let versioned = name.rsplit_once(" v").and_then(|(name, version)| Some((name, version.parse().ok()?)));
    let (name, version) = match versioned {
        Some((name, version)) => (name, Attr::Known(version)),
        None => (name, before.password_wo_version),
    };
    Ok(RegistryAuth {
        object: before.object.found(name, found.member(GET, "id")?),
        username: before.username.clone(),
        password_wo: Attr::Null,
        password_wo_version: version,
        expires_at: before.expires_at.clone(),
    })
}
