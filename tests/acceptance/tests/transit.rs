//! Transit gateways with route tables, and what must be attached before something else works, by real Terraform.

use std::time::Duration;

use anyhow::{Result, ensure};
use warren_acceptance::{AwsStage, KillSample, flat, kill_points};
use warren_harness::{Fault, Kind, ProxyConfig};

/// Two isolated spokes; both reach the hub, where the internet is.
const ISOLATED: &str = r#"
locals {
  networks = { hub = "10.0.0.0/16", one = "10.1.0.0/16", two = "10.2.0.0/16" }
  spokes   = setsubtract(keys(local.networks), ["hub"])
}

resource "warren_aws_vpc" "this" {
  for_each   = local.networks
  name       = each.key
  cidr_block = each.value
}

resource "warren_aws_subnet" "this" {
  for_each   = local.networks
  name       = each.key
  vpc_id     = warren_aws_vpc.this[each.key].id
  cidr_block = cidrsubnet(each.value, 8, 0)
}

resource "warren_aws_transit_gateway" "this" {
  name                            = "hub"
  default_route_table_association = false
  default_route_table_propagation = false
}

resource "warren_aws_transit_gateway_attachment" "this" {
  for_each           = local.networks
  name               = each.key
  transit_gateway_id = warren_aws_transit_gateway.this.id
  vpc_id             = warren_aws_vpc.this[each.key].id
  subnet_ids         = [warren_aws_subnet.this[each.key].id]
}

resource "warren_aws_transit_gateway_route_table" "this" {
  for_each           = toset(["hub", "spokes"])
  name               = each.key
  transit_gateway_id = warren_aws_transit_gateway.this.id
}

resource "warren_aws_transit_gateway_route_table_association" "this" {
  for_each                       = local.networks
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.this[each.key == "hub" ? "hub" : "spokes"].id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.this[each.key].id
}

resource "warren_aws_transit_gateway_route_table_propagation" "this" {
  for_each                       = local.networks
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.this[each.key == "hub" ? "spokes" : "hub"].id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.this[each.key].id
}

resource "warren_aws_transit_gateway_route" "internet" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.this["spokes"].id
  destination_cidr_block         = "0.0.0.0/0"
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.this["hub"].id
}

resource "warren_aws_transit_gateway_route" "spokes" {
  for_each                       = local.spokes
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.this["spokes"].id
  destination_cidr_block         = local.networks[each.key]
  blackhole                      = true
}
"#;

