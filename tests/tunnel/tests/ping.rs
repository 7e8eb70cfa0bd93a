//! `warren-tunnel ping` and `warren-tunnel netcheck` with real gateways and agents.
//!
//! ```text
//! pods --wires-- gateway 10.210.0.1 --lan-- service 10.240.0.2, 10.241.0.2
//!
//! pod --link0-- good gateway 10.210.0.1          netcheck
//!     --link1-- gateway 10.210.0.2, drops UDP
//!     --link2-- 10.210.0.3, where no gateway runs
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::IpAddr;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use warren_tunnel_tests::fabric::{By, Gateway, Member};
use warren_tunnel_tests::pod::unprivileged;
use warren_tunnel_tests::wire::drop_udp_over;
use warren_tunnel_tests::{Daemon, Fabric, Implementation, Namespace, wait_for};

const PATIENCE: Duration = Duration::from_secs(20);
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24", "fd00:100::/64"]
[[groups.gpu.allow]]
to = ["group:gpu", "10.240.0.0/24"]
protocols = ["icmp"]
[[groups.gpu.allow]]
to = ["10.241.0.0/24"]
ports = [80]
protocols = ["tcp"]
[limits]
requests_per_minute_and_source = 100000
"#;

/// The device of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Netstack,
    Namespace,
    Tun,
}

/// A host with an agent.
struct Pod {
    host: Arc<Namespace>,
    member: Member,
    device: On,
    interface: String,
}

struct Lab {
    fabric: Fabric,
    gateway: Arc<Namespace>,
    _service: Arc<Namespace>,
}

fn unique() -> u32 {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    COUNTER.fetch_add(1, Ordering::Relaxed)
}

impl Lab {
    fn new() -> Self {
        let [gateway, service] = [(); 2].map(|()| Arc::new(Namespace::new().unwrap()));
        gateway.ip("addr add 10.210.0.1/32 dev lo").unwrap();
        gateway.run("sysctl", &["-qw", "net.ipv4.icmp_ratelimit=0"]).unwrap();
        // For a gateway that forwards by sockets.
        gateway.run("sysctl", &["-qw", "net.ipv4.ping_group_range=0 2147483647"]).unwrap();
        gateway.join_as(&service, "lan").unwrap();
        for net in ["10.240.0", "10.241.0"] {
            gateway.ip(&format!("addr add {net}.1/24 dev lan")).unwrap();
            service.ip(&format!("addr add {net}.2/24 dev lan")).unwrap();
        }
        let fabric = Fabric::new(&["10.210.0.1".parse().unwrap()], REST).unwrap();
        Self { fabric, gateway, _service: service }
    }

    fn pod(&self, device: On) -> Pod {
        let number = unique();
        let (host, wire) = (Arc::new(Namespace::new().unwrap()), format!("pod{number}"));
        host.join_as(&self.gateway, &wire).unwrap();
        host.ip(&format!("addr add 10.220.{number}.1/24 dev {wire}")).unwrap();
        self.gateway.ip(&format!("addr add 10.220.{number}.2/24 dev {wire}")).unwrap();
        host.ip(&format!("route add default via 10.220.{number}.2")).unwrap();
        let token = self.fabric.token("gpu", &[]).unwrap();
        let interface = format!("pg{}x{number}", std::process::id() % 1_000_000);
        let start = |more: &[&str]| {
            let arguments = [&["--interface", &interface, "--http-proxy", "off", "--socks5", "off"], more];
            self.fabric.pod(&host, &token, &arguments.concat()).unwrap()
        };
        let member = match device {
            On::Netstack => start(&[]),
            On::Namespace => start(&["--device", "userns"]),
            On::Tun => self.fabric.machine_as(&host, &token, &interface).unwrap(),
        };
        Pod { host, member, device, interface }
    }
}

impl Pod {
    /// A command of ours beside its agent, as the same user.
    fn command(&self, arguments: &[&str]) -> Command {
        let program = Implementation::WarrenTunnel.path().unwrap();
        let mut command = if self.device == On::Tun {
            let mut command = self.host.command(program);
            command.env("XDG_RUNTIME_DIR", self.member.home.path());
            command
        } else {
            unprivileged(&self.host, self.member.home.path(), &program)
        };
        command.args(arguments);
        command
    }

    /// The exit code of a `ping` from it, and what it printed.
    fn ping(&self, arguments: &[&str]) -> (i32, String, String) {
        let all = [&["ping", "--interface", &self.interface], arguments].concat();
        said(&self.command(&all).output().unwrap())
    }

