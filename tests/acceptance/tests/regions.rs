//! Objects in several regions and projects of one provider block.

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use warren_acceptance::{AwsStage, GoogleStage, flat};
use warren_harness::{GoogleConfig, ProxyConfig};

const EUROPE: &str = "eu-west-1";

/// The same names in two regions; the provider block configures the first one.
const TWO: &str = r#"
variable "region" { default = "eu-west-1" }

resource "warren_aws_vpc" "home" {
  name       = "hub"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_subnet" "home" {
  name       = "a"
  vpc_id     = warren_aws_vpc.home.id
  cidr_block = "10.0.0.0/24"
}

resource "warren_aws_signing_key" "home" {
  name = "/warren/tokens"
}

resource "warren_aws_vpc" "away" {
  name       = "hub"
  region     = var.region
  cidr_block = "10.1.0.0/16"
}

resource "warren_aws_subnet" "away" {
  name       = "a"
  region     = warren_aws_vpc.away.region
  vpc_id     = warren_aws_vpc.away.id
  cidr_block = "10.1.0.0/24"
}

resource "warren_aws_signing_key" "away" {
  name   = "/warren/tokens"
  region = var.region
}
"#;

/// The attribute `name` of the resource at `address`, as text.
fn attributes(stage: &AwsStage, address: &str, name: &str) -> Result<String> {
    let shown = stage.terraform.show(None)?;
    let resources = shown["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
    let found = resources.iter().find(|resource| resource["address"] == address);
    let value = found.map(|resource| resource["values"][name].clone()).unwrap_or_default();
    Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn empty_plan(stage: &AwsStage) -> Result<()> {
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    Ok(())
}

#[test]
fn one_provider_block_serves_two_regions() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), TWO)?;
    let before = [stage.cloud.inventory_in(EUROPE)?, stage.cloud.inventory_in("eu-central-1")?];
    stage.terraform.apply(&[])?.success()?;
    empty_plan(&stage)?;
    for (address, region) in [
        ("warren_aws_vpc.home", "us-east-1"),
        ("warren_aws_subnet.home", "us-east-1"),
        ("warren_aws_vpc.away", EUROPE),
        ("warren_aws_subnet.away", EUROPE),
    ] {
        ensure!(attributes(&stage, address, "region")? == region, "{address}");
        let arn = attributes(&stage, address, "arn")?;
        ensure!(arn.starts_with(&format!("arn:aws:ec2:{region}:")), "{arn}");
    }
    let keys = ["home", "away"].map(|of| format!("warren_aws_signing_key.{of}"));
    let publics = keys.map(|address| attributes(&stage, &address, "public_key"));
    ensure!(publics[0].as_ref().ok() != publics[1].as_ref().ok(), "one key in both regions");

    // Another region replaces the objects there, and leaves those at home alone.
    let moved = ["-var", "region=eu-central-1"];
    let plan = flat(&stage.terraform.plan(&moved)?.success()?.stdout);
    ensure!(plan.contains("Plan: 3 to add, 0 to change, 3 to destroy."), "{plan}");
    stage.terraform.apply(&moved)?.success()?;
    ensure!(stage.cloud.inventory_in(EUROPE)?.since(&before[0]).is_empty(), "left behind in {EUROPE}");
    let arn = attributes(&stage, "warren_aws_vpc.away", "arn")?;
    ensure!(arn.starts_with("arn:aws:ec2:eu-central-1:"), "{arn}");

    stage.terraform.destroy(&moved)?.success()?;
    ensure!(stage.cloud.inventory_in("eu-central-1")?.since(&before[1]).is_empty(), "left behind");
    stage.nothing_left()
}

#[test]
fn ranges_are_compared_across_regions() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), &TWO.replace("10.1.0.0/16", "10.0.0.0/16"))?;
    let output = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(output.contains("Address conflict in warren_aws_vpc"), "{output}");

    stage.terraform.write("main.tf", TWO)?;
    stage.terraform.apply(&[])?.success()?;
    // The state forgets the VPC in the other region, where it still exists.
    stage.terraform.run(&["state", "rm", "warren_aws_vpc.away", "warren_aws_subnet.away"])?.success()?;
    stage.terraform.write(
        "main.tf",
        "resource \"warren_aws_signing_key\" \"away\" {\n name = \"/warren/tokens\"\n region = \"eu-west-1\"\n}\n\
         resource \"warren_aws_vpc\" \"third\" {\n name = \"third\"\n cidr_block = \"10.1.0.0/16\"\n \
         depends_on = [warren_aws_signing_key.away]\n}\n",
    )?;
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    ensure!(output.contains("Live networks overlap warren_aws_vpc \"third\""), "{output}");
    ensure!(output.contains(EUROPE), "{output}");
    Ok(())
}

#[test]
fn a_reference_to_another_region_fails_the_plan() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), TWO)?;
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.write("main.tf", &TWO.replace("region     = warren_aws_vpc.away.region", ""))?;
    stage.terraform.write(
        "wrong.tf",
        "resource \"warren_aws_internet_gateway\" \"wrong\" {\n name = \"wrong\"\n vpc_id = warren_aws_vpc.away.id\n}\n",
    )?;
    let output =
        flat(&stage.terraform.plan(&["-target=warren_aws_internet_gateway.wrong"])?.failure()?.output());
    ensure!(output.contains("Reference to another region"), "{output}");
    ensure!(output.contains("is in region eu-west-1"), "{output}");
    Ok(())
}

