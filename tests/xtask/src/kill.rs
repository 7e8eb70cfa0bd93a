//! Tries the kill points of an example, all or a sample.

use anyhow::{Result, ensure};
use clap::ValueEnum;
use warren_acceptance::{
    AllStage, AwsStage, Emulated, GoogleStage, KillCalls, KillReport, Moment, RunPodStage, Stage, kill_points,
};
use warren_harness::{GoogleConfig, ProxyConfig, RunPodConfig};

use crate::build;

/// An example that runs on emulated clouds.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Example {
    /// On the emulated AWS
    AwsHubSpoke,
    /// On the emulated AWS: keys and gateways
    AwsGateway,
    /// On the emulated Google Cloud
    GcpHubSpoke,
    /// On the emulated Google Cloud: keys and gateways
    GcpGateway,
    /// On the emulated RunPod
    GpuPods,
    /// On both: two hubs joined by their gateways
    MultiCloud,
    /// On all three: what the demo applies
    LlmTraining,
}

/// The run that a kill interrupts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Run {
    /// An apply onto nothing
    Apply,
    /// A destroy of everything
    Destroy,
}

impl From<Run> for Moment {
    fn from(run: Run) -> Moment {
        match run {
            Run::Apply => Moment::Apply,
            Run::Destroy => Moment::Destroy,
        }
    }
}

/// Kills the provider at these calls of an example, and prints the result of each.
pub(crate) fn run(example: Example, at: KillCalls) -> Result<()> {
    build::products()?;
    let (aws, google, runpod) = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    let report = match example {
        Example::AwsHubSpoke => tried(AwsStage::example("aws-hub-spoke", aws)?, at),
        Example::AwsGateway => tried(AwsStage::example("aws-gateway", aws)?, at),
        Example::GcpHubSpoke => tried(GoogleStage::example("gcp-hub-spoke", google)?, at),
        Example::GcpGateway => tried(GoogleStage::example("gcp-gateway", google)?, at),
        Example::GpuPods => tried(RunPodStage::example("gpu-pods", runpod)?, at),
        Example::MultiCloud => tried(AllStage::example("multi-cloud", (aws, google, runpod))?, at),
        Example::LlmTraining => tried(AllStage::example("llm-training", (aws, google, runpod))?, at),
    }?;
    ensure!(report.survived > 0, "no kill point was reached");
    println!("{report}");
    Ok(())
}

fn tried<C: Emulated>(mut stage: Stage<C>, at: KillCalls) -> Result<KillReport> {
    kill_points(&mut stage, at, &mut |line| println!("{line}"))
}
