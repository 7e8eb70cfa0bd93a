//! One transfer by iperf3, with what the daemons at both ends used for it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use warren_tunnel_tests::{Daemon, Family, Namespace, Pair, Side, program, wait_for};

use crate::sheet::{Figures, Sheet};

/// Seconds of a transfer each way that comes before measured ones and is not measured.
const WARM_UP: u64 = 1;
/// Socket buffers that iperf3 should have for UDP, in bytes.
const WINDOW: u64 = 4 << 20;

/// A server, and how clients reach it. Each case has its own: one whose last client vanished waits for it.
pub(crate) struct Server {
    _daemon: Daemon,
    /// Where clients connect.
    address: IpAddr,
    /// Congestion control of both ends of each TCP stream.
    congestion: String,
}

/// What iperf3 says that was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transfer {
    /// Bytes received, both directions together.
    pub(crate) bytes: f64,
    pub(crate) seconds: f64,
    /// Datagrams lost; 0 of TCP.
    pub(crate) lost: f64,
}

impl Server {
    pub(crate) fn start(host: &Namespace, address: IpAddr, congestion: &str) -> Result<Server> {
        let mut command = host.command(program("iperf3")?);
        let daemon =
            Daemon::start(command.args(["--server", "--forceflush", "--bind", &address.to_string()]))?;
        wait_for(Duration::from_secs(10), "iperf3 server", || {
            Ok(daemon.log().contains("Server listening").then_some(()))
        })
        .with_context(|| daemon.log())?;
        Ok(Server { _daemon: daemon, address, congestion: congestion.to_owned() })
    }

    /// Clients connect to another address that leads here.
    pub(crate) fn reached_at(self, address: IpAddr) -> Server {
        Server { address, ..self }
    }

    /// The server of a tunnel, on the right side's inner address.
    pub(crate) fn behind(pair: &Pair, congestion: &str) -> Result<Server> {
        Server::start(pair.host(Side::Right), Side::Right.inner(Family::V4), congestion)
    }

    /// Transfers that are not measured.
    pub(crate) fn warm_up(&self, host: &Namespace) -> Result<()> {
        // One after the other: iperf3 tells the streams of both ways by the order in which they arrive, which a proxy changes.
        self.client(host, WARM_UP, &[])?;
        self.client(host, WARM_UP, &["--reverse"]).map(drop)
    }

