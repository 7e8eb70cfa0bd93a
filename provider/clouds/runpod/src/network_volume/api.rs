//! API calls for network volumes.

use reqwest::Method;
use serde_json::{Value, json};
use tf_provider_rs::Attr;
use warren_managed::Common as _;

use super::model::NetworkVolume;
use crate::answer::Answer as _;
use crate::client::Call;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

const GET: &str = "getNetworkVolume";

/// IDs of volumes of this fabric and owner with the planned name, data center and type.
pub(super) async fn find(runpod: &RunPod, planned: &NetworkVolume) -> Result<Vec<String>, ApiError> {
    const LIST: &str = "listNetworkVolumes";
    let answer = runpod.client.get(LIST, "/v2/network-volumes").await?;
    let marks = planned.marks(runpod)?;
    let ours = |volume: &&Value| {
        volume["name"] == json!(marks)
            && volume["dataCenter"] == json!(planned.data_center.known())
            && planned.r#type.known().is_none_or(|kind| volume["type"] == json!(kind.as_str()))
    };
    let all = answer.list(LIST, "networkVolumes")?.iter().filter(ours);
    all.map(|volume| volume.member(LIST, "id").map(str::to_owned)).collect()
}

pub(super) async fn create(runpod: &RunPod, planned: &NetworkVolume, name: &str) -> Result<String, ApiError> {
    let mut body = json!({
        "name": name,
        "size": planned.size.value()?,
        "dataCenter": planned.data_center.value()?,
    });
    if let Some(kind) = planned.r#type.known() {
        body["type"] = json!(kind.as_str());
    }
    let call = Call {
        operation: "createNetworkVolume",
        method: &Method::POST,
        path: "/v2/network-volumes",
        body: Some(&body),
        secrets: &[],
    };
    runpod.client.call(call).await?.member("createNetworkVolume", "id").map(str::to_owned)
}

/// Reads the volume. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, before: &NetworkVolume) -> Result<NetworkVolume, ApiError> {
    state(&runpod.client.get(GET, &path(before.object.id()?)).await?, before)
}

/// Sets name and size, and returns the resulting state.
pub(super) async fn update(
    runpod: &RunPod,
    want: &NetworkVolume,
    change: &Value,
) -> Result<NetworkVolume, ApiError> {
    let call = Call {
        operation: "updateNetworkVolume",
        method: &Method::PATCH,
        path: &path(want.object.id()?),
        body: Some(change),
        secrets: &[],
    };
    state(&runpod.client.call(call).await?, want)
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("deleteNetworkVolume", &path(id)).await
}

fn path(id: &str) -> String {
    format!("/v2/network-volumes/{id}")
}

/// The state of a volume as the API returns it; its timeouts are those of `before`.
pub(super) fn state(found: &Value, before: &NetworkVolume) -> Result<NetworkVolume, ApiError> {
    let name = marker::plain_name(found.member(GET, "name")?);
    Ok(NetworkVolume {
        object: before.object.found(name, found.member(GET, "id")?),
        data_center: found.member(GET, "dataCenter")?.into(),
        size: found.number(GET, "size")?.into(),
        r#type: Attr::Known(found.parsed(GET, "type")?),
    })
}
