//! A log names every call of Terraform and of the cloud, and no secret.

use anyhow::{Context as _, Result, ensure};
use warren_acceptance::{AwsStage, RunPodStage};
use warren_harness::{ProxyConfig, RunPodConfig};

const SECRET: &str = "an-external-id-that-nobody-may-read";

#[test]
fn each_api_call_is_logged_with_its_request_and_no_secret() -> Result<()> {
    let mut stage = AwsStage::with(ProxyConfig::default(), "")?;
    stage.terraform.write(
        "main.tf",
        "resource \"warren_aws_wireguard_key\" \"one\" {\n name = \"/warren/one\"\n}\n\
         resource \"warren_aws_vpc\" \"one\" {\n name = \"one\"\n cidr_block = \"10.0.0.0/16\"\n}\n",
    )?;
    let log = stage.terraform.folder().join("log");
    stage.terraform.env("TF_LOG_PROVIDER", "TRACE").env("TF_LOG_PATH", log.as_os_str());
    stage.terraform.env("AWS_SECRET_ACCESS_KEY", SECRET);
    stage.terraform.apply(&[])?.success()?;
    let log = std::fs::read_to_string(log)?;
    let line = |parts: &[&str]| {
        let found = log.lines().find(|line| parts.iter().all(|part| line.contains(part)));
        found.with_context(|| format!("no line has {parts:?}:\n{log}"))
    };
    let call = line(&["called the AWS API", "operation=CreateVpc"])?;
    for field in [
        "service=EC2",
        "attempt=1",
        "status=200",
        "request_id=",
        "duration_ms=",
        "tf_rpc=ApplyResourceChange",
        "tf_resource_type=warren_aws_vpc",
        "tf_req_id=",
    ] {
        ensure!(call.contains(field), "{field} is not in {call}");
    }
    line(&["called the AWS API", "operation=GetCallerIdentity"])?;
    line(&["called the AWS API", "operation=PutParameter", "service=SSM"])?;
    line(&["Served request", "tf_rpc=ApplyResourceChange", "tf_resource_type=warren_aws_wireguard_key"])?;
    ensure!(!log.contains(SECRET), "{log}");
    ensure!(!log.to_lowercase().contains("authorization:"), "{log}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_write_only_value_is_in_no_log_of_the_cloud_that_receives_it() -> Result<()> {
    let body = format!(
        "resource \"warren_runpod_secret\" \"one\" {{\n name = \"one\"\n value_wo = \"{SECRET}\"\n value_wo_version = 1\n}}\n"
    );
    let mut stage = RunPodStage::with(RunPodConfig::default(), "")?;
    stage.terraform.write("main.tf", &body)?;
    let log = stage.terraform.folder().join("log");
    stage.terraform.env("TF_LOG_PROVIDER", "TRACE").env("TF_LOG_PATH", log.as_os_str());
    stage.terraform.apply(&[])?.success()?;
    let log = std::fs::read_to_string(log)?;
    let call = log.lines().find(|line| line.contains("operation=createSecret")).context("createSecret")?;
    for field in ["called the RunPod API", "service=runpod", "status=201", "duration_ms=", "tf_req_id="] {
        ensure!(call.contains(field), "{field} is not in {call}");
    }
    ensure!(!log.contains(SECRET), "{log}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
