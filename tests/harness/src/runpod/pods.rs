//! Pods: their placement, their states, what may be changed.
//!
//! ```text
//! create -> PROVISIONING -> STARTING -> RUNNING <-> EXITED
//!                   \___________\-> ERROR -start-> PROVISIONING        terminate, delete -> gone
//! ```

use serde_json::{Value, json};

use super::error::Refusal;
use super::world::{Body, MADE, Pod, World, text};
use http::StatusCode;

const NO_GPU_ON_HOST: &str = "There are not enough free GPUs on the host machine to start this pod.";

/// GB of container disk for each vCPU of a flavor. RunPod's documentation of CPU types knows `cpu3c`, `cpu3g` and `cpu5c`
/// (docs.runpod.io/flash/configuration/cpu-types).
const DISK_PER_VCPU: [(&str, u64); 3] = [("cpu3c", 10), ("cpu3g", 10), ("cpu5c", 15)];

impl Pod {
    /// The network volume that it mounts.
    pub(crate) fn volume(&self) -> Option<&str> {
        self.body["mounts"]["network"][0]["volumeId"].as_str()
    }

    pub(crate) fn status(&self) -> &str {
        self.body["status"].as_str().unwrap_or_default()
    }

    /// Brings it into a state, with everything that goes with that.
    pub(crate) fn enter(&mut self, status: &str) {
        let running = status == "RUNNING";
        let actions = match status {
            "RUNNING" => json!(["stop", "restart", "terminate"]),
            "EXITED" | "ERROR" => json!(["start", "terminate"]),
            _ => json!(["stop", "terminate"]),
        };
        let id = text(&self.body, "id");
        let proxy = json!({"host": "ssh.runpod.io", "port": 22, "username": format!("{id}-64411eb2"),
            "command": format!("ssh {id}-64411eb2@ssh.runpod.io")});
        self.body.insert("status".to_owned(), json!(status));
        self.body.insert("actions".to_owned(), actions);
        self.body.insert("cost".to_owned(), if status == "EXITED" { json!(0.0) } else { json!(self.cost) });
        self.body.insert(
            "runtime".to_owned(),
            if running { json!({"uptime": 1, "ports": []}) } else { Value::Null },
        );
        self.body.insert("ssh".to_owned(), json!({"proxy": proxy, "direct": null}));
        if running {
            self.body.insert("startedAt".to_owned(), json!(MADE));
        }
    }
}

impl World {
    /// The pods; those of clusters only where they are asked for.
    pub(crate) fn list_pods(&mut self, with_clusters: bool) -> Value {
        let ids: Vec<String> = self.pods.keys().cloned().collect();
        ids.iter().for_each(|id| self.advance(id));
        let pods = self.pods.values().map(|pod| &pod.body);
        json!({"pods": pods.filter(|pod| with_clusters || !pod.contains_key("cluster")).collect::<Vec<_>>()})
    }

    pub(crate) fn get_pod(&mut self, id: &str) -> Result<Value, Refusal> {
        self.advance(id);
        Ok(Value::Object(self.pod(id)?.body.clone()))
    }

    pub(crate) fn pod(&mut self, id: &str) -> Result<&mut Pod, Refusal> {
        self.pods.get_mut(id).ok_or_else(|| Refusal::not_found("pod"))
    }

    /// A pod that is no member of a cluster: the API of pods does not change those.
    fn standalone(&mut self, id: &str) -> Result<&mut Pod, Refusal> {
        let pod = self.pod(id)?;
        if pod.body.contains_key("cluster") {
            return Err(Refusal::bad("the pod is a member of a cluster"));
        }
        Ok(pod)
    }

    /// Somebody looks at a pod: it goes on.
    pub(crate) fn advance(&mut self, id: &str) {
        let polls = self.config.polls;
        let Some(pod) = self.pods.get_mut(id) else { return };
        if !matches!(pod.status(), "PROVISIONING" | "STARTING") {
            return;
        }
        pod.looks += 1;
        let refused = pod.body["registry"]
            .as_str()
            .is_some_and(|registry| self.registries.get(registry).is_none_or(|registry| registry.expired));
        let next = match pod.looks {
            looks if looks <= polls => "PROVISIONING",
            looks if looks <= 2 * polls => "STARTING",
            _ if refused => "ERROR",
            _ => "RUNNING",
        };
        pod.enter(next);
    }

