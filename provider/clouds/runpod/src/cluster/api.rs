//! API calls for clusters: docs.runpod.io/api-reference-v2/clusters.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use tf_provider_rs::Attr;
use warren_managed::{Common as _, sets};

use super::model::{Cluster, ClusterGpu, ClusterVolume, Member};
use crate::answer::Answer as _;
use crate::client::Call;
use crate::error::ApiError;
use crate::gpu::{GpuChoice, texts};
use crate::marker;
use crate::placement::{candidates, place};
use crate::session::RunPod;

const GET: &str = "getCluster";
const PODS: &str = "listClusterPods";

/// A cluster as the API returns it, with the number of its pods in each status.
pub(super) struct Found {
    pub(super) state: Cluster,
    pub(super) by_status: BTreeMap<String, i64>,
}

impl Found {
    /// The statuses of the pods, such as `2 RUNNING, 1 STARTING`.
    pub(super) fn told(&self) -> String {
        let told: Vec<String> =
            self.by_status.iter().map(|(status, count)| format!("{count} {status}")).collect();
        if told.is_empty() { "no pods".to_owned() } else { told.join(", ") }
    }
}

/// IDs of clusters of this fabric and owner with the planned name and shape.
pub(super) async fn find(runpod: &RunPod, planned: &Cluster) -> Result<Vec<String>, ApiError> {
    const LIST: &str = "listClusters";
    let answer = runpod.client.get(LIST, "/v2/clusters").await?;
    let marks = planned.marks(runpod)?;
    let mut ids = Vec::new();
    for found in answer.list(LIST, "clusters")?.iter().filter(|found| found["name"] == json!(marks)) {
        let gpu = planned.gpu.known().cloned().unwrap_or_default().choice;
        let same = gpu.admits(&choice(found, &gpu)?)
            && found["type"] == json!(planned.r#type.known().map(|kind| kind.as_str()))
            && found["compute"]["podCount"] == json!(planned.pod_count.known());
        if same {
            ids.push(found.member(LIST, "id")?.to_owned());
        }
    }
    Ok(ids)
}

pub(super) async fn create(runpod: &RunPod, planned: &Cluster, name: &str) -> Result<String, ApiError> {
    let gpu = planned.gpu.value()?;
    let env: BTreeMap<&String, Option<&String>> =
        planned.env.known().into_iter().flatten().map(|(name, value)| (name, value.known())).collect();
    let mut body = json!({
        "name": name,
        "type": planned.r#type.value()?.as_str(),
        "compute": {
            "gpuCountPerPod": gpu.choice.count.value()?,
            "podCount": planned.pod_count.value()?,
        },
        "image": planned.image.value()?,
        "env": env,
        "ports": sets::known(&planned.ports),
        "disk": planned.disk.value()?,
        "startSsh": planned.start_ssh.is_true(),
        "startJupyter": planned.start_jupyter.is_true(),
    });
    if let Some(args) = planned.args.known() {
        body["args"] = json!(args);
    }
    if let Some(volume) = planned.network_volume.known() {
        body["mounts"] = json!({"network": [{"volumeId": volume.id.known(), "path": volume.path.known()}]});
    }
    let (gpus, data_centers) = (gpu.choice.wanted(), texts(&planned.data_center_ids));
    place(&candidates(&gpus, &data_centers), |candidate| {
        let mut body = body.clone();
        body["compute"]["gpuTypeId"] = json!(candidate.gpu);
        body["dataCenterIds"] = candidate.data_centers();
        async move {
            let call = Call {
                operation: "createCluster",
                method: &Method::POST,
                path: "/v2/clusters",
                body: Some(&body),
                secrets: &[],
            };
            runpod.client.call(call).await?.member("createCluster", "id").map(str::to_owned)
        }
    })
    .await
}

/// Reads the cluster and its pods. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, before: &Cluster) -> Result<Found, ApiError> {
    let path = path(before.object.id()?);
    let cluster = runpod.client.get(GET, &path).await?;
    let pods = runpod.client.get(PODS, &format!("{path}/pods")).await?;
    found(&cluster, pods.list(PODS, "pods")?, before)
}

