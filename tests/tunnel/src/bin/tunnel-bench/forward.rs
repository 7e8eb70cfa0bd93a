//! A gateway's two ways to forward, side by side: by the kernel, with one queue and with four, and by sockets that split TCP.
//!
//! ```text
//! pod (interface, Linux's TCP) ---wire or long way--- gateway ---lan--- iperf3 servers
//! three more -----------------------wires-----------------+
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use warren_tunnel_tests::fabric::{By, Gateway, Member};
use warren_tunnel_tests::{Daemon, Fabric, Impairment, Namespace, Relay, fabric, wait_for};

use crate::goals::{self, Goal};
use crate::iperf::{self, Server};
use crate::sheet::{ALL, Figures, Sheet, rotated};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 2);
const SERVER: Ipv4Addr = server_of(0);
/// Pods that transfer at the same time. Each has a server of its own.
const PODS: u8 = 4;
/// The subjects: their names, their ways to forward, and the queues of the gateway's device.
const SUBJECTS: [(&str, By, &str); 3] =
    [("kernel", By::Kernel, "1"), (FOUR_QUEUES, By::Kernel, "4"), ("user", By::User, "1")];
const FOUR_QUEUES: &str = "kernel, four queues";
/// The long path, on which a server's CUBIC is slow.
const LONG: Impairment = Impairment { delay: Duration::from_millis(40), rate: 1_000, loss: 0.001 };
/// A stream over the long way needs time to find its rate.
const LONG_SECONDS: u64 = 20;
/// The cases of one pod.
const STREAMS: [(&str, &[&str]); 4] = [
    ("one stream up", &[]),
    ("one stream down", &["--reverse"]),
    ("four streams up", &["--parallel", "4"]),
    ("four streams down", &["--parallel", "4", "--reverse"]),
];
const REST: &str = "STORE\n[pool]\nprefixes = [\"10.100.0.0/24\"]\n[groups.gpu]\n[[groups.gpu.allow]]\nto = [\"10.50.0.0/24\"]\n";

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) seconds: u64,
    pub(crate) congestion: String,
}

/// The case with a goal.
const LONG_DOWN: &str = "long path, one stream down";

pub(crate) fn measure(plan: &Plan, sheet: &mut Sheet) -> Vec<Goal> {
    iperf::conditions(sheet, &plan.congestion, "on the short path");
    sheet.condition("CPU seconds", "of the gateway's process, without the kernel's own forwarding");
    sheet.condition("tcp_rmem of the pod, tcp_wmem of the server", "at most 67108864 bytes");
    for run in 1..=plan.runs {
        for &(name, by, queues) in rotated(&SUBJECTS, run) {
            eprintln!("run {run} of {}: {name}", plan.runs);
            let outcome = one((name, by, queues), plan, sheet);
            sheet.contain(name, ALL, outcome);
        }
    }
    goals::forward(sheet, LONG_DOWN)
}

fn one((name, by, queues): (&'static str, By, &'static str), plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let lab = Lab::new(by, queues)?;
    {
        let gateway = lab.start()?;
        let _pods =
            (0..PODS).map(|number| lab.pod(number, &gateway, plan)).collect::<Result<Vec<Member>>>()?;
        sheet.contain(name, "warm-up", lab.server(plan)?.warm_up(&lab.pods[0]));
        for (case, arguments) in STREAMS {
            sheet.case(name, case, || lab.transfer(&gateway.daemon, plan, plan.seconds, arguments));
        }
        for (case, arguments) in [("four pods up", &[][..]), ("four pods down", &["--reverse"][..])] {
            sheet.case(name, case, || lab.together(&gateway.daemon, plan, arguments));
        }
    }
    if name == FOUR_QUEUES {
        return Ok(());
    }
    sheet.case(name, LONG_DOWN, || {
        let _relay = lab.lengthen()?;
        let gateway = lab.start()?;
        let _pod = lab.pod(0, &gateway, plan)?;
        lab.transfer(&gateway.daemon, plan, LONG_SECONDS, &["--reverse"])
    });
    Ok(())
}

fn forwarding(by: By) -> &'static str {
    match by {
        By::Kernel => "forwarding = \"kernel\"\nfabric = ",
        By::User => "forwarding = \"user\"\nfabric = ",
    }
}

const fn server_of(pod: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 50, 0, 2 + pod)
}

struct Lab {
    fabric: Fabric,
    by: By,
    queues: &'static str,
    pods: Vec<Arc<Namespace>>,
    gateway: Arc<Namespace>,
    server: Arc<Namespace>,
}

