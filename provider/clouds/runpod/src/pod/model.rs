//! The schema and state of `warren_runpod_pod`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use tf_provider_rs::model::Secret;
use tf_provider_rs::validators::{between, one_of};
use tf_provider_rs::{Attr, Choice, Diagnostics, NotKnown, Object, Path, Resource, Value};
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::common::{RunpodObject, filled};
use crate::gpu::{Cloud, GpuChoice, TextList, distinct};
use crate::marker;
use crate::session::RunPod;

/// Manages a rented container with or without GPUs. If RunPod reclaims the pod, the next plan recreates it; if the pod
/// stops, the next plan starts it. The provider sets the environment variable `WARREN_RESOURCE` to the fabric, owner and
/// name, so that a re-run of an interrupted apply can adopt the pod.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_runpod_pod", noun = "pod")]
pub(crate) struct Pod {
    #[attr(flatten)]
    pub(crate) object: RunpodObject,
    /// Container image, such as `ghcr.io/acme/train:1`. Updated in place; RunPod restarts the container.
    #[attr(required, validate = filled)]
    pub(crate) image: Attr<String>,
    /// Arguments passed to the image's entrypoint. Updated in place.
    #[attr(optional, validate = filled)]
    pub(crate) args: Attr<String>,
    /// Environment variables. The values are stored in the state, so keep secrets out of them: reference a
    /// `warren_runpod_secret` as `{{ RUNPOD_SECRET_name }}`, or use `env_wo`. Updated in place.
    #[attr(optional, validate = variables)]
    pub(crate) env: Attr<BTreeMap<String, Attr<String>>>,
    /// Environment variables whose values Terraform never stores, such as an enrolment token. Anyone who can read the
    /// pod at RunPod can see the values; a `warren_runpod_secret` hides them. Changing the values has no effect until
    /// you raise `env_wo_version`.
    #[attr(optional, write_only, sensitive, validate = variables)]
    pub(crate) env_wo: Attr<BTreeMap<String, Attr<Secret>>>,
    /// Version of the values in `env_wo`. Raise it to update the pod with the current values. Updated in place.
    #[attr(optional, validate = between(0, i64::MAX))]
    pub(crate) env_wo_version: Attr<i64>,
    /// Names of the variables in `env_wo`.
    #[attr(computed, keeps)]
    pub(crate) secret_env_names: Texts,
    /// Ports that RunPod exposes to the internet, such as `8888/http` or `22/tcp`. A pod that is only reached through
    /// the tunnel needs none. Updated in place.
    #[attr(optional, validate = ports)]
    pub(crate) ports: Texts,
    /// Size of the container disk in GB, 1 to 100000. The disk is empty after each start. CPU flavors limit it: `cpu3c` and
    /// `cpu3g` to 10 GB per vCPU, `cpu5c` to 15 GB per vCPU. Updated in place. Defaults to `50`, or to the limit of the
    /// CPU flavor if that is lower.
    #[attr(optional, computed, validate = between(1, 100_000))]
    pub(crate) disk: Attr<i64>,
    /// ID of the `warren_runpod_registry_auth` used to pull a private image. Updated in place.
    #[attr(optional, validate = filled)]
    pub(crate) registry_auth_id: Attr<String>,
    /// GPUs of the pod. Exactly one of `gpu` and `cpu` is required. Replacing one with the other replaces the pod.
    #[attr(optional)]
    pub(crate) gpu: Attr<Gpu>,
    /// CPU-only machine. Exactly one of `gpu` and `cpu` is required.
    #[attr(optional)]
    pub(crate) cpu: Attr<Cpu>,
    /// Where the pod runs: `SECURE` for machines in data centers, `COMMUNITY` for machines owned by third parties, which
    /// should not handle sensitive data or keys. Changing this replaces the pod. Defaults to `SECURE`.
    #[attr(default = Cloud::Secure, replaces)]
    pub(crate) cloud: Attr<Cloud>,
    /// IDs of the data centers where the pod may run, such as `EU-RO-1`, in order of preference. They are tried one after
    /// another until one has a machine. The pod is replaced if it runs in none of them. Defaults to any data center.
    #[attr(optional, validate = distinct)]
    pub(crate) data_center_ids: TextList,
    /// ID of the data center where the pod runs.
    #[attr(computed, keeps)]
    pub(crate) data_center_id: Attr<String>,
    /// Whether the pod gets an address in RunPod's private network, which spans its data centers. Requires `gpu`. Takes
    /// effect the next time the pod starts. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) global_networking: Attr<bool>,
    /// IP address of the pod in RunPod's private network. Null without `global_networking`.
    #[attr(computed)]
    pub(crate) global_networking_ip: Attr<String>,
    /// Name of the pod in RunPod's private network, such as `7h9k2m4n6p.runpod.internal`. Other pods of the account that
    /// have `global_networking` can resolve it. Null without `global_networking`.
    #[attr(computed)]
    pub(crate) internal_dns: Attr<String>,
    /// Current cost of the pod in USD per hour, without storage. `0` while the pod is stopped.
    #[attr(computed)]
    pub(crate) cost: Attr<f64>,
    /// Network volume to mount; its data outlives the pod. Conflicts with `persistent_volume`. Adding or removing it
    /// replaces the pod.
    #[attr(optional)]
    pub(crate) network_volume: Attr<NetworkMount>,
    /// Volume on the pod's machine. It survives a restart, but is lost with the machine or the pod. Requires `gpu`;
    /// conflicts with `network_volume`. Adding or removing it replaces the pod.
    #[attr(optional)]
    pub(crate) persistent_volume: Attr<PersistentMount>,
    /// Whether RunPod sets up SSH with the account's public keys. The image must support it. Changing this replaces the
    /// pod. Defaults to `false`.
    #[attr(default = false, replaces)]
    pub(crate) start_ssh: Attr<bool>,
    /// Whether RunPod starts JupyterLab. The image must support it. Changing this replaces the pod. Defaults to `false`.
    #[attr(default = false, replaces)]
    pub(crate) start_jupyter: Attr<bool>,
    /// Whether the pod is locked against being stopped. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) locked: Attr<bool>,
    /// Desired status: `RUNNING`, or `EXITED` for a stopped pod, which keeps its machine and disk but releases its GPUs.
    /// A refresh reads the actual status, so a pod that has stopped shows up in the plan. Defaults to `RUNNING`.
    #[attr(default = Status::Running, validate = one_of(["RUNNING", "EXITED"]))]
    pub(crate) desired_status: Attr<Status>,
    /// How to bring back a pod that has stopped while `desired_status` is `RUNNING`: `start` restarts it on its machine,
    /// which may have no free GPU; `replace` creates a new pod on any machine. Defaults to `start`.
    #[attr(default = WhenStopped::Start)]
    pub(crate) when_stopped: Attr<WhenStopped>,
    /// Whether an apply waits until the container runs, up to the limit in `timeouts`. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) wait_for_running: Attr<bool>,
}

