//! Both carriers on one long and lossy wire: what TCP below the tunnel costs.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use warren_tunnel_tests::{Impairment, Pair};

use super::{HOLDING, LINE, Lab, PORT, Plan, Program, Way};
use crate::figures::median;
use crate::goals::{Goal, TUNNEL, least, most};
use crate::sheet::{Figures, Sheet};

/// Both ways together.
const ROUND_TRIP: Duration = Duration::from_millis(80);
/// Lost packets in percent.
const LOSS: f64 = 0.1;
/// Seconds of a transfer at least: it begins slowly here.
const SECONDS: u64 = 10;
/// Between two echoes.
const PAUSE: Duration = Duration::from_millis(50);
/// What servers behind a gateway that forwards by sockets send with.
const CONGESTION: &str = "bbr";
/// Default congestion control of the kernels at both ends.
const DEFAULT: &str = "cubic";
pub(super) const CONDITIONS: &str = "at least 10 s; bbr at both ends of each TCP stream of iperf3; cubic as the default of both hosts, tcp_rmem at most 6291456 bytes";

const DIRECTIONS: [(&str, &[&str]); 2] = [("down", &["--reverse"]), ("up", &[])];
const RATE: &str = "Mbit/s";
const ECHO: &str = "median echo, ms";

fn case(by: &str, direction: &str) -> String {
    format!("{} ms, {LOSS} % loss, {by}, {direction}", ROUND_TRIP.as_millis())
}

pub(super) fn measure(program: &Program, plan: &Plan, sheet: &mut Sheet) {
    for (by, way) in [("UDP", Way::Udp(PORT)), ("TLS", Way::Tls)] {
        for (direction, arguments) in DIRECTIONS {
            sheet.case(program.name(), &case(by, direction), || one(program, &way, plan, arguments));
        }
    }
}

/// At least 60 % of what UDP carries, and at most 20 ms more for a small message beside it.
pub(super) fn goals(sheet: &Sheet) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (direction, _) in DIRECTIONS {
        let both = |unit: &str| {
            let of = |by: &str| sheet.of(TUNNEL, &case(by, direction), unit);
            of("UDP").zip(of("TLS"))
        };
        let share = both(RATE).map(|(udp, tls)| tls / udp);
        goals.push(least(format!("{}, times UDP", case("TLS", direction)), share, 0.6));
        let later = both(ECHO).map(|(udp, tls)| tls - udp);
        goals.push(most(format!("{}, echo later than by UDP, ms", case("TLS", direction)), later, 20.0));
    }
    goals
}

fn one(program: &Program, way: &Way, plan: &Plan, arguments: &[&str]) -> Result<Figures> {
    let impairment = Impairment { delay: ROUND_TRIP / 2, rate: LINE, loss: LOSS / 100.0 };
    let (hosts, wire) = Pair::distant_hosts(impairment)?;
    for host in &hosts {
        let default = format!("net.ipv4.tcp_congestion_control={DEFAULT}");
        let hint = "allow it: sysctl -w net.ipv4.tcp_allowed_congestion_control=\"reno cubic bbr\"";
        host.run("sysctl", &["-qw", &default]).context(hint)?;
        host.run("sysctl", &["-qw", "net.ipv4.tcp_rmem=4096 131072 6291456"])?;
    }
    let lab = Lab::between(hosts, Some(wire))?;
    let (pod, _) = lab.start(program, way)?;
    let echoes = Echoes::start(&lab)?;
    let plan =
        Plan { seconds: plan.seconds.max(SECONDS), congestion: CONGESTION.to_owned(), ..Plan::default() };
    let mut figures = lab.transfer(&pod, &plan, arguments).with_context(|| pod.log())?;
    figures[0] = (RATE, figures[0].1 * 1e3);
    figures.extend(echoes.finish()?);
    Ok(figures)
}

/// One byte and its answer again and again, on a stream of its own beside the transfer.
struct Echoes {
    done: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<Vec<f64>>>,
}

impl Echoes {
    fn start(lab: &Lab) -> Result<Echoes> {
        let at = lab.gateway_at_inner(HOLDING);
        let listener = lab.hosts[1].inside(move || Ok(TcpListener::bind(at)?))?;
        std::thread::spawn(move || {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = stream.set_nodelay(true);
            let mut byte = [0];
            while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
        });
        let mut near = lab.hosts[0].inside(|| Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, HOLDING))?))?;
        near.set_nodelay(true)?;
        near.set_read_timeout(Some(Duration::from_secs(20)))?;
        let done = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let mut times = Vec::new();
            while !told.load(Ordering::Relaxed) {
                let begun = Instant::now();
                near.write_all(&[1])?;
                near.read_exact(&mut [0])?;
                times.push(begun.elapsed().as_secs_f64() * 1e3);
                std::thread::sleep(PAUSE);
            }
            Ok(times)
        });
        Ok(Echoes { done, thread })
    }

    fn finish(self) -> Result<Figures> {
        self.done.store(true, Ordering::Relaxed);
        let mut times = self.thread.join().map_err(|_| anyhow!("the echoes panicked"))??;
        times.sort_by(f64::total_cmp);
        let late = times.get(times.len() * 95 / 100).copied().context("no echo")?;
        Ok(vec![(ECHO, median(times).context("no echo")?), ("95th percentile of echoes, ms", late)])
    }
}
