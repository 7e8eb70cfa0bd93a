//! A gateway that forwards in the kernel, with nftables, for pods on a long and lossy path.
//!
//! ```text
//! pod 10.200.0.1 ---wire, 20 ms, 1 % lost or duplicated, 5 % early--- 10.200.0.2 gateway 10.50.0.1 ---lan--- 10.50.0.2 server
//! ```

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::{Fabric, Namespace, wait_for};

use crate::{Case, case, same};

pub(crate) const CASES: &[Case] = &[
    case("kernel forwarding for a pod with the kernel device", || forwards("kernel")),
    case("kernel forwarding for a pod with the tun device", || forwards("tun")),
    case("kernel forwarding denies by default", denies),
    case("a gateway that ends or is killed leaves nothing open", ends),
];

const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
const SERVER: &str = "10.50.0.2";
const FILE: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.2/32"]
ports = ["8000-8100"]
protocols = ["tcp", "udp"]
[[groups.gpu.allow]]
to = ["10.50.0.2/32"]
protocols = ["icmp"]
[groups.none]
"#;

/// Bytes of a stream, each way.
const LENGTH: u64 = 2_000_000;

struct Lab {
    fabric: Fabric,
    pod: Arc<Namespace>,
    gateway: Arc<Namespace>,
    server: Arc<Namespace>,
}

impl Lab {
    fn new() -> Result<Lab> {
        let [pod, gateway, server] = [Namespace::new()?, Namespace::new()?, Namespace::new()?].map(Arc::new);
        pod.join(&gateway)?;
        gateway.join_as(&server, "lan")?;
        pod.ip("address add 10.200.0.1/24 dev wire")?;
        gateway.ip("address add 10.200.0.2/24 dev wire")?;
        gateway.ip("address add 10.50.0.1/24 dev lan")?;
        server.ip(&format!("address add {SERVER}/24 dev lan"))?;
        // A host of the hub that knows the way to pods.
        server.ip("route add 10.100.0.0/24 via 10.50.0.1")?;
        for host in [&pod, &gateway] {
            let queue = "qdisc add dev wire root netem delay 20ms 2ms loss 1% duplicate 1% reorder 5% 50%";
            host.run("tc", &queue.split(' ').collect::<Vec<_>>())?;
        }
        let fabric =
            Fabric::new(&[GATEWAY], &format!("{FILE}\n[limits]\nrequests_per_minute_and_source = 10000\n"))?;
        fabric.configure(0, &[("fabric = ", "forwarding = \"kernel\"\nfabric = ")])?;
        Ok(Lab { fabric, pod, gateway, server })
    }

    fn start(&self) -> Result<Gateway> {
        self.fabric.start_admin(0, &self.gateway, &[])
    }

    fn member(&self, group: &str, device: &str) -> Result<Member> {
        self.fabric.machine_on(&self.pod, &self.fabric.token(group, &[])?, &format!("vm-{device}"), device)
    }

    /// Counts the packets from pods that reach the server: those that rules allow, and others.
    fn count(&self) -> Result<()> {
        let rules = "add table inet lab
            add counter inet lab allowed
            add counter inet lab denied
            add chain inet lab in { type filter hook prerouting priority -300; }
            add rule inet lab in iifname lan tcp dport 8000-8100 counter name allowed accept
            add rule inet lab in iifname lan udp dport 8000-8100 counter name allowed accept
            add rule inet lab in iifname lan icmp type echo-request counter name allowed accept
            add rule inet lab in iifname lan meta l4proto { 6, 17 } counter name denied";
        for rule in rules.lines() {
            self.server.run("nft", &[rule.trim()])?;
        }
        Ok(())
    }

    fn counted(&self, name: &str) -> Result<u64> {
        let text = self.server.run("nft", &["list", "counter", "inet", "lab", name])?;
        let number = text.split("packets ").nth(1).and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse().ok()).with_context(|| format!("no number in {text}"))
    }

    fn answers(&self) -> Result<()> {
        wait_for(Duration::from_secs(30), "answer of the server", || {
            Ok(self.pod.run("ping", &["-c1", "-W2", SERVER]).is_ok().then_some(()))
        })
    }

    /// What comes of a connection from the pod.
    fn connect(&self, port: u16) -> Result<()> {
        let to: SocketAddr = format!("{SERVER}:{port}").parse()?;
        self.pod.inside(move || Ok(TcpStream::connect_timeout(&to, Duration::from_secs(4))?)).map(drop)
    }
}

