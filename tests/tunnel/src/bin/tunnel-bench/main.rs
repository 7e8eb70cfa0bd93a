//! Measures the tunnel against other implementations in the same run. `cargo xtask bench tunnel` builds and starts it.

#![expect(clippy::print_stdout, reason = "a measurement prints its results")]

mod figures;
mod forward;
mod gateway;
mod goals;
mod idle;
mod iperf;
mod load;
mod pod;
mod scale;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::{Parser, ValueEnum};
use serde_json::Value;
use warren_tunnel_tests::{Implementation, workspace_root};

/// Measures the tunnel in network namespaces of this machine
#[derive(Parser)]
#[command(name = "cargo xtask bench tunnel")]
struct Arguments {
    /// Number of interleaved runs; tables show medians
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Duration of each transfer in seconds
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Implementations, separated by commas [default: all available]
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Only these transfers: p1-up, p1-down, p4-up, p4-down, both, udp, plain-up, plain-down, ping
    #[arg(long, value_delimiter = ',')]
    only: Vec<throughput::Case>,
    /// Measure idle use, binary size, and the time from start to first answer instead
    #[arg(long)]
    idle: bool,
    /// Measure many configured peers, a storm of handshakes, and a flood of forged ones instead
    #[arg(long)]
    peers_scale: bool,
    /// Measure a pod without privileges against other user-space clients instead
    #[arg(long)]
    pod: bool,
    /// Measure gateways that forward in the kernel and through sockets instead
    #[arg(long, conflicts_with = "pod")]
    forward: bool,
    /// Measure a gateway and the pods that enrol with it instead
    #[arg(long, conflicts_with = "pod")]
    gateway: bool,
    /// Only these parts of `--pod` (start, throughput, tls, long, idle, unread) or `--gateway` (enrol, restart, failover)
    #[arg(long, value_delimiter = ',')]
    parts: Vec<String>,
    /// Number of peers for `--peers-scale`, or of pods for `--gateway`
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// Handshakes offered per second for `--peers-scale`
    #[arg(long, default_value_t = 1_000)]
    offered: u32,
    /// Forged initiations per second for `--peers-scale`
    #[arg(long, default_value_t = 20_000)]
    forged: u32,
    /// File for the results as JSON [default: tunnel-bench.json in the target folder]
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<()> {
    if arguments.pod {
        let plan = pod::Plan {
            runs: arguments.runs,
            seconds: arguments.seconds,
            parts: parts(&arguments.parts)?,
            programs: arguments.peers.clone(),
        };
        return write(arguments, &pod::measure(&plan)?);
    }
    if arguments.forward {
        let plan = forward::Plan { runs: arguments.runs, seconds: arguments.seconds };
        return write(arguments, &forward::measure(&plan)?);
    }
    if arguments.gateway {
        let plan =
            gateway::Plan { runs: arguments.runs, pods: arguments.count, parts: parts(&arguments.parts)? };
        return write(arguments, &gateway::measure(&plan)?);
    }
    let peers = peers(&arguments.peers)?;
    let figures = if arguments.peers_scale {
        let peers = if arguments.peers.is_empty() { vec![Implementation::WarrenTunnel] } else { peers };
        let plan = scale::Plan {
            runs: arguments.runs,
            seconds: arguments.seconds,
            peers: arguments.count,
            offered: arguments.offered,
            forged: arguments.forged,
        };
        scale::measure(&peers, &plan)?
    } else if arguments.idle {
        idle::measure(&peers)?
    } else {
        let plan = throughput::Plan {
            runs: arguments.runs,
            seconds: arguments.seconds,
            only: arguments.only.clone(),
        };
        throughput::measure(&peers, &plan)?
    };
    write(arguments, &figures)
}

/// The parts of what is measured that have these names.
fn parts<P: ValueEnum>(names: &[String]) -> Result<Vec<P>> {
    let part = |name: &String| {
        P::from_str(name, false).map_err(|_| anyhow!("no part is named {name}; --help lists them"))
    };
    names.iter().map(part).collect()
}

fn write(arguments: &Arguments, figures: &Value) -> Result<()> {
    let path = arguments.json.clone().unwrap_or_else(|| target().join("tunnel-bench.json"));
    std::fs::write(&path, serde_json::to_string_pretty(figures)?)?;
    println!("\nresults: {}", path.display());
    Ok(())
}

/// The requested implementations, or all that are available.
fn peers(asked: &[String]) -> Result<Vec<Implementation>> {
    if !asked.is_empty() {
        return asked.iter().map(|name| Implementation::named(name)).collect();
    }
    let mut all = vec![
        Implementation::WarrenTunnel,
        Implementation::BoringtunCli,
        Implementation::GotatunCli,
        Implementation::WireguardGo,
    ];
    all.extend(Implementation::from_environment());
    all.retain(|one| match one.path() {
        Ok(_) => true,
        Err(error) => {
            eprintln!("without {}: {error:#}", one.name());
            false
        }
    });
    Ok(all)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}
