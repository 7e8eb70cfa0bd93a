//! The main job, end to end, on an emulated AWS.

use std::time::Instant;

use anyhow::{Result, ensure};
use warren_acceptance::AwsStage;
use warren_harness::ProxyConfig;

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

    steps.tell("starting an emulated AWS on loopback (moto, with a strict proxy in front of it)");
    let stage = AwsStage::example("aws-hub-spoke", ProxyConfig::default())?;

    steps.tell("terraform apply: hub, spoke, S3 and ECR endpoints, NAT, transit gateway");
    let run = stage.terraform.apply(&[])?.success()?;
    steps.show(summary(&run.stdout));
    let made = stage.cloud.leftovers()?.added.len();
    steps.tell(&format!("{made} objects exist; a second plan finds nothing to do"));
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());

    steps.tell("terraform plan with the training spoke moved onto the hub's range: refused before apply");
    let refused = stage.terraform.plan(&["-var", "training_cidr_block=172.16.0.0/20"])?.failure()?;
    steps.show(&errors(&refused.output()));

    steps.tell("terraform apply with other tags: changed in place");
    let run = stage.terraform.apply(&["-var", r#"tags={team="research"}"#])?.success()?;
    steps.show(summary(&run.stdout));

    steps.tell("terraform destroy");
    let run = stage.terraform.destroy(&[])?.success()?;
    steps.show(summary(&run.stdout));
    stage.nothing_left()?;
    steps.tell("asked the emulator itself: nothing is left, and every request was one that AWS understands");
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
