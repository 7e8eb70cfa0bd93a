//! Google Cloud resources, by real Terraform against a double that is held to Google's discovery documents.

use anyhow::{Result, ensure};
use serde_json::json;
use warren_acceptance::{GoogleStage, flat};
use warren_harness::{Fault, GoogleConfig};

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
    ensure!(told.contains("A quota of the project is used up"), "{told}");
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
