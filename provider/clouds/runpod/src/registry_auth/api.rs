//! API calls for registry credentials.

use reqwest::Method;
use serde_json::{Value, json};

use super::schema::RegistryAuth;
use crate::client::Call;
use crate::error::ApiError;
use crate::session::RunPod;

/// A credential as the API returns it, without user name and password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    /// With its marker.
    pub(super) name: String,
}

/// IDs of credentials with this name at RunPod.
pub(super) async fn find(runpod: &RunPod, name: &str) -> Result<Vec<String>, ApiError> {
    let answer = runpod.client.get("listRegistries", "/v2/registries").await?;
    let all = answer["registries"].as_array().into_iter().flatten().map(found);
    Ok(all.filter(|credential| credential.name == name).map(|credential| credential.id).collect())
}

pub(super) async fn create(runpod: &RunPod, planned: &RegistryAuth, name: &str) -> Result<String, ApiError> {
    let password = planned.password_wo.known().map(|password| password.0.as_str()).unwrap_or_default();
    let body = json!({"name": name, "username": planned.username.text(), "password": password});
    let call = Call {
        operation: "createRegistry",
        method: &Method::POST,
        path: "/v2/registries",
        body: Some(&body),
        secrets: &[password],
    };
    Ok(found(&runpod.client.call(call).await?).id)
}

/// Reads the credential `id`. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, id: &str) -> Result<Found, ApiError> {
    runpod.client.get("getRegistry", &format!("/v2/registries/{id}")).await.map(|body| found(&body))
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("deleteRegistry", &format!("/v2/registries/{id}")).await
}

fn found(body: &Value) -> Found {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Found { id: text("id"), name: text("name") }
}