pub(super) async fn rename(runpod: &RunPod, id: &str, name: &str) -> Result<(), ApiError> {
    let call = Call {
        operation: "updateCluster",
        method: &Method::PATCH,
        path: &path(id),
        body: Some(&json!({"name": name})),
        secrets: &[],
    };
    runpod.client.call(call).await.map(drop)
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("deleteCluster", &path(id)).await
}

fn path(id: &str) -> String {
    format!("/v2/clusters/{id}")
}

fn choice(cluster: &Value, before: &GpuChoice) -> Result<GpuChoice, ApiError> {
    let compute = &cluster["compute"];
    Ok(before.found(compute.member(GET, "gpuTypeId")?, compute.number(GET, "gpuCountPerPod")?))
}

/// A cluster as the API returns it. The container is that of `before`, because RunPod may set up the pods of a scheduler in
/// its own way; an import reads it from the primary pod.
pub(super) fn found(cluster: &Value, pods: &[Value], before: &Cluster) -> Result<Found, ApiError> {
    let name = marker::plain_name(cluster.member(GET, "name")?);
    let gpu = before.gpu.known().cloned().unwrap_or_default();
    let mut members: Vec<(Option<i64>, &Value)> =
        pods.iter().map(|pod| (pod["cluster"]["rank"].as_i64(), pod)).collect();
    members.sort_by_key(|(rank, pod)| (rank.unwrap_or(i64::MAX), pod.text("id").map(str::to_owned)));
    let imported = if before.image.is_null() { members.first().map(|(_, pod)| *pod) } else { None };
    let statuses = cluster["pods"]["byStatus"].as_object().into_iter().flatten();
    let text = |value: &Value, member: &str| Attr::from(value.text(member).map(str::to_owned));
    let mut state = Cluster {
        object: before.object.found(name, cluster.member(GET, "id")?),
        r#type: Attr::Known(cluster.parsed(GET, "type")?),
        pod_count: cluster["compute"].number(GET, "podCount")?.into(),
        gpu: Attr::Known(ClusterGpu { choice: choice(cluster, &gpu.choice)? }),
        data_center_id: text(cluster, "dataCenterId"),
        network_cidr: text(&cluster["network"], "cidr"),
        primary_pod_id: text(&cluster["primary"], "podId"),
        primary_ssh_endpoint: text(&cluster["primary"], "sshEndpoint"),
        cost: members.iter().map(|(_, pod)| pod["cost"].as_f64().unwrap_or(0.0)).sum::<f64>().into(),
        pods: Attr::Known(
            members
                .iter()
                .map(|(rank, pod)| Member {
                    id: text(pod, "id"),
                    rank: (*rank).into(),
                    ip: text(&pod["cluster"], "ip"),
                })
                .collect(),
        ),
        ..before.clone()
    };
    if let Some(pod) = imported {
        let ports =
            pod["ports"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        state.image = text(pod, "image");
        state.args = text(pod, "args");
        state.ports = sets::found(ports, &before.ports);
        state.disk = pod["disk"].as_i64().into();
        state.network_volume = volume(&pod["mounts"]["network"][0]);
        state.start_ssh = (!pod["env"]["PUBLIC_KEY"].is_null()).into();
        state.start_jupyter = (!pod["env"]["JUPYTER_PASSWORD"].is_null()).into();
        state.wait_for_running = true.into();
    }
    let by_status = statuses.filter_map(|(status, count)| Some((status.clone(), count.as_i64()?))).collect();
    Ok(Found { state, by_status })
}

fn volume(mount: &Value) -> Attr<ClusterVolume> {
    let (id, path) = (mount.text("volumeId"), mount.text("path"));
    id.zip(path).map(|(id, path)| ClusterVolume { id: id.into(), path: path.into() }).into()
}