    pub(crate) fn create_pod(&mut self, request: &Body) -> Result<Value, Refusal> {
        let (gpu, cpu) = (request.get("gpu"), request.get("cpu"));
        if gpu.is_some() == cpu.is_some() {
            return Err(Refusal::bad("exactly one of gpu or cpu must be set"));
        }
        if let Some(cpu) = cpu
            && !cpu["vcpuCount"].as_u64().is_some_and(u64::is_power_of_two)
        {
            return Err(Refusal::bad("cpu.vcpuCount must be a power of two"));
        }
        if let Some(cpu) = cpu
            && let Some((_, each)) = DISK_PER_VCPU.iter().find(|(flavor, _)| cpu["id"] == *flavor)
        {
            let most = each * cpu["vcpuCount"].as_u64().unwrap_or_default();
            if request.get("disk").and_then(Value::as_u64).is_some_and(|disk| disk > most) {
                return Err(Refusal::bad(format!("Container Disk must be less than or equal to {most}")));
            }
        }
        let allowed = gpu.and_then(|gpu| gpu["allowedCudaVersions"].as_array());
        if allowed.is_some_and(|allowed| !allowed.is_empty())
            && gpu.is_some_and(|gpu| gpu.get("minCudaVersion").is_some())
        {
            return Err(Refusal::bad(
                "gpu.allowedCudaVersions and gpu.minCudaVersion are mutually exclusive",
            ));
        }
        let mounts = request.get("mounts").cloned().unwrap_or_else(|| json!({}));
        if mounts.get("persistent").is_some() && (cpu.is_some() || mounts.get("network").is_some()) {
            return Err(Refusal::bad("mounts.persistent is not possible with cpu or mounts.network"));
        }
        self.registry_exists(request)?;
        let center = self.place(request, &mounts)?;
        Ok(self.new_pod(request, &center, None))
    }

    /// Makes a pod in a data center, maybe as a member of a cluster.
    pub(crate) fn new_pod(&mut self, request: &Body, center: &str, cluster: Option<Value>) -> Value {
        let (gpu, cpu) = (request.get("gpu"), request.get("cpu"));
        let id = self.id("pod");
        let mut body = Body::new();
        for (name, default) in [
            ("name", json!("")),
            ("image", json!("")),
            ("args", json!("")),
            ("disk", json!(50)),
            ("ports", json!([])),
            ("env", json!({})),
            ("registry", Value::Null),
            ("cloud", json!("SECURE")),
            ("mounts", json!({})),
        ] {
            body.insert(name.to_owned(), request.get(name).cloned().unwrap_or(default));
        }
        if let Some(gpu) = gpu {
            let count = gpu.get("count").cloned().unwrap_or_else(|| json!(1));
            body.insert("gpu".to_owned(), json!({"id": gpu["id"], "count": count}));
        }
        if let Some(cpu) = cpu {
            let memory = cpu["vcpuCount"].as_u64().unwrap_or(2) * 2;
            body.insert(
                "cpu".to_owned(),
                json!({"id": cpu["id"], "vcpuCount": cpu["vcpuCount"], "memory": memory}),
            );
        }
        let injected =
            [("startSsh", "PUBLIC_KEY", "ssh-ed25519 AAAA"), ("startJupyter", "JUPYTER_PASSWORD", "made-up")];
        for (flag, name, value) in injected {
            if request.get(flag) == Some(&json!(true)) && body["env"].get(name).is_none() {
                body["env"][name] = json!(value);
            }
        }
        let enabled = request.get("globalNetworking") == Some(&json!(true));
        body.insert("globalNetworking".to_owned(), networking(enabled, &id));
        body.insert("id".to_owned(), json!(id));
        body.insert("dataCenterId".to_owned(), json!(center));
        body.insert("cudaVersion".to_owned(), if gpu.is_some() { json!("12.8") } else { Value::Null });
        body.insert("template".to_owned(), Value::Null);
        body.insert("locked".to_owned(), json!(false));
        body.insert("createdAt".to_owned(), json!(MADE));
        body.insert("startedAt".to_owned(), Value::Null);
        if let Some(cluster) = cluster {
            body.insert("cluster".to_owned(), cluster);
        }
        let cost = self.cost(&body);
        let mut pod = Pod { body, looks: 0, cost };
        pod.enter("PROVISIONING");
        let shown = Value::Object(pod.body.clone());
        self.pods.insert(id, pod);
        shown
    }

    /// What a running pod costs, in USD per hour.
    fn cost(&self, body: &Body) -> f64 {
        let units = |member: &str, count: &str| body.get(member).and_then(|unit| unit[count].as_u64());
        let cents = match body.get("gpu").and_then(|gpu| self.config.gpus.get(gpu["id"].as_str()?)) {
            Some(gpu) if body["cloud"] == "COMMUNITY" => gpu.price.1,
            Some(gpu) => gpu.price.0,
            None => 3,
        };
        let count = units("gpu", "count").or_else(|| units("cpu", "vcpuCount")).unwrap_or(1);
        let count = u32::try_from(count).unwrap_or(1);
        f64::from(cents * count) / 100.0
    }