impl Lab {
    fn new(by: By, queues: &'static str) -> Result<Self> {
        let host = || Ok::<_, anyhow::Error>(Arc::new(Namespace::new()?));
        let (gateway, server) = (host()?, host()?);
        let pods = (0..PODS).map(|_| host()).collect::<Result<Vec<_>>>()?;
        for (number, pod) in pods.iter().enumerate() {
            let wire = format!("wire{number}");
            pod.join_as(&gateway, &wire)?;
            pod.ip(&format!("addr add 10.200.{number}.1/24 dev {wire}"))?;
            gateway.ip(&format!("addr add 10.200.{number}.2/24 dev {wire}"))?;
            if number > 0 {
                pod.ip(&format!("route add {GATEWAY} via 10.200.{number}.2"))?;
            }
            // What a pod on a long way is set to: the window must hold what is under way.
            pod.run("sysctl", &["-qw", "net.ipv4.tcp_rmem=4096 131072 67108864"])?;
        }
        gateway.join_as(&server, "lan")?;
        gateway.ip("addr add 10.50.0.1/24 dev lan")?;
        for number in 0..PODS {
            server.ip(&format!("addr add {}/24 dev lan", server_of(number)))?;
        }
        server.run("sysctl", &["-qw", "net.ipv4.tcp_wmem=4096 16384 67108864"])?;
        let fabric = Fabric::new(&[IpAddr::V4(GATEWAY)], REST)?;
        fabric.configure(0, &[("fabric = ", forwarding(by))])?;
        Ok(Self { fabric, by, queues, pods, gateway, server })
    }

    fn start(&self) -> Result<Gateway> {
        self.fabric.start_with(self.by, &self.gateway, &[("WARREN_QUEUES", self.queues)])
    }

    /// An agent, once it reaches its server. Its interface lives in one folder with those of other labs.
    fn pod(&self, number: u8, gateway: &Gateway, plan: &Plan) -> Result<Member> {
        let host = &self.pods[usize::from(number)];
        let token = self.fabric.token("gpu", &[])?;
        let pod = self.fabric.machine_as(host, &token, &format!("fwdbench{number}"))?;
        let _server = Server::start(&self.server, server_of(number).into(), &plan.congestion)?;
        let reached = wait_for(Duration::from_secs(20), "way to the server", || {
            let to = (server_of(number), 5201).into();
            Ok(host
                .inside(move || Ok(std::net::TcpStream::connect_timeout(&to, Duration::from_secs(1))?))
                .ok())
        });
        reached.with_context(|| format!("gateway:\n{}\npod:\n{}", gateway.daemon.log(), pod.daemon.log()))?;
        Ok(pod)
    }

    /// Puts the long way between pods that enrol from now on and the gateway.
    fn lengthen(&self) -> Result<Relay> {
        let relay = Relay::start(&self.pods[0], (GATEWAY, fabric::UDP_PORT).into(), LONG)?;
        let (direct, long) =
            (format!("udp = \"{GATEWAY}:"), format!("udp = \"127.0.0.1:{}\" # ", relay.port()));
        self.fabric.configure(0, &[("fabric = ", forwarding(self.by)), (&direct, &long)])?;
        Ok(relay)
    }

    fn server(&self, plan: &Plan) -> Result<Server> {
        Server::start(&self.server, IpAddr::V4(SERVER), &plan.congestion)
    }

    fn transfer(&self, gateway: &Daemon, plan: &Plan, seconds: u64, arguments: &[&str]) -> Result<Figures> {
        let server = self.server(plan)?;
        let before = gateway.cpu()?;
        let transfer = server.client(&self.pods[0], seconds, arguments)?;
        let mut figures = transfer.figures(gateway.cpu()? - before);
        figures[0] = ("Mbit/s", transfer.gbits() * 1e3);
        Ok(figures)
    }

    /// One stream of each pod, at the same time.
    fn together(&self, gateway: &Daemon, plan: &Plan, arguments: &[&str]) -> Result<Figures> {
        let servers =
            (0..PODS).map(|number| Server::start(&self.server, server_of(number).into(), &plan.congestion));
        let servers = servers.collect::<Result<Vec<_>>>()?;
        let before = gateway.cpu()?;
        let transfers = thread::scope(|scope| {
            let pairs = servers.iter().zip(&self.pods);
            let running: Vec<_> = pairs
                .map(|(server, pod)| scope.spawn(|| server.client(pod, plan.seconds, arguments)))
                .collect();
            let ended =
                running.into_iter().map(|one| one.join().map_err(|_| anyhow!("a client panicked"))?);
            ended.collect::<Result<Vec<_>>>()
        })?;
        let used = gateway.cpu()? - before;
        let rates = || transfers.iter().map(|transfer| transfer.gbits() * 1e3);
        let bytes: f64 = transfers.iter().map(|transfer| transfer.bytes).sum();
        Ok(vec![
            ("Mbit/s", rates().sum()),
            ("Mbit/s of the slowest pod", rates().fold(f64::INFINITY, f64::min)),
            ("Mbit/s of the fastest pod", rates().fold(0.0, f64::max)),
            ("CPU s/GB", used / (bytes / 1e9)),
        ])
    }
}
