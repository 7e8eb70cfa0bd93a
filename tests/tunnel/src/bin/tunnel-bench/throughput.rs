//! Throughput, and what it costs.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde_json::Value;
use warren_tunnel_tests::{Family, Implementation, Pair, Settings, Side, program};

use crate::figures::{cell, median, megabytes, table};
use crate::iperf::{self, Server, Transfer};

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Case {
    /// One TCP stream from left to right.
    P1Up,
    /// One TCP stream from right to left.
    P1Down,
    /// Four TCP streams from left to right.
    P4Up,
    /// Four TCP streams from right to left.
    P4Down,
    /// One TCP stream each way at once.
    Both,
    /// UDP offered at 2 Gbit/s.
    Udp,
    /// As `p1-up`, over a wire that takes one datagram at a time.
    PlainUp,
    /// As `p1-down`, over a wire that takes one datagram at a time.
    PlainDown,
    /// The time of an echo through an idle tunnel.
    Ping,
}

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) seconds: u64,
    pub(crate) only: Vec<Case>,
}

/// All figures of one implementation, run by run.
#[derive(Default)]
pub(crate) struct Measured {
    transfers: BTreeMap<Case, Vec<Transfer>>,
    ping: Vec<f64>,
    memory: Vec<f64>,
}

/// The figures by name of implementation.
pub(crate) type Results = BTreeMap<String, Measured>;

impl Case {
    /// Its name in recorded figures.
    fn title(self) -> &'static str {
        match self {
            Case::P1Up => "one stream up",
            Case::P1Down => "one stream down",
            Case::P4Up => "four streams up",
            Case::P4Down => "four streams down",
            Case::Both => "both directions at once",
            Case::Udp => "UDP at 2 Gbit/s",
            Case::PlainUp => "one stream up, no wire offload",
            Case::PlainDown => "one stream down, no wire offload",
            Case::Ping => "ping",
        }
    }

    /// Arguments for the iperf3 client.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Case::P1Up | Case::PlainUp | Case::Ping => &[],
            Case::P1Down | Case::PlainDown => &["--reverse"],
            Case::P4Up => &["--parallel", "4"],
            Case::P4Down => &["--parallel", "4", "--reverse"],
            Case::Both => &["--bidir"],
            // 1,392 bytes and the headers of UDP and IPv4 fill the tunnel's MTU.
            Case::Udp => &["--udp", "--bitrate", "2G", "--length", "1392", "--window", "4M"],
        }
    }

    fn plain(self) -> bool {
        matches!(self, Case::PlainUp | Case::PlainDown)
    }
}

impl Measured {
    /// The median of one figure of a transfer.
    pub(crate) fn of(&self, case: Case, figure: impl Fn(&Transfer) -> f64) -> Option<f64> {
        median(self.transfers.get(&case)?.iter().map(figure))
    }

    pub(crate) fn gbits(&self, case: Case) -> Option<f64> {
        self.of(case, |transfer| transfer.gbits)
    }

    pub(crate) fn cpu(&self, case: Case) -> Option<f64> {
        self.of(case, |transfer| transfer.cpu_per_gb)
    }

    pub(crate) fn ping(&self) -> Option<f64> {
        median(self.ping.iter().copied())
    }

    pub(crate) fn memory(&self) -> Option<f64> {
        median(self.memory.iter().copied())
    }
}

pub(crate) fn measure(peers: &[Implementation], plan: &Plan) -> Result<Value> {
    let mut results = Results::new();
    for run in 1..=plan.runs {
        for peer in peers {
            eprintln!("run {run} of {}: {}", plan.runs, peer.name());
            let measured = results.entry(peer.name().to_owned()).or_default();
            if let Err(error) = one(peer, plan, measured) {
                eprintln!("{}: {error:#}", peer.name());
            }
        }
    }
    print(peers, &results);
    crate::goals::print(&results);
    Ok(raw(&results))
}

