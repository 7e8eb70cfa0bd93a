//! Import, drift, replacement and cancellation, by real Terraform.

use std::time::Duration;

use anyhow::{Result, ensure};
use warren_acceptance::{AwsStage, flat};
use warren_harness::{Consistency, Fault, Kind, ProxyConfig};

const NETWORK: &str = r#"
resource "warren_aws_vpc" "one" {
  name       = "one"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_subnet" "a" {
  name       = "a"
  vpc_id     = warren_aws_vpc.one.id
  cidr_block = "10.0.0.0/24"
}
"#;

#[test]
fn a_lost_state_is_imported_again() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), NETWORK)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let state = terraform.show(None)?;
    let id = |address: &str| {
        let resources = state["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
        let found = resources.iter().find(|resource| resource["address"] == address).cloned();
        found.and_then(|resource| resource["values"]["id"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    for address in ["warren_aws_vpc.one", "warren_aws_subnet.a"] {
        terraform.import(address, &id(address))?.success()?;
    }
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "an imported state plans changes:\n{}", plan.output());
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_adopted_by_the_next_apply() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), NETWORK)?;
    stage.terraform.apply(&[])?.success()?;
    std::fs::remove_file(stage.terraform.folder().join("terraform.tfstate"))?;
    stage.terraform.apply(&[])?.success()?;
    let vpcs = stage.cloud.leftovers()?.added.iter().filter(|(kind, _)| *kind == Kind::Vpc).count();
    assert_eq!(vpcs, 1);
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_replacement_that_creates_first_does_not_adopt_what_it_replaces() -> Result<()> {
    let subnet = |cidr: &str| {
        NETWORK.replace("10.0.0.0/24", cidr).replace(
            &format!("\"{cidr}\"\n}}"),
            &format!("\"{cidr}\"\n  lifecycle {{\n    create_before_destroy = true\n  }}\n}}"),
        )
    };
    let stage = AwsStage::with(ProxyConfig::default(), &subnet("10.0.0.0/24"))?;
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.write("main.tf", &subnet("10.0.1.0/24"))?;
    let run = stage.terraform.apply(&[])?.success()?;
    ensure!(flat(&run.stdout).contains("1 added, 0 changed, 1 destroyed"), "{}", run.stdout);
    let subnets: Vec<_> = stage
        .cloud
        .leftovers()?
        .added
        .into_iter()
        .filter(|(kind, _)| *kind == Kind::Subnet)
        .map(|(_, object)| object.cidr)
        .collect();
    assert_eq!(subnets, [Some("10.0.1.0/24".to_owned())]);
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn an_interrupted_apply_keeps_what_exists_and_goes_on() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), NETWORK)?;
    stage.cloud.proxy().inject(Fault::delay(Duration::from_millis(800)).on("ModifyVpcAttribute").times(1));
    let running = stage.terraform.spawn(&["apply", "-no-color", "-input=false", "-auto-approve"])?;
    let pid = running.pid();
    let proxy = stage.cloud.proxy();
    for _ in 0..1000 {
        if !proxy.calls_of("ModifyVpcAttribute").is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // As a terminal does on Ctrl-C: to the whole process group.
    let status = std::process::Command::new("kill").args(["-INT", "--", &format!("-{pid}")]).status()?;
    ensure!(status.success(), "Terraform had already ended");
    let run = running.wait()?;
    ensure!(run.code != 0 || !run.stdout.contains("Apply complete"), "{}", run.output());
    ensure!(stage.terraform.state_list()?.contains(&"warren_aws_vpc.one".to_owned()), "{}", run.output());

    let next = stage.terraform.apply(&[])?.success()?;
    ensure!(flat(&next.stdout).contains("0 destroyed"), "the interrupted VPC was replaced: {}", next.stdout);
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_stale_read_of_a_setting_is_no_result() -> Result<()> {
    let habits = ProxyConfig { stale_attributes: 3, ..ProxyConfig::default() };
    let settings = |vpc: &str, subnet: &str| {
        let network = NETWORK.replace("16\"\n}", &format!("16\"\n  {vpc}\n}}"));
        network.replace("24\"\n}", &format!("24\"\n  {subnet}\n}}"))
    };
    let (off, on) = ("enable_dns_hostnames = false", "map_public_ip_on_launch = true");
    let stage = AwsStage::with(habits, &settings(off, on))?;
    let plan = || -> Result<()> {
        let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
        ensure!(plan.code == 0, "{}", plan.output());
        Ok(())
    };
    for (vpc, subnet) in
        [(off, on), ("enable_dns_hostnames = true", "map_public_ip_on_launch = false"), (off, on)]
    {
        stage.configure(&settings(vpc, subnet))?;
        let applied = stage.terraform.apply(&[])?;
        ensure!(applied.code == 0, "{}", applied.output());
        plan()?;
    }
    // A new VPC has hostnames off, and a new subnet maps no addresses.
    let modified = |action: &str| stage.cloud.proxy().calls_of(action).len();
    assert_eq!((modified("ModifyVpcAttribute"), modified("ModifySubnetAttribute")), (2, 3));
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

const LOGGED: &str = r#"
resource "warren_aws_vpc" "one" {
  name       = "one"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_flow_log" "one" {
  name             = "one"
  vpc_id           = warren_aws_vpc.one.id
  destination_type = "cloud-watch-logs"
  destination_arn  = "arn:aws:logs:us-east-1:123456789012:log-group:/acme/flow-logs"
  iam_role_arn     = "arn:aws:iam::123456789012:role/acme-flow-logs"
}
"#;

const TRANSIT: &str = r#"
resource "warren_aws_transit_gateway" "one" {
  name = "one"
}

resource "warren_aws_flow_log" "one" {
  name               = "one"
  transit_gateway_id = warren_aws_transit_gateway.one.id
  destination_type   = "cloud-watch-logs"
  destination_arn    = "arn:aws:logs:us-east-1:123456789012:log-group:/acme/flow-logs"
  iam_role_arn       = "arn:aws:iam::123456789012:role/acme-flow-logs"
}
"#;

/// The emulator refuses any other interval.
#[test]
fn a_flow_log_of_a_transit_gateway_is_accepted() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), TRANSIT)?;
    stage.terraform.apply(&[])?.success()?;
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    let calls = stage.cloud.proxy().calls_of("CreateFlowLogs");
    let intervals: Vec<&str> = calls.iter().map(|call| call.params.get("MaxAggregationInterval")).collect();
    ensure!(intervals == ["60"], "{intervals:?}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// China: other ARNs, and other domains of services.
#[test]
fn objects_of_another_partition_have_its_names() -> Result<()> {
    let vpc = "resource \"warren_aws_vpc\" \"one\" {\n name = \"one\"\n cidr_block = \"10.0.0.0/16\"\n}\n";
    let output = "output \"arn\" {\n value = warren_aws_vpc.one.arn\n}\n";
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    stage.configure_aws("endpoint_url = var.endpoint_url, region = \"cn-north-1\"")?;
    stage.terraform.write("main.tf", &[vpc, output].concat())?;
    stage.terraform.apply(&[])?.success()?;
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    let arn = stage.terraform.show(None)?["values"]["outputs"]["arn"]["value"].to_string();
    ensure!(arn.contains("arn:aws-cn:ec2:cn-north-1:"), "{arn}");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_new_role_of_a_flow_log_is_waited_for() -> Result<()> {
    let habits = ProxyConfig { consistency: Consistency { reads: 0, writes: 3 }, ..ProxyConfig::default() };
    let stage = AwsStage::with(habits, LOGGED)?;
    stage.terraform.apply(&[])?.success()?;
    let calls = stage.cloud.proxy().calls_of("CreateFlowLogs");
    let refused = calls.iter().filter(|call| call.error.as_deref() == Some("InvalidParameter")).count();
    // Calls about the new VPC are refused as well.
    ensure!(refused == 3 && calls.len() > 3, "{calls:#?}");
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
