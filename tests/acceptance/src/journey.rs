//! The main job, end to end, for the demo and a test: apply on emulated clouds, start the gateway and the pod that this created, read
//! an object through the tunnel, destroy. No secret may appear where it does not belong.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;
use warren_harness::{Call, GoogleConfig, ProxyConfig, RunPodConfig, Venv};

use crate::AllStage;
use crate::overlay::{Hosts, Instance, Pod, Storage, put};

/// An object in a bucket that the example's endpoint allows.
const OBJECT: &str = "acme-datasets/train/part-0.parquet";

/// Bytes of the object.
const SIZE: usize = 3_000_000;

/// Runs the whole job. `report` receives one line per step; lines that start with spaces show the output of a step.
///
/// # Errors
/// The first step that fails.
pub fn run(report: &mut dyn FnMut(&str)) -> Result<()> {
    report(
        "starting emulated clouds on loopback: AWS (moto behind a strict proxy), Google Cloud, and RunPod",
    );
    let stage = stage()?;
    let plan = applied(&stage, report)?;
    refused_and_changed(&stage, report)?;
    let seen = reached(&stage, report)?;

    report("searching plan, state, logs, user data, and the process list for the private keys and the token");
    let searched = searched(&stage, &plan, &seen)?;
    report(&format!("  {searched}"));

    report("terraform destroy");
    let run = stage.terraform.destroy(&[])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    stage.nothing_left()?;
    report("the emulated clouds are empty again, and rejected no request");
    Ok(())
}

fn stage() -> Result<AllStage> {
    let habits = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    let mut stage = AllStage::example("llm-training", habits)?;
    let log = stage.terraform.folder().join("terraform.log");
    stage.terraform.env("TF_LOG", "TRACE").env("TF_LOG_PATH", log);
    Ok(stage)
}

/// Applies a saved plan, and returns the plan file.
fn applied(stage: &AllStage, report: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    report(
        "terraform apply: networks in both clouds from one address plan, a gateway in AWS with its keys, a GPU pod with a token",
    );
    stage.terraform.plan(&["-out=first.tfplan"])?.success()?;
    let run = stage.terraform.apply(&["first.tfplan"])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    let left = stage.cloud.aws.leftovers()?.added.len();
    let made = left + stage.cloud.google.left().len() + stage.cloud.runpod.left().len();
    report(&format!("  {made} objects exist; a second plan has no changes"));
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    Ok(stage.terraform.folder().join("first.tfplan"))
}

fn refused_and_changed(stage: &AllStage, report: &mut dyn FnMut(&str)) -> Result<()> {
    report("terraform plan with the AWS VPC moved onto the range of a Google subnetwork: the plan fails");
    let refused = stage.terraform.plan(&["-var", "aws_cidr_block=10.1.0.0/16"])?.failure()?;
    for line in errors(&refused.output()) {
        report(&format!("  {line}"));
    }
    report("terraform apply with other tags: updated in place");
    let run = stage.terraform.apply(&["-var", TAGS])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    Ok(())
}

const TAGS: &str = r#"tags={team="research"}"#;