/// All cases with one implementation at both ends.
fn one(peer: &Implementation, plan: &Plan, measured: &mut Measured) -> Result<()> {
    let wanted = |case: Case| plan.only.is_empty() || plan.only.contains(&case);
    let pair = Pair::start(peer, peer, &Settings::default())?;
    pair.meet(Side::Left, Family::V4)?;
    let server = Server::behind(&pair)?;
    if wanted(Case::Ping) {
        measured.ping.push(iperf::ping(&pair, 200)?);
    }
    let (plain, usual): (Vec<Case>, Vec<Case>) = Case::value_variants()
        .iter()
        .filter(|case| **case != Case::Ping && wanted(**case))
        .partition(|case| case.plain());
    for case in usual {
        let transfer = server
            .transfer(&pair, plan.seconds, case.arguments())
            .with_context(|| format!("{case:?}; left's log:\n{}", pair.device(Side::Left).log()))?;
        measured.transfers.entry(case).or_default().push(transfer);
    }
    if !plain.is_empty() {
        for side in [Side::Left, Side::Right] {
            let arguments = ["-K", "wire", "tx-udp-segmentation", "off"];
            pair.host(side).run(program("ethtool")?, &arguments)?;
        }
    }
    for case in plain {
        let transfer = server.transfer(&pair, plan.seconds, case.arguments())?;
        measured.transfers.entry(case).or_default().push(transfer);
    }
    let peak = pair.device(Side::Left).peak_memory()?.max(pair.device(Side::Right).peak_memory()?);
    measured.memory.push(megabytes(peak));
    Ok(())
}

fn print(peers: &[Implementation], results: &Results) {
    let mut speed = Vec::new();
    let mut cost = Vec::new();
    for peer in peers {
        let Some(of) = results.get(peer.name()) else { continue };
        let pair = |a: Option<f64>, b: Option<f64>, decimals| {
            format!("{} / {}", cell(a, decimals), cell(b, decimals))
        };
        speed.push(vec![
            peer.name().to_owned(),
            pair(of.gbits(Case::P1Up), of.gbits(Case::P1Down), 2),
            pair(of.gbits(Case::P4Up), of.gbits(Case::P4Down), 2),
            cell(of.gbits(Case::Both), 2),
            pair(of.gbits(Case::PlainUp), of.gbits(Case::PlainDown), 2),
            pair(of.gbits(Case::Udp), of.of(Case::Udp, |udp| udp.lost), 2),
        ]);
        cost.push(vec![
            peer.name().to_owned(),
            pair(of.cpu(Case::P1Up), of.cpu(Case::P1Down), 2),
            pair(of.cpu(Case::P4Up), of.cpu(Case::P4Down), 2),
            cell(of.cpu(Case::Both), 2),
            pair(of.cpu(Case::PlainUp), of.cpu(Case::PlainDown), 2),
            pair(of.of(Case::P1Up, |t| t.retransmits), of.of(Case::P4Up, |t| t.retransmits), 0),
            cell(of.memory(), 1),
            cell(of.ping(), 3),
        ]);
    }
    println!("\nGbit/s; medians\n");
    table(
        &[
            "peer",
            "P1 up/down",
            "P4 up/down",
            "both ways, sum",
            "no wire offload up/down",
            "UDP 2 Gbit/s: got / lost %",
        ],
        &speed,
    );
    println!("\nCPU seconds of both ends for 10^9 bytes, and the rest\n");
    table(
        &[
            "peer",
            "P1",
            "P4",
            "both",
            "no wire offload",
            "retransmissions P1/P4 up",
            "peak MB",
            "ping p50 ms",
        ],
        &cost,
    );
}

/// Every run of every implementation, by metric.
fn raw(results: &Results) -> Value {
    let peers = results.iter().map(|(name, of)| {
        let mut metrics = serde_json::Map::new();
        for (case, transfers) in &of.transfers {
            let name = case.title();
            let mut add = |metric: &str, figure: fn(&Transfer) -> f64| {
                let values: Vec<f64> = transfers.iter().map(figure).collect();
                metrics.insert(format!("{name}, {metric}"), values.into());
            };
            add("Gbit/s", |transfer| transfer.gbits);
            add("CPU s/GB", |transfer| transfer.cpu_per_gb);
            if *case == Case::Udp {
                add("lost %", |transfer| transfer.lost);
            }
        }
        metrics.insert("ping, ms".into(), of.ping.clone().into());
        metrics.insert("peak memory, MB".into(), of.memory.clone().into());
        (name.clone(), Value::from(metrics))
    });
    Value::from(peers.collect::<serde_json::Map<_, _>>())
}
