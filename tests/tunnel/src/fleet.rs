//! Several gateways over a real etcd, a server behind them, and pods whose programs ask it again and again.
//!
//! ```text
//! pods 10.200.1.1 --+             +-- 10.50.0.2 server
//!                   +-- bridge ---+-- 10.50.0.9 etcd
//! gateways 10.200.0.1x, 10.50.0.1x
//! ```
//! Pods have no address in 10.50.0.0/24 and no route there.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::fabric::{Gateway, Member};
use crate::{Daemon, Fabric, Namespace, program, wait_for};

/// What pods of group `gpu` may reach, and where leases are kept.
const REST: &str = r#"
[store.etcd]
endpoints = ["http://10.50.0.9:2379"]
[pool]
prefixes = ["10.100.0.0/16"]
[lease]
ttl = "4m"
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.2/32"]
protocols = ["tcp"]
[limits]
requests_per_minute_and_source = 100000
"#;
/// Where etcd is for its clients.
const ETCD: &str = "http://10.50.0.9:2379";
/// What all records of leases begin with.
const RECORDS: &str = "/warren/lab/record/";
/// Where the pods are.
const PODS: &str = "10.200.1.1";
/// The first of the pods' proxies; each has a port of its own.
const PROXIES: u16 = 20_000;
/// Between two questions of a program.
const PAUSE: Duration = Duration::from_millis(150);
/// A program that waits for longer has met a trouble, not a slow machine.
const FELT: u64 = 900;

/// The hosts, with etcd and the server at work; gateways and pods are started by the caller.
#[derive(Debug)]
pub struct Fleet {
    /// Keys and files of the gateways.
    pub fabric: Fabric,
    /// The store.
    pub etcd: Daemon,
    /// The host of all pods.
    pub pods: Arc<Namespace>,
    /// The server behind the gateways, 10.50.0.2.
    pub server: Arc<Namespace>,
    gateways: Vec<Arc<Namespace>>,
    _bridge: Arc<Namespace>,
    store: Arc<Namespace>,
    _data: TempDir,
}

impl Fleet {
    /// Hosts for so many gateways, at most ten.
    ///
    /// # Errors
    /// This process may not make namespaces, or etcd is missing.
    pub fn new(count: u8) -> Result<Fleet> {
        Self::with(count, "")
    }

    /// The same, with more text in the gateways' files.
    ///
    /// # Errors
    /// As [`Fleet::new`].
    pub fn with(count: u8, more: &str) -> Result<Fleet> {
        let bridge = Arc::new(Namespace::new()?);
        bridge.ip("link add br0 type bridge")?;
        bridge.ip("link set br0 up")?;
        let mut number = 0;
        let mut host = |addresses: &[String]| {
            let host = Arc::new(Namespace::new()?);
            let port = format!("port{number}");
            number += 1;
            host.ip(&format!("link add wire type veth peer name {port} netns {}", bridge.name()))?;
            bridge.ip(&format!("link set {port} master br0 up"))?;
            host.ip("link set wire up")?;
            for address in addresses {
                host.ip(&format!("addr add {address} dev wire"))?;
            }
            Ok::<_, anyhow::Error>(host)
        };
        let pods = host(&[format!("{PODS}/16")])?;
        let server = host(&["10.50.0.2/24".into()])?;
        let store = host(&["10.50.0.9/24".into()])?;
        let gateways = (0..count)
            .map(|index| host(&[format!("{}/16", address(index)), format!("10.50.0.1{index}/24")]))
            .collect::<Result<Vec<_>>>()?;
        serve(&server)?;
        let data = tempfile::tempdir()?;
        let etcd = etcd(&store, &data)?;
        let addresses: Vec<IpAddr> = (0..count).map(|index| address(index).into()).collect();
        let fabric = Fabric::new(&addresses, &format!("{REST}{more}"))?;
        Ok(Fleet { fabric, etcd, pods, server, gateways, _bridge: bridge, store, _data: data })
    }

    /// Starts a gateway.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn gateway(&self, index: usize) -> Result<Gateway> {
        self.fabric.start(index, &self.gateways[index])
    }

    /// Starts a gateway whose packets the kernel forwards.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn admin_gateway(&self, index: usize) -> Result<Gateway> {
        self.fabric.start_admin(index, self.gateway_host(index), &[])
    }

    /// The host of a gateway.
    pub fn gateway_host(&self, index: usize) -> &Arc<Namespace> {
        &self.gateways[index]
    }

    /// Starts an agent with a proxy of its own.
    ///
    /// # Errors
    /// It is not let in; the error has its log.
    pub fn pod(&self, number: u16, token: &str) -> Result<Member> {
        let proxy = proxy(number).to_string();
        let name = format!("pod{number}");
        let arguments = ["--http-proxy", &proxy, "--socks5", "off", "--interface", &name];
        self.fabric.pod(&self.pods, token, &arguments)
    }

    /// A program in a pod.
    ///
    /// # Errors
    /// The pods' host is gone.
    pub fn asker(&self, number: u16) -> Result<Asker> {
        Asker::start(&self.pods, number)
    }

    /// Loses, without a word, all that pods and a gateway send to each other; etcd and the server stay in its reach.
    ///
    /// # Errors
    /// `nft` is missing.
    pub fn cut(&self, index: u8) -> Result<()> {
        let rules = |from: String| {
            format!(
                "add table inet cut; add chain inet cut in {{ type filter hook input priority 0; }}; \
                 add rule inet cut in ip saddr {from} drop"
            )
        };
        self.pods.run("nft", &[&rules(address(index).to_string())])?;
        self.gateways[usize::from(index)].run("nft", &[&rules(PODS.to_owned())])?;
        Ok(())
    }

    /// Lets it through again.
    ///
    /// # Errors
    /// It was not cut.
    pub fn mend(&self, index: u8) -> Result<()> {
        for host in [&self.pods, &self.gateways[usize::from(index)]] {
            host.run("nft", &["delete table inet cut"])?;
        }
        Ok(())
    }

    /// The keys that etcd has under a part of the store: `lease`, `address` and others.
    ///
    /// # Errors
    /// etcd does not answer.
    pub fn stored(&self, part: &str) -> Result<Vec<String>> {
        let text = self.etcdctl(&["get", "--keys-only", "--prefix", &format!("{RECORDS}{part}/")])?;
        Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// All that etcd has in the store, with the revisions at which it was written.
    ///
    /// # Errors
    /// etcd does not answer.
    pub fn contents(&self) -> Result<serde_json::Value> {
        let text = self.etcdctl(&["get", "--write-out", "json", "--prefix", RECORDS])?;
        let answer: serde_json::Value = serde_json::from_str(&text)?;
        Ok(answer["kvs"].clone())
    }

    fn etcdctl(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.store.command(program("etcdctl")?);
        command.env("ETCDCTL_API", "3").args(["--endpoints", ETCD]).args(arguments);
        crate::namespace::run(&mut command)
    }
}

