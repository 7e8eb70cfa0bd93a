//! Credentials and settings with real Terraform: what a user sees where they do not fit, and tags of other tools.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;
use warren_acceptance::{AwsStage, flat};
use warren_harness::ProxyConfig;

const VPC: &str =
    "resource \"warren_aws_vpc\" \"one\" {\n name = \"one\"\n cidr_block = \"10.0.0.0/16\"\n}\n";

/// A call of EC2, past Terraform.
fn by_hand(stage: &AwsStage, form: &str) -> Result<String> {
    let output = Command::new(warren_programs::program("curl")?)
        .args(["--silent", "--show-error", "--fail", "--data", form])
        .args(["--header", "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0"])
        .arg(stage.cloud.endpoint())
        .output()?;
    ensure!(output.status.success(), "{form}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_user_without_usable_credentials_is_told_what_to_run() -> Result<()> {
    let mut stage = AwsStage::with(ProxyConfig::default(), VPC)?;
    stage.configure_aws("region = \"us-east-1\", endpoint_url = var.endpoint_url")?;
    fs::write(
        stage.terraform.home().join("aws-config"),
        "[profile sso]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Admin\n\
         [sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.example/start\n\
         [profile base]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = secret\n\
         [profile mfa]\nrole_arn = arn:aws:iam::123456789012:role/admin\nsource_profile = base\n\
         mfa_serial = arn:aws:iam::123456789012:mfa/me\n",
    )?;
    // Empty variables count as not set.
    stage.terraform.env("AWS_ACCESS_KEY_ID", "").env("AWS_SECRET_ACCESS_KEY", "");
    for (profile, expected) in [
        ("", "No AWS credentials were found"),
        ("sso", "Run `aws sso login --profile sso`"),
        ("mfa", "Run `aws sts get-caller-identity --profile mfa` and enter the code"),
        ("absent", "AWS_PROFILE names profile `absent`, which is not in the shared"),
    ] {
        stage.terraform.env("AWS_PROFILE", profile);
        let output = flat(&stage.terraform.apply(&[])?.failure()?.output());
        ensure!(output.contains(expected), "{profile:?}: {expected:?} is not in:\n{output}");
    }
    // With a profile of the provider block, keys in the environment change nothing.
    stage.configure_aws("region = \"us-east-1\", endpoint_url = var.endpoint_url, profile = \"sso\"")?;
    stage
        .terraform
        .env("AWS_PROFILE", "")
        .env("AWS_ACCESS_KEY_ID", "AKIAX")
        .env("AWS_SECRET_ACCESS_KEY", "x");
    let output = flat(&stage.terraform.apply(&[])?.failure()?.output());
    ensure!(output.contains("aws sso login"), "{output}");
    stage.nothing_left()
}

#[test]
fn a_mistyped_region_is_told_with_the_one_that_is_meant() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), VPC)?;
    stage.configure_aws("region = \"us-est-1\"")?;
    let output = flat(&stage.terraform.apply(&[])?.failure()?.output());
    ensure!(output.contains("Did you mean `us-east-1`?"), "{output}");
    ensure!(!output.contains("Some(") && !output.contains("Error {"), "{output}");
    Ok(())
}

/// EKS tags the VPC of a cluster.
#[test]
fn tags_of_other_tools_stay() -> Result<()> {
    const KEY: &str = "kubernetes.io/cluster/prod";
    let stage = AwsStage::with(ProxyConfig::default(), VPC)?;
    stage.terraform.apply(&[])?.success()?;
    let state = stage.terraform.show(None)?;
    let id = &state["values"]["root_module"]["resources"][0]["values"]["id"];
    let id = id.as_str().unwrap_or_default();
    by_hand(
        &stage,
        &format!("Action=CreateTags&Version=2016-11-15&ResourceId.1={id}&Tag.1.Key={KEY}&Tag.1.Value=shared"),
    )?;
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 2, "without `ignore_tags`, the tag is a change: {}", plan.output());

    let ignoring = "region = \"us-east-1\", endpoint_url = var.endpoint_url, \
                    ignore_tags = { key_prefixes = [\"kubernetes.io/cluster/\"] }";
    stage.configure_aws(ignoring)?;
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    stage.terraform.write("main.tf", &VPC.replace("}\n", " tags = { team = \"ml\" }\n}\n"))?;
    stage.terraform.apply(&[])?.success()?;
    let tags = by_hand(
        &stage,
        &format!("Action=DescribeTags&Version=2016-11-15&Filter.1.Name=resource-id&Filter.1.Value.1={id}"),
    )?;
    ensure!(tags.contains(KEY) && tags.contains("<value>ml</value>"), "{tags}");
    let state: Value = stage.terraform.show(None)?;
    ensure!(!state.to_string().contains(KEY), "{state}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
