//! Tries the kill points of an example, all or a sample.

pub(crate) mod page;
mod record;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use warren_acceptance::{
    AllStage, AwsStage, Emulated, GoogleStage, KillReport, KillSample, Moment, RunPodStage, Stage,
    kill_points,
};
use warren_harness::{GoogleConfig, ProxyConfig, RunPodConfig};

use crate::build;

/// An example that runs on emulated clouds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Example {
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
enum Run {
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

/// The arguments of `cargo xtask kill`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Example to apply and destroy
    #[arg(long, value_enum, default_value = "aws-hub-spoke")]
    example: Example,
    /// Try only every n-th kill point
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Number of the first kill point to try [default: 1, or the first that `--record` has not tried]
    #[arg(long)]
    first: Option<usize>,
    /// Try only kill points of an apply, or of a destroy
    #[arg(long, value_enum)]
    only: Option<Run>,
    /// Number of kill points that are tried at a time, each with emulators of its own
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Start no new kill point after this time
    #[arg(long, value_name = "MINUTES")]
    limit: Option<u64>,
    /// Record the result in docs/kill-points, and write docs/kill-points.md again. Continues a record that `--limit` ended
    #[arg(long, conflicts_with_all = ["every", "only", "first"])]
    record: bool,
}

/// Kills the provider at these points of an example, and prints the result of each.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { example, every, first, only, jobs, limit, record } = *arguments;
    if std::env::var_os("WARREN_BUILD_FOLDER").is_none() {
        build::products()?;
    }
    let begun = if record { record::begun(example)? } else { None };
    let first = first.or(begun.as_ref().and_then(|record| record.next)).unwrap_or(1);
    let limit = limit.map(|minutes| Duration::from_secs(60 * minutes));
    let at = KillSample { every, first, only: only.map(Into::into), jobs, limit };
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
    if record {
        record::keep(example, begun, &report)?;
        page::draw()?;
    }
    Ok(())
}

impl Example {
    /// The name of its folder.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

fn tried<C: Emulated + Send>(
    stage: impl Fn() -> Result<Stage<C>> + Sync,
    at: KillSample,
) -> Result<KillReport> {
    kill_points(stage, at, &mut |line| println!("{line}"))
}
