//! The main job, end to end, on an emulated AWS and a double of Google Cloud.

use std::time::Instant;

use anyhow::{Result, ensure};
use warren_acceptance::BothStage;
use warren_harness::{GoogleConfig, ProxyConfig};

use crate::build;

/// Tells the steps, each with the time since the start.
struct Steps(Instant);

impl Steps {
    fn tell(&self, text: &str) {
        println!("[{:6.1}s] {text}", self.0.elapsed().as_secs_f64());
    }

    fn show(&self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            println!("          {line}");
        }
    }
}

/// Applies the example, shows a refusal, changes it, destroys it, and proves that nothing is left.
pub(crate) fn run() -> Result<()> {
    let steps = Steps(Instant::now());
    steps.tell("building the provider (the first build takes some minutes: the AWS SDK is large)");
    let folder = build::provider(false)?;
    ensure!(folder.join("terraform-provider-warren").is_file(), "no provider in {}", folder.display());

    steps.tell("starting an emulated AWS (moto, with a strict proxy in front of it) and a double of Google Cloud on loopback");
    let stage = BothStage::example("llm-training", (ProxyConfig::default(), GoogleConfig::default()))?;

    steps.tell("terraform apply: Google Cloud hub, data, ML and shared services; AWS VPC with S3 and ECR endpoints; one address plan");
    let run = stage.terraform.apply(&[])?.success()?;
    steps.show(summary(&run.stdout));
    let made = stage.cloud.aws.leftovers()?.added.len() + stage.cloud.google.left().len();
    steps.tell(&format!("{made} objects exist; a second plan finds nothing to do"));
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());

    steps.tell(
        "terraform plan with the AWS VPC moved onto the range of a Google subnetwork: refused before apply",
    );
    let refused = stage.terraform.plan(&["-var", "aws_cidr_block=10.1.0.0/16"])?.failure()?;
    steps.show(&errors(&refused.output()));

    steps.tell("terraform apply with other tags: changed in place");
    let run = stage.terraform.apply(&["-var", r#"tags={team="research"}"#])?.success()?;
    steps.show(summary(&run.stdout));

    steps.tell("terraform destroy");
    let run = stage.terraform.destroy(&[])?.success()?;
    steps.show(summary(&run.stdout));
    stage.nothing_left()?;
    steps.tell("asked the emulators themselves: nothing is left, and every request was one that the clouds understand");
    Ok(())
}

/// Terraform's last line about what it did.
fn summary(output: &str) -> &str {
    output.lines().rev().find(|line| line.contains("complete!")).unwrap_or_default()
}

/// The error boxes of Terraform's output.
fn errors(output: &str) -> String {
    output
        .lines()
        .skip_while(|line| !line.contains("Error:"))
        .map(|line| line.trim_start_matches(['│', '╷', '╵']))
        .collect::<Vec<_>>()
        .join("\n")
}