    fn v6(&self) -> String {
        let output =
            self.command(&["status", &self.interface, "--json", "--interval", "0"]).output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = status[0]["addresses"].as_array().unwrap();
        let mut found = all.iter().filter_map(|address| address.as_str()?.strip_suffix("/128"));
        found.next().unwrap().to_owned()
    }

    fn name(&self) -> String {
        format!("{}.gpu.warren.internal", self.host.name())
    }
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn ping_from(pod: &Pod, other: &Pod, gateway: &Gateway, by: By) {
    let context = |said: &(i32, String, String)| {
        format!("{by:?} {:?}: {said:?}\n{}\n{}", pod.device, pod.member.daemon.log(), gateway.daemon.log())
    };
    // Another pod by its name, in short intervals.
    let name = other.name();
    let got = pod.ping(&[&name, "-c", "3", "-i", "0.1"]);
    assert_eq!(got.0, 0, "{}", context(&got));
    let lines: Vec<&str> = got.1.lines().collect();
    assert!(lines[0].starts_with(&format!("PING {name} (10.100.0.")), "{}", context(&got));
    assert!(lines[0].contains("through gw-0 (10.210.0.1:51820, udp)"), "{}", context(&got));
    assert!(lines[1].starts_with("64 bytes from 10.100.0."), "{}", context(&got));
    assert!(got.1.contains("3 sent, 3 answered, 0 % lost"), "{}", context(&got));
    assert!(got.1.contains("min/avg/max/mdev"), "{}", context(&got));

    // The same pod by its IPv6 address.
    let got = pod.ping(&[&other.v6(), "-c", "1"]);
    assert_eq!(got.0, 0, "{}", context(&got));
    assert!(got.1.contains("64 bytes from fd00:100::"), "{}", context(&got));

    // A host behind the gateway, with the largest packets, as JSON.
    let got = pod.ping(&["10.240.0.2", "-c", "2", "-i", "0.1", "-s", "1392", "--json"]);
    assert_eq!(got.0, 0, "{}", context(&got));
    let lines: Vec<Value> = got.1.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{}", context(&got));
    assert_eq!(lines[0]["result"], "answered", "{}", context(&got));
    assert!(lines[0]["milliseconds"].as_f64().unwrap() > 0.0, "{}", context(&got));
    assert_eq!(lines[0]["gateway"]["name"], "gw-0", "{}", context(&got));
    assert_eq!(lines[2]["summary"]["answered"], 2, "{}", context(&got));

    // A destination whose rule is about TCP.
    let got = pod.ping(&["10.241.0.2", "-c", "2", "-i", "0.1"]);
    assert_eq!(got.0, 1, "{}", context(&got));
    assert!(got.1.contains("seq=1 administratively prohibited (ICMP code 13)"), "{}", context(&got));
    assert_eq!(got.1.matches("hint: ").count(), 1, "{}", context(&got));
    assert!(got.1.contains("2 sent, 0 answered, 100 % lost"), "{}", context(&got));

    // A name that no pod has, an address that no peer has, and a packet that is too large.
    for (arguments, part) in [
        (&["nobody.gpu.warren.internal"][..], "cannot resolve nobody.gpu.warren.internal: no such name"),
        (&["192.0.2.1"], "the tunnel has no route to 192.0.2.1"),
        (&["10.240.0.2", "-s", "1393"], "does not fit into a packet of the tunnel, whose MTU is 1420"),
    ] {
        let got = pod.ping(arguments);
        assert_eq!(got.0, 2, "{arguments:?}\n{}", context(&got));
        assert!(got.2.contains(part) && got.2.contains("hint: "), "{arguments:?}\n{}", context(&got));
        assert_eq!(got.1, "", "{arguments:?}");
    }
}

/// Both ways to forward at once, and agents with every device.
#[test]
fn pings_reach_pods_and_hosts_through_the_tunnel_of_any_agent() {
    let both = [By::User, By::Kernel].map(|by| {
        thread::spawn(move || {
            let lab = Lab::new();
            let gateway = lab.fabric.start_by(by, 0, &lab.gateway).unwrap();
            let devices: &[On] =
                if by == By::User { &[On::Netstack, On::Namespace, On::Tun] } else { &[On::Netstack] };
            let pods: Vec<Pod> = devices.iter().map(|device| lab.pod(*device)).collect();
            let other = lab.pod(On::Netstack);
            for pod in &pods {
                ping_from(pod, &other, &gateway, by);
            }
            if by == By::User {
                ends_with_a_summary(&pods[0], &gateway);
            }
        })
    });
    let failed: Vec<bool> = both.map(|thread| thread.join().is_err()).into();
    assert_eq!(failed, [false, false]);
}

/// Ctrl-C prints the summary; a gateway that has gone is a loss.
fn ends_with_a_summary(pod: &Pod, gateway: &Gateway) {
    let ping = |arguments: &[&str]| {
        let all = [&["ping", "--interface", &pod.interface], arguments].concat();
        Daemon::start(&mut pod.command(&all)).unwrap()
    };
    let mut endless = ping(&["10.240.0.2", "--interval", "0.1"]);
    wait_for(PATIENCE, "answers", || Ok(endless.log().contains("seq=3 ").then_some(()))).unwrap();
    endless.signal(Signal::INT).unwrap();
    let status = wait_for(PATIENCE, "end", || endless.ended()).unwrap();
    assert_eq!(status.code(), Some(0), "{}", endless.log());
    assert!(endless.log().contains("0 % lost") && endless.log().contains("mdev"), "{}", endless.log());

    gateway.daemon.signal(Signal::STOP).unwrap();
    let got = pod.ping(&["10.240.0.2", "-c", "2", "-i", "0.1", "-W", "0.5"]);
    gateway.daemon.signal(Signal::CONT).unwrap();
    assert_eq!(got.0, 1, "{got:?}");
    assert!(got.1.contains("no answer from 10.240.0.2: seq=1 within 0.5 s"), "{got:?}");
    assert!(got.1.contains("2 sent, 0 answered, 100 % lost"), "{got:?}");
}

#[test]
fn a_ping_without_an_agent_or_with_wrong_arguments_sends_nothing() {
    let host = Namespace::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let program = Implementation::WarrenTunnel.path().unwrap();
    for (arguments, part) in [
        (&["ping", "10.0.0.1", "--interface", "nosuch0"][..], "no agent is running for interface nosuch0"),
        (&["ping", "10.0.0.1", "-i", "0.01"], "write seconds from 0.1 to 3600"),
        (&["netcheck", "nosuch0"], "no agent is running for interface nosuch0"),
        (&["netcheck", "--count", "0"], "0 is not in 1..=20"),
    ] {
        let output =
            host.command(&program).args(arguments).env("XDG_RUNTIME_DIR", home.path()).output().unwrap();
        let got = said(&output);
        assert_eq!(got.0, 2, "{arguments:?}: {got:?}");
        assert!(got.2.contains(part), "{arguments:?}: {got:?}");
    }
}

/// A gateway that answers, one that drops UDP, and one that is dead: by a token, and by an agent that runs.
#[test]
fn netcheck_tells_the_gateways_apart() {
    let pod = Arc::new(Namespace::new().unwrap());
    let hosts = [(); 3].map(|()| Arc::new(Namespace::new().unwrap()));
    let addresses: Vec<IpAddr> = (1..=3).map(|last| IpAddr::from([10, 210, 0, last])).collect();
    for (index, (host, address)) in hosts.iter().zip(&addresses).enumerate() {
        let wire = format!("link{index}");
        pod.join_as(host, &wire).unwrap();
        pod.ip(&format!("addr add 10.221.{index}.1/24 dev {wire}")).unwrap();
        host.ip(&format!("addr add 10.221.{index}.2/24 dev {wire}")).unwrap();
        host.ip(&format!("addr add {address}/32 dev lo")).unwrap();
        pod.ip(&format!("route add {address} via 10.221.{index}.2")).unwrap();
    }
    drop_udp_over(&hosts[1], "link1").unwrap();
    pod.ip("link set link0 mtu 1400").unwrap();
    let fabric = Fabric::new(&addresses, REST).unwrap();
    let running = [0, 1].map(|index| fabric.start(index, &hosts[index]).unwrap());
    let token = fabric.token("gpu", &[]).unwrap();

    let home = fabric.home_of_pod().unwrap();
    let program = Implementation::WarrenTunnel.path().unwrap();
    let ours = |home: &std::path::Path, arguments: &[&str], token: Option<&str>| {
        let mut command = unprivileged(&pod, home, &program);
        command.args(arguments).envs(token.map(|token| ("WARREN_TOKEN", token)));
        said(&command.output().unwrap())
    };
    let netcheck = ["netcheck", "--count", "3", "--timeout", "1", "--json"];
    let logs = || format!("{}\n{}", running[0].daemon.log(), running[1].daemon.log());
    let got = ours(home.path(), &netcheck, Some(&token));
    assert_eq!(got.0, 1, "{got:?}\n{}", logs());
    let report: Value = serde_json::from_str(&got.1).unwrap();
    let paths: Vec<(bool, bool)> = (0..3)
        .map(|index| {
            let gateway = &report["gateways"][index];
            assert_eq!(gateway["name"], format!("gw-{index}"), "{report:#}");
            (gateway["udp"]["answers"].as_bool().unwrap(), gateway["tls"]["answers"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(paths, [(true, true), (false, true), (false, false)], "{report:#}\n{}", logs());
    let [good, filtered, dead] = [0, 1, 2].map(|index| &report["gateways"][index]);
    assert_eq!((&report["source"], &report["udp"]), (&"token".into(), &"works".into()), "{report:#}");
    for carrier in ["udp", "tls"] {
        let path = &good[carrier];
        assert_eq!((&path["sent"], &path["answered"]), (&3.into(), &3.into()), "{report:#}");
        let figures = ["min_ms", "median_ms", "max_ms"].map(|name| path[name].as_f64().unwrap());
        assert!(figures.is_sorted() && figures[0] > 0.0 && figures[2] < 1000.0, "{report:#}");
        assert!(path["jitter_ms"].is_f64() && path["loss"] == 0.0 && path["reason"].is_null(), "{report:#}");
    }
    let reason = |path: &Value| path["reason"].as_str().unwrap().to_owned();
    assert!(reason(&filtered["udp"]).contains("answers over TLS: UDP is dropped"), "{report:#}");
    assert_eq!(filtered["carrier"], "tls", "{report:#}");
    // Nothing listens there, which the host reports.
    assert!(reason(&dead["udp"]).contains("nothing listens on this port"), "{report:#}");
    assert!(reason(&dead["tls"]).contains("cannot connect to 10.210.0.3:4433"), "{report:#}");
    assert!(dead["carrier"].is_null(), "{report:#}");
    // The path to the first gateway is narrow.
    assert_eq!(good["mtu"]["path"], 1400, "{report:#}");
    assert_eq!((&good["mtu"]["full_packets"], &good["mtu"]["fits"]), (&false.into(), &1320.into()));
    assert_eq!(filtered["mtu"]["full_packets"], true, "{report:#}");
    let candidates = &report["selection"]["candidates"];
    assert_eq!(candidates, &serde_json::json!(["gw-0", "gw-1"]), "{report:#}");

    // `doctor` measures by the same means.
    let doctor = ours(home.path(), &["doctor", "--json"], Some(&token));
    let findings: Value = serde_json::from_str(&doctor.1).unwrap();
    let seen: Vec<&str> = findings["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["check"].as_str().unwrap().starts_with("gateway over"))
        .map(|finding| finding["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(seen, ["ok", "ok", "ok", "limited", "missing", "limited"], "{}", doctor.1);

    // An agent that runs shows which gateway it uses; the text names it.
    let agent = fabric.pod(&pod, &token, &["--http-proxy", "off", "--socks5", "off"]).unwrap();
    let got = ours(agent.home.path(), &["netcheck", "--count", "2", "--timeout", "1"], None);
    assert_eq!(got.0, 1, "{got:?}");
    let log = agent.daemon.log();
    let enrolled = if log.contains("gateway=gw-0") { "gw-0" } else { "gw-1" };
    assert!(
        got.1.contains(&format!("Selection: the agent of warren0 uses {enrolled} over ")),
        "{got:?}\n{log}"
    );
    assert!(got.1.contains("UDP: works"), "{got:?}");

    // Where nothing but UDP is dropped.
    drop_all(&hosts[0]);
    let got = ours(home.path(), &netcheck, Some(&token));
    let report: Value = serde_json::from_str(&got.1).unwrap();
    assert_eq!((got.0, &report["udp"]), (1, &"blocked".into()), "{report:#}");
    assert_eq!(report["gateways"][0]["carrier"], "tls", "{report:#}");
}

fn drop_all(host: &Namespace) {
    let rules = "add table inet lab; add chain inet lab in { type filter hook input priority 0; }; \
                 add rule inet lab in meta l4proto udp drop";
    host.run("nft", &[rules]).unwrap();
}