    /// Runs a client with `arguments`.
    pub(crate) fn client(&self, host: &Namespace, seconds: u64, arguments: &[&str]) -> Result<Transfer> {
        // A tunnel that swallows its streams leaves a client that never ends.
        let limit = (seconds + 30).to_string();
        let (target, seconds) = (self.address.to_string(), seconds.to_string());
        let iperf = program("iperf3")?.display().to_string();
        let mut words = vec![&limit, &iperf, "--client", &target, "--time", &seconds, "--json"];
        words.extend(arguments);
        let tcp = !arguments.contains(&"--udp");
        if tcp {
            words.extend(["--congestion", &self.congestion]);
        }
        let begun = Instant::now();
        let report: Value = loop {
            // A server is busy for a moment after its last client, and says so in either way.
            let patient = begun.elapsed() < Duration::from_secs(60);
            match host.run("timeout", &words) {
                Err(error) if patient && format!("{error:#}").contains("busy") => {}
                Err(error) if format!("{error:#}").contains("the client has terminated") => {
                    bail!("iperf3 did not end within {limit} s");
                }
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
        let end = report.get("end").context("iperf3's report has no end")?;
        Transfer::parse(end, tcp.then_some(self.congestion.as_str()))
    }
}

impl Transfer {
    /// Of the `end` of a report. A TCP stream without the wanted congestion control is an error.
    fn parse(end: &Value, congestion: Option<&str>) -> Result<Transfer> {
        let number = |path: &str| end.pointer(path).and_then(Value::as_f64);
        for role in ["sender_tcp_congestion", "receiver_tcp_congestion"] {
            let used = end.get(role).and_then(Value::as_str);
            ensure!(
                congestion.is_none_or(|wanted| used == Some(wanted)),
                "iperf3: {role} is {used:?}, not {congestion:?}"
            );
        }
        let received = number("/sum_received/bytes").context("iperf3's report has no received bytes")?;
        let bytes = received + number("/sum_received_bidir_reverse/bytes").unwrap_or_default();
        let seconds = number("/sum_received/seconds").context("iperf3's report has no time")?;
        ensure!(bytes > 0.0 && seconds > 0.0, "nothing was received");
        let lost = match congestion {
            Some(_) => 0.0,
            None => number("/sum/lost_packets").context("iperf3's report has no lost datagrams")?,
        };
        Ok(Transfer { bytes, seconds, lost })
    }

    /// Its figures, where programs that are measured used so many CPU seconds.
    pub(crate) fn figures(&self, cpu: f64) -> Figures {
        vec![("Gbit/s", self.gbits()), ("CPU s/GB", cpu / (self.bytes / 1e9))]
    }

    pub(crate) fn gbits(&self) -> f64 {
        self.bytes * 8e-9 / self.seconds
    }
}

/// Records what all transfers of a measurement have in common, and where the warm-up is.
pub(crate) fn conditions(sheet: &mut Sheet, congestion: &str, warmed: &str) {
    sheet.condition("congestion control", format!("{congestion} at both ends of each TCP stream of iperf3"));
    sheet.condition("warm-up", format!("{WARM_UP} s in each direction before the transfers {warmed}"));
    sheet.condition("order", "subjects rotate by one each run; cases have a fixed order");
}

/// The socket buffer of iperf3 that this kernel allows, and the condition to record.
pub(crate) fn window() -> Result<(u64, String)> {
    let limit = |name: &str| -> Result<u64> {
        let path = format!("/proc/sys/net/core/{name}");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        text.trim().parse().with_context(|| format!("{path} is not a number"))
    };
    // No namespace has its own limits: Linux shows those of the machine there, read-only.
    let (receive, send) = (limit("rmem_max")?, limit("wmem_max")?);
    let allowed = allowed(receive, send);
    Ok((allowed, format!("{allowed} bytes; {WINDOW} requested, rmem_max {receive}, wmem_max {send}")))
}

fn allowed(rmem_max: u64, wmem_max: u64) -> u64 {
    WINDOW.min(rmem_max).min(wmem_max)
}

/// CPU seconds of both daemons so far.
pub(crate) fn cpu(pair: &Pair) -> Result<f64> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(congestion: &str, bytes: u64) -> Value {
        json!({
            "sum_received": { "bytes": bytes, "seconds": 2.0 },
            "sender_tcp_congestion": congestion, "receiver_tcp_congestion": "cubic",
        })
    }

    #[test]
    fn a_stream_with_another_congestion_control_is_an_error() {
        let transfer = Transfer::parse(&report("cubic", 1_000_000_000), Some("cubic")).unwrap();
        assert_eq!(transfer.figures(1.5), [("Gbit/s", 4.0), ("CPU s/GB", 1.5)]);
        Transfer::parse(&report("bbr", 1_000_000_000), Some("cubic")).unwrap_err();
    }

    #[test]
    fn nothing_received_is_an_error_and_not_zero() {
        Transfer::parse(&report("cubic", 0), Some("cubic")).unwrap_err();
        Transfer::parse(&json!({}), None).unwrap_err();
    }

    #[test]
    fn datagrams_without_a_count_of_losses_are_an_error() {
        let mut end = report("", 8);
        Transfer::parse(&end, None).unwrap_err();
        end["sum"] = json!({ "lost_packets": 3 });
        assert!((Transfer::parse(&end, None).unwrap().lost - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_is_what_the_kernel_allows() {
        assert_eq!(allowed(212_992, 8 << 20), 212_992);
        assert_eq!(allowed(8 << 20, 1 << 20), 1 << 20);
        assert_eq!(allowed(8 << 20, 8 << 20), WINDOW);
    }
}
