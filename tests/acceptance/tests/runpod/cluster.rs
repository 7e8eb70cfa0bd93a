//! Clusters of pods.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use warren_acceptance::{KillSample, RunPodStage, flat, kill_points};
use warren_harness::{Fault, RunPodConfig};

use super::account::{DELEGATION, SECRET};
use super::id;

const CLUSTER: &str = r#"
variable "name" { default = "train" }
variable "disk" { default = 80 }

resource "warren_runpod_cluster" "train" {
  name            = var.name
  type            = "TRAINING"
  pod_count       = 2
  image           = "acme/train:1"
  disk            = var.disk
  gpu             = { ids = ["NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3"], count = 8 }
  data_center_ids = ["US-KS-2"]
  env             = { MODE = "train" }
}

output "id" { value = warren_runpod_cluster.train.id }
output "got" {
  value = [warren_runpod_cluster.train.gpu.id, warren_runpod_cluster.train.network_cidr,
    warren_runpod_cluster.train.pods[*].rank, warren_runpod_cluster.train.cost]
}
"#;

#[test]
fn a_cluster_is_built_renamed_replaced_and_taken_down() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::realistic(), CLUSTER)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    cloud.front().inject(Fault::cut_after().on("createCluster").skip(1));
    terraform.apply(&[])?.success()?;
    let first = id(&stage)?;
    assert_eq!(cloud.clusters().len(), 1, "the lost one is adopted");
    let cluster = cloud.clusters()[&first].clone();
    assert_eq!(cluster["pods"], json!({"total": 2, "byStatus": {"RUNNING": 2}}));
    let got = terraform.outputs()?["got"]["value"].clone();
    assert_eq!(got, json!(["NVIDIA H100 80GB HBM3", "10.65.0.0/16", [0, 1], 43.04]));
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0);

    let renamed = terraform.apply(&["-var", "name=other"])?.success()?;
    ensure!(flat(&renamed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", renamed.stdout);
    assert_eq!(cloud.clusters()[&first]["name"], "other [warren:acceptance/tests]");
    let replaced = terraform.apply(&["-var", "name=other", "-var", "disk=90"])?.success()?;
    ensure!(flat(&replaced.stdout).contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.stdout);

    assert_ne!(first, id(&stage)?);

    // A cluster whose pods have failed can be destroyed.
    for pod in cloud.pods().keys() {
        assert!(cloud.bring(pod, "ERROR"));
    }
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_cluster_whose_pods_cannot_start_is_told() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig { polls: u32::MAX / 4, ..RunPodConfig::default() }, CLUSTER)?;
    let cloud = &stage.cloud;
    let told = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while cloud.pods().len() < 2 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(20));
            }
            cloud.pods().keys().for_each(|pod| assert!(cloud.bring(pod, "ERROR")));
        });
        stage.terraform.apply(&[])?.failure()
    })?;
    let told = flat(&told.output());
    ensure!(told.contains("Pods of the cluster do not run") && told.contains("2 ERROR"), "{told}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// A sample of the calls of a cluster, a delegation and a secret.
#[test]
fn a_provider_killed_at_any_call_leaves_no_cluster_behind() -> Result<()> {
    let all = [
        CLUSTER,
        &DELEGATION.replace("output \"id\"", "output \"delegation\""),
        &SECRET.replace("output \"id\"", "output \"secret\""),
    ]
    .concat();
    let stage = || RunPodStage::with(RunPodConfig::default(), &all);
    let report = kill_points(stage, KillSample::every(1), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 6, "{report}");
    Ok(())
}
