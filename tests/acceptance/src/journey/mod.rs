//! The main job, end to end, for the demo and a test: apply on emulated clouds, build the network that they contain, boot the
//! gateways and the pod in it, read S3, ECR and Google Storage by name, destroy. No secret may appear where it does not belong.

mod reached;
mod secrets;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde_json::Value;
use warren_harness::{GoogleConfig, ProxyConfig, RunPodConfig};

use crate::AllStage;
pub use secrets::{google_secrets, in_no_file, secrets, unpack};

/// Runs the whole job. `report` receives one line per step; lines that start with spaces show the output of a step.
///
/// # Errors
/// The first step that fails.
pub fn run(report: &mut dyn FnMut(&str)) -> Result<()> {
    report(
        "starting emulated clouds on loopback: AWS (moto behind a strict proxy), Google Cloud, and RunPod",
    );
    let stage = stage()?;
    let plan = applied(&stage, report)?;
    refused_and_changed(&stage, report)?;
    let seen = reached::run(&stage, report)?;

    report("searching plan, state, logs, user data, and the process list for the private keys and the token");
    let searched = secrets::searched(&stage, &plan, &seen)?;
    report(&format!("  {searched}"));

    report("terraform destroy");
    let run = stage.terraform.destroy(&[])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    stage.nothing_left()?;
    report("the emulated clouds are empty again, and rejected no request");
    Ok(())
}

fn stage() -> Result<AllStage> {
    let habits = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    let mut stage = AllStage::example("llm-training", habits)?;
    let log = stage.terraform.folder().join("terraform.log");
    stage.terraform.env("TF_LOG", "TRACE").env("TF_LOG_PATH", log);
    Ok(stage)
}

/// Applies a saved plan, and returns the plan file.
fn applied(stage: &AllStage, report: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    report(
        "terraform apply: networks in both clouds from one address plan, a gateway in each with its keys, a GPU pod with a token",
    );
    stage.terraform.plan(&["-out=first.tfplan"])?.success()?;
    let run = stage.terraform.apply(&["first.tfplan"])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    let left = stage.cloud.aws.leftovers()?.added.len();
    let made = left + stage.cloud.google.left().len() + stage.cloud.runpod.left().len();
    report(&format!("  {made} objects exist; a second plan has no changes"));
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    Ok(stage.terraform.folder().join("first.tfplan"))
}

fn refused_and_changed(stage: &AllStage, report: &mut dyn FnMut(&str)) -> Result<()> {
    report("terraform plan with the AWS VPC moved onto the range of a Google subnetwork: the plan fails");
    let refused = stage.terraform.plan(&["-var", "aws_cidr_block=10.1.0.0/16"])?.failure()?;
    for line in errors(&refused.output()) {
        report(&format!("  {line}"));
    }
    report("terraform apply with other tags: updated in place");
    let run = stage.terraform.apply(&["-var", TAGS])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    Ok(())
}

/// What was printed during the run, and by whom.
type Seen = Vec<(&'static str, String)>;

const TAGS: &str = r#"tags={team="research"}"#;

/// Addresses of resources that a saved plan creates, updates, replaces, or destroys, with the actions.
pub fn changes(plan: &Value) -> Vec<(String, String)> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let changed = changes.filter_map(|change| {
        let actions: Vec<&str> =
            change["change"]["actions"].as_array()?.iter().filter_map(|a| a.as_str()).collect();
        let address = change["address"].as_str()?.to_owned();
        (!matches!(actions[..], ["no-op"] | ["read"])).then(|| (address, actions.join("+")))
    });
    changed.collect()
}

/// Terraform's summary line.
fn summary(output: &str) -> &str {
    output.lines().rev().find(|line| line.contains("complete!")).unwrap_or_default()
}

/// The error boxes in Terraform's output.
fn errors(output: &str) -> Vec<&str> {
    let lines = output.lines().skip_while(|line| !line.contains("Error:"));
    lines
        .map(|line| line.trim_start_matches(['│', '╷', '╵']))
        .filter(|line| !line.trim().is_empty())
        .collect()
}
