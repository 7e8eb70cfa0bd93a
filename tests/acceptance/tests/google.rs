//! Google Cloud resources, by real Terraform against a double that is held to Google's discovery documents.

use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::json;
use warren_acceptance::{AllStage, GoogleStage, KillSample, build_folder, flat, kill_points};
use warren_harness::{Fault, GoogleConfig, ProxyConfig, RunPodConfig};

const NETWORK: &str = r#"
variable "pods" { default = "10.1.64.0/18" }
variable "access" { default = true }

resource "warren_gcp_network" "data" {
  name        = "data"
  description = "training data"
}

resource "warren_gcp_subnetwork" "data" {
  name                     = "data"
  network                  = warren_gcp_network.data.id
  ip_cidr_range            = "10.1.0.0/20"
  secondary_ip_ranges      = { pods = var.pods }
  private_ip_google_access = var.access
  flow_logs                = { sampling = 0.1 }
}
"#;

const SUBNETWORK: &str = "projects/acme-ml/regions/us-central1/subnetworks/data";

#[test]
fn it_is_built_changed_in_place_and_taken_down() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), NETWORK)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let objects = stage.cloud.objects();
    let network = &objects["projects/acme-ml/global/networks/data"];
    assert_eq!(network["description"], "[warren:acceptance/tests/data] training data");
    assert_eq!(objects[SUBNETWORK]["privateIpGoogleAccess"], true);
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0, "{}", terraform.plan(&[])?.output());

    let changes = ["-var", "pods=10.1.128.0/18", "-var", "access=false"];
    let changed = terraform.apply(&changes)?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", changed.stdout);
    assert_eq!(stage.cloud.objects()[SUBNETWORK]["privateIpGoogleAccess"], false);

    // Somebody changes it by hand.
    assert!(stage.cloud.change(SUBNETWORK, |body| {
        body.insert("privateIpGoogleAccess".to_owned(), json!(true));
    }));
    let drift =
        terraform.plan(&["-detailed-exitcode", "-var", "pods=10.1.128.0/18", "-var", "access=false"])?;
    ensure!(
        drift.code == 2 && flat(&drift.stdout).contains("private_ip_google_access"),
        "{}",
        drift.output()
    );
    terraform.apply(&changes)?.success()?;
    assert_eq!(stage.cloud.objects()[SUBNETWORK]["privateIpGoogleAccess"], false);

    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_imported_again() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), NETWORK)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    terraform.import("warren_gcp_network.data", "projects/acme-ml/global/networks/data")?.success()?;
    // A self link does too.
    let link = format!("https://www.googleapis.com/compute/v1/{SUBNETWORK}");
    terraform.import("warren_gcp_subnetwork.data", &link)?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "an imported state plans changes:\n{}", plan.output());
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_adopted_by_the_next_apply() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), NETWORK)?;
    stage.terraform.apply(&[])?.success()?;
    std::fs::remove_file(stage.terraform.folder().join("terraform.tfstate"))?;
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn what_fails_late_or_is_put_off_converges() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), NETWORK)?;
    let front = stage.cloud.front();
    front.inject(Fault::throttle().every(5).times(10));
    front.inject(Fault::cut_after().on("compute.subnetworks.insert").times(1));
    front.inject(Fault::cut_before().on("compute.networks.insert").times(1));
    stage.terraform.apply(&[])?.success()?;
    front.clear_faults();
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    front.inject(Fault::overtaken().on("compute.subnetworks.patch").times(2));
    stage.terraform.apply(&["-var", "pods=10.1.128.0/18"])?.success()?;
    front.clear_faults();
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_late_failure_is_told_and_the_next_apply_goes_on() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), NETWORK)?;
    let quota = "Quota 'SUBNETWORKS' exceeded. Limit: 100.0 globally.";
    stage
        .cloud
        .front()
        .inject(Fault::fail_late("QUOTA_EXCEEDED", quota).on("compute.subnetworks.insert").times(1));
    let failed = stage.terraform.apply(&[])?.failure()?;
    let told = flat(&failed.output());
    ensure!(told.contains("subnetworks.insert failed: QUOTA_EXCEEDED"), "{told}");
    ensure!(told.contains("A quota of the project is exhausted"), "{told}");
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn the_example_is_built_changed_in_place_and_taken_down() -> Result<()> {
    let stage = GoogleStage::example("gcp-hub-spoke", GoogleConfig::realistic())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    let state = |network: &str| {
        let objects = stage.cloud.objects();
        let peerings = objects[&format!("projects/acme-ml/global/networks/{network}")]["peerings"].clone();
        peerings.as_array().cloned().unwrap_or_default()
    };
    assert_eq!(state("hub").len(), 3);
    assert!(state("hub").iter().all(|side| side["state"] == "ACTIVE"), "{:?}", state("hub"));

    let changed = terraform.apply(&["-var", "ml_nat=false"])?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 0 changed, 3 destroyed"), "{}", changed.stdout);
    terraform.destroy(&[])?.success()?;
    stage.permitted()?;
    stage.nothing_left()
}

/// A sample of the kill points; `cargo xtask kill --example gcp-hub-spoke` tries them all.
#[test]
fn a_killed_provider_leaves_nothing_behind() -> Result<()> {
    let stage =
        || GoogleStage::example("gcp-hub-spoke", GoogleConfig { polls: 1, ..GoogleConfig::default() });
    let report = kill_points(stage, KillSample::every(47), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 4, "{report}");
    Ok(())
}

