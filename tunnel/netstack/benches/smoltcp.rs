//! This stack's TCP against the sockets of smoltcp on the same simulated paths: `cargo bench -p warren-netstack --bench smoltcp`.
//!
//! The first table is in virtual time, so it is the same on every machine. The second is CPU time, of which only the ratios
//! carry over to another machine. `docs/decisions/016-own-tcp.md` explains the results.

#[path = "smoltcp/ours.rs"]
mod ours;
#[path = "smoltcp/theirs.rs"]
mod theirs;
#[path = "smoltcp/wire.rs"]
mod wire;

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use ours::Ours;
use smoltcp::socket::tcp::CongestionControl;
use theirs::Theirs;
use warren_netstack::Congestion;
use warren_netstack_sim::{Link, MS, Pipe, Rng, SEC};

/// Receive window and send buffer of the measured stream: more than three products of bandwidth and round trip.
const WINDOW: usize = 32 << 20;
/// Bytes of each IP packet.
const MTU: usize = 1_420;

/// A host with one measured stream: the first host sends as much as it can, the second reads.
trait Host {
    fn input(&mut self, now: u64, packet: &[u8]);
    /// Lets the application write and read, and sends what is due.
    fn poll(&mut self, now: u64, send: &mut dyn FnMut(&[u8]));
    /// When `poll` is due, if no packet arrives before.
    fn next(&mut self, now: u64) -> Option<u64>;
    fn received(&self) -> u64;
}

/// Two hosts and the path between them.
struct World<H> {
    now: u64,
    hosts: [H; 2],
    pipes: [Pipe; 2],
    rng: Rng,
}

impl<H: Host> World<H> {
    fn new(seed: u64, hosts: [H; 2], link: Link) -> Self {
        let back = Link { loss: 0.0, ..link };
        Self { now: SEC, hosts, pipes: [Pipe::new(link), Pipe::new(back)], rng: Rng(seed) }
    }

    fn run_until(&mut self, until: u64) {
        while self.now < until {
            let [left, right] = &mut self.hosts;
            self.pipes[0].deliver(self.now, |packet| right.input(self.now, packet));
            self.pipes[1].deliver(self.now, |packet| left.input(self.now, packet));
            for (host, pipe) in self.hosts.iter_mut().zip(&mut self.pipes) {
                host.poll(self.now, &mut |packet| _ = pipe.push(self.now, &mut self.rng, packet));
            }
            let timers = self.hosts.iter_mut().filter_map(|host| host.next(self.now));
            let arrivals = self.pipes.iter().filter_map(Pipe::next);
            let next = timers.chain(arrivals).min().unwrap_or(until);
            self.now = next.max(self.now + 1);
        }
    }

    /// Mbit/s of the stream between two times.
    fn goodput(&mut self, from: u64, to: u64) -> u64 {
        self.run_until(from);
        let before = self.hosts[1].received();
        self.run_until(to);
        (self.hosts[1].received() - before) * 8_000 / (to - from)
    }
}

/// The median of five seeds.
fn median<H: Host>(link: &Link, hosts: impl Fn(u64) -> [H; 2]) -> u64 {
    let mut all: Vec<u64> =
        (1..=5).map(|seed| World::new(seed, hosts(seed), link.clone()).goodput(3 * SEC, 23 * SEC)).collect();
    all.sort_unstable();
    all[2]
}

fn goodputs(out: &mut impl std::io::Write) -> std::io::Result<()> {
    let path = |millis: u64, loss: f64| Link { loss, ..Link::clean(1_000_000_000, millis * MS / 2) };
    let paths = [
        ("1 ms, clean", path(1, 0.0)),
        ("80 ms, clean", path(80, 0.0)),
        ("80 ms, 0.1 % loss", path(80, 0.001)),
        ("20 ms, 1 % loss", path(20, 0.01)),
    ];
    writeln!(out, "Goodput of one stream at 1 Gbit/s, Mbit/s, median of 5 seeds, seconds 2 to 22:\n")?;
    writeln!(
        out,
        "| path | ours, BBR | ours, CUBIC | smoltcp, CUBIC | smoltcp, Reno | smoltcp, without control |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for (name, link) in paths {
        let ours = |congestion| median(&link, |seed| Ours::pair(seed, congestion, 0));
        let theirs = |congestion| median(&link, |seed| Theirs::pair(seed, congestion, 0));
        writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} |",
            ours(Congestion::Bbr),
            ours(Congestion::Cubic),
            theirs(CongestionControl::Cubic),
            theirs(CongestionControl::Reno),
            theirs(CongestionControl::None),
        )?;
    }
    Ok(())
}

/// Nanoseconds of CPU for each packet of 1,420 bytes, of both ends together.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn cost<H: Host>(hosts: [H; 2]) -> u128 {
    let mut world = World::new(1, hosts, Link { queue: 1 << 40, ..Link::clean(1_000_000_000, MS / 2) });
    world.run_until(2 * SEC);
    let (before, started) = (world.hosts[1].received(), Instant::now());
    world.run_until(4 * SEC);
    let packets = u128::from((world.hosts[1].received() - before) / MTU as u64);
    black_box(started.elapsed()).as_nanos() / packets.max(1)
}

fn costs(out: &mut impl std::io::Write) -> std::io::Result<()> {
    writeln!(out, "\nCPU of a packet of the measured stream, both ends and the simulated path, ns:\n")?;
    writeln!(out, "| idle streams | ours, CUBIC | smoltcp, CUBIC |")?;
    writeln!(out, "|---|---|---|")?;
    for idle in [0, 100, 1_000] {
        let ours = cost(Ours::pair(1, Congestion::Cubic, idle));
        let theirs = cost(Theirs::pair(1, CongestionControl::Cubic, idle));
        writeln!(out, "| {idle} | {ours} | {theirs} |")?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    goodputs(&mut out)?;
    costs(&mut out)?;
    out.flush()
}
