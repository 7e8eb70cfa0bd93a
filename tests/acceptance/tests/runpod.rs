//! RunPod resources, by real Terraform against a double that is held to RunPod's published schema.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use warren_acceptance::{KillCalls, REGISTRY_PASSWORD, RunPodStage, SIGNING_KEY, flat, kill_points};
use warren_harness::{Fault, RunPodConfig};

const TOKEN: &str = "pod-token-value-91c2";

const POD: &str = r#"
variable "image" { default = "acme/train:1" }
variable "mode" { default = "train" }
variable "status" { default = "RUNNING" }
variable "when_stopped" { default = "start" }
variable "version_of_token" { default = 1 }
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

    cloud.front().inject(Fault::throttle().on("createPod").times(100));
    let throttled = told()?;
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

    // A new token, and a new password: no pod is made anew.
    let rotate = ["-var", "token_version=2", "-var", "registry_version=2"];
    let rotated = terraform.apply(&rotate)?.success()?;
    ensure!(flat(&rotated.stdout).contains("2 added, 2 changed, 2 destroyed"), "{}", rotated.stdout);
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

/// A sample of the kill points; `cargo xtask kill --example gpu-pods` tries them all.
#[test]
fn a_killed_provider_leaves_nothing_behind() -> Result<()> {
    let stage = || example(RunPodConfig { polls: 1, ..RunPodConfig::default() });
    let report = kill_points(stage, KillCalls::every(6), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 4, "{report}");
    Ok(())
}
