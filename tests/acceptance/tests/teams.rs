//! What teams share: claims in S3, and plans that are checked without credentials.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_acceptance::{AwsStage, build_folder, flat};
use warren_harness::{Bucket, ProxyConfig};

/// One request to the emulator, which checks no signatures; the status line and the body.
fn s3(stage: &AwsStage, method: &str, path: &str) -> Result<String> {
    let endpoint = stage.cloud.endpoint();
    let address = endpoint.strip_prefix("http://").context("the emulator speaks plain HTTP")?;
    let mut stream = TcpStream::connect(address)?;
    let scope = "AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/s3/aws4_request";
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn configuration(claims: &str, owner: &str, region: &str, name: &str, cidr: &str) -> String {
    format!(
        r#"
terraform {{
  required_providers {{
    warren = {{ source = "warren-net/warren" }}
  }}
}}

variable "endpoint_url" {{ type = string }}

provider "warren" {{
  fabric = "shared"
  owner  = "{owner}"
  claims = "{claims}"
  aws    = {{ region = "{region}", endpoint_url = var.endpoint_url }}
}}

resource "warren_aws_vpc" "this" {{
  name       = "{name}"
  cidr_block = "{cidr}"
}}
"#
    )
}

/// One repo claims its range, another is refused what overlaps, and a destroy gives the claim back. `stored` reads the claims.
fn kept_apart(stage: &AwsStage, claims: &str, stored: impl Fn() -> Result<String>) -> Result<()> {
    let one = configuration(claims, "one", "us-east-1", "a", "10.0.0.0/16");
    stage.terraform.write("main.tf", &one)?;
    stage.terraform.apply(&[])?.success()?;
    let text = stored()?;
    ensure!(text.contains("10.0.0.0/16") && text.contains("\"one\""), "{text}");

    // The other repo works in a region where the first one's VPC cannot be seen.
    let state = stage.terraform.folder().join("terraform.tfstate");
    let kept = std::fs::read(&state)?;
    std::fs::remove_file(&state)?;
    let two = configuration(claims, "two", "eu-west-1", "b", "10.0.128.0/17");
    stage.terraform.write("main.tf", &two)?;
    let told = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(told.contains("one") && told.contains("10.0.0.0/16"), "{told}");

    std::fs::write(&state, kept)?;
    stage.terraform.write("main.tf", &one)?;
    stage.terraform.destroy(&[])?.success()?;
    let text = stored()?;
    ensure!(!text.contains("10.0.0.0/16"), "the claim outlives its VPC: {text}");
    stage.nothing_left()
}

#[test]
fn claims_in_s3_keep_two_repos_apart() -> Result<()> {
    let stage = AwsStage::empty(ProxyConfig::default())?;
    let made = s3(&stage, "PUT", "/claims")?;
    ensure!(made.starts_with("HTTP/1.1 200"), "{made}");
    kept_apart(&stage, "s3://claims/shared.json", || s3(&stage, "GET", "/claims/shared.json"))
}

#[test]
fn claims_in_google_cloud_storage_keep_two_repos_apart() -> Result<()> {
    let bucket = Bucket::start()?;
    let mut stage = AwsStage::empty(ProxyConfig::default())?;
    let folder = tempfile::tempdir()?;
    for (name, value) in bucket.environment(folder.path())? {
        stage.terraform.env(name, value);
    }
    kept_apart(&stage, "gs://claims/shared.json", || {
        bucket.object("claims", "shared.json").context("no claims were written")
    })?;
    // Every write had the generation that was read as its condition.
    bucket.front().assert_valid();
    let writes = bucket.front().calls_of("putObject");
    ensure!(writes.len() >= 2, "{writes:?}");
    Ok(())
}

#[test]
fn the_examples_own_plan_passes_the_offline_check() -> Result<()> {
    let stage = AwsStage::example("aws-hub-spoke", ProxyConfig::default())?;
    stage.terraform.plan(&["-out=network.tfplan"])?.success()?;
    let plan = stage.terraform.folder().join("plan.json");
    std::fs::write(&plan, stage.terraform.show(Some("network.tfplan"))?.to_string())?;
    let warren = build_folder()?.join("warren");
    let check = |files: &[&std::path::Path]| Command::new(&warren).arg("check").args(files).output();
    let fine = check(&[&plan])?;
    ensure!(fine.status.code() == Some(0), "{}", String::from_utf8_lossy(&fine.stdout));

    // Another repo's address plan that takes the hub's range.
    let other = stage.terraform.folder().join("other.yaml");
    std::fs::write(&other, "networks:\n  lab:\n    cidr: 172.16.128.0/17\n")?;
    let refused = check(&[&plan, &other])?;
    let told = String::from_utf8_lossy(&refused.stdout).into_owned();
    ensure!(refused.status.code() == Some(1), "{told}");
    ensure!(told.contains("172.16.128.0/17") && told.contains("172.16.0.0/16"), "{told}");
    stage.nothing_left()
}
