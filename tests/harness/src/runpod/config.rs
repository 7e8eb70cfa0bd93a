//! The habits of the double.

use std::collections::{BTreeMap, BTreeSet};

/// How the double behaves. The default is as quick as RunPod can be, with every rule on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPodConfig {
    /// The key that is accepted.
    pub api_key: String,
    /// The data centers that exist, each with its GPU types. The first that fits takes the pod.
    pub data_centers: BTreeMap<String, BTreeSet<String>>,
    /// The catalog of GPU types.
    pub gpus: BTreeMap<String, GpuType>,
    /// GPU types that are sold out: no pod is made with them and no stopped one starts.
    pub sold_out: BTreeSet<String>,
    /// GPU types that the account cannot access: a create answers 403.
    pub forbidden: BTreeSet<String>,
    /// Status and message of a create that finds no machine.
    pub no_capacity: (u16, String),
    /// ARNs of ECR repositories whose policy does not admit RunPod.
    pub closed_repositories: BTreeSet<String>,
    /// How many looks at a pod show it `PROVISIONING`, and as many more `STARTING`. With 0 the first look shows it
    /// `RUNNING`; the answer to a create always shows `PROVISIONING`.
    pub polls: u32,
    /// Whether two registry credentials may have one name.
    pub same_registry_names: bool,
}

/// A GPU type of the catalog; pairs are those of the secure and the community cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuType {
    /// Such as `RTX 4090`.
    pub name: String,
    /// Memory in GB.
    pub memory: u32,
    /// List price of one GPU in US cents per hour.
    pub price: (u32, u32),
    /// The most GPUs of one pod; 0 where the cloud does not offer the type.
    pub max_count: (u32, u32),
}

/// What the API says when it has none.
const NO_CAPACITY: &str = "There are no longer any instances available with the requested specifications. Please \
                           refresh and try again.";

/// The GPU that the examples rent.
const GPU: &str = "NVIDIA GeForce RTX 4090";

impl Default for RunPodConfig {
    fn default() -> Self {
        let gpu = |id: &str, name: &str, memory, price, max_count| {
            (id.to_owned(), GpuType { name: name.to_owned(), memory, price, max_count })
        };
        let gpus = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            api_key: "rpa_DOUBLE".to_owned(),
            data_centers: BTreeMap::from([
                ("EU-RO-1".to_owned(), gpus(&[GPU, "NVIDIA A100 80GB PCIe"])),
                ("US-KS-2".to_owned(), gpus(&[GPU, "NVIDIA H100 80GB HBM3"])),
            ]),
            gpus: BTreeMap::from([
                gpu(GPU, "RTX 4090", 24, (44, 31), (8, 4)),
                gpu("NVIDIA A100 80GB PCIe", "A100 PCIe", 80, (139, 119), (8, 8)),
                gpu("NVIDIA H100 80GB HBM3", "H100 SXM", 80, (269, 0), (8, 0)),
            ]),
            sold_out: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            no_capacity: (400, NO_CAPACITY.to_owned()),
            closed_repositories: BTreeSet::new(),
            polls: 0,
            same_registry_names: false,
        }
    }
}

impl RunPodConfig {
    /// Pods that take their time, within what a good client must survive.
    pub fn realistic() -> Self {
        Self { polls: 2, ..Self::default() }
    }
}
