//! Keys and gateways, by real Terraform against an emulated AWS.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use warren_acceptance::{AwsStage, KillCalls, build_folder, flat, kill_points};
use warren_harness::{Fault, ProxyConfig, workspace_root};

const HUB: &str = r#"
variable "rotation" {
  type    = string
  default = null
}

variable "groups" {
  type    = any
  default = { gpu = { rate_mbit = 2000, allow = [{ to = ["10.0.0.0/16"], ports = ["443", "8000-8100"], protocols = ["tcp"] }] } }
}

resource "warren_aws_vpc" "hub" {
  name       = "hub"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_subnet" "public" {
  name           = "public"
  vpc_id         = warren_aws_vpc.hub.id
  vpc_cidr_block = "10.0.0.0/16"
  cidr_block     = "10.0.0.0/24"
}

resource "warren_aws_route_table" "public" {
  name       = "public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]
  routes = concat(
    [{ destination_cidr_block = "0.0.0.0/0", gateway_id = warren_aws_internet_gateway.hub.id }],
    module.gateway.routes,
  )
}

resource "warren_aws_signing_key" "tokens" {
  name     = "/warren/acceptance/tokens"
  rotation = var.rotation
}

module "gateway" {
  source = "./modules/wireguard-gateway/aws"

  name            = "gw"
  fabric          = "acceptance"
  vpc_id          = warren_aws_vpc.hub.id
  vpc_cidr_blocks = ["10.0.0.0/16"]
  image_id        = "ami-1e749f67"
  token_keys      = compact([warren_aws_signing_key.tokens.public_key, warren_aws_signing_key.tokens.previous_public_key])
  groups          = var.groups
  key_rotation    = var.rotation
  release         = { url = "https://example.com/warren-tunnel", sha256 = "0000000000000000000000000000000000000000000000000000000000000000" }

  gateways = {
    a = { subnet_id = warren_aws_subnet.public.id, overlay_cidr_blocks = ["10.100.0.0/17"] }
    b = { subnet_id = warren_aws_subnet.public.id, overlay_cidr_blocks = ["10.100.128.0/17"] }
  }
}

ephemeral "warren_aws_signing_key" "tokens" {
  name = warren_aws_signing_key.tokens.id
}

output "gateways" {
  value = module.gateway.gateways
}
"#;

fn stage(habits: ProxyConfig) -> Result<AwsStage> {
    let stage = AwsStage::empty(habits)?;
    stage.terraform.copy(&workspace_root().join("modules"), "modules")?;
    stage.configure(HUB)?;
    stage.terraform.get()?.success()?;
    Ok(stage)
}

/// All secret values that were put into the parameter store so far.
fn secrets(stage: &AwsStage) -> Vec<String> {
    let calls = stage.cloud.proxy().calls_of("PutParameter");
    let secure = calls.iter().filter(|call| call.params.get("Type") == "SecureString");
    secure.map(|call| call.params.get("Value").to_owned()).collect()
}

/// Proves that no file of the workspace holds one of the secrets, nor a line of one.
fn in_no_file(folder: &Path, secrets: &[String]) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            in_no_file(&path, secrets)?;
            continue;
        }
        let bytes = std::fs::read(&path)?;
        for line in secrets.iter().flat_map(|secret| secret.lines()).filter(|line| line.len() >= 40) {
            let found = bytes.windows(line.len()).any(|window| window == line.as_bytes());
            ensure!(!found, "a secret is in {}", path.display());
        }
    }
    Ok(())
}

/// Addresses of resources that a saved plan makes, changes, replaces or destroys, with the actions.
fn changes(plan: &serde_json::Value) -> Vec<(String, String)> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let told = changes.filter_map(|change| {
        let actions: Vec<&str> =
            change["change"]["actions"].as_array()?.iter().filter_map(|a| a.as_str()).collect();
        let address = change["address"].as_str()?.to_owned();
        (!matches!(actions[..], ["no-op"] | ["read"])).then(|| (address, actions.join("+")))
    });
    told.collect()
}