fn refused(configuration: &str) -> Result<String> {
    let habits = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    let stage = AllStage::with(habits, configuration)?;
    Ok(flat(&stage.terraform.plan(&[])?.failure()?.output()))
}

#[test]
fn a_subnetwork_on_a_vpcs_range_is_refused() -> Result<()> {
    let told = refused(
        r#"
resource "warren_aws_vpc" "one" {
  name       = "one"
  cidr_block = "10.1.0.0/16"
}

resource "warren_gcp_network" "data" { name = "data" }

resource "warren_gcp_subnetwork" "data" {
  name          = "data"
  network       = warren_gcp_network.data.id
  ip_cidr_range = "10.1.16.0/20"
}
"#,
    )?;
    ensure!(
        told.contains("10.1.16.0/20") && told.contains("warren_aws_vpc") && told.contains("10.1.0.0/16"),
        "{told}"
    );
    Ok(())
}

#[test]
fn ranges_that_google_forbids_are_refused() -> Result<()> {
    let told = refused(
        r#"
resource "warren_gcp_network" "data" { name = "data" }

resource "warren_gcp_subnetwork" "data" {
  name                = "data"
  network             = warren_gcp_network.data.id
  ip_cidr_range       = "169.254.0.0/20"
  secondary_ip_ranges = { pods = "199.36.153.0/24", tiny = "10.0.0.0/30" }
}
"#,
    )?;
    for part in ["Range not allowed in Google Cloud", "link-local", "private.googleapis.com", "/8 to /29"] {
        ensure!(told.contains(part), "no {part:?} in: {told}");
    }
    Ok(())
}

/// A network of another team, in a project of its own.
const THEIRS: &str = r#"
provider "warren" {
  alias  = "data"
  fabric = "data"
  owner  = "data"
  gcp    = { project = "acme-data", region = "us-central1", endpoint_url = var.endpoint_url }
}

resource "warren_gcp_network" "theirs" {
  provider = warren.data
  name     = "theirs"
}

resource "warren_gcp_subnetwork" "theirs" {
  provider      = warren.data
  name          = "theirs"
  network       = warren_gcp_network.theirs.id
  ip_cidr_range = "10.1.0.0/20"
}
"#;

const PEERED: &str = r#"
resource "warren_gcp_network" "ours" { name = "ours" }

resource "warren_gcp_subnetwork" "ours" {
  name          = "ours"
  network       = warren_gcp_network.ours.id
  ip_cidr_range = "10.1.8.0/21"
}

resource "warren_gcp_network_peering" "ours" {
  name         = "ours-theirs"
  network      = warren_gcp_network.ours.id
  peer_network = "projects/acme-data/global/networks/theirs"

  depends_on = [warren_gcp_subnetwork.ours]
}
"#;

#[test]
fn a_peering_of_networks_that_overlap_is_refused() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), THEIRS)?;
    stage.cloud.configure(|config| config.projects.push("acme-data".to_owned()));
    stage.terraform.apply(&[])?.success()?;
    stage.configure(&format!("{THEIRS}{PEERED}"))?;
    let told = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(told.contains("10.1.8.0/21 overlaps 10.1.0.0/20 of the other network"), "{told}");
    stage.configure(THEIRS)?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// Who reaches whom in the example, by design of Google's peering.
const DESIGN: &str = r#"
assertions:
  - name: the spokes reach the hub and the hub reaches them
    from: [network:data, network:ml, network:shared, network:hub]
    to: network:hub
    protocol: tcp
    port: 443
    expect: reachable
  - name: no spoke reaches another
    from: network:data
    to: [network:ml, network:shared]
    expect: unreachable
  - name: nothing comes in from the internet
    from: internet
    to: "*"
    expect: unreachable
  - name: data has no way out
    from: network:data
    to: internet
    expect: unreachable
  - name: ML has its own
    from: network:ml
    to: internet
    protocol: tcp
    port: 443
    expect: reachable
"#;

/// What a reader of the example could hope for, and Google does not do.
const HOPE: &str = r#"
assertions:
  - name: spokes reach each other over the hub
    from: network:data
    to: network:ml
    protocol: tcp
    port: 443
    expect: reachable
"#;

#[test]
fn paths_that_peering_does_not_give_are_told_from_the_examples_own_plan() -> Result<()> {
    let stage = GoogleStage::example("gcp-hub-spoke", GoogleConfig::default())?;
    stage.terraform.plan(&["-out=network.tfplan"])?.success()?;
    let file = |name: &str| stage.terraform.folder().join(name);
    let plan = file("plan.json");
    std::fs::write(&plan, stage.terraform.show(Some("network.tfplan"))?.to_string())?;
    let check = |policy: &str| -> Result<(Option<i32>, String)> {
        std::fs::write(file("policy.yaml"), policy)?;
        let mut command = Command::new(build_folder()?.join("warren"));
        let output = command.arg("check").arg(&plan).arg("--policy").arg(file("policy.yaml")).output()?;
        Ok((
            output.status.code(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        ))
    };
    let (code, told) = check(DESIGN)?;
    ensure!(code == Some(0), "{told}");
    let (code, told) = check(HOPE)?;
    ensure!(code == Some(1), "{told}");
    ensure!(told.contains("are both peered with hub, and peering is not transitive"), "{told}");
    stage.nothing_left()
}