/// What was printed during the run, and by whom.
type Seen = Vec<(&'static str, String)>;

/// Starts gateway and pod, reads an object, removes the pod.
fn reached(stage: &AllStage, report: &mut dyn FnMut(&str)) -> Result<Seen> {
    let outputs = stage.terraform.outputs()?;
    let gateway = &outputs["gateways"]["value"][0];
    let public = gateway["udp"].as_str().and_then(|udp| udp.split(':').next()).context("no gateway")?;
    let data = outputs["network"]["value"]["aws/data"].as_str().context("no data subnet")?;
    let private = format!("{}.10", data.rsplit_once('.').context("no IPv4 range")?.0);
    ensure!(outputs["network"]["value"]["overlay"] == "10.100.0.0/24", "{}", outputs["network"]);
    let hosts = Hosts::new(public, &[&private])?;

    report(
        "starting the gateway from its instance's user data: boot script, secrets from the parameter store, warren-tunnel; without privileges",
    );
    let run = stage.cloud.aws.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let mut instance = Instance::boot(&run)?;
    let fetched = instance.fetch(&stage.cloud.aws.endpoint())?;
    instance.start(&hosts.hub)?;
    report(&format!(
        "  {} listens at {public}: UDP 51820, TCP 443",
        gateway["name"].as_str().unwrap_or_default()
    ));

    report("starting the pod's agent with the environment that RunPod set; without privileges");
    let id =
        outputs["pods"]["value"].as_object().and_then(|pods| pods.values().next()).and_then(Value::as_str);
    let environment = stage.cloud.runpod.environment(id.context("no pod")?).context("no environment")?;
    let storage = Storage::start(&hosts.storage, &private, &stage.cloud.aws.endpoint())?;
    let authority = storage.authority().display().to_string();
    let url = storage.url(OBJECT);
    ensure!(
        Pod::get_directly(&hosts.pods, &url, &authority).is_err(),
        "the pod reaches the storage without the tunnel"
    );
    let mut pod = Pod::start(&hosts.pods, &environment)?;
    let lease = instance.peers()?.into_iter().next().context("no lease")?;
    let within = lease["addresses"][0].as_str().is_some_and(|address| address.starts_with("10.100.0."));
    ensure!(lease["state"] == "live" && within, "{lease}");
    report(&format!(
        "  {} enrolled in group {} with address {}",
        lease["public_key"], lease["group"], lease["addresses"][0]
    ));

    let object: String =
        (0..SIZE).map(|n| char::from(b'a' + u8::try_from(n * 7 / 3 % 26).unwrap_or_default())).collect();
    put(&stage.cloud.aws.endpoint(), OBJECT, &object)?;
    report(&format!("in the pod: GET {url} through the agent's proxy, the tunnel, and the gateway"));
    let get = || -> Result<()> {
        let got = Pod::get(&hosts.pods, &url, &authority)?;
        ensure!(got == object, "received {} bytes that differ from the object", got.len());
        Ok(())
    };
    let begun = Instant::now();
    get().with_context(|| format!("gateway:\n{}", instance.log()))?;
    let peer = instance.peers()?.into_iter().next().context("no lease")?;
    let carried = peer["tx_bytes"].as_u64().unwrap_or_default();
    ensure!(carried > SIZE as u64, "the gateway carried only {carried} bytes: {peer}");
    report(&format!(
        "  {SIZE} bytes in {:.2} s, identical to the object; the gateway carried them over {}",
        begun.elapsed().as_secs_f64(),
        peer["carrier"]
    ));
    let other = url.replace(&format!("{private}/"), &format!("{private}:8443/"));
    ensure!(Pod::get(&hosts.pods, &other, &authority).is_err(), "{other} is not allowed, but answered");
    report("  port 8443 of the same host is refused: the group may reach port 443 only");

    let killed = instance.log();
    restarted(&mut instance, &hosts, &lease, &get, report)?;
    let processes = processes()?;
    ensure!(processes.contains("gateway --config"), "the gateway is not in the list of processes");
    report("terraform apply with no pods: RunPod stops the container, and the agent releases its lease");
    let run = stage.terraform.apply(&["-var", TAGS, "-var", "pods=0"])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    pod.process().terminate()?;
    let lease = instance.peers()?.into_iter().next().context("no lease")?;
    ensure!(lease["state"] == "released", "{lease}\n{}", pod.process().log());
    report(&format!(
        "  {} is {}; available to other pods from {}",
        lease["addresses"][0], lease["state"], lease["until"]
    ));
    Ok(vec![
        ("the user data", instance.script().to_owned()),
        ("the log of fetch", fetched),
        ("the log of the gateway that was killed", killed),
        ("the gateway's log", instance.log()),
        ("the agent's log", pod.process().log()),
        ("the list of processes", processes),
        ("Terraform's output", run.output()),
    ])
}

/// Kills the gateway and restarts it. The pod renews its lease with a handshake and keeps its address.
fn restarted(
    instance: &mut Instance,
    hosts: &Hosts,
    lease: &Value,
    get: &dyn Fn() -> Result<()>,
    report: &mut dyn FnMut(&str),
) -> Result<()> {
    report("killing the gateway (SIGKILL) and restarting it with its stored leases");
    instance.start(&hosts.hub)?;
    let begun = Instant::now();
    get().with_context(|| format!("gateway:\n{}", instance.log()))?;
    let back = begun.elapsed();
    let renewed = instance.peers()?.into_iter().next().context("the lease was lost")?;
    ensure!(renewed["last_handshake_age"].is_number(), "no handshake: {renewed}");
    for part in ["public_key", "addresses", "state", "since"] {
        ensure!(renewed[part] == lease[part], "{part} of the lease was {} before: {renewed}", lease[part]);
    }
    report(&format!(
        "  the pod reads the object again after {:.1} s: it renewed its lease with a handshake, {} until {}",
        back.as_secs_f64(),
        renewed["addresses"][0],
        renewed["until"]
    ));
    Ok(())
}

/// Proves that no secret is where it does not belong, and returns a summary of what it searched.
fn searched(stage: &AllStage, plan: &Path, seen: &Seen) -> Result<String> {
    let mut secrets = secrets(&stage.cloud.aws.proxy().calls_of("PutParameter"));
    let keys = secrets.len();
    ensure!(
        keys == 3,
        "the parameter store holds {keys} keys, expected a WireGuard key, a TLS key, and a signing key"
    );
    secrets
        .extend(stage.cloud.runpod.secrets().into_values().filter(|secret| secret.starts_with("v4.public.")));
    ensure!(secrets.len() == keys + 1, "expected one token, found {}", secrets.len() - keys);
    unpack(plan)?;
    let files = in_no_file(&stage.terraform.folder(), &secrets)?;
    for (what, text) in seen {
        ensure!(!text.is_empty(), "{what} is empty");
        ensure!(!lines(&secrets).any(|line| text.contains(line)), "a secret is in {what}");
    }
    Ok(format!(
        "none of {keys} keys and 1 token appears in {files} files (including Terraform's TRACE log) and {} logs and lists",
        seen.len()
    ))
}

/// Addresses of resources that a saved plan creates, updates, replaces, or destroys, with the actions.
pub fn changes(plan: &Value) -> Vec<(String, String)> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let changed = changes.filter_map(|change| {
        let actions: Vec<&str> =
            change["change"]["actions"].as_array()?.iter().filter_map(|a| a.as_str()).collect();
        let address = change["address"].as_str()?.to_owned();
        (!matches!(actions[..], ["no-op"] | ["read"])).then(|| (address, actions.join("+")))
    });
    changed.collect()
}

