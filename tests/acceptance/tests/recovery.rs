//! Gateways that AWS replaces, by real Terraform against an emulated AWS that replaces the instances of its groups.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_acceptance::overlay::Instance;
use warren_acceptance::{AwsStage, build_folder, flat, journey};
use warren_harness::{Kind, ProxyConfig};

fn stage(habits: ProxyConfig) -> Result<AwsStage> {
    let mut stage = AwsStage::example("aws-gateway", habits)?;
    stage.terraform.env("TF_VAR_recovery", "true");
    Ok(stage)
}

/// A call of EC2 past Terraform; its answer.
fn by_hand(stage: &AwsStage, call: &str) -> Result<String> {
    let output = Command::new(warren_programs::program("curl")?)
        .args(["--silent", "--show-error", "--data", &format!("Version=2016-11-15&{call}")])
        .args(["--header", "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0"])
        .arg(stage.cloud.endpoint())
        .output()?;
    let answer = String::from_utf8(output.stdout)?;
    ensure!(output.status.success() && !answer.contains("<Errors>"), "{call}: {answer}");
    Ok(answer)
}

/// The text of an element of an answer.
fn within<'a>(answer: &'a str, element: &str) -> Result<&'a str> {
    let (_, rest) =
        answer.split_once(&format!("<{element}>")).with_context(|| format!("{element}: {answer}"))?;
    Ok(rest.split_once("</").map_or(rest, |(text, _)| text))
}

/// The ID of the live instance of a gateway.
fn instance_of(stage: &AwsStage, gateway: &str) -> Result<String> {
    let inventory = stage.cloud.inventory()?;
    let mut ours = inventory
        .of(Kind::Instance)
        .filter(|instance| instance.tags.get("warren:name").is_some_and(|name| name == gateway));
    let found = ours.next().context("no instance")?;
    ensure!(ours.next().is_none(), "two instances of {gateway}");
    Ok(found.id.clone())
}

/// What outlives an instance: the interface, its private and public address, where it is attached, and the volume.
fn kept(stage: &AwsStage, instance: &str) -> Result<BTreeMap<&'static str, String>> {
    let interfaces = by_hand(
        stage,
        &format!(
            "Action=DescribeNetworkInterfaces&Filter.1.Name=attachment.instance-id&Filter.1.Value.1={instance}"
        ),
    )?;
    ensure!(interfaces.matches("<networkInterfaceId>").count() == 1, "one interface: {interfaces}");
    let id = within(&interfaces, "networkInterfaceId")?.to_owned();
    ensure!(within(&interfaces, "sourceDestCheck")? == "false", "{interfaces}");
    let address = by_hand(
        stage,
        &format!("Action=DescribeAddresses&Filter.1.Name=network-interface-id&Filter.1.Value.1={id}"),
    )?;
    let volume = by_hand(
        stage,
        &format!(
            "Action=DescribeVolumes&Filter.1.Name=attachment.instance-id&Filter.1.Value.1={instance}&Filter.2.Name=tag-key&Filter.2.Value.1=warren:part-of"
        ),
    )?;
    Ok(BTreeMap::from([
        ("private address", within(&interfaces, "privateIpAddress")?.to_owned()),
        ("public address", within(&address, "publicIp")?.to_owned()),
        ("volume", within(&volume, "volumeId")?.to_owned()),
        ("interface", id),
    ]))
}

/// A metadata service that knows the ID of an instance, on loopback until the test ends.
fn metadata(id: &str) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let id = id.to_owned();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            // A client that went away is the test's business.
            let _ = BufReader::new(&stream).read_line(&mut line);
            let body = if line.contains("instance-id") { id.as_str() } else { "token" };
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    Ok(address)
}

/// Runs the command of the boot script that attaches the volume, with the real binary. No device appears here.
fn attach(stage: &AwsStage, instance: &Instance, id: &str) -> Result<()> {
    let script = std::fs::read_to_string(instance.path("usr/local/lib/warren/disk"))?;
    let (_, rest) = script.split_once("warren-tunnel attach-volume ").context("no command")?;
    let volume = rest.split(')').next().context("no volume")?;
    let output = Command::new(build_folder()?.join("warren-tunnel"))
        .args(["attach-volume", volume, "--give-up-after", "1"])
        .env("AWS_ENDPOINT_URL", stage.cloud.endpoint())
        .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata(id)?)
        .envs([("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")])
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(told.contains("attached") && told.contains("waiting for the device"), "{told}");
    Ok(())
}

/// The script that the current version of the launch template of a gateway contains.
fn booted(stage: &AwsStage, gateway: &str) -> Result<Instance> {
    let templates = by_hand(
        stage,
        &format!(
            "Action=DescribeLaunchTemplateVersions&LaunchTemplateName={gateway}&LaunchTemplateVersion.1=%24Latest"
        ),
    )?;
    Instance::boot_with(within(&templates, "userData")?)
}