#[test]
fn isolated_spokes_are_applied_changed_imported_and_destroyed() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::realistic(), ISOLATED)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let unchanged = || {
        let plan = terraform.plan(&["-detailed-exitcode"])?;
        ensure!(plan.code == 0, "the plan is not empty:\n{}", plan.output());
        Ok(())
    };
    unchanged()?;

    // Everything that is only a connection is imported by the IDs of what it connects.
    let state = terraform.show(None)?;
    let resources = state["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
    let id = |address: &str| {
        let found = resources.iter().find(|resource| resource["address"] == address).cloned();
        found.and_then(|resource| resource["values"]["id"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    for (kind, key) in [
        ("warren_aws_transit_gateway_route_table", "this[\"hub\"]"),
        ("warren_aws_transit_gateway_route_table_association", "this[\"one\"]"),
        ("warren_aws_transit_gateway_route_table_propagation", "this[\"one\"]"),
        ("warren_aws_transit_gateway_route", "internet"),
        ("warren_aws_transit_gateway_route", "spokes[\"two\"]"),
    ] {
        let address = format!("{kind}.{key}");
        terraform.run(&["state", "rm", &address])?.success()?;
        terraform.import(&address, &id(&address))?.success()?;
    }
    unchanged()?;

    // A spoke moves to the table of the hub, and the default route drops traffic.
    let changed = ISOLATED
        .replace("[each.key == \"hub\" ? \"hub\" : \"spokes\"]", "[each.key == \"two\" ? \"spokes\" : \"hub\"]")
        .replace(
            "\"0.0.0.0/0\"\n  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.this[\"hub\"].id",
            "\"0.0.0.0/0\"\n  blackhole                      = true",
        );
    terraform.write("main.tf", &changed)?;
    let run = terraform.apply(&[])?.success()?;
    ensure!(flat(&run.stdout).contains("2 added, 0 changed, 2 destroyed"), "{}", run.stdout);
    unchanged()?;
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn connections_survive_kill_points() -> Result<()> {
    let stage = || AwsStage::with(ProxyConfig::default(), ISOLATED);
    let report = kill_points(stage, KillSample { first: 5, ..KillSample::every(17) }, &mut |_| ())?;
    ensure!(report.survived >= 3, "{report}");
    Ok(())
}

#[test]
fn an_attachment_leaves_the_default_table() -> Result<()> {
    let with = |settings: &str| {
        let plain =
            ISOLATED.split("resource \"warren_aws_transit_gateway_route_table\"").next().unwrap_or_default();
        let plain = plain
            .replace("default_route_table_association = false", "default_route_table_association = true");
        let plain = plain
            .replace("default_route_table_propagation = false", "default_route_table_propagation = true");
        plain.replace("  subnet_ids         =", &format!("{settings}  subnet_ids         ="))
    };
    let association = "  transit_gateway_default_route_table_association =";
    let stage =
        AwsStage::with(ProxyConfig::realistic(), &with(&format!("{association} each.key == \"hub\"\n")))?;
    let (terraform, proxy) = (&stage.terraform, stage.cloud.proxy());
    terraform.apply(&[])?.success()?;
    assert_eq!(
        proxy
            .calls_of("DisassociateTransitGatewayRouteTable")
            .iter()
            .filter(|call| call.status == Some(200))
            .count(),
        2
    );
    ensure!(
        proxy.calls_of("DisableTransitGatewayRouteTablePropagation").is_empty(),
        "a setting that is not set acts"
    );
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the plan is not empty:\n{}", plan.output());
    terraform.write("main.tf", &with(&format!("{association} true\n")))?;
    let run = terraform.apply(&[])?.success()?;
    ensure!(flat(&run.stdout).contains("0 added, 2 changed, 0 destroyed"), "{}", run.stdout);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

const ROUTED: &str = r#"
resource "warren_aws_vpc" "one" {
  name       = "one"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_subnet" "a" {
  name       = "a"
  vpc_id     = warren_aws_vpc.one.id
  cidr_block = "10.0.0.0/24"
}

resource "warren_aws_transit_gateway" "hub" {
  name = "hub"
}

resource "warren_aws_route_table" "one" {
  name       = "one"
  vpc_id     = warren_aws_vpc.one.id
  routes     = [{ destination_cidr_block = "10.1.0.0/16", transit_gateway_id = warren_aws_transit_gateway.hub.id }]
  timeouts   = { create = "TIMEOUT" }
}
"#;

const ATTACHED: &str = r#"
resource "warren_aws_transit_gateway_attachment" "one" {
  name               = "one"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  vpc_id             = warren_aws_vpc.one.id
  subnet_ids         = [warren_aws_subnet.a.id]
}
"#;

#[test]
fn a_route_waits_for_the_attachment() -> Result<()> {
    let habits = ProxyConfig { pending: 6, ..ProxyConfig::default() };
    let stage = AwsStage::with(habits, &ROUTED.replace("TIMEOUT", "2s"))?;
    let (terraform, proxy) = (&stage.terraform, stage.cloud.proxy());
    let refused = terraform.apply(&[])?.failure()?;
    let told = flat(&refused.output());
    ensure!(told.contains("The VPC is not attached to this transit gateway"), "{told}");

    terraform.write("main.tf", &(ROUTED.replace("TIMEOUT", "5m") + ATTACHED))?;
    terraform.destroy(&[])?.success()?;
    terraform.apply(&[])?.success()?;
    let failed = proxy.calls_of("CreateRoute").into_iter().filter(|call| call.error.is_some()).count();
    ensure!(failed > 1, "the route did not have to wait");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

const NAT: &str = r#"
resource "warren_aws_vpc" "one" {
  name       = "one"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_subnet" "a" {
  name       = "a"
  vpc_id     = warren_aws_vpc.one.id
  cidr_block = "10.0.0.0/24"
}

resource "warren_aws_nat_gateway" "out" {
  name      = "out"
  subnet_id = warren_aws_subnet.a.id
  timeouts  = { create = "TIMEOUT" }
}
"#;

const INTERNET: &str = r#"
resource "warren_aws_internet_gateway" "one" {
  name   = "one"
  vpc_id = warren_aws_vpc.one.id
}
"#;

#[test]
fn a_nat_gateway_is_created_again_once_the_internet_gateway_is_attached() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::realistic(), &NAT.replace("TIMEOUT", "3s"))?;
    let (terraform, proxy) = (&stage.terraform, stage.cloud.proxy());
    let refused = terraform.apply(&[])?.failure()?;
    let told = flat(&refused.output());
    ensure!(told.contains("Create a `warren_aws_internet_gateway` for the VPC"), "{told}");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()?;

    terraform.write("main.tf", &(NAT.replace("TIMEOUT", "5m") + INTERNET))?;
    proxy.inject(Fault::delay(Duration::from_millis(2500)).on("AttachInternetGateway").times(1));
    let before = proxy.calls_of("CreateNatGateway").len();
    terraform.apply(&[])?.success()?;
    let tries =
        proxy.calls_of("CreateNatGateway").into_iter().skip(before).filter(|call| call.error.is_none());
    ensure!(tries.count() == 2, "the gateway should have failed once");
    let nats = stage.cloud.leftovers()?.added.iter().filter(|(kind, _)| *kind == Kind::NatGateway).count();
    assert_eq!(nats, 1);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_nat_gateway_that_was_cancelled_after_its_address_goes_on() -> Result<()> {
    let config = (NAT.replace("TIMEOUT", "5m") + INTERNET)
        .replace("  timeouts  =", "  depends_on = [warren_aws_internet_gateway.one]\n  timeouts  =");
    let stage = AwsStage::with(ProxyConfig::default(), &config)?;
    let (terraform, proxy) = (&stage.terraform, stage.cloud.proxy());
    proxy.inject(Fault::delay(Duration::from_millis(1500)).on("AllocateAddress").times(1));
    let running = terraform.spawn(&["apply", "-no-color", "-input=false", "-auto-approve"])?;
    for _ in 0..1000 {
        if !proxy.calls_of("AllocateAddress").is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // As a terminal does on Ctrl-C: to the whole process group.
    let status =
        std::process::Command::new("kill").args(["-INT", "--", &format!("-{}", running.pid())]).status()?;
    ensure!(status.success(), "Terraform had already ended");
    let run = running.wait()?;
    ensure!(proxy.calls_of("CreateNatGateway").is_empty(), "the gateway was created already");
    ensure!(terraform.state_list()?.contains(&"warren_aws_nat_gateway.out".to_owned()), "{}", run.output());

    let next = terraform.apply(&[])?.success()?;
    ensure!(
        flat(&next.stdout).contains("0 destroyed"),
        "the interrupted gateway was replaced: {}",
        next.stdout
    );
    assert_eq!(proxy.calls_of("AllocateAddress").len(), 1);
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the plan is not empty:\n{}", plan.output());
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
