//! A pod with a resolver of its own, a gateway, and a network with real name servers behind it.
//!
//! ```text
//! public 10.201.0.2 --home-- pod 10.200.0.1 --wire-- 10.200.0.2 gateway 10.50.0.1 --lan-- 10.50.0.2 inside
//! dnsmasq, web                                       10.100.0.1: DNS              --lan-- 169.254.169.254
//! ```
//! `inside` answers for example.org and googleapis.com, `public` for everything: what it is asked is seen.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warren_tunnel_tests::dns::dnsmasq;
pub(crate) use warren_tunnel_tests::fabric::By;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::{Daemon, Fabric, Namespace, program, web};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
/// Where the gateway answers.
pub(crate) const SERVER: &str = "10.100.0.1";
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[[dns.zones]]
domains = ["example.org"]
resolvers = ["10.50.0.2"]
[[dns.zones]]
domains = ["googleapis.com"]
resolvers = ["169.254.169.254"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.2/32", "169.254.0.0/16"]
protocols = ["tcp"]
ports = ["8000-8999", 53]
[limits]
requests_per_minute_and_source = 100000
"#;

pub(crate) struct Lab {
    pub(crate) by: By,
    pub(crate) fabric: Fabric,
    pub(crate) pod: Arc<Namespace>,
    pub(crate) gateway: Arc<Namespace>,
    pub(crate) inside: Arc<Namespace>,
    pub(crate) resolver: Daemon,
    pub(crate) own: Daemon,
    _public: Arc<Namespace>,
}

impl Lab {
    pub(crate) fn new(by: By) -> Self {
        let [pod, gateway, inside, public] = [(); 4].map(|()| Arc::new(Namespace::new().unwrap()));
        pod.join(&gateway).unwrap();
        gateway.join_as(&inside, "lan").unwrap();
        pod.join_as(&public, "home").unwrap();
        for (host, address, name) in [
            (&pod, "10.200.0.1/24", "wire"),
            (&pod, "10.201.0.1/24", "home"),
            (&public, "10.201.0.2/24", "home"),
            (&gateway, "10.200.0.2/24", "wire"),
            (&gateway, "10.50.0.1/24", "lan"),
            (&inside, "10.50.0.2/24", "lan"),
            (&inside, "169.254.169.254/32", "lan"),
        ] {
            host.ip(&format!("addr add {address} dev {name}")).unwrap();
        }
        gateway.ip("route add 169.254.169.254/32 via 10.50.0.2").unwrap();
        // It would reach the gateway's overlay address, if that were anybody's.
        inside.ip("route add 10.100.0.0/24 via 10.50.0.1").unwrap();
        pod.resolver("nameserver 10.201.0.2\noptions attempts:1 timeout:2\n").unwrap();
        web::serve(&inside, "10.50.0.2".parse().unwrap(), "private").unwrap();
        web::serve(&public, "10.201.0.2".parse().unwrap(), "public").unwrap();
        let long = format!("long.example.org,{}", vec!["x".repeat(250); 8].join(","));
        let resolver = dnsmasq(
            &inside,
            &[
                "--listen-address=10.50.0.2,169.254.169.254",
                "--address=/example.org/10.50.0.2",
                "--address=/googleapis.com/10.50.0.2",
                "--address=/other.test/10.50.0.2",
                &format!("--txt-record={long}"),
            ],
        )
        .unwrap();
        let own = dnsmasq(&public, &["--listen-address=10.201.0.2", "--address=/#/10.201.0.2"]).unwrap();
        let fabric = Fabric::new(&[GATEWAY], REST).unwrap();
        Self { by, fabric, pod, gateway, inside, resolver, own, _public: public }
    }

    pub(crate) fn start(&self) -> Gateway {
        self.fabric.start_by(self.by, 0, &self.gateway).unwrap()
    }

    /// An agent without privileges: programs use its proxies.
    pub(crate) fn agent(&self) -> Member {
        let token = self.fabric.token("gpu", &[]).unwrap();
        self.fabric.pod(&self.pod, &token, &[]).unwrap()
    }

    /// An agent with an interface.
    pub(crate) fn machine(&self) -> Member {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let interface =
            format!("nm{}x{}", std::process::id() % 1_000_000, COUNTER.fetch_add(1, Ordering::Relaxed));
        let token = self.fabric.token("gpu", &[]).unwrap();
        self.fabric.machine_as(&self.pod, &token, &interface).unwrap()
    }

    /// What a program in the pod gets from a web server, by this proxy or without one; or why it gets nothing.
    pub(crate) fn curl(&self, proxy: Option<&str>, url: &str) -> Result<String, String> {
        let mut command = self.pod.command(program("curl").unwrap());
        command.args(["--silent", "--show-error", "--fail-with-body", "--max-time", "25"]);
        match proxy {
            Some(proxy) => command.args(["--proxy", proxy]),
            None => command.args(["--noproxy", "*"]),
        };
        let output = command.arg(url).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(format!("{} {}", text(&output.stderr), text(&output.stdout)))
        }
    }
}
