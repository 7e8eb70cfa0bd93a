//! A gateway's two ways to forward, side by side: by the kernel, and by sockets that split TCP.
//!
//! ```text
//! pod (interface, Linux's TCP) ---wire or long way--- gateway ---lan--- iperf3 server
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use warren_tunnel_tests::{Daemon, Fabric, Impairment, Namespace, Relay, fabric, wait_for};

use crate::goals::{self, Goal};
use crate::iperf::{self, Server};
use crate::sheet::{ALL, Figures, Sheet, rotated};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 2);
/// Of the pod, which lives in one folder with those of other labs.
const INTERFACE: &str = "fwdbench";
/// The long path, on which a server's CUBIC is slow.
const LONG: Impairment = Impairment { delay: Duration::from_millis(40), rate: 1_000, loss: 0.001 };
/// A stream over the long way needs time to find its rate.
const LONG_SECONDS: u64 = 20;
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
        for by in rotated(&["kernel", "user"], run) {
            eprintln!("run {run} of {}: {by}", plan.runs);
            let outcome = one(by, plan, sheet);
            sheet.contain(by, ALL, outcome);
        }
    }
    goals::forward(sheet, LONG_DOWN)
}

fn one(by: &'static str, plan: &Plan, sheet: &mut Sheet) -> Result<()> {
    let lab = Lab::new(by)?;
    {
        let (gateway, _pod) = lab.start(plan)?;
        sheet.contain(by, "warm-up", lab.server(plan)?.warm_up(&lab.pod));
        for (case, arguments) in [
            ("one stream up", &[][..]),
            ("one stream down", &["--reverse"][..]),
            ("four streams up", &["--parallel", "4"][..]),
            ("four streams down", &["--parallel", "4", "--reverse"][..]),
        ] {
            sheet.case(by, case, || lab.transfer(&gateway.daemon, plan, plan.seconds, arguments));
        }
    }
    sheet.case(by, LONG_DOWN, || {
        let _relay = lab.lengthen()?;
        let (gateway, _pod) = lab.start(plan)?;
        lab.transfer(&gateway.daemon, plan, LONG_SECONDS, &["--reverse"])
    });
    Ok(())
}

struct Lab {
    fabric: Fabric,
    by: &'static str,
    pod: Arc<Namespace>,
    gateway: Arc<Namespace>,
    server: Arc<Namespace>,
}

impl Lab {
    fn new(by: &'static str) -> Result<Self> {
        let host = || Ok::<_, anyhow::Error>(Arc::new(Namespace::new()?));
        let (pod, gateway, server) = (host()?, host()?, host()?);
        pod.join(&gateway)?;
        gateway.join_as(&server, "lan")?;
        for (host, address, name) in [
            (&pod, "10.200.0.1", "wire"),
            (&gateway, "10.200.0.2", "wire"),
            (&gateway, "10.50.0.1", "lan"),
            (&server, "10.50.0.2", "lan"),
        ] {
            host.ip(&format!("addr add {address}/24 dev {name}"))?;
        }
        // What a pod on a long way is set to: the window must hold what is under way.
        pod.run("sysctl", &["-qw", "net.ipv4.tcp_rmem=4096 131072 67108864"])?;
        server.run("sysctl", &["-qw", "net.ipv4.tcp_wmem=4096 16384 67108864"])?;
        let fabric = Fabric::new(&[IpAddr::V4(GATEWAY)], REST)?;
        let forwarding = format!("forwarding = \"{by}\"\nfabric = ");
        fabric.configure(0, &[("fabric = ", &forwarding)])?;
        Ok(Self { fabric, by, pod, gateway, server })
    }

    fn start(&self, plan: &Plan) -> Result<(fabric::Gateway, fabric::Member)> {
        let gateway = match self.by {
            "kernel" => self.fabric.start_admin(0, &self.gateway, &[])?,
            _ => self.fabric.start(0, &self.gateway)?,
        };
        let pod = self.fabric.machine_as(&self.pod, &self.fabric.token("gpu", &[])?, INTERFACE)?;
        let _server = self.server(plan)?;
        let reached = wait_for(Duration::from_secs(20), "way to the server", || {
            let to = (SERVER, 5201).into();
            Ok(self
                .pod
                .inside(move || Ok(std::net::TcpStream::connect_timeout(&to, Duration::from_secs(1))?))
                .ok())
        });
        reached.with_context(|| format!("gateway:\n{}\npod:\n{}", gateway.daemon.log(), pod.daemon.log()))?;
        Ok((gateway, pod))
    }

    /// Puts the long way between pods that enrol from now on and the gateway.
    fn lengthen(&self) -> Result<Relay> {
        let relay = Relay::start(&self.pod, (GATEWAY, fabric::UDP_PORT).into(), LONG)?;
        let (direct, long) =
            (format!("udp = \"{GATEWAY}:"), format!("udp = \"127.0.0.1:{}\" # ", relay.port()));
        let forwarding = format!("forwarding = \"{}\"\nfabric = ", self.by);
        self.fabric.configure(0, &[("fabric = ", &forwarding), (&direct, &long)])?;
        Ok(relay)
    }

    fn server(&self, plan: &Plan) -> Result<Server> {
        Server::start(&self.server, IpAddr::V4(SERVER), &plan.congestion)
    }

    fn transfer(&self, gateway: &Daemon, plan: &Plan, seconds: u64, arguments: &[&str]) -> Result<Figures> {
        let server = self.server(plan)?;
        let before = gateway.cpu()?;
        let transfer = server.client(&self.pod, seconds, arguments)?;
        let mut figures = transfer.figures(gateway.cpu()? - before);
        figures[0] = ("Mbit/s", transfer.gbits() * 1e3);
        Ok(figures)
    }
}