/// GPUs.
#[derive(Clone, Debug, Default, PartialEq, Object)]
#[object(noun = "pod")]
pub(crate) struct Gpu {
    #[attr(flatten)]
    pub(crate) choice: GpuChoice,
    /// CUDA versions that the machine may have, such as `12.8`. Conflicts with `min_cuda_version`. Only used when a pod
    /// is created: a change does not affect the existing pod.
    #[attr(optional, validate = cuda_versions)]
    pub(crate) allowed_cuda_versions: Texts,
    /// Minimum CUDA version of the machine, such as `12.1`. Conflicts with `allowed_cuda_versions`. Only used when a pod
    /// is created: a change does not affect the existing pod.
    #[attr(optional, validate = cuda_version)]
    pub(crate) min_cuda_version: Attr<String>,
}

/// A machine without a GPU.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Cpu {
    /// CPU flavor, such as `cpu5c`. Changing this replaces the pod.
    #[attr(required, replaces, validate = filled)]
    pub(crate) id: Attr<String>,
    /// Number of vCPUs, a power of two starting at 2. Changing this replaces the pod.
    #[attr(required, replaces, validate = power_of_two)]
    pub(crate) vcpu_count: Attr<i64>,
}

/// A network volume in a pod.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct NetworkMount {
    /// ID of the `warren_runpod_network_volume`. The pod runs in the data center of the volume. Changing this replaces
    /// the pod.
    #[attr(required, replaces, validate = filled)]
    pub(crate) id: Attr<String>,
    /// Absolute mount path in the container, such as `/workspace`. Updated in place.
    #[attr(required, validate = mount_path)]
    pub(crate) path: Attr<String>,
}

/// Storage on the machine.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct PersistentMount {
    /// Size in GB, 10 to 100000. It can grow in place but cannot shrink.
    #[attr(required, validate = between(10, 100_000))]
    pub(crate) size: Attr<i64>,
    /// Absolute mount path in the container, such as `/workspace`. Updated in place.
    #[attr(required, validate = mount_path)]
    pub(crate) path: Attr<String>,
}

