//! Measures the tunnel against other implementations in the same run. `cargo xtask bench tunnel` builds and starts it.

#![expect(clippy::print_stdout, reason = "a measurement prints its results")]

mod figures;
mod forward;
mod gateway;
mod goals;
mod idle;
mod iperf;
mod load;
mod losses;
mod pod;
mod scale;
mod sheet;
mod sync;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::{Parser, ValueEnum};
use warren_tunnel_tests::{Implementation, program, version, workspace_root};

use goals::Goal;
use sheet::{ALL, Sheet};

/// Measures the tunnel in network namespaces of this machine
#[derive(Parser)]
#[command(name = "cargo xtask bench tunnel")]
struct Arguments {
    /// Number of interleaved runs; tables show medians [default: 5, with `--sync` 3]
    #[arg(long)]
    runs: Option<usize>,
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
    /// Measure `sync` against other tools that copy files from and to S3 instead; `--peers` names the tools
    #[arg(long, conflicts_with = "pod")]
    sync: bool,
    /// Number of small files for `--sync`
    #[arg(long, default_value_t = 1_000)]
    files: usize,
    /// Megabytes of all files for `--sync`, of which four large files take what the small ones leave
    #[arg(long, default_value_t = 100)]
    megabytes: usize,
    /// Only these paths of `--sync`: 0ms/0%, 0ms/0.1%, 80ms/0%, 80ms/0.1%
    #[arg(long, value_delimiter = ',', value_parser = sync::path)]
    paths: Vec<(u64, f64)>,
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
    /// Congestion control of both ends of each TCP stream of iperf3
    #[arg(long, default_value = "cubic")]
    congestion: String,
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

/// Measures, prints and writes the results, complete or not.
fn measure(arguments: &Arguments) -> Result<()> {
    let mut sheet = Sheet::default();
    let goals = run(arguments, &mut sheet)?;
    sheet.print();
    goals::print(&goals);
    let path = arguments.json.clone().unwrap_or_else(|| target().join("tunnel-bench.json"));
    std::fs::write(&path, serde_json::to_string_pretty(&sheet.json())?)?;
    println!("\nresults: {}", path.display());
    sheet.finish()
}

fn run(arguments: &Arguments, sheet: &mut Sheet) -> Result<Vec<Goal>> {
    let Arguments { seconds, .. } = *arguments;
    let runs = arguments.runs.unwrap_or(if arguments.sync { 3 } else { 5 });
    let congestion = arguments.congestion.clone();
    if arguments.pod {
        let (parts, programs) = (parts(&arguments.parts)?, arguments.peers.clone());
        return pod::measure(&pod::Plan { runs, seconds, parts, programs, congestion }, sheet);
    }
    if arguments.forward {
        available(vec![Implementation::WarrenTunnel], sheet, Implementation::name, Implementation::path);
        return Ok(forward::measure(&forward::Plan { runs, seconds, congestion }, sheet));
    }
    if arguments.sync {
        let Arguments { files, megabytes, .. } = *arguments;
        let tools = arguments.peers.clone();
        let paths = arguments.paths.clone();
        return sync::measure(
            &sync::Plan { runs, seconds, files, megabytes, tools, paths, congestion },
            sheet,
        );
    }
    if arguments.gateway {
        available(vec![Implementation::WarrenTunnel], sheet, Implementation::name, Implementation::path);
        let plan = gateway::Plan { runs, pods: arguments.count, parts: parts(&arguments.parts)? };
        gateway::measure(&plan, sheet)?;
        return Ok(Vec::new());
    }
    let peers = match &arguments.peers[..] {
        [] if arguments.peers_scale => vec![Implementation::WarrenTunnel],
        [] => Implementation::all(),
        named => named.iter().map(|name| Implementation::named(name)).collect::<Result<_>>()?,
    };
    let peers = available(peers, sheet, Implementation::name, Implementation::path);
    if arguments.peers_scale {
        let Arguments { count, offered, forged, .. } = *arguments;
        let plan = scale::Plan { runs, seconds, peers: count, offered, forged, congestion };
        scale::measure(&peers, &plan, sheet);
    } else if arguments.idle {
        idle::measure(&peers, sheet);
    } else {
        let plan = throughput::Plan { runs, seconds, only: arguments.only.clone(), congestion };
        throughput::measure(&peers, &plan, sheet)?;
        return Ok(goals::tunnel(sheet));
    }
    Ok(Vec::new())
}

/// Subjects whose programs are there. Records their versions, and which are not measured.
fn available<T>(
    mut subjects: Vec<T>,
    sheet: &mut Sheet,
    name: fn(&T) -> &str,
    path: fn(&T) -> Result<PathBuf>,
) -> Vec<T> {
    let mut versions = Vec::new();
    subjects.retain(|one| {
        let found = sheet.contain(name(one), ALL, path(one).and_then(|path| version(&path)));
        versions.extend(found.iter().map(|version| match version.starts_with(name(one)) {
            true => version.clone(),
            false => format!("{}: {version}", name(one)),
        }));
        found.is_some()
    });
    let iperf = sheet.contain("iperf3", "version", program("iperf3").and_then(|path| version(&path)));
    versions.extend(iperf);
    sheet.condition("versions", versions.join("; "));
    subjects
}

/// The parts of what is measured that have these names.
fn parts<P: ValueEnum>(names: &[String]) -> Result<Vec<P>> {
    let part = |name: &String| {
        P::from_str(name, false).map_err(|_| anyhow!("no part is named {name}; --help lists them"))
    };
    names.iter().map(part).collect()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}