#[test]
fn a_terminated_gateway_comes_back_with_its_addresses_keys_and_leases() -> Result<()> {
    let stage = stage(ProxyConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    let outputs = terraform.outputs()?;

    let first = instance_of(&stage, "gw-a")?;
    let before = booted(&stage, "gw-a")?;
    before.fetch(&stage.cloud.endpoint())?;
    attach(&stage, &before, &first)?;
    let had = kept(&stage, &first)?;
    ensure!(outputs["gateways"].to_string().contains(&had["public address"]), "{outputs}");

    by_hand(&stage, &format!("Action=TerminateInstances&InstanceId.1={first}"))?;
    let second = instance_of(&stage, "gw-a")?;
    ensure!(second != first, "the instance was not replaced");
    let after = booted(&stage, "gw-a")?;
    after.fetch(&stage.cloud.endpoint())?;
    attach(&stage, &after, &second)?;
    assert_eq!(kept(&stage, &second)?, had);
    for key in ["gateway.key", "gateway-tls.pem"] {
        assert_eq!(after.fetched(key)?, before.fetched(key)?, "{key}");
    }
    // Terraform notices nothing.
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);

    // Another script replaces the instance, and nothing else.
    let release = "release={url=\"https://downloads.acme.example/warren-tunnel\",sha256=\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}";
    terraform.plan(&["-var", release, "-out=next.tfplan"])?.success()?;
    let planned = journey::changes(&terraform.show(Some("next.tfplan"))?);
    ensure!(planned.len() == 2 && planned.iter().all(|(_, action)| action == "update"), "{planned:?}");
    terraform.apply(&["-var", release])?.success()?;
    let third = instance_of(&stage, "gw-a")?;
    ensure!(third != second, "the instance still runs the script before");
    let upgraded = booted(&stage, "gw-a")?;
    ensure!(upgraded.script().contains("downloads.acme.example"), "{}", upgraded.script());
    attach(&stage, &upgraded, &third)?;
    assert_eq!(kept(&stage, &third)?, had);
    assert_eq!(terraform.plan(&["-detailed-exitcode", "-var", release])?.success()?.code, 0);

    assert_eq!(stage.cloud.proxy().calls_of("CreateAutoScalingGroup").len(), 2, "a group was replaced");
    terraform.destroy(&["-var", release])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_gateway_group_survives_a_slow_and_forgetful_cloud() -> Result<()> {
    let stage = stage(ProxyConfig::realistic())?;
    stage.terraform.apply(&[])?.success()?;
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    stage.terraform.destroy(&[])?.success()?;
    stage.permitted()?;
    stage.nothing_left()
}

#[test]
fn sessions_logs_and_architectures() -> Result<()> {
    let stage = AwsStage::example("aws-gateway", ProxyConfig::default())?;
    let main = std::fs::read_to_string(stage.terraform.folder().join("main.tf"))?;
    let with = |inputs: &str| {
        main.replace(
            "  key_rotation    = var.rotation\n",
            &format!("  key_rotation    = var.rotation\n{inputs}\n"),
        )
    };
    by_hand(&stage, "Action=CreateKeyPair&KeyName=ops")?;
    let inputs = "  session_manager = true\n  key_name = \"ops\"\n  ssh_cidr_blocks = [\"192.0.2.0/24\"]\n  log_group_arn = \"arn:aws:logs:us-east-1:123456789012:log-group:/warren/gw\"\n";
    stage.terraform.write("main.tf", &with(inputs))?;
    stage.terraform.apply(&[])?.success()?;
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    let proxy = stage.cloud.proxy();
    let policies = proxy.calls_of("PutRolePolicy");
    let policy = policies.first().context("no policy")?.params.get("PolicyDocument").to_owned();
    ensure!(
        policy.contains("ssmmessages:OpenDataChannel")
            && policy.contains("log-group:/warren/gw:log-stream:*"),
        "{policy}"
    );
    let runs = proxy.calls_of("RunInstances");
    ensure!(runs.iter().all(|run| run.params.get("KeyName") == "ops"), "{runs:?}");
    let instance = Instance::boot(runs.first().context("no instance")?)?;
    let logs = instance.starts("warren-logs.service")?.join(" ");
    ensure!(logs.contains("logs --group /warren/gw "), "{logs}");
    // What is turned off again is taken from the role.
    stage.terraform.write("main.tf", &with(""))?;
    stage.terraform.apply(&[])?.success()?;
    let policies = proxy.calls_of("PutRolePolicy");
    let last = policies.last().context("no policy")?.params.get("PolicyDocument").to_owned();
    ensure!(!last.contains("ssmmessages") && !last.contains("log-stream"), "{last}");

    stage.terraform.write("main.tf", &with("  instance_type = \"c7gn.large\""))?;
    let refused = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(refused.contains("CPU architectures do not match"), "{refused}");
    stage.terraform.write("main.tf", &main)?;
    stage.terraform.destroy(&[])?.success()?;
    by_hand(&stage, "Action=DeleteKeyPair&KeyName=ops")?;
    stage.nothing_left()
}
