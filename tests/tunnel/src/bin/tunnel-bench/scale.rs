//! Many peers: memory, handshakes a second, and what an established flow feels of a storm or a flood.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use warren_tunnel_tests::{
    Device, Family, Implementation, Interface, Namespace, Pair, Remote, Settings, Side,
};

use crate::figures::megabytes;
use crate::iperf::Server;
use crate::load::{Client, Load, NETWORK, forge};
use crate::sheet::{ALL, Figures, Sheet};

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) seconds: u64,
    pub(crate) peers: usize,
    pub(crate) offered: u32,
    pub(crate) forged: u32,
    pub(crate) congestion: String,
}

/// What goes on beside the flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Nothing,
    /// The forged packets go to a socket that nobody reads: what sending and delivering them costs by itself.
    Sink,
    Handshakes,
    Forged,
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Beside::Nothing => "nothing",
            Beside::Sink => "the flood, to another port",
            Beside::Handshakes => "handshakes",
            Beside::Forged => "forged initiations",
        })
    }
}

/// The server's address in the network that the clients' addresses are of: one route for all of them.
const CLIENTS: &str = "10.78.255.254/16";

pub(crate) fn measure(peers: &[Implementation], plan: &Plan, sheet: &mut Sheet) {
    sheet.condition("congestion control", format!("{} at both ends of the flow", plan.congestion));
    sheet.condition("configured peers", plan.peers.to_string());
    for peer in peers {
        let outcome = one(peer, plan, sheet);
        sheet.contain(peer.name(), ALL, outcome);
    }
}

fn one(peer: &Implementation, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let hosts = Pair::hosts()?;
    let loader = Namespace::new()?;
    hosts[0].join_as(&loader, "load")?;
    hosts[0].ip("address add 10.201.0.1/24 dev load")?;
    hosts[0].ip(&format!("route add {NETWORK} via 10.201.0.2"))?;
    loader.ip("address add 10.201.0.2/24 dev load")?;
    loader.ip("route add default via 10.201.0.1")?;
    loader.ip(&format!("route add local {NETWORK} dev lo"))?;

    sheet.case(peer.name(), &format!("{} silent peers", plan.peers), || memory(peer, &hosts[0], plan.peers));
    for run in 1..=plan.runs {
        eprintln!("run {run} of {}: {}", plan.runs, peer.name());
        for beside in [Beside::Nothing, Beside::Sink, Beside::Handshakes, Beside::Forged] {
            sheet.case(peer.name(), &format!("flow beside {beside}"), || {
                flow(peer, &hosts, &loader, plan, beside, run as u64)
            });
        }
    }
    Ok(())
}

/// Resident memory with one peer and with many that are silent.
fn memory(peer: &Implementation, host: &Arc<Namespace>, count: usize) -> Result<Figures> {
    let [mut interface, _] = Pair::interfaces(&Settings::default())?;
    let small = Device::start(peer, host, &interface)?;
    std::thread::sleep(Duration::from_millis(500));
    let few = small.memory()?;
    drop(small);
    interface.addresses.push(CLIENTS.to_owned());
    for client in clients(0, count, &interface)? {
        interface.peers.push(remote(interface.peers.len(), &client));
    }
    let begun = Instant::now();
    let device = Device::start(peer, host, &interface)?;
    let started = begun.elapsed();
    std::thread::sleep(Duration::from_secs(1));
    let before = device.cpu()?;
    std::thread::sleep(Duration::from_secs(5));
    let idle = (device.cpu()? - before) / 5.0 * 100.0;
    let many = device.memory()?;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let each = many.saturating_sub(few) as f64 / count as f64;
    let begun = Instant::now();
    let listed = device.peers()?.len();
    let dump = begun.elapsed();
    ensure!(listed == count + 1, "`wg show dump` lists {listed} peers");
    Ok(vec![
        ("memory, MB", megabytes(many)),
        ("memory with one peer, MB", megabytes(few)),
        ("memory per peer, bytes", each),
        ("start, ms", started.as_secs_f64() * 1e3),
        ("`wg show dump`, ms", dump.as_secs_f64() * 1e3),
        ("idle CPU %", idle),
    ])
}

