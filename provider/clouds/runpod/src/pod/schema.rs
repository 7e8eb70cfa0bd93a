//! Attributes and state of `warren_runpod_pod`.

use std::collections::BTreeMap;

use serde_json::json;
use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Type, model};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use super::api::Found;
use super::{check, env};
use crate::common::{self, common};
use crate::marker;

model! {
    /// A pod.
    pub struct Pod {
        /// Unique among the pods of the fabric and owner.
        pub name: Attr<String>,
        /// Assigned by RunPod.
        pub id: Attr<String>,
        /// Such as `ghcr.io/acme/train:1`.
        pub image: Attr<String>,
        /// Arguments of the entrypoint.
        pub args: Attr<String>,
        /// Variables.
        pub env: Attr<BTreeMap<String, Attr<String>>>,
        /// Variables that are never stored.
        pub env_wo: Attr<BTreeMap<String, Attr<Secret>>>,
        /// Raised when the values of `env_wo` are others.
        pub env_wo_version: Attr<i64>,
        /// Names of `env_wo`.
        pub secret_env_names: Texts,
        /// Such as `8888/http`.
        pub ports: Texts,
        /// Gigabytes of the container's disk.
        pub disk: Attr<i64>,
        /// What is rented.
        pub gpu: Attr<Gpu>,
        /// What is rented without a GPU.
        pub cpu: Attr<Cpu>,
        /// `SECURE` or `COMMUNITY`.
        pub cloud: Attr<String>,
        /// Where it may be.
        pub data_center_ids: Texts,
        /// Where it is.
        pub data_center_id: Attr<String>,
        /// Storage that outlives it.
        pub network_volume: Attr<NetworkMount>,
        /// Storage on its machine.
        pub persistent_volume: Attr<PersistentMount>,
        /// Credential for its image.
        pub registry_auth_id: Attr<String>,
        /// Whether it has an address in RunPod's own network.
        pub global_networking: Attr<bool>,
        /// That address.
        pub global_networking_ip: Attr<String>,
        /// Whether RunPod sets up SSH.
        pub start_ssh: Attr<bool>,
        /// Whether RunPod starts JupyterLab.
        pub start_jupyter: Attr<bool>,
        /// Whether it cannot be stopped.
        pub locked: Attr<bool>,
        /// `RUNNING` or `EXITED`.
        pub desired_status: Attr<String>,
        /// `start` or `replace`.
        pub when_stopped: Attr<String>,
        /// Whether an apply waits until it runs.
        pub wait_for_running: Attr<bool>,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }

    /// GPUs.
    pub struct Gpu {
        /// Such as `NVIDIA GeForce RTX 4090`.
        pub id: Attr<String>,
        /// How many.
        pub count: Attr<i64>,
        /// Such as `12.8`.
        pub allowed_cuda_versions: Texts,
        /// Such as `12.1`.
        pub min_cuda_version: Attr<String>,
    }

    /// A machine without a GPU.
    pub struct Cpu {
        /// Such as `cpu5c`.
        pub id: Attr<String>,
        /// A power of two.
        pub vcpu_count: Attr<i64>,
    }

    /// A network volume in a pod.
    pub struct NetworkMount {
        /// Of the volume.
        pub id: Attr<String>,
        /// In the container.
        pub path: Attr<String>,
    }

    /// Storage on the machine.
    pub struct PersistentMount {
        /// Gigabytes.
        pub size: Attr<i64>,
        /// In the container.
        pub path: Attr<String>,
    }
}

common!(Pod, "warren_runpod_pod", |scope, pod| marker::variable(scope, pod.name.text()));

impl Pod {
    /// The ports, as the API takes them.
    pub(super) fn ports(&self) -> Vec<String> {
        sets::known(&self.ports).into_iter().collect()
    }

    /// The mounts, as the API takes them; none are `{}`.
    pub(super) fn mounts(&self) -> serde_json::Value {
        let mut mounts = json!({});
        if let Some(volume) = self.network_volume.known() {
            mounts["network"] = json!([{"volumeId": volume.id.text(), "path": volume.path.text()}]);
        }
        if let Some(volume) = self.persistent_volume.known() {
            mounts["persistent"] = json!({"size": volume.size.known(), "path": volume.path.text()});
        }
        mounts
    }

    /// Whether it is to run.
    pub(super) fn shall_run(&self) -> bool {
        self.desired_status.text() != "EXITED"
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "A rented container, with GPUs or without. A pod that RunPod has taken away is planned anew; one that has stopped \
         is planned to be started. Its environment has the variable `WARREN_RESOURCE` with fabric, owner and name, by \
         which an interrupted apply finds it again.",
    )
    .attribute(Attribute::string("name").required().validate(common::check_name).describe(
        "Name, unique among the pods of this fabric and owner. Changes in place.",
    ))
    .attribute(common::id())
    .attributes(container())
    .attributes(hardware())
    .attributes(storage())
    .attributes(life())
    .attributes(common::tail())
}

