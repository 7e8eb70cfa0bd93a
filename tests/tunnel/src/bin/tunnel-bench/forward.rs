//! A gateway's two ways to forward, side by side: by the kernel, and by sockets that split TCP.
//!
//! ```text
//! pod (interface, Linux's TCP) ---wire or long way--- gateway ---lan--- iperf3 server (CUBIC)
//! ```

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use warren_tunnel_tests::{Daemon, Fabric, Impairment, Namespace, Relay, fabric, wait_for};

use crate::figures::{cell, median, table};
use crate::iperf::Server;

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 2);
/// Of the pod, which lives in one folder with those of other labs.
const INTERFACE: &str = "fwdbench";
/// The long path, on which the server's CUBIC is slow.
const LONG: Impairment = Impairment { delay: Duration::from_millis(40), rate: 1_000, loss: 0.001 };
/// A stream over the long way needs time to find its rate.
const LONG_SECONDS: u64 = 20;
/// The goal of the split, times the kernel's.
const GOAL: f64 = 10.0;
const REST: &str = "STORE\n[pool]\nprefixes = [\"10.100.0.0/24\"]\n[groups.gpu]\n[[groups.gpu.allow]]\nto = [\"10.50.0.0/24\"]\n";

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) seconds: u64,
}

/// Figures by what was measured.
type Figures = BTreeMap<&'static str, Vec<f64>>;

pub(crate) fn measure(plan: &Plan) -> Result<Value> {
    let mut results: BTreeMap<&str, Figures> = BTreeMap::new();
    for run in 1..=plan.runs {
        for by in ["kernel", "user"] {
            eprintln!("run {run} of {}: {by}", plan.runs);
            one(by, plan, results.entry(by).or_default())?;
        }
    }
    print(&results);
    Ok(json!(results))
}

fn one(by: &str, plan: &Plan, figures: &mut Figures) -> Result<()> {
    let lab = Lab::new(by)?;
    {
        let (gateway, _pod) = lab.start()?;
        for (name, cpu, arguments) in [
            ("one stream up, Mbit/s", "one stream up, CPU s/GB", &[][..]),
            ("one stream down, Mbit/s", "one stream down, CPU s/GB", &["--reverse"][..]),
            ("four streams up, Mbit/s", "four streams up, CPU s/GB", &["--parallel", "4"][..]),
            (
                "four streams down, Mbit/s",
                "four streams down, CPU s/GB",
                &["--parallel", "4", "--reverse"][..],
            ),
        ] {
            lab.transfer(&gateway.daemon, plan.seconds, arguments, (name, cpu), figures)?;
        }
    }
    let _relay = lab.lengthen()?;
    let (gateway, _pod) = lab.start()?;
    let names = ("long path, one stream down, Mbit/s", "long path, one stream down, CPU s/GB");
    lab.transfer(&gateway.daemon, LONG_SECONDS, &["--reverse"], names, figures)
}

struct Lab {
    fabric: Fabric,
    by: &'static str,
    pod: Arc<Namespace>,
    gateway: Arc<Namespace>,
    /// Is there as long as what runs in it.
    _server: Arc<Namespace>,
    iperf: Server,
}

impl Lab {
    fn new(by: &str) -> Result<Self> {
        let by = if by == "kernel" { "kernel" } else { "user" };
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
        let iperf = Server::start(&server, IpAddr::V4(SERVER))?;
        Ok(Self { fabric, by, pod, gateway, _server: server, iperf })
    }

    fn start(&self) -> Result<(fabric::Gateway, fabric::Member)> {
        let gateway = match self.by {
            "kernel" => self.fabric.start_admin(0, &self.gateway, &[])?,
            _ => self.fabric.start(0, &self.gateway)?,
        };
        let pod = self.fabric.machine_as(&self.pod, &self.fabric.token("gpu", &[])?, INTERFACE)?;
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

    fn transfer(
        &self,
        gateway: &Daemon,
        seconds: u64,
        arguments: &[&str],
        (name, cpu): (&'static str, &'static str),
        figures: &mut Figures,
    ) -> Result<()> {
        let before = gateway.cpu()?;
        let end = self.iperf.client(&self.pod, seconds, &[&["--congestion", "cubic"], arguments].concat())?;
        let used = gateway.cpu()? - before;
        let number = |path: &str| end.pointer(path).and_then(Value::as_f64).unwrap_or_default();
        let bytes = number("/sum_received/bytes");
        let mbits = bytes * 8e-6 / number("/sum_received/seconds").max(0.001);
        eprintln!("  {name}: {mbits:.0}");
        figures.entry(name).or_default().push(mbits);
        figures.entry(cpu).or_default().push(used / (bytes / 1e9).max(1e-9));
        Ok(())
    }
}

fn print(results: &BTreeMap<&str, Figures>) {
    let of = |by: &str, what: &str| median(results.get(by)?.get(what)?.iter().copied());
    let mut names: Vec<&str> = results.values().flat_map(BTreeMap::keys).copied().collect();
    names.sort_unstable();
    names.dedup();
    println!(
        "\nMedians. CPU seconds are those of the gateway's process for 10^9 bytes, without the kernel's own forwarding\n"
    );
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|name| {
            let decimals = if name.ends_with("s/GB") { 2 } else { 0 };
            let (kernel, user) = (of("kernel", name), of("user", name));
            let ratio = kernel.zip(user).map(|(kernel, user)| user / kernel);
            vec![(*name).to_owned(), cell(kernel, decimals), cell(user, decimals), cell(ratio, 2)]
        })
        .collect();
    table(&["", "kernel", "user", "user / kernel"], &rows);
    if let Some((kernel, user)) = of("kernel", "long path, one stream down, Mbit/s")
        .zip(of("user", "long path, one stream down, Mbit/s"))
    {
        let met = if user >= GOAL * kernel { "met" } else { "missed" };
        println!(
            "\ngoal: over the long path at least {GOAL} times the kernel's: {:.1}, {met}",
            user / kernel
        );
    }
}
