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
    let aws = |example| move || AwsStage::example(example, ProxyConfig::default());
    let google = |example| move || GoogleStage::example(example, GoogleConfig::default());
    let runpod = |example| move || RunPodStage::example(example, RunPodConfig::default());
    let habits = || (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    let all = |example| move || AllStage::example(example, habits());
    let report = match example {
        Example::AwsHubSpoke => tried(aws("aws-hub-spoke"), at),
        Example::AwsGateway => tried(aws("aws-gateway"), at),
        Example::GcpHubSpoke => tried(google("gcp-hub-spoke"), at),
        Example::GcpGateway => tried(google("gcp-gateway"), at),
        Example::GpuPods => tried(runpod("gpu-pods"), at),
        Example::MultiCloud => tried(all("multi-cloud"), at),
        Example::LlmTraining => tried(all("llm-training"), at),
    }?;
    ensure!(report.survived > 0, "no kill point was reached");
    println!("{report}");
    Ok(())
}

fn tried<C: Emulated + Send>(
    stage: impl Fn() -> Result<Stage<C>> + Sync,
    at: KillCalls,
) -> Result<KillReport> {
    kill_points(stage, at, &mut |line| println!("{line}"))
}