/// The status of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Status {
    #[choice("RUNNING")]
    Running,
    #[choice("EXITED")]
    Exited,
    /// Only found, never desired, such as `ERROR`.
    #[choice(other)]
    Other(String),
}

/// How to bring back a pod that has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum WhenStopped {
    #[choice("start")]
    Start,
    #[choice("replace")]
    Replace,
}

impl HasShared for Pod {
    type Shared = RunpodObject;

    /// The marker is an environment variable.
    fn marks(&self, runpod: &RunPod) -> Result<String, NotKnown> {
        Ok(marker::variable(&runpod.scope, self.object.name()?))
    }
}

impl Cpu {
    /// The most container disk in GB, if it is documented for the flavor (docs.runpod.io/flash/configuration/cpu-types).
    /// RunPod otherwise refuses the pod with "Container Disk must be less than or equal to".
    pub(super) fn disk_limit(&self) -> Option<i64> {
        let per_vcpu = match self.id.known()?.as_str() {
            "cpu3c" | "cpu3g" => 10,
            "cpu5c" => 15,
            _ => return None,
        };
        self.vcpu_count.known()?.checked_mul(per_vcpu)
    }
}

impl Pod {
    /// Whether the pod should be running.
    pub(super) fn shall_run(&self) -> bool {
        self.desired_status != Status::Exited.into()
    }
}

pub(crate) fn variables(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(variables) = value else { return };
    for (name, value) in variables {
        let mut first = name.chars();
        let named = first.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && first.all(|c| c.is_ascii_alphanumeric() || c == '_');
        let why = if name == marker::VARIABLE {
            "the provider sets this variable to mark the owner of the pod. Remove it".to_owned()
        } else if !named {
            "a name consists of letters, digits and `_` and does not start with a digit. Rename it".to_owned()
        } else if let Some(text) = value.as_str()
            && text.contains("RUNPOD_SECRET_")
            && text.replace('\n', " ").contains("{{")
            && !reference().is_match(text)
        {
            "a reference to a secret has the form `{{ RUNPOD_SECRET_name }}`, with one space on either side. Use \
             the attribute `reference` of `warren_runpod_secret`"
                .to_owned()
        } else {
            continue;
        };
        diagnostics.error_at(
            path.key(name),
            "Invalid environment variable",
            format!("{name:?} is not valid: {why}."),
        );
    }
}

fn reference() -> &'static Regex {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    PATTERN.get_or_init(|| {
        #[expect(clippy::unwrap_used, reason = "a constant pattern")]
        Regex::new(r"\{\{ RUNPOD_SECRET_[A-Za-z0-9_./-]+ \}\}").unwrap()
    })
}

pub(crate) fn ports(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    for port in value.as_slice().into_iter().flatten().filter_map(Value::as_str) {
        let good = port.split_once('/').is_some_and(|(number, protocol)| {
            number.parse::<u16>().is_ok_and(|number| number > 0) && matches!(protocol, "http" | "tcp")
        });
        if !good {
            diagnostics.error_at(
                path.clone(),
                "Invalid port",
                format!("{port:?} is not a port that RunPod can expose; UDP is not supported. Use a value such as \
                         `8888/http` or `22/tcp`."),
            );
        }
    }
}

pub(super) fn cuda_versions(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    value.as_slice().into_iter().flatten().for_each(|version| cuda_version(version, path, diagnostics));
}

fn cuda_version(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    let pattern = PATTERN.get_or_init(|| {
        #[expect(clippy::unwrap_used, reason = "a constant pattern")]
        Regex::new(r"^\d+\.\d+$").unwrap()
    });
    if let Some(text) = value.as_str()
        && !pattern.is_match(text)
    {
        let detail = format!("{text:?} is not a CUDA version. Use major and minor version, such as `12.8`.");
        diagnostics.error_at(path.clone(), "Invalid CUDA version", detail);
    }
}

pub(super) fn power_of_two(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_u64(),
        _ => None,
    };
    if !number.is_some_and(|number| number >= 2 && number.is_power_of_two()) {
        let detail = format!("`{path}` must be a power of two, such as 2, 4, 8, 16 or 32.");
        diagnostics.error_at(path.clone(), "Invalid number of vCPUs", detail);
    }
}

pub(crate) fn mount_path(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if !text.starts_with('/') || text == "/" {
        let detail = format!("{text:?} is not an absolute path below `/`. Use a path such as `/workspace`.");
        diagnostics.error_at(path.clone(), "Invalid mount path", detail);
    }
}
