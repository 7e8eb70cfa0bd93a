//! The habits of the double.

use std::collections::{BTreeMap, BTreeSet};

/// How the double behaves. The default is as quick as RunPod can be, with every rule on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPodConfig {
    /// The key that is accepted.
    pub api_key: String,
    /// The data centers that exist, each with its GPU types. The first that fits takes the pod.
    pub data_centers: BTreeMap<String, BTreeSet<String>>,
    /// GPU types that are sold out: no pod is made with them and no stopped one starts.
    pub sold_out: BTreeSet<String>,
    /// How many looks at a pod show it `PROVISIONING`, and as many more `STARTING`. With 0 the first look shows it
    /// `RUNNING`; the answer to a create always shows `PROVISIONING`.
    pub polls: u32,
    /// Whether two registry credentials may have one name.
    pub same_registry_names: bool,
}

/// The GPU that the examples rent.
const GPU: &str = "NVIDIA GeForce RTX 4090";

impl Default for RunPodConfig {
    fn default() -> Self {
        let gpus = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            api_key: "rpa_DOUBLE".to_owned(),
            data_centers: BTreeMap::from([
                ("EU-RO-1".to_owned(), gpus(&[GPU, "NVIDIA A100 80GB PCIe"])),
                ("US-KS-2".to_owned(), gpus(&[GPU, "NVIDIA H100 80GB HBM3"])),
            ]),
            sold_out: BTreeSet::new(),
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
