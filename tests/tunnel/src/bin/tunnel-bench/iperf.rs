//! One transfer by iperf3, with what the daemons at both ends used for it.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use warren_tunnel_tests::{Daemon, Family, Namespace, Pair, Side, program, wait_for};

/// A server on the right side's inner address.
pub(crate) struct Server {
    _daemon: Daemon,
    /// Where clients connect.
    address: IpAddr,
}

/// What a transfer gave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transfer {
    /// Received, in Gbit/s, both directions together.
    pub(crate) gbits: f64,
    /// CPU seconds of both daemons for 10^9 bytes received.
    pub(crate) cpu_per_gb: f64,
    /// TCP retransmissions.
    pub(crate) retransmits: f64,
    /// Datagrams lost, in percent.
    pub(crate) lost: f64,
}

impl Server {
    pub(crate) fn start(host: &Namespace, address: IpAddr) -> Result<Server> {
        let mut command = host.command(program("iperf3")?);
        let daemon =
            Daemon::start(command.args(["--server", "--forceflush", "--bind", &address.to_string()]))?;
        wait_for(Duration::from_secs(10), "iperf3 server", || {
            Ok(daemon.log().contains("Server listening").then_some(()))
        })
        .with_context(|| daemon.log())?;
        Ok(Server { _daemon: daemon, address })
    }

    /// Clients connect to another address that leads here.
    pub(crate) fn reached_at(self, address: IpAddr) -> Server {
        Server { address, ..self }
    }

    /// The server of a tunnel.
    pub(crate) fn behind(pair: &Pair) -> Result<Server> {
        Server::start(pair.host(Side::Right), Side::Right.inner(Family::V4))
    }

    /// Runs a client with `arguments` on the left side.
    pub(crate) fn transfer(&self, pair: &Pair, seconds: u64, arguments: &[&str]) -> Result<Transfer> {
        let before = cpu(pair)?;
        let end = self.client(pair.host(Side::Left), seconds, arguments)?;
        let used = cpu(pair)? - before;
        let number = |path: &str| end.pointer(path).and_then(Value::as_f64).unwrap_or_default();
        let received = number("/sum_received/bytes") + number("/sum_received_bidir_reverse/bytes");
        let time = number("/sum_received/seconds").max(0.001);
        Ok(Transfer {
            gbits: received * 8e-9 / time,
            cpu_per_gb: used / (received / 1e9).max(1e-9),
            retransmits: number("/sum_sent/retransmits") + number("/sum_sent_bidir_reverse/retransmits"),
            lost: number("/sum_received/lost_percent").max(number("/sum/lost_percent")),
        })
    }

    /// Runs a client and returns the `end` of its report.
    pub(crate) fn client(&self, host: &Namespace, seconds: u64, arguments: &[&str]) -> Result<Value> {
        // A tunnel that swallows its streams leaves a client that never ends.
        let limit = (seconds + 30).to_string();
        let (target, seconds) = (self.address.to_string(), seconds.to_string());
        let iperf = program("iperf3")?.display().to_string();
        let mut words = vec![&limit, &iperf, "--client", &target, "--time", &seconds, "--json"];
        words.extend(arguments);
        let begun = std::time::Instant::now();
        let report: Value = loop {
            // A server is busy for a moment after its last client, and says so in either way.
            let patient = begun.elapsed() < Duration::from_secs(60);
            match host.run("timeout", &words) {
                Err(error) if patient && format!("{error:#}").contains("busy") => {}
                Err(error) => return Err(error),
                Ok(report) => {
                    let report: Value = serde_json::from_str(&report).context("iperf3's report")?;
                    match report.get("error") {
                        Some(error) if patient && error.to_string().contains("busy") => {}
                        Some(error) => bail!("iperf3: {error}"),
                        None => break report,
                    }
                }
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        report.get("end").cloned().context("iperf3's report has no end")
    }
}

/// CPU seconds of both daemons so far.
fn cpu(pair: &Pair) -> Result<f64> {
    Ok(pair.device(Side::Left).cpu()? + pair.device(Side::Right).cpu()?)
}

/// Median time of `count` echoes through the tunnel, in milliseconds.
pub(crate) fn ping(pair: &Pair, count: usize) -> Result<f64> {
    let target = Side::Right.inner(Family::V4).to_string();
    let output =
        pair.host(Side::Left).run("ping", &["-c", &count.to_string(), "-i", "0.005", "-W", "1", &target])?;
    let times = output.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok());
    crate::figures::median(times).context("no answer to a ping")
}
