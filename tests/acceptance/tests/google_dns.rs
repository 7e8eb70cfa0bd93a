//! Zones and records of Cloud DNS, by real Terraform against a double that is validated against Google's discovery documents.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use warren_acceptance::{GoogleStage, KillSample, flat, kill_points};
use warren_harness::{Fault, GoogleConfig};

const ZONE: &str = "projects/acme-ml/managedZones/apis";

const DNS: &str = r#"
variable "networks" { default = 1 }
variable "address" { default = "199.36.153.8" }
variable "target" { default = "10.8.0.53" }

resource "warren_gcp_network" "hub" {
  count = 2
  name  = "hub-${count.index}"
}

resource "warren_gcp_dns_zone" "apis" {
  name     = "apis"
  dns_name = "googleapis.com."
  networks = slice(warren_gcp_network.hub[*].id, 0, var.networks)
  labels   = { team = "ml" }
}

resource "warren_gcp_dns_record_set" "private" {
  zone    = warren_gcp_dns_zone.apis.id
  name    = "private.googleapis.com."
  type    = "A"
  rrdatas = [var.address]
}

resource "warren_gcp_dns_record_set" "all" {
  zone    = warren_gcp_dns_zone.apis.id
  name    = "*.googleapis.com."
  type    = "CNAME"
  rrdatas = [warren_gcp_dns_record_set.private.name]
}

resource "warren_gcp_dns_zone" "office" {
  name               = "office"
  dns_name           = "corp.acme.com."
  networks           = [warren_gcp_network.hub[0].id]
  forwarding_targets = [{ ipv4_address = var.target, forwarding_path = "default" }]
}

resource "warren_gcp_dns_zone" "peer" {
  name            = "peer"
  dns_name        = "corp.acme.com."
  networks        = [warren_gcp_network.hub[1].id]
  peering_network = warren_gcp_network.hub[0].self_link
}
"#;

fn networks(stage: &GoogleStage) -> usize {
    let zone = &stage.cloud.objects()[ZONE];
    zone["privateVisibilityConfig"]["networks"].as_array().map_or(0, Vec::len)
}