fn address(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 200, 0, 10 + index)
}

/// The HTTP proxy of a pod.
pub fn proxy(number: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, PROXIES + number))
}

fn etcd(host: &Namespace, data: &TempDir) -> Result<Daemon> {
    let mut command = host.command(program("etcd")?);
    command.arg("--data-dir").arg(data.path()).args(["--log-level", "error"]);
    command.args(["--listen-client-urls", ETCD, "--advertise-client-urls", ETCD]);
    Daemon::start(&mut command)
}

/// A server of HTTP that says one word.
fn serve(host: &Namespace) -> Result<()> {
    let listener = host.inside(|| Ok(TcpListener::bind("10.50.0.2:8000")?))?;
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                _ = stream.read(&mut [0; 1024]);
                _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            });
        }
    });
    Ok(())
}

/// A program in a pod that asks the server again and again, and the longest time without an answer.
#[derive(Debug)]
pub struct Asker {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    longest: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Asker {
    fn start(host: &Namespace, number: u16) -> Result<Asker> {
        let (stop, answers, longest) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted, gap) = (Arc::clone(&stop), Arc::clone(&answers), Arc::clone(&longest));
        let proxy = proxy(number);
        let work = move || {
            let mut last = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                if ask(proxy).is_ok() {
                    let millis = u64::try_from(last.elapsed().as_millis()).unwrap_or(u64::MAX);
                    gap.fetch_max(millis, Ordering::Relaxed);
                    last = Instant::now();
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(PAUSE);
            }
            Ok(())
        };
        let thread = Some(host.thread(work)?);
        Ok(Asker { stop, answers, longest, thread })
    }

    /// The longest time without an answer since the last call, in milliseconds.
    pub fn longest(&self) -> u64 {
        self.longest.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// Asks the server once through a pod's proxy.
///
/// # Errors
/// There is no answer within 2.5 seconds.
pub fn ask(proxy: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect_timeout(&proxy, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_millis(2500)))?;
    stream.write_all(
        b"GET http://10.50.0.2:8000/ HTTP/1.1\r\nHost: 10.50.0.2:8000\r\nConnection: close\r\n\r\n",
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    ensure!(text.ends_with("hello"), "{text}");
    Ok(())
}

/// Waits until every program has had an answer to a question of after now.
///
/// # Errors
/// One has none within a minute.
pub fn all_answered(askers: &[Asker]) -> Result<()> {
    let before: Vec<u64> = askers.iter().map(|asker| asker.answers.load(Ordering::Relaxed)).collect();
    wait_for(Duration::from_secs(60), "answer for every pod", || {
        let now = askers.iter().map(|asker| asker.answers.load(Ordering::Relaxed));
        Ok(now.zip(&before).all(|(now, before)| now > before + 1).then_some(()))
    })
}

/// What programs felt of a trouble.
#[derive(Debug, Clone)]
pub struct Felt {
    /// The times without an answer of those that felt it, in milliseconds and in order.
    pub gaps: Vec<u64>,
    /// The longest of all, whoever felt it.
    pub longest: u64,
}

impl Felt {
    /// Since it was asked last.
    pub fn by(askers: &[Asker]) -> Felt {
        let mut gaps: Vec<u64> = askers.iter().map(Asker::longest).collect();
        gaps.sort_unstable();
        let longest = gaps.last().copied().unwrap_or(0);
        gaps.retain(|gap| *gap > FELT);
        Felt { gaps, longest }
    }

    /// The median of those that felt it; 0 of none.
    pub fn median(&self) -> u64 {
        self.gaps.get(self.gaps.len() / 2).copied().unwrap_or(0)
    }
}

/// Public key and address of each live lease, in order.
///
/// # Errors
/// The gateway does not answer.
pub fn live(gateway: &Gateway) -> Result<Vec<(String, String)>> {
    let entry = |peer: &serde_json::Value| {
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        text(&peer["public_key"]).zip(text(&peer["addresses"][0])).context("a lease without key or address")
    };
    let peers = gateway.peers()?;
    let mut live =
        peers.iter().filter(|peer| peer["state"] == "live").map(entry).collect::<Result<Vec<_>>>()?;
    live.sort();
    Ok(live)
}

/// No address is another's too.
///
/// # Errors
/// One is.
pub fn no_address_twice(peers: &[(String, String)]) -> Result<()> {
    let addresses: BTreeSet<&String> = peers.iter().map(|(_, address)| address).collect();
    ensure!(addresses.len() == peers.len(), "an address twice: {peers:?}");
    Ok(())
}