fn forwards(device: &str) -> Result<()> {
    let lab = Lab::new()?;
    let gateway = lab.start()?;
    let member = lab.member("gpu", device)?;
    let detail = || format!("pod's log:\n{}\ngateway's log:\n{}", member.daemon.log(), gateway.daemon.log());
    lab.answers().with_context(detail)?;
    same("forwarding", &gateway.status()?["forward"].as_str(), &Some("kernel"))?;
    let at: SocketAddr = format!("{SERVER}:8001").parse()?;
    for up in [true, false] {
        let start = if up { Stream::upload } else { Stream::download };
        let stream = start((&lab.pod, at), (&lab.server, at), LENGTH)?;
        stream.finish().with_context(|| format!("{}\n{}", if up { "up" } else { "down" }, detail()))?;
    }
    // The path is as long and lossy as it was made.
    let text = lab.gateway.run("tc", &["-s", "qdisc", "show", "dev", "wire"])?;
    let dropped = text.split("(dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
    ensure!(dropped != "0", "the path lost nothing:\n{text}");
    let figures = gateway.status()?["figures"].take();
    for figure in ["tcp", "echo", "bytes_out", "bytes_in"] {
        ensure!(figures[figure].as_u64() > Some(0), "{figure} is 0: {figures}");
    }
    Ok(())
}

/// What no rule allows does not arrive: packets are counted at the server, before its own rules.
fn denies() -> Result<()> {
    let lab = Lab::new()?;
    let gateway = lab.start()?;
    let listeners = [22_u16, 8001].map(|port| {
        lab.server.inside(move || Ok(std::net::TcpListener::bind((Ipv4Addr::new(10, 50, 0, 2), port))?))
    });
    ensure!(listeners.iter().all(Result::is_ok), "the server does not listen");
    lab.count()?;

    let nobody = lab.member("none", "kernel")?;
    for port in [22, 8001] {
        ensure!(lab.connect(port).is_err(), "a group without rules reaches port {port}");
    }
    ensure!(lab.pod.run("ping", &["-c2", "-W2", SERVER]).is_err(), "a group without rules is answered");
    same("packets of a group without rules", &(lab.counted("allowed")?, lab.counted("denied")?), &(0, 0))?;
    drop(nobody);

    lab.pod.ip("link del vm-kernel").ok();
    let member = lab.member("gpu", "kernel")?;
    lab.answers().with_context(|| member.daemon.log())?;
    lab.connect(8001).context("an allowed port")?;
    let error = lab.connect(22).err().context("a denied port answers")?;
    ensure!(lab.counted("allowed")? > 0, "no allowed packet was counted");
    same("denied packets", &lab.counted("denied")?, &0).with_context(|| format!("{error:#}"))?;

    // A host cannot open a connection to a pod.
    let address = lab.pod.ip("-4 -brief address show dev vm-kernel")?;
    let address = address.split_whitespace().nth(2).and_then(|text| text.split('/').next());
    let address = address.context("the pod has no address")?.to_owned();
    ensure!(lab.server.run("ping", &["-c2", "-W2", &address]).is_err(), "the server reaches the pod");
    ensure!(gateway.status()?["figures"]["denied"].as_u64() > Some(0), "no denial is counted");
    Ok(())
}

fn ends() -> Result<()> {
    let lab = Lab::new()?;
    let tables = || lab.gateway.run("nft", &["list", "tables"]);
    let forward = || lab.gateway.run("sysctl", &["-n", "net.ipv4.ip_forward"]);
    let mut gateway = lab.start()?;
    let _member = lab.member("gpu", "kernel")?;
    lab.answers()?;
    same("forwarding", &forward()?.trim(), &"1")?;
    gateway.daemon.kill()?;
    ensure!(tables()?.contains("warren-gw-0"), "a killed gateway's rules are gone");
    let mut gateway = lab.start()?;
    ensure!(gateway.daemon.log().contains("did not end cleanly"), "{}", gateway.daemon.log());
    lab.answers().with_context(|| gateway.daemon.log())?;
    ensure!(gateway.daemon.terminate()?.success(), "{}", gateway.daemon.log());
    same("rules", &tables()?.as_str(), &"")?;
    same("forwarding", &forward()?.trim(), &"0")
}
