//! Where a tunnel's datagrams are lost, by the counters of each place on their way.
//!
//! ```text
//! iperf3 -> TUN queue -> daemon -> wire -> socket of the daemon -> daemon -> TUN -> socket of iperf3
//! ```

use anyhow::{Context as _, Result};
use serde_json::Value;
use warren_tunnel_tests::{Device, Implementation, Namespace, Pair, Side};

use crate::figures::number;
use crate::sheet::Figures;

/// The kernel's queue in front of the sending daemon.
pub(crate) const TUN: &str = "lost in the sender's TUN queue, packets";
const QUEUES: &str = "lost in the daemons' queues, packets";
const SOCKETS: &str = "lost at the daemons' sockets, packets";
const WIRE: &str = "lost on the wire, packets";
const RECEIVER: &str = "lost at the receiving program, packets";
const ELSEWHERE: &str = "lost elsewhere, packets";

/// The places where a daemon is at fault.
pub(crate) const OURS: [&str; 2] = [QUEUES, SOCKETS];

/// The packets lost at each place since the devices and hosts came up.
pub(crate) struct Losses(Vec<(&'static str, u64)>);

impl Losses {
    /// Reads all counters. The sender is on the left.
    pub(crate) fn read(pair: &Pair) -> Result<Losses> {
        let (left, right) = (pair.device(Side::Left), pair.device(Side::Right));
        let mut places = Vec::new();
        places.push((TUN, link(left.host(), left.name())?.sending + queue(left.host(), left.name())?));
        if *left.implementation() == Implementation::WarrenTunnel {
            // Packets that the kernel does not accept from the receiving daemon count as the daemon's.
            let device = link(right.host(), right.name())?.receiving;
            places.push((QUEUES, dropped(left)? + dropped(right)? + device));
        }
        let sockets = [socket(left.host(), Pair::PORT)?, socket(right.host(), Pair::PORT)?];
        places.push((SOCKETS, sockets.iter().sum()));
        let mut wire = 0;
        for device in [left, right] {
            let link = link(device.host(), "wire")?;
            wire += link.sending + link.receiving + queue(device.host(), "wire")?;
        }
        places.push((WIRE, wire));
        let all = receive_errors(&right.host().run("cat", &["/proc/net/snmp"])?)?;
        places.push((RECEIVER, all.saturating_sub(sockets[1])));
        Ok(Losses(places))
    }

    /// What was lost since `before`, of a transfer that lost so many datagrams.
    pub(crate) fn since(&self, before: &Losses, lost: f64) -> Figures {
        let known = before.0.iter().map(|(_, count)| *count);
        let mut figures: Figures = self
            .0
            .iter()
            .zip(known)
            .map(|((place, now), before)| (*place, number(now.saturating_sub(before))))
            .collect();
        let located: f64 = figures.iter().map(|(_, count)| count).sum();
        figures.push((ELSEWHERE, (lost - located).max(0.0)));
        figures
    }
}

/// Packets that an interface dropped.
struct Link {
    sending: u64,
    receiving: u64,
}

fn link(host: &Namespace, name: &str) -> Result<Link> {
    let report: Value = serde_json::from_str(&host.ip(&format!("-json -statistics link show dev {name}"))?)?;
    let dropped = |way: &str| {
        let path = format!("/0/stats64/{way}/dropped");
        report.pointer(&path).and_then(Value::as_u64).with_context(|| format!("ip shows no {path} of {name}"))
    };
    Ok(Link { sending: dropped("tx")?, receiving: dropped("rx")? })
}

/// Packets that an interface's queueing disciplines dropped.
fn queue(host: &Namespace, name: &str) -> Result<u64> {
    let report: Value =
        serde_json::from_str(&host.run("tc", &["-json", "-statistics", "qdisc", "show", "dev", name])?)?;
    let queues = report.as_array().context("tc shows no list")?;
    let drops = |queue: &Value| queue.get("drops").and_then(Value::as_u64).context("tc shows no drops");
    queues.iter().map(drops).sum()
}

/// Packets that our daemon counts as dropped, for any reason.
fn dropped(device: &Device) -> Result<u64> {
    let program = device.implementation().path()?;
    let text = device.host().run(program, &["status", device.name(), "--json", "--interval", "0"])?;
    let report: Value = serde_json::from_str(&text)?;
    let device = report.get(0).unwrap_or(&report);
    let peers = device.get("peers").and_then(Value::as_array).context("status shows no peers")?;
    let count = |of: &Value| -> Result<u64> {
        let drops = of.get("drops").and_then(Value::as_object).context("status shows no drops")?;
        drops.values().map(|count| count.as_u64().context("a count of drops is no number")).sum()
    };
    peers.iter().chain([device]).map(count).sum()
}

/// Datagrams that sockets bound to a port had no room for.
fn socket(host: &Namespace, port: u16) -> Result<u64> {
    let tables = host.run("cat", &["/proc/net/udp", "/proc/net/udp6"])?;
    socket_drops(&tables, port)
}

fn socket_drops(tables: &str, port: u16) -> Result<u64> {
    let local = format!(":{port:04X}");
    let lines = tables.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let bound = lines.filter(|fields| fields.get(1).is_some_and(|address| address.ends_with(&local)));
    let drops = bound.map(|fields| fields.last().and_then(|count| count.parse::<u64>().ok()));
    drops.map(|count| count.context("a line of /proc/net/udp has no drops")).sum()
}

/// Datagrams that no socket of a host had room for, by `/proc/net/snmp`.
fn receive_errors(table: &str) -> Result<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (names, counts) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let found = names.split_whitespace().zip(counts.split_whitespace());
    let count = found.into_iter().find(|(name, _)| *name == "RcvbufErrors").map(|(_, count)| count);
    Ok(count.context("/proc/net/snmp has no RcvbufErrors")?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  121: 00000000:CA6C 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 11 2 0000000000000000 7
  122: 02004D0A:1451 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 12 2 0000000000000000 400
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  121: 00000000000000000000000000000000:CA6C 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 13 2 0000000000000000 2
";

    #[test]
    fn drops_of_the_daemons_sockets_are_not_those_of_the_program() {
        assert_eq!(socket_drops(UDP, 51820).unwrap(), 9);
        assert_eq!(socket_drops(UDP, 5201).unwrap(), 400);
        assert_eq!(socket_drops(UDP, 9).unwrap(), 0);
    }

    #[test]
    fn a_host_without_the_counter_is_an_error() {
        let table = "Ip: Forwarding\nIp: 1\nUdp: InDatagrams RcvbufErrors SndbufErrors\nUdp: 5 407 1\n";
        assert_eq!(receive_errors(table).unwrap(), 407);
        receive_errors("Udp: InDatagrams\nUdp: 5\n").unwrap_err();
    }

    #[test]
    fn what_no_counter_explains_is_lost_elsewhere() {
        let before = Losses(vec![(TUN, 10), (SOCKETS, 1)]);
        let after = Losses(vec![(TUN, 30), (SOCKETS, 4)]);
        assert_eq!(after.since(&before, 25.0), [(TUN, 20.0), (SOCKETS, 3.0), (ELSEWHERE, 2.0)]);
    }
}