fn container() -> Vec<Attribute> {
    vec![
        Attribute::string("image").required().validate(common::filled).describe(
            "Container image. Changes in place; RunPod restarts the container.",
        ),
        Attribute::string("args").optional().validate(common::filled).describe(
            "Arguments of the image's entrypoint. Changes in place.",
        ),
        Attribute::of("env", Type::map(Type::String)).optional().validate(env::check).describe(
            "Environment variables. A value may refer to a secret: `{{ RUNPOD_SECRET_name }}`, see `warren_runpod_secret`. \
             They are stored: secrets belong there or into `env_wo`. Changes in place.",
        ),
        Attribute::of("env_wo", Type::map(Type::String)).optional().write_only().sensitive().validate(env::check).describe(
            "Environment variables with values that Terraform never stores, such as an enrolment token. RunPod shows them \
             to everybody who may read the pod; a `warren_runpod_secret` does not.",
        ),
        Attribute::number("env_wo_version").optional().validate(common::between(0, i64::MAX)).describe(
            "Raise it to give the pod the present values of `env_wo`; until then it keeps those that it has.",
        ),
        Attribute::of("secret_env_names", Type::set(Type::String)).computed().keeps().describe(
            "Names of the variables of `env_wo`.",
        ),
        Attribute::of("ports", Type::set(Type::String)).optional().validate(check::ports).describe(
            "Ports that RunPod makes reachable, such as `8888/http` or `22/tcp`. A pod that is reached through the tunnel \
             needs none. Changes in place.",
        ),
        Attribute::number("disk").default(50).validate(common::between(1, 100_000)).describe(
            "Gigabytes of the container's own disk, which is empty after each start. Changes in place. Default: 50.",
        ),
        Attribute::string("registry_auth_id").optional().validate(common::filled).describe(
            "Id of a `warren_runpod_registry_auth`, for a private image. Changes in place.",
        ),
    ]
}

fn hardware() -> Vec<Attribute> {
    vec![
        Attribute::nested(
            "gpu",
            Nesting::Single,
            [
                Attribute::string("id").required().replaces().validate(common::filled).describe(
                    "GPU type, such as `NVIDIA GeForce RTX 4090`. A change replaces the pod.",
                ),
                Attribute::number("count").default(1).replaces().validate(common::between(1, 64)).describe(
                    "How many. A change replaces the pod. Default: 1.",
                ),
                Attribute::of("allowed_cuda_versions", Type::set(Type::String))
                    .optional()
                    .validate(check::cuda_versions)
                    .describe("CUDA versions that the machine may have, such as `12.8`. For the next pod: a change does nothing to this one."),
                Attribute::string("min_cuda_version").optional().validate(check::cuda_version).describe(
                    "Lowest CUDA version of the machine, such as `12.1`. For the next pod: a change does nothing to this one.",
                ),
            ],
        )
        .optional()
        .describe("GPUs. Either this or `cpu`."),
        Attribute::nested(
            "cpu",
            Nesting::Single,
            [
                Attribute::string("id").required().replaces().validate(common::filled).describe(
                    "CPU flavor, such as `cpu5c`. A change replaces the pod.",
                ),
                Attribute::number("vcpu_count").required().replaces().validate(check::power_of_two).describe(
                    "Virtual CPUs, a power of two from 2 on. A change replaces the pod.",
                ),
            ],
        )
        .optional()
        .describe("A machine without a GPU. Either this or `gpu`."),
        Attribute::string("cloud")
            .default("SECURE")
            .replaces()
            .validate(common::one_of(&["SECURE", "COMMUNITY"]))
            .describe(
                "`SECURE`, machines in data centers, or `COMMUNITY`, machines of others: keep data and keys away from \
                 those. A change replaces the pod. Default: `SECURE`.",
            ),
        Attribute::of("data_center_ids", Type::set(Type::String)).optional().describe(
            "Data centers where it may be, such as `EU-RO-1`. The pod is replaced when it is in none of them. Default: \
             any.",
        ),
        Attribute::string("data_center_id").computed().keeps().describe("Data center where it is."),
        Attribute::bool("global_networking").default(false).describe(
            "Whether it has an address in RunPod's network of all data centers. Takes effect when the pod starts next. \
             Default: `false`.",
        ),
        Attribute::string("global_networking_ip").computed().describe("Its address in that network."),
    ]
}