/// All secret values that were written to the parameter store.
pub fn secrets(puts: &[Call]) -> Vec<String> {
    let secure = puts.iter().filter(|call| call.params.get("Type") == "SecureString");
    secure.map(|call| call.params.get("Value").to_owned()).collect()
}

/// All secret values that were added to Google's Secret Manager, without configurations.
///
/// # Errors
/// A payload is not text.
pub fn google_secrets(adds: &[Call]) -> Result<Vec<String>> {
    let keys = adds.iter().filter(|call| !call.params.get("parent").ends_with("-config"));
    let payload = |call: &Call| {
        let data = call.params.get("resource.payload.data");
        Ok(String::from_utf8(STANDARD.decode(data).or_else(|_| URL_SAFE.decode(data))?)?)
    };
    keys.map(payload).collect()
}

/// Unpacks a plan file, which is a ZIP archive, beside it, so that a search sees its contents.
///
/// # Errors
/// The file is not an archive.
pub fn unpack(plan: &Path) -> Result<()> {
    let folder = plan.with_extension("unpacked");
    let status = Command::new(Venv::ensure()?.python())
        .args(["-m", "zipfile", "-e"])
        .args([plan, &folder])
        .status()?;
    ensure!(status.success() && folder.join("tfplan").is_file(), "{} cannot be unpacked", plan.display());
    Ok(())
}

/// Proves that no file in a folder contains one of the secrets or a line of one, and returns the number of files.
///
/// # Errors
/// The files that contain one.
pub fn in_no_file(folder: &Path, secrets: &[String]) -> Result<usize> {
    let known = tempfile::NamedTempFile::new()?;
    std::fs::write(known.path(), lines(secrets).collect::<Vec<_>>().join("\n"))?;
    let grep = Command::new("grep")
        .args(["--recursive", "--files-with-matches", "--text", "--fixed-strings", "--file"])
        .args([known.path(), folder, known.path()])
        .output()?;
    let found = String::from_utf8_lossy(&grep.stdout).into_owned();
    // The list of secrets is searched too: a search that does not find it does not work.
    ensure!(found.trim() == known.path().display().to_string(), "secrets are in:\n{found}");
    count(folder)
}

fn count(folder: &Path) -> Result<usize> {
    let mut files = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(files)
}

/// The lines to search for: PEM keys line by line, because an encoder may separate them.
fn lines(secrets: &[String]) -> impl Iterator<Item = &str> {
    secrets.iter().flat_map(|secret| secret.lines()).filter(|line| line.len() >= 40)
}

/// The arguments of all processes on this machine.
fn processes() -> Result<String> {
    let mut all = String::new();
    for entry in std::fs::read_dir("/proc")? {
        // A process may end while it is read.
        let Ok(line) = std::fs::read(entry?.path().join("cmdline")) else { continue };
        all += &String::from_utf8_lossy(&line).replace('\0', " ");
        all.push('\n');
    }
    Ok(all)
}

/// Terraform's summary line.
fn summary(output: &str) -> &str {
    output.lines().rev().find(|line| line.contains("complete!")).unwrap_or_default()
}

/// The error boxes in Terraform's output.
fn errors(output: &str) -> Vec<&str> {
    let lines = output.lines().skip_while(|line| !line.contains("Error:"));
    lines
        .map(|line| line.trim_start_matches(['│', '╷', '╵']))
        .filter(|line| !line.trim().is_empty())
        .collect()
}
