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
        /// Environment variables.
        pub env: Attr<BTreeMap<String, Attr<String>>>,
        /// Environment variables whose values are never stored.
        pub env_wo: Attr<BTreeMap<String, Attr<Secret>>>,
        /// Raised to update the values of `env_wo`.
        pub env_wo_version: Attr<i64>,
        /// Names of `env_wo`.
        pub secret_env_names: Texts,
        /// Such as `8888/http`.
        pub ports: Texts,
        /// Size of the container disk in GB.
        pub disk: Attr<i64>,
        /// The GPUs.
        pub gpu: Attr<Gpu>,
        /// The machine without a GPU.
        pub cpu: Attr<Cpu>,
        /// `SECURE` or `COMMUNITY`.
        pub cloud: Attr<String>,
        /// Data centers where the pod may run.
        pub data_center_ids: Texts,
        /// Data center where the pod runs.
        pub data_center_id: Attr<String>,
        /// Storage that outlives it.
        pub network_volume: Attr<NetworkMount>,
        /// Storage on its machine.
        pub persistent_volume: Attr<PersistentMount>,
        /// Credential for the image.
        pub registry_auth_id: Attr<String>,
        /// Whether it has an address in RunPod's private network.
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
        /// Timeouts of the operations.
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
    /// The ports in the API's format.
    pub(super) fn ports(&self) -> Vec<String> {
        sets::known(&self.ports).into_iter().collect()
    }

    /// The mounts in the API's format; `{}` if there are none.
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

    /// Whether the pod should be running.
    pub(super) fn shall_run(&self) -> bool {
        self.desired_status.text() != "EXITED"
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "Rents a container with or without GPUs. If RunPod reclaims the pod, the next plan recreates it; if the pod \
         stops, the next plan starts it. The provider sets the environment variable `WARREN_RESOURCE` to the \
         fabric, owner and name, so that a re-run of an interrupted apply can adopt the pod.",
    )
    .attribute(Attribute::string("name").required().validate(common::check_name).describe(
        "Name of the pod, unique among the pods of this fabric and owner. Updated in place.",
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
            "Container image, such as `ghcr.io/acme/train:1`. Updated in place; RunPod restarts the container.",
        ),
        Attribute::string("args").optional().validate(common::filled).describe(
            "Arguments passed to the image's entrypoint. Updated in place.",
        ),
        Attribute::of("env", Type::map(Type::String)).optional().validate(env::check).describe(
            "Environment variables. The values are stored in the state, so keep secrets out of them: reference a \
             `warren_runpod_secret` as `{{ RUNPOD_SECRET_name }}`, or use `env_wo`. Updated in place.",
        ),
        Attribute::of("env_wo", Type::map(Type::String)).optional().write_only().sensitive().validate(env::check).describe(
            "Environment variables whose values Terraform never stores, such as an enrolment token. Write-only. \
             Anyone who can read the pod at RunPod can see the values; a `warren_runpod_secret` hides them. \
             Changing the values has no effect until you raise `env_wo_version`.",
        ),
        Attribute::number("env_wo_version").optional().validate(common::between(0, i64::MAX)).describe(
            "Version of the values in `env_wo`. Raise it to update the pod with the current values. Updated in \
             place.",
        ),
        Attribute::of("secret_env_names", Type::set(Type::String)).computed().keeps().describe(
            "Names of the variables in `env_wo`.",
        ),
        Attribute::of("ports", Type::set(Type::String)).optional().validate(check::ports).describe(
            "Ports that RunPod exposes to the internet, such as `8888/http` or `22/tcp`. A pod that is only reached \
             through the tunnel needs none. Updated in place.",
        ),
        Attribute::number("disk").default(50).validate(common::between(1, 100_000)).describe(
            "Size of the container disk in GB, 1 to 100000. The disk is empty after each start. Updated in place. \
             Defaults to `50`.",
        ),
        Attribute::string("registry_auth_id").optional().validate(common::filled).describe(
            "ID of the `warren_runpod_registry_auth` used to pull a private image. Updated in place.",
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
                    "GPU type, such as `NVIDIA GeForce RTX 4090`. Changing this replaces the pod.",
                ),
                Attribute::number("count").default(1).replaces().validate(common::between(1, 64)).describe(
                    "Number of GPUs, 1 to 64. Changing this replaces the pod. Defaults to `1`.",
                ),
                Attribute::of("allowed_cuda_versions", Type::set(Type::String))
                    .optional()
                    .validate(check::cuda_versions)
                    .describe("CUDA versions that the machine may have, such as `12.8`. Conflicts with \
                               `min_cuda_version`. Only used when a pod is created: a change does not affect the \
                               existing pod."),
                Attribute::string("min_cuda_version").optional().validate(check::cuda_version).describe(
                    "Minimum CUDA version of the machine, such as `12.1`. Conflicts with `allowed_cuda_versions`. \
                     Only used when a pod is created: a change does not affect the existing pod.",
                ),
            ],
        )
        .optional()
        .describe("GPUs of the pod. Exactly one of `gpu` and `cpu` is required. Replacing one with the other \
                   replaces the pod."),
        Attribute::nested(
            "cpu",
            Nesting::Single,
            [
                Attribute::string("id").required().replaces().validate(common::filled).describe(
                    "CPU flavor, such as `cpu5c`. Changing this replaces the pod.",
                ),
                Attribute::number("vcpu_count").required().replaces().validate(check::power_of_two).describe(
                    "Number of vCPUs, a power of two starting at 2. Changing this replaces the pod.",
                ),
            ],
        )
        .optional()
        .describe("CPU-only machine. Exactly one of `gpu` and `cpu` is required."),
        Attribute::string("cloud")
            .default("SECURE")
            .replaces()
            .validate(common::one_of(&["SECURE", "COMMUNITY"]))
            .describe(
                "Where the pod runs: `SECURE` for machines in data centers, `COMMUNITY` for machines owned by third \
                 parties, which should not handle sensitive data or keys. Changing this replaces the pod. Defaults \
                 to `SECURE`.",
            ),
        Attribute::of("data_center_ids", Type::set(Type::String)).optional().describe(
            "IDs of the data centers where the pod may run, such as `EU-RO-1`. The pod is replaced if it runs in \
             none of them. Defaults to any data center.",
        ),
        Attribute::string("data_center_id").computed().keeps().describe("ID of the data center where the pod runs."),
        Attribute::bool("global_networking").default(false).describe(
            "Whether the pod gets an address in RunPod's private network, which spans its data centers. Requires \
             `gpu`. Takes effect the next time the pod starts. Defaults to `false`.",
        ),
        Attribute::string("global_networking_ip").computed().describe("IP address of the pod in RunPod's private \
                           network. Null without `global_networking`."),
    ]
}

