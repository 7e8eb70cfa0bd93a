//! A pod without privileges: what a tunnel that ends in a process costs its programs.

mod distance;
mod program;
mod streams;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum;
use rustix::process::{Resource, getrlimit, setrlimit};
use tempfile::TempDir;
use warren_tunnel_tests::{
    Daemon, Device, Family, Impairment, Interface, LongWire, Namespace, Pair, Relay, Settings, Side, wait_for,
};

use crate::figures::megabytes;
use crate::goals::{self, Goal};
use crate::iperf::{self, Server};
use crate::sheet::{ALL, Figures, Sheet, reason, rotated};
pub(crate) use program::Program;

/// Ports of the gateway's host that the pod's own address leads to.
pub(crate) const PORTS: [u16; 3] = [IPERF, GREETING, HOLDING];
const IPERF: u16 = 5201;
const GREETING: u16 = 7000;
const HOLDING: u16 = 7100;

/// The line of the long way, in Mbit/s.
pub(crate) const LINE: u32 = 1_000;
/// Round trips of the long way.
const DELAYS: [u64; 2] = [40, 80];
/// Lost datagrams in percent.
const LOSSES: [f64; 3] = [0.0, 0.1, 1.0];
/// Between the end of one start and the next: an implementation of WireGuard takes no two handshakes of a key within 20 ms,
/// and knows times in steps of 16 ms.
const BETWEEN_STARTS: Duration = Duration::from_millis(50);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// From the start of the program to the first byte through the tunnel.
    Start,
    /// One stream and four, both directions.
    Throughput,
    /// The same by TLS, and both carriers on a long way; only for programs that can.
    Tls,
    /// A long and lossy way.
    Long,
    /// Mostly idle streams beside a bulk one.
    Idle,
    /// Memory with many streams whose other ends do not read.
    Unread,
}

/// How much is measured.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) seconds: u64,
    pub(crate) parts: Vec<Part>,
    pub(crate) programs: Vec<String>,
    pub(crate) congestion: String,
}

pub(crate) fn measure(plan: &Plan, sheet: &mut Sheet) -> Result<Vec<Goal>> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    iperf::conditions(sheet, &plan.congestion, "of the parts throughput and tls");
    let is_distant = plan.parts.is_empty() || plan.parts.contains(&Part::Tls);
    if is_distant {
        sheet.condition("over distance", distance::CONDITIONS);
    }
    let programs = Program::chosen(&plan.programs)?;
    let programs = crate::available(programs, sheet, Program::name, Program::path);
    for run in 1..=plan.runs {
        for program in rotated(&programs, run) {
            eprintln!("run {run} of {}: {}", plan.runs, program.name());
            let outcome = one(program, plan, sheet);
            sheet.contain(program.name(), ALL, outcome);
        }
    }
    let mut goals = goals::pod(sheet);
    if is_distant {
        goals.extend(distance::goals(sheet));
    }
    Ok(goals)
}

fn one(program: &Program, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let wanted = |part: Part| plan.parts.is_empty() || plan.parts.contains(&part);
    let lab = Lab::new()?;
    if wanted(Part::Start) {
        for _ in 0..5 {
            sheet.case(program.name(), "first byte", || {
                let (_, time) = lab.start(program, &Way::Udp(PORT))?;
                Ok(vec![("ms", time.as_secs_f64() * 1e3)])
            });
            std::thread::sleep(BETWEEN_STARTS);
        }
    }
    if wanted(Part::Throughput) {
        throughput(&lab, program, &Way::Udp(PORT), plan, sheet);
    }
    if wanted(Part::Tls) && program.knows_tls() {
        throughput(&lab, program, &Way::Tls, plan, sheet);
        distance::measure(program, plan, sheet);
    }
    if wanted(Part::Long) {
        long(&lab, program, plan, sheet);
    }
    if wanted(Part::Idle) {
        streams::idle(&lab, program, plan, sheet);
    }
    if wanted(Part::Unread) {
        streams::unread(&lab, program, sheet);
    }
    Ok(())
}

fn throughput(lab: &Lab, program: &Program, way: &Way, plan: &Plan, sheet: &mut Sheet) {
    let by = if matches!(way, Way::Tls) { ", TLS" } else { "" };
    let cases = [
        ("one stream down", &["--reverse"][..]),
        ("one stream up", &[]),
        ("four streams down", &["--parallel", "4", "--reverse"]),
        ("four streams up", &["--parallel", "4"]),
    ];
    let pod = match lab.start(program, way) {
        Ok((pod, _)) => pod,
        Err(error) => {
            eprintln!("{error:#}");
            for case in cases.map(|(case, _)| case).into_iter().chain(["peak memory"]) {
                sheet.contain::<()>(program.name(), &format!("{case}{by}"), Err(anyhow!(reason(&error))));
            }
            return;
        }
    };
    let warm = lab.server(plan).and_then(|server| server.warm_up(&lab.hosts[0]));
    sheet.contain(program.name(), &format!("warm-up{by}"), warm);
    for (case, arguments) in cases {
        sheet.case(program.name(), &format!("{case}{by}"), || {
            let log = |_: &_| eprintln!("the pod's log:\n{}", pod.log());
            lab.transfer(&pod, plan, arguments).inspect_err(log)
        });
    }
    sheet.case(program.name(), &format!("peak memory{by}"), || {
        Ok(vec![("MB", megabytes(pod.peak_memory()?))])
    });
}

