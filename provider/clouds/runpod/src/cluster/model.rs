//! The schema and state of `warren_runpod_cluster`.

use std::collections::BTreeMap;

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Object, Resource};
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::common::{RunpodObject, filled};
use crate::gpu::{GpuChoice, TextList, distinct};
use crate::pod::{mount_path, ports, variables};

/// Manages a cluster: 2 to 250 pods with the same GPUs and the same container, in one data center and one private network.
/// RunPod can only rename a cluster, so any other change replaces it with all of its pods. At RunPod its name ends with a
/// marker of the fabric and owner, which lets a re-run of an interrupted apply find the cluster.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_runpod_cluster", noun = "cluster")]
pub(crate) struct Cluster {
    #[attr(flatten)]
    pub(crate) object: RunpodObject,
    /// Type of cluster: `TRAINING` for distributed training, `APPLICATION` for other programs, `SLURM` or `RAY` for pods
    /// that RunPod sets up with that scheduler. Changing this replaces the cluster.
    #[attr(required, replaces)]
    pub(crate) r#type: Attr<ClusterType>,
    /// Number of pods, 2 to 250. Changing this replaces the cluster.
    #[attr(required, replaces, validate = between(2, 250))]
    pub(crate) pod_count: Attr<i64>,
    /// GPUs of each pod.
    #[attr(required)]
    pub(crate) gpu: Attr<ClusterGpu>,
    /// Public container image. RunPod accepts no registry credential for a cluster. Changing this replaces the cluster.
    #[attr(required, replaces, validate = filled)]
    pub(crate) image: Attr<String>,
    /// Arguments passed to the image's entrypoint. Changing this replaces the cluster.
    #[attr(optional, replaces, validate = filled)]
    pub(crate) args: Attr<String>,
    /// Environment variables of each pod. The values are stored in the state, so reference a `warren_runpod_secret` as
    /// `{{ RUNPOD_SECRET_name }}` for secrets. Changing this replaces the cluster.
    #[attr(optional, replaces, validate = variables)]
    pub(crate) env: Attr<BTreeMap<String, Attr<String>>>,
    /// Ports that RunPod exposes to the internet on each pod, such as `22/tcp`. Changing this replaces the cluster.
    #[attr(optional, replaces, validate = ports)]
    pub(crate) ports: Texts,
    /// Size of the container disk of each pod in GB, 1 to 100000. Changing this replaces the cluster. Defaults to `50`.
    #[attr(default = 50, replaces, validate = between(1, 100_000))]
    pub(crate) disk: Attr<i64>,
    /// IDs of the data centers where the cluster may run, in order of preference. They are tried one after another until
    /// one has room for all pods. The cluster is replaced if it runs in none of them. Defaults to any data center.
    #[attr(optional, validate = distinct)]
    pub(crate) data_center_ids: TextList,
    /// Network volume that each pod mounts. Changing this replaces the cluster.
    #[attr(optional, replaces)]
    pub(crate) network_volume: Attr<ClusterVolume>,
    /// Whether RunPod sets up SSH with the account's public keys. The image must support it. Changing this replaces the
    /// cluster. Defaults to `false`.
    #[attr(default = false, replaces)]
    pub(crate) start_ssh: Attr<bool>,
    /// Whether RunPod starts JupyterLab on each pod. The image must support it. Changing this replaces the cluster. Defaults
    /// to `false`.
    #[attr(default = false, replaces)]
    pub(crate) start_jupyter: Attr<bool>,
    /// Whether an apply waits until all pods run, up to the limit in `timeouts`. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) wait_for_running: Attr<bool>,
    /// ID of the data center where the cluster runs.
    #[attr(computed, keeps)]
    pub(crate) data_center_id: Attr<String>,
    /// IPv4 range of the cluster's private network in CIDR notation, which RunPod chooses.
    #[attr(computed, keeps)]
    pub(crate) network_cidr: Attr<String>,
    /// ID of the primary pod, whose rank is 0.
    #[attr(computed, keeps)]
    pub(crate) primary_pod_id: Attr<String>,
    /// Public SSH endpoint of the primary pod, `host:port`. Null until the pod runs and exposes `22/tcp`.
    #[attr(computed)]
    pub(crate) primary_ssh_endpoint: Attr<String>,
    /// The pods by rank.
    #[attr(computed)]
    pub(crate) pods: Attr<Vec<Member>>,
    /// Current cost of all pods in USD per hour, without storage.
    #[attr(computed)]
    pub(crate) cost: Attr<f64>,
}

/// GPUs of each pod.
#[derive(Clone, Debug, Default, PartialEq, Object)]
#[object(noun = "cluster")]
pub(crate) struct ClusterGpu {
    #[attr(flatten)]
    pub(crate) choice: GpuChoice,
}

/// A network volume in the pods of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct ClusterVolume {
    /// ID of the `warren_runpod_network_volume`. The cluster runs in the data center of the volume.
    #[attr(required, validate = filled)]
    pub(crate) id: Attr<String>,
    /// Absolute mount path in the containers, such as `/workspace`.
    #[attr(required, validate = mount_path)]
    pub(crate) path: Attr<String>,
}

/// A pod of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Member {
    /// ID of the pod.
    #[attr(computed)]
    pub(crate) id: Attr<String>,
    /// Rank of the pod, which its program finds in `NODE_RANK`. Null until RunPod assigns it.
    #[attr(computed)]
    pub(crate) rank: Attr<i64>,
    /// IP address of the pod in the cluster's private network. Null until RunPod assigns it.
    #[attr(computed)]
    pub(crate) ip: Attr<String>,
}

/// What a cluster is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum ClusterType {
    #[choice("APPLICATION")]
    Application,
    #[choice("TRAINING")]
    Training,
    #[choice("SLURM")]
    Slurm,
    #[choice("RAY")]
    Ray,
}

impl HasShared for Cluster {
    type Shared = RunpodObject;
}