fn storage() -> Vec<Attribute> {
    vec![
        Attribute::nested(
            "network_volume",
            Nesting::Single,
            [
                Attribute::string("id").required().replaces().validate(common::filled).describe(
                    "ID of the `warren_runpod_network_volume`. The pod runs in the data center of the volume. \
                     Changing this replaces the pod.",
                ),
                Attribute::string("path").required().validate(check::path).describe(
                    "Absolute mount path in the container, such as `/workspace`. Updated in place.",
                ),
            ],
        )
        .optional()
        .describe("Network volume to mount; its data outlives the pod. Conflicts with `persistent_volume`. Adding \
                   or removing it replaces the pod."),
        Attribute::nested(
            "persistent_volume",
            Nesting::Single,
            [
                Attribute::number("size").required().validate(common::between(10, 100_000)).describe(
                    "Size in GB, 10 to 100000. It can grow in place but cannot shrink.",
                ),
                Attribute::string("path").required().validate(check::path).describe(
                    "Absolute mount path in the container, such as `/workspace`. Updated in place.",
                ),
            ],
        )
        .optional()
        .describe(
            "Volume on the pod's machine. It survives a restart, but is lost with the machine or the pod. Requires \
             `gpu`; conflicts with `network_volume`. Adding or removing it replaces the pod.",
        ),
    ]
}

fn life() -> Vec<Attribute> {
    vec![
        Attribute::bool("start_ssh").default(false).replaces().describe(
            "Whether RunPod sets up SSH with the account's public keys. The image must support it. Changing this \
             replaces the pod. Defaults to `false`.",
        ),
        Attribute::bool("start_jupyter").default(false).replaces().describe(
            "Whether RunPod starts JupyterLab. The image must support it. Changing this replaces the pod. Defaults \
             to `false`.",
        ),
        Attribute::bool("locked").default(false).describe(
            "Whether the pod is locked against being stopped. Updated in place. Defaults to `false`.",
        ),
        Attribute::string("desired_status")
            .default("RUNNING")
            .validate(common::one_of(&["RUNNING", "EXITED"]))
            .describe(
                "Desired status: `RUNNING`, or `EXITED` for a stopped pod, which keeps its machine and disk but \
                 releases its GPUs. A refresh reads the actual status, so a pod that has stopped shows up in the \
                 plan. Defaults to `RUNNING`.",
            ),
        Attribute::string("when_stopped")
            .default("start")
            .validate(common::one_of(&["start", "replace"]))
            .describe(
                "How to bring back a pod that has stopped while `desired_status` is `RUNNING`: `start` restarts it \
                 on its machine, which may have no free GPU; `replace` creates a new pod on any machine. Defaults \
                 to `start`.",
            ),
        Attribute::bool("wait_for_running").default(true).describe(
            "Whether an apply waits until the container runs, up to the limit in `timeouts`. Defaults to `true`.",
        ),
    ]
}

/// The state after reading `found`, with values that the API does not return taken from `before`.
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