#[test]
fn objects_of_another_region_are_imported() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), TWO)?;
    stage.terraform.apply(&[])?.success()?;
    let id = attributes(&stage, "warren_aws_vpc.away", "id")?;
    let subnet = attributes(&stage, "warren_aws_subnet.away", "id")?;
    stage.terraform.run(&["state", "rm", "warren_aws_vpc.away", "warren_aws_subnet.away"])?.success()?;
    stage.terraform.write(
        "import.tf",
        &format!(
            "import {{\n to = warren_aws_vpc.away\n id = \"{id}@{EUROPE}\"\n}}\nimport {{\n to = \
             warren_aws_subnet.away\n id = \"{subnet}@{EUROPE}\"\n}}\n"
        ),
    )?;
    let plan = flat(&stage.terraform.plan(&[])?.success()?.stdout);
    ensure!(plan.contains("Plan: 2 to import, 0 to add, 0 to change, 0 to destroy."), "{plan}");
    stage.terraform.apply(&[])?.success()?;
    ensure!(attributes(&stage, "warren_aws_vpc.away", "region")? == EUROPE);
    std::fs::remove_file(stage.terraform.folder().join("import.tf"))?;
    empty_plan(&stage)?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_region_of_another_partition_is_refused() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), TWO)?;
    let output = flat(&stage.terraform.plan(&["-var", "region=cn-north-1"])?.failure()?.output());
    ensure!(output.contains("Region of another partition"), "{output}");
    let output = flat(&stage.terraform.plan(&["-var", "region=Europe"])?.failure()?.output());
    ensure!(output.contains("Invalid region"), "{output}");
    Ok(())
}

const PROJECTS: &str = r#"
variable "project" { default = "acme-data" }

resource "warren_gcp_network" "home" {
  name = "hub"
}

resource "warren_gcp_network" "away" {
  name    = "hub"
  project = var.project
}

resource "warren_gcp_subnetwork" "away" {
  name          = "data"
  project       = var.project
  network       = warren_gcp_network.away.id
  ip_cidr_range = "10.1.0.0/20"
}
"#;

#[test]
fn one_provider_block_serves_two_projects() -> Result<()> {
    let projects = ["acme-ml", "acme-data", "acme-lab", "acme-other"].map(str::to_owned).to_vec();
    let stage = GoogleStage::with(GoogleConfig { projects, ..GoogleConfig::realistic() }, PROJECTS)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    let names = |stage: &GoogleStage| stage.cloud.objects().into_keys().collect::<Vec<_>>();
    for id in ["projects/acme-ml/global/networks/hub", "projects/acme-data/global/networks/hub"] {
        ensure!(names(&stage).iter().any(|name| name == id), "{:?}", names(&stage));
    }

    let wrong = PROJECTS.replace("warren_gcp_network.away.id", "warren_gcp_network.home.id");
    terraform.write("main.tf", &wrong)?;
    let output = flat(&terraform.plan(&[])?.failure()?.output());
    ensure!(output.contains("Reference to another project"), "{output}");

    terraform.write("main.tf", PROJECTS)?;
    let moved = ["-var", "project=acme-lab"];
    let plan = flat(&terraform.plan(&moved)?.success()?.stdout);
    ensure!(plan.contains("Plan: 2 to add, 0 to change, 2 to destroy."), "{plan}");
    terraform.apply(&moved)?.success()?;
    ensure!(!names(&stage).iter().any(|name| name.contains("acme-data")), "{:?}", names(&stage));

    // A state whose objects follow the provider block is not pointed at another project.
    let file = terraform.folder().join("provider.tf");
    let provider = std::fs::read_to_string(&file)?;
    std::fs::write(&file, provider.replace("\"acme-ml\"", "\"acme-other\""))?;
    let output = flat(&terraform.plan(&moved)?.failure()?.output());
    ensure!(
        output.contains("is in project acme-ml, but the provider is configured for project acme-other."),
        "{output}"
    );
    std::fs::write(&file, provider)?;
    terraform.destroy(&moved)?.success()?;
    stage.nothing_left()
}

/// States of earlier versions have no `region` and no `project`.
#[test]
fn an_old_state_plans_nothing() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), TWO)?;
    stage.terraform.apply(&[])?.success()?;
    let file = stage.terraform.folder().join("terraform.tfstate");
    let mut state: Json = serde_json::from_slice(&std::fs::read(&file)?)?;
    for resource in state["resources"].as_array_mut().into_iter().flatten() {
        let attributes = resource["instances"][0]["attributes"].as_object_mut();
        ensure!(attributes.is_some_and(|attributes| attributes.remove("region").is_some()), "no region");
    }
    std::fs::write(&file, state.to_string())?;
    // The objects away set their region, which the state does not have yet: that is no replacement.
    let plan = flat(&stage.terraform.plan(&["-refresh=false"])?.success()?.stdout);
    ensure!(plan.contains("Plan: 0 to add, 3 to change, 0 to destroy."), "{plan}");
    empty_plan(&stage)?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