#[test]
fn groups_and_keys_change_without_replacing_a_gateway_and_no_secret_leaves_the_store() -> Result<()> {
    let mut stage = stage(ProxyConfig::default())?;
    let log = stage.terraform.folder().join("terraform.log");
    stage.terraform.env("TF_LOG", "TRACE");
    stage.terraform.env("TF_LOG_PATH", log.clone());
    let terraform = &stage.terraform;
    terraform.plan(&["-out=first.tfplan"])?.success()?;
    let applied = terraform.apply(&[])?.success()?;
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);

    let runs = stage.cloud.proxy().calls_of("RunInstances");
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!(run.params.get("MetadataOptions.HttpTokens"), "required");
        assert_eq!(run.params.get("BlockDeviceMapping.1.Ebs.Encrypted"), "true");
    }
    let first = secrets(&stage);
    assert_eq!(first.len(), 5, "two WireGuard keys, two TLS keys, one signing key");

    // Another group of peers: only configurations change.
    let groups =
        r#"groups={gpu={allow=[{to=["10.0.0.0/16"]}]},eval={allow=[{to=["10.0.0.7/32"],ports=["443"]}]}}"#;
    terraform.plan(&["-out=groups.tfplan", "-var", groups])?.success()?;
    let planned = changes(&terraform.show(Some("groups.tfplan"))?);
    let config = |key: &str| {
        (format!("module.gateway.warren_aws_gateway_config.gateway[\"{key}\"]"), "update".to_owned())
    };
    assert_eq!(planned, [config("a"), config("b")]);
    terraform.apply(&["-var", groups])?.success()?;

    // Other keys: keys and configurations change, in place; the ones before stay readable and accepted.
    let rotated = ["-var", "rotation=2026-11"];
    terraform.plan(&["-out=keys.tfplan", rotated[0], rotated[1]])?.success()?;
    let planned = changes(&terraform.show(Some("keys.tfplan"))?);
    assert_eq!(planned.len(), 7, "{planned:?}");
    ensure!(planned.iter().all(|(_, actions)| actions == "update"), "{planned:?}");
    ensure!(!planned.iter().any(|(address, _)| address.contains("warren_aws_gateway.")), "{planned:?}");
    let changed = terraform.apply(&rotated)?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 7 changed, 0 destroyed"), "{}", changed.stdout);
    assert_eq!(terraform.plan(&["-detailed-exitcode", rotated[0], rotated[1]])?.success()?.code, 0);
    let outputs = terraform.outputs()?;
    let pins = outputs["gateways"]["value"][0]["pins"].as_array().context("pins")?;
    assert_eq!(pins.len(), 2, "the pin before is accepted too");
    assert_eq!(stage.cloud.proxy().calls_of("RunInstances").len(), 2);

    let all = secrets(&stage);
    assert_eq!(all.len(), 10);
    for output in [applied.output(), changed.output()] {
        ensure!(
            !all.iter().any(|secret| output.contains(secret.trim())),
            "a secret is in Terraform's output"
        );
    }
    ensure!(std::fs::metadata(&log)?.len() > 100_000, "there is no log to search");
    in_no_file(&terraform.folder(), &all)?;

    terraform.destroy(&rotated)?.success()?;
    in_no_file(&terraform.folder(), &all)?;
    stage.nothing_left()
}

#[test]
fn a_lost_answer_makes_no_second_version_and_a_stopped_gateway_is_started() -> Result<()> {
    let stage = stage(ProxyConfig::realistic())?;
    let proxy = stage.cloud.proxy();
    proxy.inject(Fault::cut_after().on("PutParameter").times(2));
    proxy.inject(Fault::cut_after().on("RunInstances").times(1));
    proxy.inject(Fault::cut_after().on("CreateRole").times(1));
    stage.terraform.apply(&[])?.success()?;
    let twice = stage.cloud.inventory()?.duplicates(&["warren:owner", "warren:name"]);
    let twice: Vec<_> =
        twice.into_iter().filter(|(kind, _)| *kind != warren_harness::Kind::NetworkInterface).collect();
    assert_eq!(twice, vec![], "objects made twice by a repeated call");
    proxy.inject(Fault::cut_after().on("PutParameter").times(1));
    stage.terraform.apply(&["-var", "rotation=2"])?.success()?;
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode", "-var", "rotation=2"])?.success()?.code, 0);
    let state = stage.terraform.show(None)?.to_string();
    ensure!(!state.contains("\"version\":3"), "a rotation made two versions");
    stage.terraform.destroy(&["-var", "rotation=2"])?.success()?;
    stage.nothing_left()
}

/// The boot script's list of files is what the instance really got; the store is the emulated one.
#[test]
fn a_gateway_fetches_what_terraform_made_and_what_it_makes_next() -> Result<()> {
    let stage = stage(ProxyConfig::default())?;
    stage.terraform.apply(&[])?.success()?;
    let run = stage.cloud.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let script =
        String::from_utf8(base64::engine::general_purpose::STANDARD.decode(run.params.get("UserData"))?)?;
    let (_, rest) = script.split_once("/etc/warren/fetch.toml << 'END'\n").context("no list of files")?;
    let (list, _) = rest.split_once("\nEND\n").context("no end of the list")?;

    let machine = tempfile::tempdir()?;
    let folder = machine.path().join("run");
    let config = machine.path().join("fetch.toml");
    std::fs::write(&config, list.replace("/run/warren", &folder.display().to_string()))?;
    let fetch = || -> Result<()> {
        let run = Command::new(build_folder()?.join("warren-tunnel"))
            .args(["fetch", "--give-up-after", "20", "--config"])
            .arg(&config)
            .env("AWS_ENDPOINT_URL", stage.cloud.endpoint())
            .envs([
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
            ])
            .output()?;
        let told = String::from_utf8_lossy(&run.stderr).into_owned();
        ensure!(run.status.success(), "{told}");
        ensure!(!secrets(&stage).iter().any(|secret| told.contains(secret.trim())), "a secret is in the log");
        Ok(())
    };
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    fetch()?;
    let (key, toml) = (read("gateway.key")?, read("gateway.toml")?);
    ensure!(secrets(&stage).contains(&key) && secrets(&stage).contains(&read("gateway-tls.pem")?));
    ensure!(toml.contains("private_key_file = \"/run/warren/gateway.key\""), "{toml}");
    stage.terraform.apply(&["-var", "rotation=next"])?.success()?;
    fetch()?;
    ensure!(
        read("gateway.key")? != key && read("gateway.toml")? != toml,
        "the gateway has not taken up the rotation"
    );
    ensure!(stage.cloud.proxy().calls_of("RunInstances").len() == 2, "a gateway was replaced");
    stage.terraform.destroy(&["-var", "rotation=next"])?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points.
#[test]
fn a_provider_killed_at_keys_and_gateways_leaves_nothing_behind() -> Result<()> {
    let mut stage = stage(ProxyConfig::default())?;
    let report = kill_points(&mut stage, KillCalls::every(31), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 8, "{report}");
    Ok(())
}
