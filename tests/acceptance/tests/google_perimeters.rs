//! Perimeters of VPC Service Controls, by real Terraform against the double.

use anyhow::{Result, ensure};
use serde_json::json;
use warren_acceptance::{GoogleStage, flat};
use warren_harness::{GoogleConfig, workspace_root};

const PERIMETER: &str = r#"
variable "services" {
  type    = list(string)
  default = ["storage.googleapis.com"]
}
variable "enforced" { default = true }
variable "title" { default = "Training runs" }

resource "warren_gcp_network" "hub" { name = "hub" }

locals {
  inside = {
    resources = ["projects/123456789012", "//compute.googleapis.com/${warren_gcp_network.hub.id}"]

    restricted_services     = var.services
    access_levels           = []
    vpc_accessible_services = ["RESTRICTED-SERVICES"]

    ingress_policies = [{
      identities           = ["serviceAccount:runner@acme-ci.iam.gserviceaccount.com"]
      source_access_levels = ["accessPolicies/123/accessLevels/office"]
      resources            = ["*"]
      operations           = [{ service_name = "artifactregistry.googleapis.com", methods = ["*"] }]
    }]

    egress_policies = [{
      identity_type      = "ANY_SERVICE_ACCOUNT"
      external_resources = ["s3://acme-datasets"]
      operations         = [{ service_name = "bigquery.googleapis.com", permissions = ["bigquery.tables.get"] }]
    }]
  }
}

resource "warren_gcp_service_perimeter" "training" {
  access_policy = "123"
  name          = "training"
  title         = var.title
  description   = "Training data stays inside."

  status = merge(local.inside, var.enforced ? {} : {
    resources               = null
    restricted_services     = null
    access_levels           = null
    vpc_accessible_services = []
    ingress_policies        = null
    egress_policies         = null
  })
  spec = var.enforced ? null : local.inside
}
"#;

const TRAINING: &str = "accessPolicies/123/servicePerimeters/training";

#[test]
fn a_perimeter_is_built_changed_in_place_imported_and_taken_down() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), PERIMETER)?;
    let terraform = &stage.terraform;
    let object = || stage.cloud.objects()[TRAINING].clone();
    terraform.apply(&[])?.success()?;
    assert_eq!(object()["description"], "[warren:acceptance/tests/training] Training data stays inside.");
    assert_eq!(object()["status"]["ingressPolicies"].as_array().map(Vec::len), Some(1));
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0, "{}", terraform.plan(&[])?.output());

    // A dry run, in place; an empty set of what networks may call is not none.
    let changed = terraform.apply(&["-var", "enforced=false", "-var", "title=Runs"])?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", changed.stdout);
    assert_eq!(object()["useExplicitDryRunSpec"], true);
    assert_eq!(object()["spec"]["restrictedServices"], json!(["storage.googleapis.com"]));
    assert_eq!(object()["status"]["vpcAccessibleServices"]["enableRestriction"], true);
    let dry = ["-detailed-exitcode", "-var", "enforced=false", "-var", "title=Runs"];
    assert_eq!(terraform.plan(&dry)?.code, 0, "{}", terraform.plan(&dry)?.output());

    // Somebody enforces it by hand, and it is brought back.
    assert!(stage.cloud.change(TRAINING, |body| {
        let spec = body.remove("spec").unwrap_or_default();
        body.insert("status".to_owned(), spec);
        body.insert("useExplicitDryRunSpec".to_owned(), json!(false));
    }));
    let drift = terraform.plan(&dry)?;
    ensure!(drift.code == 2 && flat(&drift.stdout).contains("restricted_services"), "{}", drift.output());
    terraform.apply(&[])?.success()?;
    assert_eq!(object().get("spec"), None);

    // A lost state: one object is imported, the other adopted.
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    terraform.import("warren_gcp_service_perimeter.training", TRAINING)?.success()?;
    terraform.apply(&[])?.success()?;
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0);
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    terraform.apply(&[])?.success()?;
    // Gone is gone.
    assert!(stage.cloud.forget_object(TRAINING));
    let again = terraform.apply(&[])?.success()?;
    ensure!(flat(&again.stdout).contains("1 added, 0 changed, 0 destroyed"), "{}", again.stdout);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn the_module_makes_a_dry_run_and_then_enforces_it() -> Result<()> {
    let module = r#"
variable "enforced" { default = false }

module "perimeter" {
  source          = "./modules/gcp-perimeter"
  access_policy   = "123"
  name            = "training"
  project_numbers = ["123456789012"]
  ingress         = { "42" = ["artifactregistry.googleapis.com"] }
  egress          = { "43" = ["storage.googleapis.com"] }
  enforced        = var.enforced
}
"#;
    let stage = GoogleStage::with(GoogleConfig::default(), module)?;
    let terraform = &stage.terraform;
    terraform.copy(&workspace_root().join("modules"), "modules")?;
    terraform.get()?.success()?;
    for (variable, filled, empty) in
        [("enforced=false", "spec", "status"), ("enforced=true", "status", "spec")]
    {
        terraform.apply(&["-var", variable])?.success()?;
        let object = stage.cloud.objects()[TRAINING].clone();
        assert_eq!(object[filled]["resources"], json!(["projects/123456789012"]));
        assert_eq!(object.get(empty), None, "{object}");
        assert_eq!(terraform.plan(&["-detailed-exitcode", "-var", variable])?.code, 0);
    }
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_perimeter_of_somebody_else_and_one_that_google_refuses_are_told() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), PERIMETER)?;
    stage.terraform.apply(&[])?.success()?;
    assert!(stage.cloud.change(TRAINING, |body| {
        body.insert("description".to_owned(), json!("[warren:acceptance/others/training] theirs"));
    }));
    std::fs::remove_file(stage.terraform.folder().join("terraform.tfstate"))?;
    let told = flat(&stage.terraform.apply(&[])?.failure()?.output());
    ensure!(told.contains("already exists and belongs to owner others of fabric acceptance"), "{told}");
    stage.configure(&PERIMETER.replace("projects/123456789012", "projects/acme-ml"))?;
    let told = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(told.contains("Perimeters identify projects by number"), "{told}");
    Ok(())
}

