//! API calls for network volumes.

use reqwest::Method;
use serde_json::{Value, json};

use super::schema::NetworkVolume;
use crate::client::Call;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

/// A volume as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    /// With its marker.
    pub(super) name: String,
    pub(super) size: i64,
    pub(super) data_center: String,
    pub(super) kind: String,
}

/// IDs of volumes of this fabric and owner with the planned name, data center and type.
pub(super) async fn find(runpod: &RunPod, planned: &NetworkVolume) -> Result<Vec<String>, ApiError> {
    let answer = runpod.client.get("listNetworkVolumes", "/v2/network-volumes").await?;
    let marked = marker::name(&runpod.scope, planned.name.text());
    let all = answer["networkVolumes"].as_array().into_iter().flatten().map(found);
    Ok(all
        .filter(|volume| {
            volume.name == marked
                && volume.data_center == planned.data_center.text()
                && planned.r#type.known().is_none_or(|kind| *kind == volume.kind)
        })
        .map(|volume| volume.id)
        .collect())
}

pub(super) async fn create(runpod: &RunPod, planned: &NetworkVolume, name: &str) -> Result<String, ApiError> {
    let mut body = json!({
        "name": name,
        "size": planned.size.known(),
        "dataCenter": planned.data_center.text(),
    });
    if let Some(kind) = planned.r#type.known() {
        body["type"] = json!(kind);
    }
    let call = Call {
        operation: "createNetworkVolume",
        method: &Method::POST,
        path: "/v2/network-volumes",
        body: Some(&body),
        secrets: &[],
    };
    Ok(found(&runpod.client.call(call).await?).id)
}

/// Reads the volume `id`. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, id: &str) -> Result<Found, ApiError> {
    runpod.client.get("getNetworkVolume", &path(id)).await.map(|body| found(&body))
}

pub(super) async fn update(runpod: &RunPod, id: &str, change: &Value) -> Result<Found, ApiError> {
    let call = Call {
        operation: "updateNetworkVolume",
        method: &Method::PATCH,
        path: &path(id),
        body: Some(change),
        secrets: &[],
    };
    runpod.client.call(call).await.map(|body| found(&body))
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("deleteNetworkVolume", &path(id)).await
}

fn path(id: &str) -> String {
    format!("/v2/network-volumes/{id}")
}

fn found(body: &Value) -> Found {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Found {
        id: text("id"),
        name: text("name"),
        size: body["size"].as_i64().unwrap_or_default(),
        data_center: text("dataCenter"),
        kind: text("type"),
    }
}