    fn registry_exists(&self, body: &Body) -> Result<(), Refusal> {
        match body.get("registry").and_then(Value::as_str) {
            Some(id) if !self.registries.contains_key(id) => {
                Err(Refusal::bad(format!("registry credential {id} not found")))
            }
            _ => Ok(()),
        }
    }

    /// The data center that takes the pod: that of its network volume, or the first that has what is asked for.
    pub(crate) fn place(&self, request: &Body, mounts: &Value) -> Result<String, Refusal> {
        let wanted: Vec<String> = request
            .get("dataCenterIds")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|center| center.as_str().map(str::to_owned))
            .collect();
        let bound = match mounts["network"][0]["volumeId"].as_str() {
            Some(volume) => Some(text(self.volume(volume)?, "dataCenter")),
            None => None,
        };
        let gpu = request.get("gpu").and_then(|gpu| gpu["id"].as_str());
        let fits = |center: &&String| {
            (wanted.is_empty() || wanted.contains(center))
                && bound.as_ref().is_none_or(|bound| bound == *center)
                && gpu.is_none_or(|gpu| self.offered(center).contains(gpu))
        };
        if gpu.is_some_and(|gpu| self.config.forbidden.contains(gpu)) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "access denied"));
        }
        let (status, message) = &self.config.no_capacity;
        let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST);
        let free = self.config.data_centers.keys().find(fits).cloned();
        free.ok_or_else(|| Refusal::new(status, message.clone()))
    }

    pub(crate) fn update_pod(&mut self, id: &str, change: Body) -> Result<Value, Refusal> {
        self.registry_exists(&change)?;
        let pod = self.standalone(id)?;
        if let Some(mounts) = change.get("mounts").and_then(Value::as_object) {
            for (kind, mount) in mounts {
                let Some(have) = pod.body["mounts"].get(kind) else {
                    return Err(Refusal::bad(format!("mounts.{kind} cannot be added to a pod")));
                };
                if kind == "network" && mount[0]["volumeId"] != have[0]["volumeId"] {
                    return Err(Refusal::bad("mounts.network: volumeId is immutable"));
                }
                if kind == "persistent" && mount["size"].as_u64() < have["size"].as_u64() {
                    return Err(Refusal::bad("mounts.persistent: size cannot be reduced"));
                }
            }
        }
        for (name, value) in change {
            let value = match name.as_str() {
                "globalNetworking" => networking(value == json!(true), id),
                "mounts" if value == json!({}) => continue,
                _ => value,
            };
            pod.body.insert(name, value);
        }
        Ok(Value::Object(pod.body.clone()))
    }

    pub(crate) fn delete_pod(&mut self, id: &str) -> Result<Value, Refusal> {
        self.standalone(id)?;
        self.pods.remove(id);
        Ok(Value::Null)
    }

    pub(crate) fn act(&mut self, id: &str, action: &str) -> Result<Value, Refusal> {
        let pod = self.standalone(id)?;
        let (status, locked) = (pod.status().to_owned(), pod.body["locked"] == json!(true));
        let permitted =
            pod.body["actions"].as_array().is_some_and(|actions| actions.contains(&json!(action)));
        if !permitted {
            return Err(Refusal::conflict(format!("action {action} is not valid for status {status}")));
        }
        if locked && matches!(action, "stop" | "restart") {
            return Err(Refusal::conflict("the pod is locked"));
        }
        match action {
            "terminate" => return self.delete_pod(id),
            "stop" => pod.enter("EXITED"),
            "restart" => pod.looks = 0,
            _ => {
                let (center, gpu) = (text(&pod.body, "dataCenterId"), pod.body.get("gpu").cloned());
                let gpu = gpu.and_then(|gpu| gpu["id"].as_str().map(str::to_owned));
                if gpu.is_some_and(|gpu| !self.offered(&center).contains(gpu.as_str())) {
                    return Err(Refusal::bad(NO_GPU_ON_HOST));
                }
                let pod = self.pod(id)?;
                pod.looks = 0;
                pod.enter("PROVISIONING");
            }
        }
        Ok(Value::Object(self.pod(id)?.body.clone()))
    }
}

fn networking(enabled: bool, id: &str) -> Value {
    if enabled {
        json!({"enabled": true, "ip": "10.65.1.42", "internalDns": format!("{id}.runpod.internal")})
    } else {
        json!({"enabled": false})
    }
}
