//! Keys and gateways, by real Terraform against an emulated AWS.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use warren_acceptance::journey::{self, in_no_file};
use warren_acceptance::overlay::{Instance, Process};
use warren_acceptance::{AwsStage, KillSample, flat, kill_points, rotation};
use warren_harness::{Fault, NetNs, ProxyConfig};

fn stage(habits: ProxyConfig) -> Result<AwsStage> {
    AwsStage::example("aws-gateway", habits)
}

/// All secret values that were put into the parameter store so far.
fn secrets(stage: &AwsStage) -> Vec<String> {
    journey::secrets(&stage.cloud.proxy().calls_of("PutParameter"))
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

    let changed = rotation::in_place(terraform, "aws")?;
    assert_eq!(stage.cloud.proxy().calls_of("RunInstances").len(), 2);

    let all = secrets(&stage);
    assert_eq!(all.len(), 10);
    rotation::nowhere(terraform, &log, &[&applied, &changed], &all)?;

    terraform.destroy(&["-var", "rotation=2026-11"])?.success()?;
    in_no_file(&terraform.folder(), &all)?;
    stage.permitted()?;
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
    proxy.inject(Fault::cut_after().on("RemoveRoleFromInstanceProfile").times(1));
    stage.terraform.destroy(&["-var", "rotation=2"])?.success()?;
    stage.nothing_left()
}

