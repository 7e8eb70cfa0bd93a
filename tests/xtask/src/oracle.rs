//! Compares the reachability model with packets.

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use warren_dataplane::oracle::{Fault, GoogleOracle, GoogleTopology, Oracle, Topology};

use crate::build;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The cloud of the topologies
    #[arg(long, value_enum, default_value_t = Cloud::Aws)]
    cloud: Cloud,
    /// How many topologies
    #[arg(long, default_value_t = 100)]
    topologies: usize,
    /// Seed of the first topology; the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many topologies one run of Terraform holds
    #[arg(long, default_value_t = 20)]
    together: usize,
    /// Fault to plant; it must be found
    #[arg(long, value_enum)]
    fault: Option<Planted>,
    /// Print the configuration of the first topology, and do nothing else
    #[arg(long)]
    show: bool,
}

/// A cloud with random topologies.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Cloud {
    /// Amazon Web Services
    Aws,
    /// Google Cloud
    Google,
}

/// Where a fault is planted.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Planted {
    /// The model believes that every machine has a public address
    Model,
    /// The data plane forgets default routes
    DataPlane,
    /// The model believes that policies allow everything (AWS)
    ModelPolicies,
    /// The data plane forgets the policies of buckets (AWS)
    DataPlanePolicies,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.show {
        let configuration = match arguments.cloud {
            Cloud::Aws => Topology::random(arguments.seed, 0).configuration,
            Cloud::Google => GoogleTopology::random(arguments.seed, 0).configuration,
        };
        print!("{configuration}");
        return Ok(());
    }
    ensure!(
        !matches!(
            (arguments.cloud, arguments.fault),
            (Cloud::Google, Some(Planted::ModelPolicies | Planted::DataPlanePolicies))
        ),
        "the topologies of Google Cloud have no policies: plant `model` or `data-plane`"
    );
    let fault = arguments.fault.map(|planted| match planted {
        Planted::Model => Fault::Model,
        Planted::DataPlane => Fault::DataPlane,
        Planted::ModelPolicies => Fault::ModelPolicies,
        Planted::DataPlanePolicies => Fault::DataPlanePolicies,
    });
    let &Arguments { topologies, seed, together, .. } = arguments;
    let build_folder = build::products()?;
    let told = &mut |line: &str| println!("{line}");
    let report = match arguments.cloud {
        Cloud::Aws => Oracle { topologies, seed, together, fault, build_folder }.run(told)?,
        Cloud::Google => GoogleOracle { topologies, seed, together, fault, build_folder }.run(told)?,
    };
    println!("{report}");
    match fault {
        None => ensure!(report.differences.is_empty(), "model and packets differ"),
        Some(_) => ensure!(!report.differences.is_empty(), "the planted fault was not found"),
    }
    Ok(())
}
