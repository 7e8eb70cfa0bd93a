//! The main job, end to end, as the demo tells it and a test runs it: apply on emulated clouds, a gateway and a pod from
//! what that made, an object through the tunnel, destroy; and no secret anywhere it does not belong.

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

/// A bucket that the example's endpoint lets in, and what is fetched from it.
const OBJECT: &str = "acme-datasets/train/part-0.parquet";

/// Bytes of the object.
const SIZE: usize = 3_000_000;

/// Runs all of it. `tell` is given one line a step; lines that begin with spaces show what a step said.
///
/// # Errors
/// The first step that does not do what it is to do.
pub fn run(tell: &mut dyn FnMut(&str)) -> Result<()> {
    tell(
        "starting on loopback: an emulated AWS (moto, with a strict proxy in front of it), doubles of Google Cloud and RunPod",
    );
    let stage = stage()?;
    let plan = applied(&stage, tell)?;
    refused_and_changed(&stage, tell)?;
    let seen = reached(&stage, tell)?;

    tell(
        "searching plan, state, logs, user data and the list of processes for the private keys and the token, by value",
    );
    let told = searched(&stage, &plan, &seen)?;
    tell(&format!("  {told}"));

    tell("terraform destroy");
    let run = stage.terraform.destroy(&[])?.success()?;
    tell(&format!("  {}", summary(&run.stdout)));
    stage.nothing_left()?;
    tell(
        "asked the emulators themselves: nothing is left, and every request was one that the clouds understand",
    );
    Ok(())
}

fn stage() -> Result<AllStage> {
    let habits = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    let mut stage = AllStage::example("llm-training", habits)?;
    let log = stage.terraform.folder().join("terraform.log");
    stage.terraform.env("TF_LOG", "TRACE").env("TF_LOG_PATH", log);
    Ok(stage)
}

/// Applies a saved plan; the file of the plan.
fn applied(stage: &AllStage, tell: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    tell(
        "terraform apply: networks of both clouds from one address plan, a gateway in AWS with its keys, a GPU pod with a token",
    );
    stage.terraform.plan(&["-out=first.tfplan"])?.success()?;
    let run = stage.terraform.apply(&["first.tfplan"])?.success()?;
    tell(&format!("  {}", summary(&run.stdout)));
    let left = stage.cloud.aws.leftovers()?.added.len();
    let made = left + stage.cloud.google.left().len() + stage.cloud.runpod.left().len();
    tell(&format!("{made} objects exist; a second plan finds nothing to do"));
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    Ok(stage.terraform.folder().join("first.tfplan"))
}

fn refused_and_changed(stage: &AllStage, tell: &mut dyn FnMut(&str)) -> Result<()> {
    tell("terraform plan with the AWS VPC moved onto the range of a Google subnetwork: refused before apply");
    let refused = stage.terraform.plan(&["-var", "aws_cidr_block=10.1.0.0/16"])?.failure()?;
    for line in errors(&refused.output()) {
        tell(&format!("  {line}"));
    }
    tell("terraform apply with other tags: changed in place");
    let run = stage.terraform.apply(&["-var", TAGS])?.success()?;
    tell(&format!("  {}", summary(&run.stdout)));
    Ok(())
}

const TAGS: &str = r#"tags={team="research"}"#;

