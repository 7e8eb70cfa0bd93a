//! Secrets and ECR delegations, which belong to the account.

use anyhow::{Result, ensure};
use warren_acceptance::{RunPodStage, flat};
use warren_harness::{Fault, RunPodConfig};

use super::id;

pub(crate) const SECRET: &str = r#"
variable "value" {
  type      = string
  ephemeral = true
  default   = "first-value-of-the-secret"
}
variable "version_of_value" { default = 1 }
variable "description" { default = "of the pods" }

resource "warren_runpod_secret" "token" {
  name             = "token"
  description      = var.description
  value_wo         = var.value
  value_wo_version = var.version_of_value
}

output "id" { value = warren_runpod_secret.token.id }
"#;

#[test]
fn a_secret_is_rotated_in_place_over_rest() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), SECRET)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;
    let first = id(&stage)?;
    assert_eq!(cloud.front().calls_of("updateSecret").len(), 0, "the create call has stored the value");

    // A new description leaves the value as it is; a new version stores it.
    let described = ["-var", "description=another", "-var", "value=second-value-of-the-secret"];
    let changed = terraform.apply(&described)?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 1 changed, 0 destroyed"), "{}", changed.stdout);
    assert_eq!(cloud.secrets()["token"], "first-value-of-the-secret");
    let rotated = [&described[..], &["-var", "version_of_value=2"]].concat();
    cloud.front().inject(Fault::cut_after().on("updateSecret"));
    terraform.apply(&rotated)?.success()?;
    assert_eq!((cloud.secrets()["token"].as_str(), id(&stage)?), ("second-value-of-the-secret", first));
    assert_eq!(terraform.plan(&[&rotated[..], &["-detailed-exitcode"]].concat())?.code, 0);
    let state = std::fs::read_to_string(terraform.folder().join("terraform.tfstate"))?;
    ensure!(!state.contains("value-of-the-secret"), "the state contains a value: {state}");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_secret_of_the_graphql_api_stays_the_same_object() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), SECRET)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;
    let before = id(&stage)?;
    assert!(cloud.renumber("token"));
    let plan = terraform.plan(&[])?.success()?.stdout;
    ensure!(!plan.contains("token will be") && !plan.contains("has been deleted"), "{plan}");
    terraform
        .apply(&["-var", "version_of_value=2", "-var", "value=second-value-of-the-secret"])?
        .success()?;
    assert_eq!(cloud.secrets()["token"], "second-value-of-the-secret");
    assert_ne!(id(&stage)?, before, "the state has the ID that the API shows");
    assert!(cloud.renumber("token"));
    terraform.destroy(&["-refresh=false"])?.success()?;
    stage.nothing_left()
}

pub(crate) const DELEGATION: &str = r#"
resource "warren_runpod_ecr_delegation" "train" {
  name           = "images"
  repository_arn = "arn:aws:ecr:us-east-2:111122223333:repository/acme/train"
}

output "id" { value = warren_runpod_ecr_delegation.train.id }
output "registry" { value = warren_runpod_ecr_delegation.train.registry }
"#;

#[test]
fn an_ecr_delegation_is_registered_found_again_and_revoked() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), DELEGATION)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    cloud.configure(|config| {
        config
            .closed_repositories
            .insert("arn:aws:ecr:us-east-2:111122223333:repository/acme/train".to_owned());
    });
    let told = flat(&terraform.apply(&[])?.failure()?.output());
    ensure!(told.contains("does not grant access to Runpod"), "{told}");
    ensure!(told.contains("repository's policy"), "{told}");
    cloud.configure(|config| config.closed_repositories.clear());

    cloud.front().inject(Fault::cut_after().on("createDelegation"));
    terraform.apply(&[])?.success()?;
    assert_eq!(cloud.delegations().len(), 1, "the lost one is adopted");
    assert_eq!(terraform.outputs()?["registry"]["value"], "111122223333.dkr.ecr.us-east-2.amazonaws.com");
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.code, 0);
    let delegation = id(&stage)?;
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    terraform.import("warren_runpod_ecr_delegation.train", &delegation)?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code != 1 && !plan.stdout.contains("must be replaced"), "{}", plan.output());
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