#[test]
fn zones_are_built_changed_in_place_and_taken_down() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), DNS)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let zone = stage.cloud.objects()[ZONE].clone();
    assert_eq!((&zone["visibility"], &zone["labels"]["warren-name"]), (&json!("private"), &json!("apis")));
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());

    for (changes, expected) in [
        (["networks=2", "address=199.36.153.9", "target=10.8.1.53"], 2),
        (["networks=0", "address=199.36.153.9", "target=10.8.1.53"], 0),
    ] {
        let arguments: Vec<&str> = changes.iter().flat_map(|change| ["-var", change]).collect();
        let changed = flat(&terraform.apply(&arguments)?.success()?.stdout);
        ensure!(changed.contains("0 added") && changed.contains("0 destroyed"), "{changed}");
        assert_eq!(networks(&stage), expected);
    }
    let address = &stage.cloud.record_sets()[&format!("{ZONE}/rrsets/private.googleapis.com./A")];
    assert_eq!(address["rrdatas"], json!(["199.36.153.9"]));

    // Somebody changes it by hand.
    assert!(stage.cloud.change(ZONE, |zone| {
        let sets = zone.get_mut("rrsets").and_then(Value::as_array_mut);
        sets.into_iter().flatten().for_each(|set| set["ttl"] = json!(60));
        zone.insert("description".to_owned(), json!("by hand"));
    }));
    let drift = flat(&terraform.plan(&[])?.success()?.stdout);
    ensure!(drift.contains("by hand") && drift.contains("60 -> 300"), "{drift}");
    terraform.apply(&[])?.success()?;
    assert_eq!(networks(&stage), 1);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_imported_or_adopted() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), DNS)?;
    let terraform = &stage.terraform;
    let state = terraform.folder().join("terraform.tfstate");
    terraform.apply(&[])?.success()?;
    std::fs::remove_file(&state)?;
    terraform.import("warren_gcp_dns_zone.apis", ZONE)?.success()?;
    terraform.import("warren_gcp_dns_zone.office", "projects/acme-ml/managedZones/office")?.success()?;
    let records = format!("{ZONE}/rrsets/*.googleapis.com./CNAME");
    terraform.import("warren_gcp_dns_record_set.all", &records)?.success()?;
    // The rest is adopted, and nothing changes.
    stage.cloud.front().clear_calls();
    terraform.apply(&[])?.success()?;
    let calls = stage.cloud.front().calls();
    let changes = ["create", "insert", "update", "patch"];
    let made: Vec<&str> = calls
        .iter()
        .map(|call| call.action.as_str())
        .filter(|action| changes.iter().any(|change| action.ends_with(change)))
        .collect();
    ensure!(made.is_empty(), "{made:?}");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn what_belongs_to_others_is_refused() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), DNS)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    // A record that this configuration does not manage keeps its zone.
    assert!(stage.cloud.change(ZONE, |zone| {
        let sets = zone.get_mut("rrsets").and_then(Value::as_array_mut);
        let other = json!({"kind": "dns#resourceRecordSet", "name": "x.googleapis.com.", "type": "A", "ttl": 5, "rrdatas": ["10.0.0.1"]});
        sets.into_iter().for_each(|sets| sets.push(other.clone()));
    }));
    let told = flat(&terraform.destroy(&[])?.failure()?.output());
    ensure!(told.contains("containerNotEmpty") && told.contains("does not manage"), "{told}");
    // A record set with other contents is not adopted.
    let other = DNS.replace("private.googleapis.com.", "x.googleapis.com.");
    stage.configure(&other)?;
    let told = flat(&terraform.apply(&[])?.failure()?.output());
    ensure!(told.contains("already exists with other contents"), "{told}");
    assert!(stage.cloud.change(ZONE, |zone| {
        let sets = zone.get_mut("rrsets").and_then(Value::as_array_mut);
        sets.into_iter().for_each(|sets| sets.retain(|set| set["name"] != "x.googleapis.com."));
    }));
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn what_fails_or_is_put_off_converges() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), DNS)?;
    let front = stage.cloud.front();
    front.inject(Fault::throttle().every(5).times(10));
    front.inject(Fault::cut_after().on("dns.managedZones.create").times(1));
    front.inject(Fault::cut_after().on("dns.resourceRecordSets.create").times(1));
    stage.terraform.apply(&[])?.success()?;
    front.clear_faults();
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    front.inject(Fault::overtaken().on("dns.managedZones.update").times(2));
    front.inject(Fault::overtaken().on("dns.resourceRecordSets.patch").times(2));
    stage.terraform.apply(&["-var", "networks=2", "-var", "address=199.36.153.9"])?.success()?;
    front.clear_faults();
    front.inject(Fault::overtaken().on("dns.resourceRecordSets.delete").times(1));
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_killed_provider_leaves_nothing_behind() -> Result<()> {
    let stage = || GoogleStage::with(GoogleConfig { polls: 1, ..GoogleConfig::default() }, DNS);
    let report = kill_points(stage, KillSample::every(9), &mut |_| {})?;
    ensure!(report.survived >= 2, "{report}");
    Ok(())
}

#[test]
fn wrong_records_fail_the_plan() -> Result<()> {
    let outside = DNS.replace("name    = \"private.googleapis.com.\"", "name    = \"private.gcr.io.\"");
    let forwarded = DNS.replace(
        "zone    = warren_gcp_dns_zone.apis.id\n  name    = \"private",
        "zone    = warren_gcp_dns_zone.office.id\n  name    = \"private",
    );
    for (configuration, expected) in
        [(outside, "Record outside its zone"), (forwarded, "Record in a zone without records")]
    {
        let stage = GoogleStage::with(GoogleConfig::default(), &configuration)?;
        let told = flat(&stage.terraform.plan(&[])?.failure()?.output());
        ensure!(told.contains(expected), "{told}");
    }
    Ok(())
}

/// Google does not return `noAutomateDnsZone`.
#[test]
fn an_endpoint_without_names_of_its_own_is_kept() -> Result<()> {
    let endpoint = r#"
resource "warren_gcp_network" "hub" { name = "hub" }

resource "warren_gcp_private_service_connect" "apis" {
  name         = "apis"
  network      = warren_gcp_network.hub.id
  address      = "10.0.255.254"
  automate_dns = false
}
"#;
    let stage = GoogleStage::with(GoogleConfig::default(), endpoint)?;
    stage.terraform.apply(&[])?.success()?;
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
