//! API calls for pods.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use super::env;
use super::schema::Pod;
use crate::client::Call;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

/// A pod as the API returns it.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) status: String,
    pub(super) image: String,
    pub(super) args: String,
    pub(super) disk: i64,
    pub(super) ports: BTreeSet<String>,
    /// All variables, including secret ones.
    pub(super) env: BTreeMap<String, String>,
    pub(super) registry: Option<String>,
    pub(super) cloud: String,
    pub(super) gpu: Option<(String, i64)>,
    pub(super) cpu: Option<(String, i64)>,
    pub(super) data_center: Option<String>,
    /// Size and path.
    pub(super) persistent: Option<(i64, String)>,
    /// ID and path.
    pub(super) network: Option<(String, String)>,
    pub(super) locked: bool,
    pub(super) global_networking: bool,
    pub(super) ip: Option<String>,
}

/// IDs of pods with the marker of this name and the planned hardware.
pub(super) async fn find(runpod: &RunPod, planned: &Pod) -> Result<Vec<String>, ApiError> {
    let answer = runpod.client.get("listPods", "/v2/pods").await?;
    let mark = marker::variable(&runpod.scope, planned.name.text());
    let all = answer["pods"].as_array().into_iter().flatten().map(found);
    Ok(all
        .filter(|pod| {
            pod.env.get(marker::VARIABLE) == Some(&mark) && pod.status != "TERMINATED" && same(pod, planned)
        })
        .map(|pod| pod.id)
        .collect())
}

/// Whether the immutable properties match the plan.
fn same(pod: &Found, planned: &Pod) -> bool {
    let gpu =
        planned.gpu.known().map(|gpu| (gpu.id.text().to_owned(), gpu.count.known().copied().unwrap_or(1)));
    let cpu = planned
        .cpu
        .known()
        .map(|cpu| (cpu.id.text().to_owned(), cpu.vcpu_count.known().copied().unwrap_or_default()));
    let volume = planned.network_volume.known().map(|volume| volume.id.text());
    pod.gpu == gpu
        && pod.cpu == cpu
        && pod.cloud == planned.cloud.text()
        && pod.network.as_ref().map(|(id, _)| id.as_str()) == volume
        && pod.persistent.is_some() == planned.persistent_volume.is_known()
}

pub(super) async fn create(runpod: &RunPod, planned: &Pod, mark: &str) -> Result<String, ApiError> {
    let env = env::wanted(planned, mark, &BTreeMap::new());
    let mut body = json!({
        "name": planned.name.text(),
        "image": planned.image.text(),
        "env": env,
        "cloud": planned.cloud.text(),
        "disk": planned.disk.known(),
        "ports": planned.ports(),
        "mounts": planned.mounts(),
    });
    if let Some(args) = planned.args.known() {
        body["args"] = json!(args);
    }
    if let Some(registry) = planned.registry_auth_id.known() {
        body["registry"] = json!(registry);
    }
    if let Some(gpu) = planned.gpu.known() {
        body["gpu"] = json!({"id": gpu.id.text(), "count": gpu.count.known().copied().unwrap_or(1)});
        let allowed = warren_managed::sets::known(&gpu.allowed_cuda_versions);
        if !allowed.is_empty() {
            body["gpu"]["allowedCudaVersions"] = json!(allowed);
        }
        if let Some(least) = gpu.min_cuda_version.known() {
            body["gpu"]["minCudaVersion"] = json!(least);
        }
    }
    if let Some(cpu) = planned.cpu.known() {
        body["cpu"] = json!({"id": cpu.id.text(), "vcpuCount": cpu.vcpu_count.known()});
    }
    let centers = warren_managed::sets::known(&planned.data_center_ids);
    if !centers.is_empty() {
        body["dataCenterIds"] = json!(centers);
    }
    for (name, flag) in [
        ("globalNetworking", &planned.global_networking),
        ("startSsh", &planned.start_ssh),
        ("startJupyter", &planned.start_jupyter),
    ] {
        if flag.is_true() {
            body[name] = json!(true);
        }
    }
    let secrets = secrets(planned);
    let call = Call {
        operation: "createPod",
        method: &Method::POST,
        path: "/v2/pods",
        body: Some(&body),
        secrets: &secrets,
    };
    Ok(found(&runpod.client.call(call).await?).id)
}

/// Reads the pod `id`. Fails if it does not exist or is terminated.
pub(super) async fn get(runpod: &RunPod, id: &str) -> Result<Found, ApiError> {
    let pod = found(&runpod.client.get("getPod", &path(id)).await?);
    if pod.status == "TERMINATED" {
        Err(ApiError::absent("getPod", &format!("the pod {id}")))
    } else {
        Ok(pod)
    }
}

pub(super) async fn update(runpod: &RunPod, planned: &Pod, change: &Value) -> Result<Found, ApiError> {
    let secrets = secrets(planned);
    let call = Call {
        operation: "updatePod",
        method: &Method::PATCH,
        path: &path(planned.id.text()),
        body: Some(change),
        secrets: &secrets,
    };
    runpod.client.call(call).await.map(|body| found(&body))
}

/// Starts or stops a pod.
pub(super) async fn act(runpod: &RunPod, id: &str, action: &str) -> Result<(), ApiError> {
    let body = json!({"action": action});
    let call = Call {
        operation: "podAction",
        method: &Method::POST,
        path: &format!("{}/action", path(id)),
        body: Some(&body),
        secrets: &[],
    };
    runpod.client.call(call).await.map(drop)
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("deletePod", &path(id)).await
}

fn secrets(planned: &Pod) -> Vec<&str> {
    let all = planned.env_wo.known().into_iter().flatten();
    all.filter_map(|(_, value)| value.known()).map(|value| value.0.as_str()).collect()
}

fn path(id: &str) -> String {
    format!("/v2/pods/{id}")
}

pub(super) fn found(body: &Value) -> Found {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let plain = |name: &str| text(&body[name]).unwrap_or_default();
    let pair = |value: &Value, number: &str| Some((text(&value["id"])?, value[number].as_i64().unwrap_or(1)));
    let (persistent, network) = (&body["mounts"]["persistent"], &body["mounts"]["network"][0]);
    Found {
        id: plain("id"),
        name: plain("name"),
        status: plain("status"),
        image: plain("image"),
        args: plain("args"),
        disk: body["disk"].as_i64().unwrap_or_default(),
        ports: body["ports"].as_array().into_iter().flatten().filter_map(text).collect(),
        env: body["env"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect(),
        registry: text(&body["registry"]),
        cloud: plain("cloud"),
        gpu: pair(&body["gpu"], "count"),
        cpu: pair(&body["cpu"], "vcpuCount"),
        data_center: text(&body["dataCenterId"]),
        persistent: persistent["size"].as_i64().zip(text(&persistent["path"])),
        network: text(&network["volumeId"]).zip(text(&network["path"])),
        locked: body["locked"] == json!(true),
        global_networking: body["globalNetworking"]["enabled"] == json!(true),
        ip: text(&body["globalNetworking"]["ip"]),
    }
}