/// The fields are those of `EgressPolicy` and `IngressTo` in the discovery document, which neither the resource nor Google's
/// client for Rust has.
#[test]
fn what_a_perimeter_has_besides_stays() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), PERIMETER)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let sources = json!([{"accessLevel": "accessPolicies/123/accessLevels/office"}]);
    assert!(stage.cloud.change(TRAINING, |body| {
        let status = &mut body["status"];
        status["ingressPolicies"][0]["ingressTo"]["roles"] = json!(["roles/storage.objectViewer"]);
        let egress = &mut status["egressPolicies"][0];
        egress["title"] = json!("training");
        egress["egressFrom"]["sourceRestriction"] = json!("SOURCE_RESTRICTION_ENABLED");
        egress["egressFrom"]["sources"] = sources.clone();
    }));
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    let kept = || {
        let status = stage.cloud.objects()[TRAINING]["status"].clone();
        let egress = &status["egressPolicies"][0];
        status["ingressPolicies"][0]["ingressTo"]["roles"] == json!(["roles/storage.objectViewer"])
            && egress["title"] == "training"
            && egress["egressFrom"]["sources"] == sources
    };
    let services = "services=[\"storage.googleapis.com\",\"bigquery.googleapis.com\"]";
    for changes in [["-var", "title=Runs"], ["-var", services]] {
        let changed = terraform.apply(&changes)?.success()?;
        ensure!(flat(&changed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", changed.stdout);
        ensure!(kept(), "{changes:?}: {}", stage.cloud.objects()[TRAINING]);
    }
    // A policy that changes would lose them.
    stage.configure(&PERIMETER.replace("s3://acme-datasets", "s3://acme-runs"))?;
    let told = flat(&terraform.apply(&[])?.failure()?.output());
    for said in
        ["this change would erase", "status.egressPolicies[0].title", "egressFrom.sources[0].accessLevel"]
    {
        ensure!(told.contains(said) && !told.contains("ingressTo.roles"), "{said:?} in {told}");
    }
    ensure!(kept(), "{}", stage.cloud.objects()[TRAINING]);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
