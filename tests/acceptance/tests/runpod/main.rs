//! RunPod resources, by real Terraform against a double that is held to RunPod's published schema.

mod account;
mod cluster;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use warren_acceptance::{KillSample, REGISTRY_PASSWORD, RunPodStage, SIGNING_KEY, flat, kill_points};
use warren_harness::{Fault, RunPodConfig};

const TOKEN: &str = "pod-token-value-91c2";

const POD: &str = r#"
variable "image" { default = "acme/train:1" }
variable "mode" { default = "train" }
variable "status" { default = "RUNNING" }
variable "when_stopped" { default = "start" }
variable "version_of_token" { default = 1 }
variable "timeout" { default = "20m" }
variable "token" {
  type      = string
  ephemeral = true
  default   = "pod-token-value-91c2"
}

resource "warren_runpod_pod" "worker" {
  name           = "worker"
  image          = var.image
  gpu            = { id = "NVIDIA GeForce RTX 4090" }
  env            = { MODE = var.mode }
  env_wo         = { WARREN_TOKEN = var.token }
  env_wo_version = var.version_of_token
  ports          = ["22/tcp", "8888/http"]
  desired_status = var.status
  when_stopped   = var.when_stopped
  timeouts       = { create = var.timeout }
}

output "id" { value = warren_runpod_pod.worker.id }
"#;

fn pod_stage() -> Result<RunPodStage> {
    RunPodStage::with(RunPodConfig::realistic(), POD)
}

fn id(stage: &RunPodStage) -> Result<String> {
    let outputs = stage.terraform.outputs()?;
    outputs["id"]["value"].as_str().map(str::to_owned).context("no id")
}

fn example(habits: RunPodConfig) -> Result<RunPodStage> {
    RunPodStage::example("gpu-pods", habits)
}

/// Every file of the workspace, so that whatever Terraform wrote is looked through.
fn files(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path)?);
        }
    }
    Ok(())
}