fn storage() -> Vec<Attribute> {
    vec![
        Attribute::nested(
            "network_volume",
            Nesting::Single,
            [
                Attribute::string("id").required().replaces().validate(common::filled).describe(
                    "Id of a `warren_runpod_network_volume`; the pod is put into its data center. A change replaces the pod.",
                ),
                Attribute::string("path").required().validate(check::path).describe(
                    "Where it is in the container, such as `/workspace`. Changes in place.",
                ),
            ],
        )
        .optional()
        .describe("Storage that outlives the pod. Adding or removing it replaces the pod."),
        Attribute::nested(
            "persistent_volume",
            Nesting::Single,
            [
                Attribute::number("size").required().validate(common::between(10, 100_000)).describe(
                    "Gigabytes, from 10 on. It grows in place and cannot shrink.",
                ),
                Attribute::string("path").required().validate(check::path).describe(
                    "Where it is in the container, such as `/workspace`. Changes in place.",
                ),
            ],
        )
        .optional()
        .describe(
            "Storage on the pod's machine: it outlives a restart, and is lost with the machine or the pod. Not for `cpu`. \
             Adding or removing it replaces the pod.",
        ),
    ]
}

fn life() -> Vec<Attribute> {
    vec![
        Attribute::bool("start_ssh").default(false).replaces().describe(
            "Whether RunPod sets up SSH with the account's keys, in images that know how. A change replaces the pod. \
             Default: `false`.",
        ),
        Attribute::bool("start_jupyter").default(false).replaces().describe(
            "Whether RunPod starts JupyterLab, in images that know how. A change replaces the pod. Default: `false`.",
        ),
        Attribute::bool("locked").default(false).describe(
            "Whether it cannot be stopped in the console. Changes in place. Default: `false`.",
        ),
        Attribute::string("desired_status")
            .default("RUNNING")
            .validate(common::one_of(&["RUNNING", "EXITED"]))
            .describe(
                "`RUNNING`, or `EXITED`: stopped, with its machine and disk, but without GPUs. After a refresh it tells \
                 what is, so that a pod that has stopped shows in the plan. Default: `RUNNING`.",
            ),
        Attribute::string("when_stopped")
            .default("start")
            .validate(common::one_of(&["start", "replace"]))
            .describe(
                "What to plan for a pod that has stopped and is to run: `start`, on its machine, which may have no GPU \
                 free, or `replace`, by a new pod on any machine. Default: `start`.",
            ),
        Attribute::bool("wait_for_running").default(true).describe(
            "Whether an apply waits until the container runs, within `timeouts`. Default: `true`.",
        ),
    ]
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: &Found, before: &Pod) -> Pod {
    let imported = before.image.is_null();
    let flag = |flag: Attr<bool>, variable: &str| {
        if imported { found.env.contains_key(variable).into() } else { flag }
    };
    let or =
        |value: &Attr<String>, default: &str| if value.is_known() { value.clone() } else { default.into() };
    let gpu = found.gpu.clone().map(|(id, count)| {
        let before = before.gpu.known().cloned().unwrap_or_default();
        Gpu { id: id.into(), count: count.into(), ..before }
    });
    Pod {
        name: found.name.as_str().into(),
        id: found.id.as_str().into(),
        image: found.image.as_str().into(),
        args: if found.args.is_empty() { Attr::Null } else { found.args.as_str().into() },
        env: env::seen(before, &found.env),
        env_wo: Attr::Null,
        env_wo_version: before.env_wo_version,
        secret_env_names: if before.secret_env_names.is_known() {
            before.secret_env_names.clone()
        } else {
            sets::of([])
        },
        ports: sets::found(found.ports.iter().cloned(), &before.ports),
        disk: found.disk.into(),
        gpu: gpu.into(),
        cpu: found.cpu.clone().map(|(id, count)| Cpu { id: id.into(), vcpu_count: count.into() }).into(),
        cloud: found.cloud.as_str().into(),
        data_center_ids: before.data_center_ids.clone(),
        data_center_id: found.data_center.clone().into(),
        network_volume: found
            .network
            .clone()
            .map(|(id, path)| NetworkMount { id: id.into(), path: path.into() })
            .into(),
        persistent_volume: found
            .persistent
            .clone()
            .map(|(size, path)| PersistentMount { size: size.into(), path: path.into() })
            .into(),
        registry_auth_id: found.registry.clone().into(),
        global_networking: found.global_networking.into(),
        global_networking_ip: found.ip.clone().into(),
        start_ssh: flag(before.start_ssh, "PUBLIC_KEY"),
        start_jupyter: flag(before.start_jupyter, "JUPYTER_PASSWORD"),
        locked: found.locked.into(),
        desired_status: match found.status.as_str() {
            "PROVISIONING" | "STARTING" | "RUNNING" => "RUNNING",
            other => other,
        }
        .into(),
        when_stopped: or(&before.when_stopped, "start"),
        wait_for_running: if before.wait_for_running.is_known() {
            before.wait_for_running
        } else {
            true.into()
        },
        timeouts: before.timeouts.clone(),
    }
}