/// One transfer beside a load.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn flow(
    peer: &Implementation,
    hosts: &[Arc<Namespace>; 2],
    loader: &Namespace,
    plan: &Plan,
    beside: Beside,
    run: u64,
) -> Result<Figures> {
    let [mut left, right] = Pair::interfaces(&Settings::default())?;
    let offered = clients(run, plan.peers, &left)?;
    left.addresses.push(CLIENTS.to_owned());
    for client in &offered {
        left.peers.push(remote(left.peers.len(), client));
    }
    let device = Device::start(peer, &hosts[0], &left)?;
    let _other = Device::start(peer, &hosts[1], &right)?;
    let inner = Side::Right.inner(Family::V4);
    let target = entrance(left.port);
    let server = Server::start(&hosts[1], inner, &plan.congestion)?;
    let host = &hosts[0];
    warren_tunnel_tests::wait_for(Duration::from_secs(10), "answer through the tunnel", || {
        Ok(host.run("ping", &["-c1", "-W1", &inner.to_string()]).ok())
    })?;
    let sink = host.inside(|| Ok(UdpSocket::bind("0.0.0.0:9")?))?;
    let packets = |port: u16| {
        Ok::<_, anyhow::Error>((forge(&left.keys.public, 20_000)?, SocketAddr::new(target.ip(), port)))
    };
    let load = match beside {
        Beside::Nothing => None,
        Beside::Sink => {
            let (packets, target) = packets(sink.local_addr()?.port())?;
            Some(Load::forged(loader, packets, target, plan.forged)?)
        }
        Beside::Forged => {
            let (packets, target) = packets(left.port)?;
            Some(Load::forged(loader, packets, target, plan.forged)?)
        }
        Beside::Handshakes => Some(Load::handshakes(loader, offered, target, plan.offered)?),
    };
    let begun = Instant::now();
    let (flow, pings) = std::thread::scope(|scope| {
        let count = (plan.seconds * 50).to_string();
        let pings = scope
            .spawn(move || host.run("ping", &["-c", &count, "-i", "0.02", "-W", "1", &inner.to_string()]));
        let flow = server.client(host, plan.seconds, &[]);
        (flow, pings.join())
    });
    // All clients come, and those that were asked for a cookie come back five seconds later.
    if beside == Beside::Handshakes {
        let all =
            Duration::from_secs_f64(plan.peers as f64 / f64::from(plan.offered)) + Duration::from_secs(7);
        std::thread::sleep(all.saturating_sub(begun.elapsed()));
    }
    let time = begun.elapsed().as_secs_f64();
    let counts = load.map(Load::stop).transpose()?;
    let flow = flow.with_context(|| format!("the device's log:\n{}", device.log()))?;
    let pings = pings.map_err(|_| anyhow::anyhow!("ping panicked"))??;
    let mut times: Vec<f64> = pings
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok())
        .collect();
    times.sort_by(f64::total_cmp);
    let quantile = |of: usize| times.get(times.len() * of / 100).copied().context("no answer to a ping");
    let rate = |count: u64| count as f64 / time;
    let mut figures =
        vec![("Gbit/s", flow.gbits()), ("ping p50, ms", quantile(50)?), ("ping p99, ms", quantile(99)?)];
    if let Some(counts) = counts {
        let completed = counts.completed.load(Ordering::Relaxed);
        figures.push(("initiations per second", rate(counts.sent.load(Ordering::Relaxed))));
        figures.push(("completed per second", rate(completed)));
        figures.push(("clients served, %", completed as f64 / plan.peers as f64 * 100.0));
        figures.push(("cookies per second", rate(counts.cookies.load(Ordering::Relaxed))));
    }
    Ok(figures)
}

/// Where the device is for those on the other wire.
fn entrance(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 201, 0, 1], port))
}

fn clients(seed: u64, count: usize, interface: &Interface) -> Result<Vec<Client>> {
    let target = entrance(interface.port);
    (0..count).map(|number| Client::new(seed, number, &interface.keys.public, target)).collect()
}

/// The n-th client, as the server is told of it.
fn remote(number: usize, client: &Client) -> Remote {
    Remote {
        public_key: client.public.clone(),
        allowed: vec![format!("10.78.{}.{}/32", number / 256, number % 256)],
        ..Remote::default()
    }
}