/// The real binary runs what the instance really got: its boot script, the emulated store's values, byte for byte.
#[test]
fn a_gateway_comes_up_with_what_terraform_made_and_takes_up_what_it_makes_next() -> Result<()> {
    let stage = stage(ProxyConfig::default())?;
    stage.terraform.apply(&[])?.success()?;
    let run = stage.cloud.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let mut instance = Instance::boot(&run)?;
    let no_secret = |told: &str| !secrets(&stage).iter().any(|secret| told.contains(secret.trim()));
    ensure!(no_secret(instance.script()), "a secret is in the user data");
    let told = instance.fetch(&stage.cloud.endpoint())?;
    ensure!(no_secret(&told), "a secret is in the log: {told}");
    let key = instance.fetched("gateway.key")?;
    ensure!(
        secrets(&stage).contains(&key) && secrets(&stage).contains(&instance.fetched("gateway-tls.pem")?)
    );

    let host = NetNs::new()?;
    instance.start(&host)?;
    let status: Value = serde_json::from_str(&instance.ask(&["status", "--json"])?)?;
    let outputs = stage.terraform.outputs()?;
    let listed = outputs["gateways"]["value"].as_array().context("gateways")?;
    let own = listed.iter().find(|gateway| gateway["name"] == status["name"]).context("another gateway")?;
    assert_eq!(status["interface"]["public_key"], own["key"]);

    // Another group: read again, without a restart.
    let groups = "groups={gpu={allow=[{to=[\"10.0.0.0/16\"]}]},eval={allow=[{to=[\"10.0.0.7/32\"]}]}}";
    stage.terraform.apply(&["-var", groups])?.success()?;
    instance.fetch(&stage.cloud.endpoint())?;
    ensure!(instance.ask(&["reload"])?.contains("groups"), "the gateway has not taken up the group");

    // Wrong grants are refused where they are written, whatever else is not known.
    let refused = |grants: &str, role: &[&str]| -> Result<String> {
        let groups = format!("groups={{gpu={{grants={grants}}}}}");
        let arguments = [&["-refresh=false", "-var", &groups, "-var", "rotation=next"], role].concat();
        Ok(flat(&stage.terraform.plan(&arguments)?.failure()?.output()))
    };
    let role = ["-var", "pod_role_arn=arn:aws:iam::123456789012:role/warren-pods"];
    let told = refused(
        r#"[{objects="s3://acme-data/llm/",access="read"},{objects="s3://acme-data/out",access="write"}]"#,
        &role,
    )?;
    ensure!(told.contains("the prefix does not end with a slash") && told.contains("`read-write`"), "{told}");
    let told = refused(r#"[{objects="gs://acme-data/llm/",access="read"}]"#, &role)?;
    ensure!(told.contains("Objects of another cloud"), "{told}");
    let told = refused(r#"[{objects="s3://acme-data/llm/",access="read"}]"#, &[])?;
    ensure!(told.contains("Grants without a role"), "{told}");

    // Other keys and the first grant: a restart, for which the boot script has a unit of its own.
    let groups = r#"groups={gpu={grants=[{objects="s3://acme-data/llm/",access="read"}]}}"#;
    let rotated = ["-var", groups, "-var", "rotation=next", role[0], role[1]];
    stage.terraform.apply(&rotated)?.success()?;
    assert_eq!(stage.terraform.plan(&[&["-detailed-exitcode"], &rotated[..]].concat())?.success()?.code, 0);
    let policies = stage.cloud.proxy().calls_of("PutRolePolicy");
    let policy = policies.last().context("no policy")?.params.get("PolicyDocument").to_owned();
    ensure!(policy.contains(r#""Action":"sts:AssumeRole","Effect":"Allow","Resource":"arn:aws:iam::123456789012:role/warren-pods""#), "{policy}");
    instance.fetch(&stage.cloud.endpoint())?;
    ensure!(instance.fetched("gateway.key")? != key, "the gateway has not taken up the rotation");
    instance.start(&host)?;
    let status: Value = serde_json::from_str(&instance.ask(&["status", "--json"])?)?;
    assert_eq!(status["credentials"][0]["cloud"], "aws", "{status}");
    ensure!(no_secret(&instance.log()), "a secret is in the gateway's log");
    ensure!(stage.cloud.proxy().calls_of("RunInstances").len() == 2, "a gateway was replaced");
    stage.terraform.destroy(&rotated)?.success()?;
    stage.nothing_left()
}

/// A call of the parameter store, past Terraform.
fn by_hand(stage: &AwsStage, action: &str, body: &Value) -> Result<()> {
    let output = Command::new(warren_programs::program("curl")?)
        .args(["--silent", "--show-error", "--fail", "--data", &body.to_string()])
        .args(["--header", "Content-Type: application/x-amz-json-1.1"])
        .args(["--header", &format!("X-Amz-Target: AmazonSSM.{action}")])
        .args(["--header", "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ssm/aws4_request, SignedHeaders=host, Signature=0"])
        .arg(stage.cloud.endpoint())
        .output()?;
    ensure!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn a_missing_or_wrong_secret_is_told_and_asked_for_until_it_is_right() -> Result<()> {
    let stage = stage(ProxyConfig::default())?;
    stage.terraform.apply(&[])?.success()?;
    let run = stage.cloud.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let instance = Instance::boot(&run)?;
    let list = std::fs::read_to_string(instance.path("etc/warren/fetch.toml"))?;
    let name = list
        .split('"')
        .find_map(|part| part.strip_prefix("aws-ssm:").filter(|name| name.ends_with("/wireguard")));
    let name = name.context("no WireGuard key in the list")?;

    by_hand(&stage, "DeleteParameter", &json!({ "Name": name }))?;
    let mut fetch = Process::start(&mut instance.fetching(&stage.cloud.endpoint())?)?;
    fetch.says("retrying in 2 s")?;
    let missing = format!("AWS refused parameter {name}: 400 ParameterNotFound");
    ensure!(
        fetch.log().contains(&missing) && fetch.log().contains("`terraform apply` creates the parameter"),
        "{}",
        fetch.log()
    );
    ensure!(instance.fetched("gateway.toml").is_err(), "a part of the files was written");
    stage.terraform.apply(&[])?.success()?;
    fetch.ends()?;
    let key = instance.fetched("gateway.key")?;
    ensure!(secrets(&stage).contains(&key), "another key than Terraform's");

    let wrong = "a value in the wrong place";
    by_hand(
        &stage,
        "PutParameter",
        &json!({ "Name": name, "Value": wrong, "Type": "SecureString", "Overwrite": true }),
    )?;
    let mut fetch = Process::start(&mut instance.fetching(&stage.cloud.endpoint())?)?;
    fetch.says("retrying in 2 s")?;
    let told = fetch.log();
    ensure!(told.contains("does not hold a valid gateway.key: it is not a WireGuard private key"), "{told}");
    ensure!(!told.contains(wrong) && instance.fetched("gateway.key")? == key, "{told}");
    // Nobody but the gateway may read the value, so a plan cannot see that it is wrong: a rotation makes another one.
    let rotated = ["-var", "rotation=repair"];
    stage.terraform.apply(&rotated)?.success()?;
    fetch.ends()?;
    ensure!(instance.fetched("gateway.key")? != key, "the key was not made anew");
    ensure!(
        !secrets(&stage).iter().any(|secret| fetch.log().contains(secret.trim())),
        "a secret is in the log"
    );
    stage.terraform.destroy(&rotated)?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points; `cargo xtask kill --example aws-gateway` tries them all.
#[test]
fn a_provider_killed_at_keys_and_gateways_leaves_nothing_behind() -> Result<()> {
    let stage = || stage(ProxyConfig::default());
    let report = kill_points(stage, KillSample::every(29), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 3, "{report}");
    Ok(())
}