/// What was printed on the way, by whom.
type Seen = Vec<(&'static str, String)>;

/// Starts gateway and pod, fetches an object, takes the pod away.
fn reached(stage: &AllStage, tell: &mut dyn FnMut(&str)) -> Result<Seen> {
    let outputs = stage.terraform.outputs()?;
    let gateway = &outputs["gateways"]["value"][0];
    let public = gateway["udp"].as_str().and_then(|udp| udp.split(':').next()).context("no gateway")?;
    let data = outputs["network"]["value"]["aws/data"].as_str().context("no data subnet")?;
    let private = format!("{}.10", data.rsplit_once('.').context("no IPv4 range")?.0);
    ensure!(outputs["network"]["value"]["overlay"] == "10.100.0.0/24", "{}", outputs["network"]);
    let hosts = Hosts::new(public, &[&private])?;

    tell(
        "booting the gateway from its instance's user data: boot script, secrets from the parameter store, the tunnel's binary; no privilege",
    );
    let run = stage.cloud.aws.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let mut instance = Instance::boot(&run)?;
    let fetched = instance.fetch(&stage.cloud.aws.endpoint())?;
    instance.start(&hosts.hub)?;
    tell(&format!(
        "  {} is up at {public}: UDP 51820, TCP 443",
        gateway["name"].as_str().unwrap_or_default()
    ));

    tell("starting the pod's agent with the environment that RunPod gives it; no privilege");
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
    tell(&format!("  {} joined as group {}: {}", lease["public_key"], lease["group"], lease["addresses"][0]));

    let object: String =
        (0..SIZE).map(|n| char::from(b'a' + u8::try_from(n * 7 / 3 % 26).unwrap_or_default())).collect();
    put(&stage.cloud.aws.endpoint(), OBJECT, &object)?;
    tell(&format!("in the pod: GET {url}, through the agent's proxy, the tunnel and the gateway"));
    let get = || -> Result<()> {
        let got = Pod::get(&hosts.pods, &url, &authority)?;
        ensure!(got == object, "{} bytes came, other ones than were put", got.len());
        Ok(())
    };
    let begun = Instant::now();
    get().with_context(|| format!("gateway:\n{}", instance.log()))?;
    let peer = instance.peers()?.into_iter().next().context("no lease")?;
    let carried = peer["tx_bytes"].as_u64().unwrap_or_default();
    ensure!(carried > SIZE as u64, "the gateway carried {carried} bytes only: {peer}");
    tell(&format!(
        "  {SIZE} bytes in {:.2} s, equal to what was put; the gateway carried them by {}",
        begun.elapsed().as_secs_f64(),
        peer["carrier"]
    ));
    let other = url.replace(&format!("{private}/"), &format!("{private}:8443/"));
    ensure!(Pod::get(&hosts.pods, &other, &authority).is_err(), "{other} is not allowed, but was reached");
    tell("  port 8443 of the same host is refused: the group may reach port 443");

    let killed = instance.log();
    restarted(&mut instance, &hosts, &lease, &get, tell)?;
    let processes = processes()?;
    ensure!(processes.contains("gateway --config"), "the gateway is not in the list of processes");
    tell("terraform apply without pods: RunPod ends the container, the agent gives its lease back");
    let run = stage.terraform.apply(&["-var", TAGS, "-var", "pods=0"])?.success()?;
    tell(&format!("  {}", summary(&run.stdout)));
    pod.process().terminate()?;
    let lease = instance.peers()?.into_iter().next().context("no lease")?;
    ensure!(lease["state"] == "released", "{lease}\n{}", pod.process().log());
    tell(&format!("  {} is {} until {}", lease["addresses"][0], lease["state"], lease["until"]));
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

/// Kills the gateway and starts it again: the pod renews its lease by a handshake, and has what it had.
fn restarted(
    instance: &mut Instance,
    hosts: &Hosts,
    lease: &Value,
    get: &dyn Fn() -> Result<()>,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    tell("killing the gateway (SIGKILL), and starting it again with the leases that it had written down");
    instance.start(&hosts.hub)?;
    let begun = Instant::now();
    get().with_context(|| format!("gateway:\n{}", instance.log()))?;
    let back = begun.elapsed();
    let renewed = instance.peers()?.into_iter().next().context("the lease was lost")?;
    ensure!(renewed["last_handshake_age"].is_number(), "no handshake: {renewed}");
    for part in ["public_key", "addresses", "state", "since"] {
        ensure!(renewed[part] == lease[part], "{part} of the lease was {}: {renewed}", lease[part]);
    }
    tell(&format!(
        "  the object comes again in {:.1} s: the agent renewed its lease by a handshake, {} until {}",
        back.as_secs_f64(),
        renewed["addresses"][0],
        renewed["until"]
    ));
    Ok(())
}

/// Proves that none of the secrets is where it does not belong; what was looked through, in prose.
fn searched(stage: &AllStage, plan: &Path, seen: &Seen) -> Result<String> {
    let mut secrets = secrets(&stage.cloud.aws.proxy().calls_of("PutParameter"));
    let keys = secrets.len();
    ensure!(
        keys == 3,
        "{keys} keys in the parameter store, not a WireGuard key, a TLS key and a signing key"
    );
    secrets
        .extend(stage.cloud.runpod.secrets().into_values().filter(|secret| secret.starts_with("v4.public.")));
    ensure!(secrets.len() == keys + 1, "{} tokens, not one", secrets.len() - keys);
    unpack(plan)?;
    let files = in_no_file(&stage.terraform.folder(), &secrets)?;
    for (what, text) in seen {
        ensure!(!text.is_empty(), "{what} is empty");
        ensure!(!lines(&secrets).any(|line| text.contains(line)), "a secret is in {what}");
    }
    Ok(format!(
        "{keys} keys and 1 token are in none of {files} files (the log of Terraform at TRACE among them), {} logs and lists",
        seen.len()
    ))
}

/// Addresses of resources that a saved plan makes, changes, replaces or destroys, with the actions.
pub fn changes(plan: &Value) -> Vec<(String, String)> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let told = changes.filter_map(|change| {
        let actions: Vec<&str> =
            change["change"]["actions"].as_array()?.iter().filter_map(|a| a.as_str()).collect();
        let address = change["address"].as_str()?.to_owned();
        (!matches!(actions[..], ["no-op"] | ["read"])).then(|| (address, actions.join("+")))
    });
    told.collect()
}

/// All secret values that were put into the parameter store.
pub fn secrets(puts: &[Call]) -> Vec<String> {
    let secure = puts.iter().filter(|call| call.params.get("Type") == "SecureString");
    secure.map(|call| call.params.get("Value").to_owned()).collect()
}

/// All secret values that were added to Google's Secret Manager; configurations are none.
///
/// # Errors
/// A payload is no text.
pub fn google_secrets(adds: &[Call]) -> Result<Vec<String>> {
    let keys = adds.iter().filter(|call| !call.params.get("parent").ends_with("-config"));
    let payload = |call: &Call| {
        let data = call.params.get("resource.payload.data");
        Ok(String::from_utf8(STANDARD.decode(data).or_else(|_| URL_SAFE.decode(data))?)?)
    };
    keys.map(payload).collect()
}

/// A plan's file is a ZIP archive: unpacked beside it, so that its contents are searched and not its compression.
///
/// # Errors
/// It is no archive.
pub fn unpack(plan: &Path) -> Result<()> {
    let folder = plan.with_extension("unpacked");
    let status = Command::new(Venv::ensure()?.python())
        .args(["-m", "zipfile", "-e"])
        .args([plan, &folder])
        .status()?;
    ensure!(status.success() && folder.join("tfplan").is_file(), "{} cannot be unpacked", plan.display());
    Ok(())
}

/// Proves that no file of a folder holds one of the secrets, nor a line of one; how many files there are.
///
/// # Errors
/// The files that do.
pub fn in_no_file(folder: &Path, secrets: &[String]) -> Result<usize> {
    let known = tempfile::NamedTempFile::new()?;
    std::fs::write(known.path(), lines(secrets).collect::<Vec<_>>().join("\n"))?;
    let grep = Command::new("grep")
        .args(["--recursive", "--files-with-matches", "--text", "--fixed-strings", "--file"])
        .args([known.path(), folder, known.path()])
        .output()?;
    let found = String::from_utf8_lossy(&grep.stdout).into_owned();
    // The list of secrets itself is searched too, so that a search which finds nothing is seen to be none.
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

/// What is searched for: the lines of keys in PEM, for an encoder may break them apart.
fn lines(secrets: &[String]) -> impl Iterator<Item = &str> {
    secrets.iter().flat_map(|secret| secret.lines()).filter(|line| line.len() >= 40)
}

/// The arguments of all processes of this machine.
fn processes() -> Result<String> {
    let mut all = String::new();
    for entry in std::fs::read_dir("/proc")? {
        // A process may end while it is looked at.
        let Ok(line) = std::fs::read(entry?.path().join("cmdline")) else { continue };
        all += &String::from_utf8_lossy(&line).replace('\0', " ");
        all.push('\n');
    }
    Ok(all)
}

/// Terraform's last line about what it did.
fn summary(output: &str) -> &str {
    output.lines().rev().find(|line| line.contains("complete!")).unwrap_or_default()
}

/// The error boxes of Terraform's output.
fn errors(output: &str) -> Vec<&str> {
    let lines = output.lines().skip_while(|line| !line.contains("Error:"));
    lines
        .map(|line| line.trim_start_matches(['│', '╷', '╵']))
        .filter(|line| !line.trim().is_empty())
        .collect()
}
