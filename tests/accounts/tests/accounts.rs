//! The command for real accounts, run against emulated ones.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use warren_acceptance::{Emulated, RunPodStage, Stage};
use warren_harness::{
    Emulator, Fault, Google, GoogleConfig, KillSwitch, Kind, Phase, ProxyConfig, RunPod, RunPodConfig,
    workspace_root,
};

/// Began in 2001: older than any limit.
const OLD_RUN: &str = "warren-acc-1000000000-0000000a";

/// The command, allowed to change this cloud.
fn command(cloud: &impl Emulated, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warren-accounts"));
    command.args(arguments).env("WARREN_ACC", "1").env("TF_VAR_project", "acme-ml");
    for (name, value) in cloud.variables() {
        command.env(format!("TF_VAR_{name}"), value);
    }
    command.envs(cloud.environment());
    // What could lead to a real account is not there.
    let nowhere = "/nonexistent";
    command
        .env("AWS_CONFIG_FILE", nowhere)
        .env("AWS_SHARED_CREDENTIALS_FILE", nowhere)
        .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "example")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("TF_VAR_image", "ghcr.io/acme/train:1");
    command
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The output of a command that must succeed.
fn success(mut command: Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{}", told(&output));
    Ok(told(&output))
}

/// The output of a command that must fail.
fn failure(mut command: Command) -> Result<String> {
    let output = command.output()?;
    ensure!(!output.status.success(), "it succeeded:\n{}", told(&output));
    Ok(told(&output))
}

fn contains(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    Ok(())
}

/// An example that an old run left behind without its state.
fn leftovers<C: Emulated>(example: &str, habits: C::Habits) -> Result<Stage<C>> {
    let stage = Stage::<C>::example(example, habits)?;
    let main = stage.terraform.folder().join("main.tf");
    let text = std::fs::read_to_string(&main)?.replace("\"llm-training\"", &format!("{OLD_RUN:?}"));
    std::fs::write(&main, text)?;
    stage.terraform.apply(&[])?.success()?;
    std::fs::remove_file(stage.terraform.folder().join("terraform.tfstate"))?;
    Ok(stage)
}

/// A resource of a fabric that is nobody's run, in the same account.
fn neighbour<C: Emulated>(stage: &Stage<C>, resource: &str) -> Result<()> {
    std::fs::remove_dir_all(stage.terraform.folder().join("modules"))?;
    stage.configure(resource)?;
    stage.terraform.apply(&[])?.success().map(drop)
}

const SWEEP: [&str; 4] = ["--pause", "0", "--deadline", "120"];

fn sweep<'a>(cloud: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", cloud], more, &SWEEP].concat()
}

