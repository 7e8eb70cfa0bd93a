//! API calls for pods.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use tf_provider_rs::Attr;
use warren_managed::{Common as _, sets};

use super::env;
use super::model::{Cpu, Gpu, NetworkMount, PersistentMount, Pod, Status, WhenStopped};
use crate::answer::Answer as _;
use crate::client::Call;
use crate::error::ApiError;
use crate::gpu::texts;
use crate::marker;
use crate::placement::{candidates, place};
use crate::session::RunPod;

const GET: &str = "getPod";

/// A pod as the API returns it, with what no attribute holds.
#[derive(Clone, PartialEq)]
pub(super) struct Found {
    pub(super) state: Pod,
    /// Such as `PROVISIONING`.
    pub(super) status: String,
    /// All variables, including secret ones.
    pub(super) env: BTreeMap<String, String>,
}

/// IDs of pods with the marker of this name and the planned hardware.
pub(super) async fn find(runpod: &RunPod, planned: &Pod) -> Result<Vec<String>, ApiError> {
    const LIST: &str = "listPods";
    let answer = runpod.client.get(LIST, "/v2/pods").await?;
    let marks = planned.marks(runpod)?;
    let mut ids = Vec::new();
    for pod in answer.list(LIST, "pods")?.iter().filter(|pod| pod["env"][marker::VARIABLE] == json!(marks)) {
        if !is_terminated(pod) && same(&found(pod, planned)?.state, planned) {
            ids.push(pod.member(LIST, "id")?.to_owned());
        }
    }
    Ok(ids)
}

/// Whether the immutable properties match the plan.
fn same(have: &Pod, planned: &Pod) -> bool {
    let gpu = match (have.gpu.known(), planned.gpu.known()) {
        (Some(have), Some(planned)) => planned.choice.admits(&have.choice),
        (have, planned) => have.is_none() && planned.is_none(),
    };
    let volume = |pod: &Pod| pod.network_volume.known().map(|volume| volume.id.clone());
    gpu && have.cpu == planned.cpu
        && have.cloud == planned.cloud
        && volume(have) == volume(planned)
        && have.persistent_volume.is_known() == planned.persistent_volume.is_known()
}

pub(super) async fn create(runpod: &RunPod, planned: &Pod, mark: &str) -> Result<String, ApiError> {
    let mut body = json!({
        "name": planned.object.name()?,
        "image": planned.image.value()?,
        "env": env::wanted(planned, mark, &BTreeMap::new()),
        "cloud": planned.cloud.value()?.as_str(),
        "disk": planned.disk.value()?,
        "ports": sets::known(&planned.ports),
        "mounts": mounts(planned),
    });
    if let Some(args) = planned.args.known() {
        body["args"] = json!(args);
    }
    if let Some(registry) = planned.registry_auth_id.known() {
        body["registry"] = json!(registry);
    }
    if let Some(gpu) = planned.gpu.known() {
        body["gpu"] = json!({"count": gpu.choice.count.value()?});
        let allowed = sets::known(&gpu.allowed_cuda_versions);
        if !allowed.is_empty() {
            body["gpu"]["allowedCudaVersions"] = json!(allowed);
        }
        if let Some(least) = gpu.min_cuda_version.known() {
            body["gpu"]["minCudaVersion"] = json!(least);
        }
    }
    if let Some(cpu) = planned.cpu.known() {
        body["cpu"] = json!({"id": cpu.id.value()?, "vcpuCount": cpu.vcpu_count.value()?});
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
    let gpus = planned.gpu.known().map(|gpu| gpu.choice.wanted()).unwrap_or_default();
    let data_centers = texts(&planned.data_center_ids);
    place(&candidates(&gpus, &data_centers), |candidate| {
        let mut body = body.clone();
        if let Some(gpu) = candidate.gpu {
            body["gpu"]["id"] = json!(gpu);
        }
        body["dataCenterIds"] = candidate.data_centers();
        async move {
            let call = Call {
                operation: "createPod",
                method: &Method::POST,
                path: "/v2/pods",
                body: Some(&body),
                secrets: &secrets(planned),
            };
            runpod.client.call(call).await?.member("createPod", "id").map(str::to_owned)
        }
    })
    .await
}

/// Reads the pod. Fails if it does not exist or is terminated.
pub(super) async fn get(runpod: &RunPod, before: &Pod) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let pod = runpod.client.get(GET, &path(id)).await?;
    if is_terminated(&pod) {
        return Err(ApiError::absent(GET, &format!("the pod {id}")));
    }
    found(&pod, before)
}

