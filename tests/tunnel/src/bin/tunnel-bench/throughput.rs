//! Throughput, and what it costs.

use anyhow::Result;
use clap::ValueEnum;
use warren_tunnel_tests::{Family, Implementation, Pair, Settings, Side, program};

use crate::figures::megabytes;
use crate::iperf::{self, Server};
use crate::losses::Losses;
use crate::sheet::{ALL, Figures, Sheet, rotated};

/// Frames that the queue of each TUN device holds.
const QUEUE: u32 = 1000;

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    /// The time of an echo through an idle tunnel.
    Ping,
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
}

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) seconds: u64,
    pub(crate) only: Vec<Case>,
    pub(crate) congestion: String,
}

impl Case {
    /// Its name in recorded figures.
    pub(crate) fn title(self) -> &'static str {
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

    fn measure(self, pair: &Pair, plan: &Plan) -> Result<Figures> {
        match self {
            Case::P1Up => stream(pair, plan, &[]),
            Case::P1Down => stream(pair, plan, &["--reverse"]),
            Case::P4Up => stream(pair, plan, &["--parallel", "4"]),
            Case::P4Down => stream(pair, plan, &["--parallel", "4", "--reverse"]),
            Case::Both => stream(pair, plan, &["--bidir"]),
            Case::Udp => datagrams(pair, plan),
            Case::Ping => Ok(vec![("ms", iperf::ping(pair, 200)?)]),
            Case::PlainUp => plain(pair).and_then(|()| stream(pair, plan, &[])),
            Case::PlainDown => plain(pair).and_then(|()| stream(pair, plan, &["--reverse"])),
        }
    }
}

pub(crate) fn measure(peers: &[Implementation], plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    iperf::conditions(sheet, &plan.congestion, "of each start");
    sheet.condition("TUN queue", format!("{QUEUE} frames"));
    sheet.condition("socket buffer of iperf3 for UDP", iperf::window()?.1);
    for run in 1..=plan.runs {
        for peer in rotated(peers, run) {
            eprintln!("run {run} of {}: {}", plan.runs, peer.name());
            let outcome = one(peer, plan, sheet);
            sheet.contain(peer.name(), ALL, outcome);
        }
    }
    Ok(())
}

/// All cases with one implementation at both ends.
fn one(peer: &Implementation, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let pair = Pair::start(peer, peer, &Settings::default())?;
    for side in [Side::Left, Side::Right] {
        let name = pair.device(side).name();
        pair.host(side).ip(&format!("link set dev {name} txqueuelen {QUEUE}"))?;
    }
    pair.meet(Side::Left, Family::V4)?;
    let warm = Server::behind(&pair, &plan.congestion).and_then(|one| one.warm_up(pair.host(Side::Left)));
    sheet.contain(peer.name(), "warm-up", warm);
    for case in Case::value_variants() {
        if plan.only.is_empty() || plan.only.contains(case) {
            sheet.case(peer.name(), case.title(), || {
                let log = |_: &_| eprintln!("left's log:\n{}", pair.device(Side::Left).log());
                case.measure(&pair, plan).inspect_err(log)
            });
        }
    }
    sheet.case(peer.name(), "peak memory", || {
        let (left, right) = (pair.device(Side::Left).peak_memory()?, pair.device(Side::Right).peak_memory()?);
        Ok(vec![("MB", megabytes(left.max(right)))])
    });
    Ok(())
}

fn stream(pair: &Pair, plan: &Plan, arguments: &[&str]) -> Result<Figures> {
    let server = Server::behind(pair, &plan.congestion)?;
    let before = iperf::cpu(pair)?;
    let transfer = server.client(pair.host(Side::Left), plan.seconds, arguments)?;
    Ok(transfer.figures(iperf::cpu(pair)? - before))
}

fn datagrams(pair: &Pair, plan: &Plan) -> Result<Figures> {
    let window = iperf::window()?.0.to_string();
    let server = Server::behind(pair, &plan.congestion)?;
    let (losses, before) = (Losses::read(pair)?, iperf::cpu(pair)?);
    // 1,392 bytes and the headers of UDP and IPv4 fill the tunnel's MTU.
    let arguments = ["--udp", "--bitrate", "2G", "--length", "1392", "--window", &window];
    let transfer = server.client(pair.host(Side::Left), plan.seconds, &arguments)?;
    let mut figures = transfer.figures(iperf::cpu(pair)? - before);
    figures.push(("lost, packets", transfer.lost));
    figures.extend(Losses::read(pair)?.since(&losses, transfer.lost));
    Ok(figures)
}

/// Makes the wire take one datagram at a time.
fn plain(pair: &Pair) -> Result<()> {
    for side in [Side::Left, Side::Right] {
        let arguments = ["-K", "wire", "tx-udp-segmentation", "off"];
        pair.host(side).run(program("ethtool")?, &arguments)?;
    }
    Ok(())
}