#[test]
fn leftovers_on_aws_are_swept_and_other_fabrics_stay() -> Result<()> {
    let stage = leftovers::<Emulator>("aws-hub-spoke", ProxyConfig::default())?;
    let vpc = "resource \"warren_aws_vpc\" \"other\" {\n name = \"other\"\n cidr_block = \"10.99.0.0/16\"\n}\n\
               resource \"warren_aws_ecr_repository\" \"other\" {\n name = \"other\"\n}\n";
    neighbour(&stage, vpc)?;
    let before = stage.cloud.inventory()?.counts();
    let dry = success(command(&stage.cloud, &sweep("aws", &[])))?;
    contains(&dry, &["transit gateway tgw-", "ECR repository llm/trainer", OLD_RUN, "Nothing was deleted"])?;
    ensure!(!dry.contains("repository other"), "{dry}");
    ensure!(stage.cloud.inventory()?.counts() == before, "a dry run deleted something");

    let mut refused = command(&stage.cloud, &sweep("aws", &["--delete"]));
    refused.env_remove("WARREN_ACC");
    contains(&failure(refused)?, &["WARREN_ACC=1"])?;
    ensure!(stage.cloud.inventory()?.counts() == before, "a sweep without permission deleted something");

    let swept = success(command(&stage.cloud, &sweep("aws", &["--delete"])))?;
    contains(&swept, &["Nothing is left."])?;
    let left = stage.cloud.inventory()?;
    let vpcs: Vec<_> = left.of(Kind::Vpc).filter(|vpc| vpc.tags.contains_key("warren:fabric")).collect();
    ensure!(vpcs.len() == 1 && vpcs[0].tags["warren:fabric"] == "acceptance", "{vpcs:?}");
    let repositories: Vec<_> = left.of(Kind::EcrRepository).map(|repository| &repository.id).collect();
    ensure!(repositories == ["other"], "{repositories:?}");
    // The state of the neighbour is whole, and its destroy leaves the account as it was.
    ensure!(stage.terraform.plan(&["-detailed-exitcode"])?.code == 0, "the neighbour's plan is not empty");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn an_instance_profile_that_never_got_its_role_is_swept() -> Result<()> {
    let role = "resource \"warren_aws_gateway_role\" \"r\" {\n name = \"gw\"\n parameters = [\"/warren/gw/config\"]\n}\n";
    let stage = Stage::<Emulator>::with(ProxyConfig::default(), role)?;
    let block = stage.terraform.folder().join("provider.tf");
    let text = std::fs::read_to_string(&block)?.replace("\"acceptance\"", &format!("{OLD_RUN:?}"));
    std::fs::write(&block, text)?;
    stage.cloud.proxy().arm(KillSwitch::writer(3, Phase::After));
    ensure!(stage.terraform.apply(&[])?.code != 0, "the provider was not killed");
    let killed = stage.cloud.proxy().disarm().map(|call| call.action);
    ensure!(killed.as_deref() == Some("CreateInstanceProfile"), "killed after {killed:?}");
    let swept = success(command(&stage.cloud, &sweep("aws", &["--delete"])))?;
    contains(&swept, &["instance profile gw", "role gw", "Nothing is left."])?;
    stage.nothing_left()
}

#[test]
fn leftovers_on_google_are_swept_and_other_fabrics_stay() -> Result<()> {
    let stage = leftovers::<Google>("gcp-hub-spoke", GoogleConfig::default())?;
    let other = "resource \"warren_gcp_network\" \"other\" {\n name = \"other\"\n}\n\
                 resource \"warren_gcp_dns_zone\" \"other\" {\n name = \"other\"\n dns_name = \"other.example.\"\n \
                 networks = [warren_gcp_network.other.id]\n}\n";
    neighbour(&stage, other)?;
    let before = stage.cloud.left();
    let dry = success(command(&stage.cloud, &sweep("google", &[])))?;
    contains(&dry, &["network projects/acme-ml/global/networks/hub", "managed zone", "repository", OLD_RUN])?;
    ensure!(stage.cloud.left() == before, "a dry run deleted something");
    let swept = success(command(&stage.cloud, &sweep("google", &["--delete"])))?;
    contains(&swept, &["Nothing is left."])?;
    let left = stage.cloud.left();
    // A network comes with a default route.
    let named: Vec<_> = left.iter().filter(|name| !name.contains("/default-route-")).collect();
    let expected = ["projects/acme-ml/managedZones/other", "projects/acme-ml/global/networks/other"];
    ensure!(named == expected, "{left:#?}");
    ensure!(stage.terraform.plan(&["-detailed-exitcode"])?.code == 0, "the neighbour's plan is not empty");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn leftovers_on_runpod_are_swept_and_other_fabrics_stay() -> Result<()> {
    let stage = leftovers::<RunPod>("gpu-pods", RunPodConfig::default())?;
    let other = "resource \"warren_runpod_network_volume\" \"other\" {\n name = \"other\"\n data_center = \"EU-RO-1\"\n size = 10\n}\n";
    neighbour(&stage, other)?;
    let dry = success(command(&stage.cloud, &sweep("runpod", &[])))?;
    contains(&dry, &["pod ", "network volume ", "registry credential ", "secret ", OLD_RUN])?;
    let swept = success(command(&stage.cloud, &sweep("runpod", &["--delete"])))?;
    contains(&swept, &["Nothing is left."])?;
    let left = stage.cloud.left();
    ensure!(left.len() == 1 && left[0].contains("other"), "{left:?}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_young_run_is_left_alone_unless_it_is_named() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), "")?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let run = format!("warren-acc-{now}-0000000b");
    let provider = std::fs::read_to_string(stage.terraform.folder().join("provider.tf"))?;
    stage.terraform.write("provider.tf", &provider.replace("\"acceptance\"", &format!("{run:?}")))?;
    let volume = "resource \"warren_runpod_network_volume\" \"one\" {\n name = \"one\"\n data_center = \"EU-RO-1\"\n size = 10\n}\n";
    stage.terraform.write("main.tf", volume)?;
    stage.terraform.apply(&[])?.success()?;
    contains(&success(command(&stage.cloud, &sweep("runpod", &["--delete"])))?, &["0 objects of runs"])?;
    ensure!(stage.cloud.left().len() == 1, "{:?}", stage.cloud.left());
    let another = "warren-acc-1000000000-0000000c";
    success(command(&stage.cloud, &sweep("runpod", &["--delete", "--run", another])))?;
    ensure!(stage.cloud.left().len() == 1, "{:?}", stage.cloud.left());
    success(command(&stage.cloud, &sweep("runpod", &["--delete", "--run", &run])))?;
    stage.nothing_left()
}

/// The arguments of a run that keeps its files here.
fn run<'a>(example: &'a str, folder: &'a Path) -> Vec<&'a str> {
    let folder = folder.to_str().unwrap_or_default();
    ["run", example, "--folder", folder, "--pause", "0", "--deadline", "60"].to_vec()
}

/// The names of what is in a folder.
fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn whole_run<C: Emulated>(example: &str, habits: C::Habits) -> Result<String> {
    let cloud = C::start(habits)?;
    let folder = tempfile::tempdir()?;
    let text = success(command(&cloud, &run(example, folder.path())))?;
    contains(&text, &["Estimate: $", "the second plan is empty", "nothing is left"])?;
    let kept = files(folder.path())?;
    ensure!(kept.iter().all(|name| name.ends_with(".toml")), "a workspace stays: {kept:?}");
    cloud.nothing_left()?;
    Ok(text)
}

#[test]
fn a_run_on_aws_applies_plans_nothing_and_leaves_nothing() -> Result<()> {
    let aws = whole_run::<Emulator>("aws-hub-spoke", ProxyConfig::default())?;
    contains(&aws, &["1 NAT gateway: $0.0450 an hour", "3 attachment of a transit gateway: $0.1500 an hour"])
}

#[test]
fn a_run_on_google_applies_plans_nothing_and_leaves_nothing() -> Result<()> {
    let google = whole_run::<Google>("gcp-hub-spoke", GoogleConfig::default())?;
    contains(
        &google,
        &["1 Private Service Connect endpoint: billed, price not listed", ", and what is not listed"],
    )
}

#[test]
fn a_run_on_runpod_applies_plans_nothing_and_leaves_nothing() -> Result<()> {
    let runpod = whole_run::<RunPod>("gpu-pods", RunPodConfig::default())?;
    contains(&runpod, &["2 pod with an RTX 4090: $1.2000 an hour"])
}

#[test]
fn a_refused_call_is_recorded_and_everything_is_destroyed() -> Result<()> {
    let cloud = Emulator::start(ProxyConfig::default())?;
    let message = "The maximum number of addresses has been reached. Account 405223848550.";
    cloud.proxy().inject(Fault::error(400, "AddressLimitExceeded", message).on("AllocateAddress").times(99));
    let folder = tempfile::tempdir()?;
    let text = failure(command(&cloud, &run("aws-hub-spoke", folder.path())))?;
    contains(
        &text,
        &["AllocateAddress failed: AddressLimitExceeded", "destroying everything", "nothing is left"],
    )?;
    cloud.nothing_left()?;
    let kept = files(folder.path())?;
    let [file] = kept.as_slice() else { anyhow::bail!("{kept:?}") };
    let answers = std::fs::read_to_string(folder.path().join(file))?;
    contains(
        &answers,
        &[
            "service = \"ec2\"\noperation = \"AllocateAddress\"\nstatus = 400\ncode = \"AddressLimitExceeded\"\n\
           message = \"The maximum number of addresses has been reached. Account 111122223333.\"",
        ],
    )
}

#[test]
fn an_interrupted_run_destroys_everything() -> Result<()> {
    let cloud = Emulator::start(ProxyConfig::default())?;
    // Terraform waits for this call before it stops.
    cloud.proxy().inject(Fault::delay(Duration::from_secs(3)).on("CreateSubnet"));
    let folder = tempfile::tempdir()?;
    let mut child = command(&cloud, &run("aws-hub-spoke", folder.path())).stdout(Stdio::piped()).spawn()?;
    let mut text = String::new();
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        let line = line?;
        let creates = line.contains("warren_aws_subnet") && line.contains("Creating");
        // Someone presses Ctrl-C, and once more, because Terraform takes its time.
        if (creates && !text.contains("interrupted")) || line.starts_with("interrupted: waiting") {
            let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
            ensure!(status.success(), "no signal was sent");
        }
        text += &format!("{line}\n");
    }
    ensure!(!child.wait()?.success(), "{text}");
    ensure!(text.matches("interrupted: waiting for Terraform to stop").count() == 1, "{text}");
    contains(&text, &["destroying everything", "nothing is left"])?;
    ensure!(
        cloud.proxy().calls().iter().any(|call| call.action == "CreateVpc"),
        "nothing was created: {text}"
    );
    cloud.nothing_left()
}

#[test]
fn without_permission_nothing_is_created_and_the_cost_is_shown() -> Result<()> {
    let cloud = RunPod::start(RunPodConfig::default())?;
    let folder = tempfile::tempdir()?;
    let mut refused = command(&cloud, &run("gpu-pods", folder.path()));
    refused.env("WARREN_ACC", "0");
    let text = failure(refused)?;
    contains(
        &text,
        &["2 warren_runpod_pod", "2 pod with an RTX 4090: $1.2000 an hour", "nothing was created"],
    )?;
    ensure!(cloud.front().calls().is_empty(), "{:?}", cloud.front().calls());
    let unset = |mut command: Command| {
        command.env_remove("WARREN_SIGNING_KEY");
        failure(command)
    };
    contains(&unset(command(&cloud, &run("gpu-pods", folder.path())))?, &["WARREN_SIGNING_KEY is not set"])?;
    contains(&failure(command(&cloud, &run("llm-training", folder.path())))?, &["there are aws-hub-spoke"])
}

#[test]
fn the_page_names_what_the_command_has() -> Result<()> {
    let page = std::fs::read_to_string(workspace_root().join("docs/contributing/accounts.md"))?;
    for example in warren_accounts::example::EXAMPLES {
        contains(&page, &[example.name])?;
        contains(&page, example.needs).with_context(|| example.name.to_owned())?;
    }
    Ok(())
}