pub(super) async fn update(runpod: &RunPod, planned: &Pod, change: &Value) -> Result<(), ApiError> {
    let secrets = secrets(planned);
    let call = Call {
        operation: "updatePod",
        method: &Method::PATCH,
        path: &path(planned.object.id()?),
        body: Some(change),
        secrets: &secrets,
    };
    runpod.client.call(call).await.map(drop)
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

/// The mounts in the API's format; `{}` if there are none.
pub(super) fn mounts(pod: &Pod) -> Value {
    let mut mounts = json!({});
    if let Some(volume) = pod.network_volume.known() {
        mounts["network"] = json!([{"volumeId": volume.id.known(), "path": volume.path.known()}]);
    }
    if let Some(volume) = pod.persistent_volume.known() {
        mounts["persistent"] = json!({"size": volume.size.known(), "path": volume.path.known()});
    }
    mounts
}

fn secrets(planned: &Pod) -> Vec<&str> {
    let all = planned.env_wo.known().into_iter().flatten();
    all.filter_map(|(_, value)| value.known()).map(|value| value.0.as_str()).collect()
}

/// RunPod still returns a pod for a while after it is gone.
fn is_terminated(pod: &Value) -> bool {
    pod["status"] == json!("TERMINATED")
}

fn path(id: &str) -> String {
    format!("/v2/pods/{id}")
}

/// A pod as the API returns it; values that it does not return are those of `before`.
pub(super) fn found(pod: &Value, before: &Pod) -> Result<Found, ApiError> {
    let variables = pod["env"].as_object().into_iter().flatten();
    let variables = variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let env: BTreeMap<String, String> = variables.collect();
    let imported = before.image.is_null();
    let flag = |flag: Attr<bool>, variable: &str| {
        if imported { env.contains_key(variable).into() } else { flag }
    };
    let text = |member: &str| Attr::from(pod.text(member).map(str::to_owned));
    let status = pod.member(GET, "status")?;
    let ports = pod["ports"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let state = Pod {
        object: before.object.found(pod.member(GET, "name")?, pod.member(GET, "id")?),
        image: pod.member(GET, "image")?.into(),
        args: text("args"),
        env: env::seen(before, &env),
        env_wo: Attr::Null,
        env_wo_version: before.env_wo_version,
        secret_env_names: match &before.secret_env_names {
            Attr::Known(names) => Attr::Known(names.clone()),
            Attr::Null | Attr::Unknown => sets::of([]),
        },
        ports: sets::found(ports.map(str::to_owned), &before.ports),
        disk: pod.number(GET, "disk")?.into(),
        registry_auth_id: text("registry"),
        gpu: gpu(&pod["gpu"], before)?,
        cpu: cpu(&pod["cpu"])?,
        cloud: Attr::Known(pod.parsed(GET, "cloud")?),
        data_center_ids: before.data_center_ids.clone(),
        data_center_id: text("dataCenterId"),
        global_networking: (pod["globalNetworking"]["enabled"] == json!(true)).into(),
        global_networking_ip: pod["globalNetworking"].text("ip").map(str::to_owned).into(),
        internal_dns: pod["globalNetworking"].text("internalDns").map(str::to_owned).into(),
        cost: pod["cost"].as_f64().into(),
        network_volume: network_mount(&pod["mounts"]["network"][0])?,
        persistent_volume: persistent_mount(&pod["mounts"]["persistent"])?,
        start_ssh: flag(before.start_ssh, "PUBLIC_KEY"),
        start_jupyter: flag(before.start_jupyter, "JUPYTER_PASSWORD"),
        locked: (pod["locked"] == json!(true)).into(),
        desired_status: match status {
            "PROVISIONING" | "STARTING" | "RUNNING" => Status::Running,
            "EXITED" => Status::Exited,
            other => Status::Other(other.to_owned()),
        }
        .into(),
        when_stopped: before.when_stopped.known().copied().unwrap_or(WhenStopped::Start).into(),
        wait_for_running: before.wait_for_running.known().copied().unwrap_or(true).into(),
    };
    Ok(Found { state, status: status.to_owned(), env })
}

fn gpu(gpu: &Value, before: &Pod) -> Result<Attr<Gpu>, ApiError> {
    if gpu.text("id").is_none() {
        return Ok(Attr::Null);
    }
    let before = before.gpu.known().cloned().unwrap_or_default();
    let choice = before.choice.found(gpu.member(GET, "id")?, gpu.number(GET, "count")?);
    Ok(Attr::Known(Gpu { choice, ..before }))
}

fn cpu(cpu: &Value) -> Result<Attr<Cpu>, ApiError> {
    if cpu.text("id").is_none() {
        return Ok(Attr::Null);
    }
    let (id, vcpu_count) = (cpu.member(GET, "id")?.into(), cpu.number(GET, "vcpuCount")?.into());
    Ok(Attr::Known(Cpu { id, vcpu_count }))
}

fn network_mount(mount: &Value) -> Result<Attr<NetworkMount>, ApiError> {
    if mount.is_null() {
        return Ok(Attr::Null);
    }
    let (id, path) = (mount.member(GET, "volumeId")?.into(), mount.member(GET, "path")?.into());
    Ok(Attr::Known(NetworkMount { id, path }))
}

fn persistent_mount(mount: &Value) -> Result<Attr<PersistentMount>, ApiError> {
    if mount.is_null() {
        return Ok(Attr::Null);
    }
    let (size, path) = (mount.number(GET, "size")?.into(), mount.member(GET, "path")?.into());
    Ok(Attr::Known(PersistentMount { size, path }))
}