fn finds(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn a_pod_is_built_changed_in_place_and_taken_down() -> Result<()> {
    let stage = pod_stage()?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let worker = id(&stage)?;
    let pod = stage.cloud.pods()[&worker].clone();
    assert_eq!((&pod["status"], &pod["gpu"]["count"]), (&json!("RUNNING"), &json!(1)));
    assert_eq!(
        pod["env"],
        json!({"MODE": "train", "WARREN_TOKEN": TOKEN, "WARREN_RESOURCE": "acceptance/tests/worker"})
    );
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());

    // A change of plain variables leaves the secret ones as they are, until their version is raised.
    let changes = ["-var", "mode=test", "-var", "image=acme/train:2", "-var", "token=another-token-value"];
    let changed = terraform.apply(&changes)?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", changed.stdout);
    let pod = stage.cloud.pods()[&worker].clone();
    assert_eq!((&pod["image"], &pod["env"]["MODE"]), (&json!("acme/train:2"), &json!("test")));
    assert_eq!(pod["env"]["WARREN_TOKEN"], TOKEN);
    let rotated = [&changes[..], &["-var", "version_of_token=2"]].concat();
    terraform.apply(&rotated)?.success()?;
    assert_eq!(stage.cloud.pods()[&worker]["env"]["WARREN_TOKEN"], "another-token-value");

    let stopped = [&rotated[..], &["-var", "status=EXITED"]].concat();
    terraform.apply(&stopped)?.success()?;
    assert_eq!(stage.cloud.pods()[&worker]["status"], "EXITED");
    assert_eq!(terraform.plan(&[&stopped[..], &["-detailed-exitcode"]].concat())?.code, 0);
    terraform.apply(&rotated)?.success()?;
    assert_eq!(stage.cloud.pods()[&worker]["status"], "RUNNING");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_pod_that_was_taken_away_or_has_stopped_is_drift() -> Result<()> {
    let stage = pod_stage()?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let first = id(&stage)?;

    assert!(stage.cloud.reclaim(&first));
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 2 && flat(&plan.stdout).contains("1 to add, 0 to change"), "{}", plan.output());
    terraform.apply(&[])?.success()?;
    let second = id(&stage)?;
    assert_ne!(first, second);

    assert!(stage.cloud.bring(&second, "EXITED"));
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    let told = flat(&plan.stdout);
    ensure!(plan.code == 2 && told.contains("0 to add, 1 to change"), "{}", plan.output());
    ensure!(told.contains(r#"desired_status = "EXITED" -> "RUNNING""#), "{told}");
    terraform.apply(&[])?.success()?;
    assert_eq!((id(&stage)?, &stage.cloud.pods()[&second]["status"]), (second.clone(), &json!("RUNNING")));

    assert!(stage.cloud.bring(&second, "EXITED"));
    let plan = terraform.plan(&["-var", "when_stopped=replace"])?.success()?;
    ensure!(flat(&plan.stdout).contains("1 to add, 0 to change, 1 to destroy"), "{}", plan.stdout);
    terraform.apply(&["-var", "when_stopped=replace"])?.success()?;
    assert_ne!(id(&stage)?, second);

    // Somebody changes it by hand.
    let third = id(&stage)?;
    assert!(stage.cloud.change(&third, |pod| {
        pod.insert("image".to_owned(), json!("by/hand:1"));
    }));
    let drift = terraform.plan(&["-detailed-exitcode", "-var", "when_stopped=replace"])?;
    ensure!(drift.code == 2 && flat(&drift.stdout).contains("by/hand:1"), "{}", drift.output());
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn lost_states_are_adopted_or_imported() -> Result<()> {
    let stage = pod_stage()?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let worker = id(&stage)?;
    let state = terraform.folder().join("terraform.tfstate");
    std::fs::remove_file(&state)?;
    terraform.apply(&[])?.success()?;
    assert_eq!(id(&stage)?, worker, "the next apply adopts it by its marker");

    std::fs::remove_file(&state)?;
    terraform.import("warren_runpod_pod.worker", &worker)?.success()?;
    let plan = terraform.plan(&[])?.success()?;
    let told = flat(&plan.stdout);
    ensure!(told.contains("0 to add, 1 to change, 0 to destroy"), "an import replaces nothing: {told}");
    terraform.apply(&[])?.success()?;
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn what_is_put_off_or_lost_converges() -> Result<()> {
    let stage = pod_stage()?;
    let front = stage.cloud.front();
    front.inject(Fault::throttle().on("createPod"));
    front.inject(Fault::cut_after().on("createPod"));
    front.inject(Fault::error(503, "Service Unavailable", "upstream is not available").on("getPod").times(2));
    stage.terraform.apply(&[])?.success()?;
    assert_eq!(stage.cloud.pods().len(), 1, "the lost pod is adopted, not made twice");
    front.inject(Fault::cut_before().on("deletePod"));
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn what_runpod_refuses_is_told_with_a_hint() -> Result<()> {
    let stage = pod_stage()?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    let told = || -> Result<String> { Ok(flat(&terraform.apply(&[])?.failure()?.output())) };
    cloud.configure(|config| {
        config.sold_out.insert("NVIDIA GeForce RTX 4090".to_owned());
    });
    let sold_out = told()?;
    ensure!(sold_out.contains("no longer any instances available"), "{sold_out}");
    ensure!(sold_out.contains("No matching machine is available, and nothing was rented"), "{sold_out}");
    cloud.configure(|config| config.sold_out.clear());

    cloud.front().inject(Fault::error(402, "Payment Required", "insufficient balance").on("createPod"));
    let balance = told()?;
    ensure!(balance.contains("Add credit in the RunPod console"), "{balance}");

    cloud.configure(|config| config.api_key = "another".to_owned());
    let key = told()?;
    ensure!(key.contains("RunPod rejected the API key"), "{key}");
    cloud.configure(|config| config.api_key = RunPodConfig::default().api_key);

    // Throttling is waited for until the deadline.
    cloud.front().inject(Fault::throttle().on("createPod").times(u32::MAX));
    let throttled = flat(&terraform.apply(&["-var", "timeout=5s"])?.failure()?.output());
    ensure!(throttled.contains("RunPod throttles the API calls of the account"), "{throttled}");
    cloud.front().clear_faults();

    // The pod has stopped, and its machine has no GPU free any more.
    terraform.apply(&[])?.success()?;
    cloud.bring(&id(&stage)?, "EXITED");
    cloud.configure(|config| {
        config.sold_out.insert("NVIDIA GeForce RTX 4090".to_owned());
    });
    let no_gpu = told()?;
    ensure!(no_gpu.contains("has rented its GPUs to others"), "{no_gpu}");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn the_example_keeps_secrets_out_of_everything_that_is_written() -> Result<()> {
    let mut stage = example(RunPodConfig::realistic())?;
    let log = stage.terraform.folder().join("trace.log");
    stage.terraform.env("TF_LOG", "TRACE");
    stage.terraform.env("TF_LOG_PATH", log.as_os_str());
    let terraform = &stage.terraform;
    terraform.plan(&["-out=plan.tfplan"])?.success()?;
    let mut outputs = vec![terraform.apply(&["plan.tfplan"])?.success()?.output()];
    outputs.push(terraform.show(None)?.to_string());

    // Everything arrived where it belongs.
    let token = stage.cloud.secrets()["training-token"].clone();
    ensure!(token.starts_with("v4.public."), "no token: {token}");
    let registries = stage.cloud.registries();
    assert_eq!(
        registries["training v1 [warren:llm-training/ml-repo]"],
        ("acme".to_owned(), REGISTRY_PASSWORD.to_owned())
    );
    let pods = stage.cloud.pods();
    assert_eq!(pods.len(), 2);
    for id in pods.keys() {
        let environment = stage.cloud.environment(id).context("a pod has an environment")?;
        assert_eq!(environment["WARREN_TOKEN"], token, "the pod is given the secret's value");
        assert_eq!(environment["WARREN_DEVICE"], "user");
    }
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0, "a new token each run is no change");

    // A new token, stored in place, and a new password: no pod is made anew.
    let rotate = ["-var", "token_version=2", "-var", "registry_version=2"];
    let rotated = terraform.apply(&rotate)?.success()?;
    ensure!(flat(&rotated.stdout).contains("1 added, 3 changed, 1 destroyed"), "{}", rotated.stdout);
    outputs.push(rotated.output());
    assert_eq!(stage.cloud.pods().keys().collect::<Vec<_>>(), pods.keys().collect::<Vec<_>>());
    let another = stage.cloud.secrets()["training-token"].clone();
    assert_ne!(token, another);

    let mut written = BTreeMap::new();
    files(&terraform.folder(), &mut written)?;
    for (index, output) in outputs.into_iter().enumerate() {
        written.insert(format!("output {index}"), output.into_bytes());
    }
    // A plan is a ZIP archive: what it holds is shown by Terraform.
    written.insert("plan".to_owned(), terraform.show(Some("plan.tfplan"))?.to_string().into_bytes());
    ensure!(written.keys().any(|name| name.ends_with("trace.log")), "no log: {:?}", written.keys());
    ensure!(written.keys().any(|name| name.ends_with("terraform.tfstate")), "no state");
    // Signatures are what is secret of a token and a key; claims and prefixes are in documentation too.
    let key = RunPodConfig::default().api_key;
    for secret in [token.as_str(), another.as_str(), SIGNING_KEY, REGISTRY_PASSWORD, key.as_str()] {
        for (name, content) in &written {
            ensure!(!finds(content, secret), "{name} holds {}…", &secret[..10]);
        }
    }
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn an_expired_registry_credential_is_told() -> Result<()> {
    let stage = example(RunPodConfig::default())?;
    stage.terraform.apply(&["-var", "pods=1"])?.success()?;
    stage.cloud.expire_registries();
    let told = flat(&stage.terraform.apply(&["-var", "pods=2"])?.failure()?.output());
    ensure!(told.contains("The container cannot start") && told.contains("expire after 12 hours"), "{told}");
    ensure!(told.contains("raise `password_wo_version`"), "{told}");
    let mended = stage.terraform.apply(&["-var", "pods=2", "-var", "registry_version=2"])?.success()?;
    assert_eq!(
        stage.terraform.plan(&["-detailed-exitcode", "-var", "registry_version=2"])?.code,
        0,
        "{}",
        mended.stdout
    );
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

const CANDIDATES: &str = r#"
variable "gpus" {
  type    = list(string)
  default = ["NVIDIA H100 80GB HBM3", "NVIDIA A100 80GB PCIe"]
}
variable "data_centers" {
  type    = list(string)
  default = ["US-KS-2", "EU-RO-1"]
}

resource "warren_runpod_pod" "worker" {
  name              = "worker"
  image             = "acme/train:1"
  gpu               = { ids = var.gpus, count = 2 }
  data_center_ids   = var.data_centers
  global_networking = true
}

output "id" { value = warren_runpod_pod.worker.id }
output "got" {
  value = [warren_runpod_pod.worker.gpu.id, warren_runpod_pod.worker.data_center_id, warren_runpod_pod.worker.cost,
    warren_runpod_pod.worker.internal_dns]
}
"#;

#[test]
fn gpu_types_and_data_centers_are_tried_in_order() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::realistic(), CANDIDATES)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    cloud.configure(|config| {
        config.forbidden.insert("NVIDIA H100 80GB HBM3".to_owned());
        config.no_capacity = (500, "create pod: There are no instances currently available".to_owned());
    });
    terraform.apply(&[])?.success()?;
    let calls = || cloud.front().calls_of("createPod").len();
    assert_eq!(calls(), 4, "two types in two data centers, the last of which has one");
    let first = id(&stage)?;
    let got = |stage: &RunPodStage| -> Result<_> { Ok(stage.terraform.outputs()?["got"]["value"].clone()) };
    let name = format!("{first}.runpod.internal");
    assert_eq!(got(&stage)?, json!(["NVIDIA A100 80GB PCIe", "EU-RO-1", 2.78, name]));
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0);

    // Another order, or a better type with stock, moves no pod.
    cloud.configure(|config| config.forbidden.clear());
    let reordered = ["-var", r#"gpus=["NVIDIA A100 80GB PCIe", "NVIDIA L4"]"#];
    let changed = terraform.apply(&reordered)?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", changed.stdout);
    assert_eq!((id(&stage)?, calls()), (first, 4));

    // A type that is no longer wanted does.
    let other = ["-var", r#"gpus=["NVIDIA H100 80GB HBM3"]"#];
    let plan = terraform.plan(&other)?.success()?;
    ensure!(flat(&plan.stdout).contains("1 to add, 0 to change, 1 to destroy"), "{}", plan.stdout);
    terraform.apply(&other)?.success()?;
    assert_eq!(got(&stage)?[1], json!("US-KS-2"));
    terraform.destroy(&[])?.success()?;

    // If all are refused, the error lists the reason of each.
    cloud.configure(|config| {
        config.forbidden.insert("NVIDIA H100 80GB HBM3".to_owned());
        config.sold_out.insert("NVIDIA A100 80GB PCIe".to_owned());
    });
    let told = flat(&terraform.apply(&[])?.failure()?.output());
    for part in [
        "none of the 4 candidates was accepted",
        "NVIDIA H100 80GB HBM3 in US-KS-2: access denied",
        "NVIDIA A100 80GB PCIe in EU-RO-1: create pod: There are no instances currently available",
        "more GPU types in `gpu.ids`",
    ] {
        ensure!(told.contains(part), "{part} is not in: {told}");
    }
    stage.nothing_left()
}

#[test]
fn a_lost_candidate_is_adopted_and_no_second_pod_is_rented() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::realistic(), CANDIDATES)?;
    stage.cloud.configure(|config| {
        config.forbidden.insert("NVIDIA H100 80GB HBM3".to_owned());
    });
    stage.cloud.front().inject(Fault::cut_after().on("createPod").skip(3));
    stage.terraform.apply(&[])?.success()?;
    let calls = stage.cloud.front().calls_of("createPod").len();
    assert_eq!(calls, 4, "the fourth, whose answer was lost, made the pod");
    assert_eq!(stage.cloud.pods().len(), 1, "{:?}", stage.cloud.pods());
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

const CPU: &str = r#"
variable "disk" { default = null }

resource "warren_runpod_pod" "prepare" {
  name  = "prepare"
  image = "acme/prepare:1"
  cpu   = { id = "cpu3c", vcpu_count = 2 }
  disk  = var.disk
}
"#;

#[test]
fn a_container_disk_that_the_cpu_flavor_does_not_allow_fails_the_plan() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), CPU)?;
    let told = flat(&stage.terraform.plan(&["-var", "disk=21"])?.failure()?.output());
    ensure!(
        told.contains("RunPod allows at most 20 GB of container disk for `cpu3c` with 2 vCPUs"),
        "{told}"
    );
    assert!(stage.cloud.front().calls_of("createPod").is_empty());
    stage.terraform.apply(&[])?.success()?;
    let disks: Vec<_> = stage.cloud.pods().into_values().map(|pod| pod["disk"].clone()).collect();
    assert_eq!(disks, [json!(20)], "the default is lowered to what the flavor allows");
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

const CATALOG: &str = r#"
data "warren_runpod_gpu_types" "large" {
  min_memory = 80
  gpu_count  = 2
}

resource "warren_runpod_pod" "worker" {
  name  = "worker"
  image = "acme/train:1"
  gpu   = { ids = data.warren_runpod_gpu_types.large.ids, count = 2 }
}

output "gpus" { value = data.warren_runpod_gpu_types.large.gpu_types }
output "id" { value = warren_runpod_pod.worker.id }
"#;

#[test]
fn gpu_types_come_from_the_catalog_cheapest_first() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), CATALOG)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    cloud.front().inject(Fault::throttle().on("listGpuTypes"));
    terraform.apply(&[])?.success()?;
    let gpus = terraform.outputs()?["gpus"]["value"].clone();
    let of = |at: usize| {
        (gpus[at]["name"].clone(), gpus[at]["price"].clone(), gpus[at]["data_center_ids"].clone())
    };
    assert_eq!(of(0), (json!("A100 PCIe"), json!(1.39), json!(["EU-RO-1"])));
    assert_eq!(of(1), (json!("H100 SXM"), json!(2.69), json!(["US-KS-2"])));
    assert_eq!(cloud.pods()[&id(&stage)?]["gpu"]["id"], "NVIDIA A100 80GB PCIe");
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points; `cargo xtask kill --example gpu-pods` tries them all.
#[test]
fn a_killed_provider_leaves_nothing_behind() -> Result<()> {
    let stage = || example(RunPodConfig { polls: 1, ..RunPodConfig::default() });
    let report = kill_points(stage, KillSample::every(3), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 4, "{report}");
    Ok(())
}