fn long(lab: &Lab, program: &Program, plan: &Plan, sheet: &mut Sheet) {
    for delay in DELAYS {
        for loss in LOSSES {
            for (direction, arguments) in [("down", &["--reverse"][..]), ("up", &[])] {
                sheet.case(program.name(), &format!("{delay} ms, {loss} % loss, {direction}"), || {
                    let delay = Duration::from_millis(delay) / 2;
                    let impairment = Impairment { delay, rate: LINE, loss: loss / 100.0 };
                    let relay = Relay::start(&lab.hosts[1], lab.gateway_at(PORT), impairment)?;
                    let (pod, _) = lab.start(program, &Way::Udp(relay.port()))?;
                    let mut figures = lab.transfer(&pod, plan, arguments)?;
                    figures.push(("peak memory, MB", megabytes(pod.peak_memory()?)));
                    Ok(figures)
                });
            }
        }
    }
}

/// The UDP port of the gateway.
pub(crate) const PORT: u16 = 51820;
/// Its TLS port.
const TLS_PORT: u16 = 443;

/// How a program reaches the gateway.
pub(crate) enum Way {
    /// By UDP to this port of its host.
    Udp(u16),
    /// By TLS.
    Tls,
}

/// A pod's host on the left, a gateway with our TUN device on the right.
pub(crate) struct Lab {
    pub(crate) hosts: [Arc<Namespace>; 2],
    pub(crate) interfaces: [Interface; 2],
    pin: String,
    _gateway: Device,
    _certificate: TempDir,
    _wire: Option<LongWire>,
}

impl Lab {
    pub(crate) fn new() -> Result<Lab> {
        Lab::between(Pair::hosts()?, None)
    }

    fn between(hosts: [Arc<Namespace>; 2], wire: Option<LongWire>) -> Result<Lab> {
        let mut interfaces =
            Pair::interfaces(&Settings { initiator: Some(Side::Left), ..Settings::default() })?;
        let tls = SocketAddr::new(Side::Right.outer(Family::V4), TLS_PORT);
        interfaces[1].extra.push(format!("# warren: ListenTLS = {tls}"));
        let certificate = tempfile::tempdir()?;
        let (gateway, pin) =
            Device::tls_gateway(&hosts[1], &interfaces[1], &certificate.path().join("tls.pem"))?;
        let inner = Side::Right.inner(Family::V4);
        let listener = hosts[1].inside(move || Ok(TcpListener::bind((inner, GREETING))?))?;
        std::thread::spawn(move || {
            // Ends with the program that measures.
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.write_all(b"!");
            }
        });
        Ok(Lab { hosts, interfaces, pin, _gateway: gateway, _certificate: certificate, _wire: wire })
    }

    pub(crate) fn gateway_at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(Side::Right.outer(Family::V4), port)
    }

    fn gateway_at_inner(&self, port: u16) -> SocketAddr {
        SocketAddr::new(Side::Right.inner(Family::V4), port)
    }

    /// Starts a program and waits for a byte through it.
    pub(crate) fn start(&self, program: &Program, way: &Way) -> Result<(Daemon, Duration)> {
        let prepared = match way {
            Way::Udp(port) => program.prepare(&self.interfaces[0], self.gateway_at(*port), None)?,
            Way::Tls => program.prepare(&self.interfaces[0], self.gateway_at(TLS_PORT), Some(&self.pin))?,
        };
        let host = Arc::clone(&self.hosts[0]);
        self.hosts[0].inside(move || {
            let begun = Instant::now();
            let daemon = prepared.start()?;
            let first = wait_for(Duration::from_secs(20), "byte through the tunnel", || {
                let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, GREETING))?;
                stream.set_read_timeout(Some(Duration::from_secs(10)))?;
                stream.read_exact(&mut [0])?;
                Ok(Some(begun.elapsed()))
            });
            drop(host);
            let first = first.with_context(|| daemon.log())?;
            Ok((daemon, first))
        })
    }

    /// iperf3 at the gateway, as programs in the pod reach it.
    fn server(&self, plan: &Plan) -> Result<Server> {
        let inner = Side::Right.inner(Family::V4);
        let server = Server::start(&self.hosts[1], inner, &plan.congestion)?;
        Ok(server.reached_at(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }

    pub(crate) fn transfer(&self, pod: &Daemon, plan: &Plan, arguments: &[&str]) -> Result<Figures> {
        let server = self.server(plan)?;
        let before = pod.cpu()?;
        let transfer = server.client(&self.hosts[0], plan.seconds, arguments)?;
        Ok(transfer.figures(pod.cpu()? - before))
    }
}
