//! Three gateways over a real etcd, many pods, and what happens to them when parts die.
//!
//! ```text
//! pods 10.200.1.1 --+             +-- 10.50.0.2 server
//!                   +-- bridge ---+-- 10.50.0.9 etcd
//! gateways 10.200.0.1x, 10.50.0.1x
//! ```
//! Pods have no address in 10.50.0.0/24 and no route there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::{Daemon, Fabric, Namespace, program, wait_for};

const GATEWAYS: usize = 3;
const PODS: u16 = 24;
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

struct Lab {
    fabric: Fabric,
    _bridge: Arc<Namespace>,
    pods: Arc<Namespace>,
    gateways: Vec<Arc<Namespace>>,
    _server: Arc<Namespace>,
    store: Arc<Namespace>,
    etcd: Daemon,
    _data: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let bridge = Arc::new(Namespace::new().unwrap());
        bridge.ip("link add br0 type bridge").unwrap();
        bridge.ip("link set br0 up").unwrap();
        let mut number = 0;
        let mut host = |addresses: &[String]| {
            let host = Arc::new(Namespace::new().unwrap());
            let port = format!("port{number}");
            number += 1;
            host.ip(&format!("link add wire type veth peer name {port} netns {}", bridge.name())).unwrap();
            bridge.ip(&format!("link set {port} master br0 up")).unwrap();
            host.ip("link set wire up").unwrap();
            for address in addresses {
                host.ip(&format!("addr add {address} dev wire")).unwrap();
            }
            host
        };
        let pods = host(&["10.200.1.1/16".into()]);
        let server = host(&["10.50.0.2/24".into()]);
        let store = host(&["10.50.0.9/24".into()]);
        let gateways: Vec<_> = (0..GATEWAYS)
            .map(|index| host(&[format!("10.200.0.1{index}/16"), format!("10.50.0.1{index}/24")]))
            .collect();
        serve(&server);
        let data = tempfile::tempdir().unwrap();
        let etcd = etcd(&store, &data);
        let addresses: Vec<IpAddr> =
            (0..GATEWAYS).map(|index| Ipv4Addr::new(10, 200, 0, 10 + index as u8).into()).collect();
        let fabric = Fabric::new(&addresses, REST).unwrap();
        Self { fabric, _bridge: bridge, pods, gateways, _server: server, store, etcd, _data: data }
    }

    fn gateway(&self, index: usize) -> Gateway {
        self.fabric.start(index, &self.gateways[index]).unwrap()
    }

    fn pod(&self, number: u16, token: &str) -> Member {
        let proxy = format!("127.0.0.1:{}", 20_000 + number);
        let name = format!("pod{number}");
        let arguments = ["--http-proxy", &proxy, "--socks5", "off", "--interface", &name];
        self.fabric.pod(&self.pods, token, &arguments).unwrap()
    }
}

fn etcd(host: &Namespace, data: &tempfile::TempDir) -> Daemon {
    let mut command = host.command(program("etcd").unwrap());
    let client = "http://10.50.0.9:2379";
    command.args(["--data-dir", data.path().to_str().unwrap(), "--log-level", "error"]);
    command.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
    Daemon::start(&mut command).unwrap()
}

/// A server of HTTP that says one word.
fn serve(host: &Namespace) {
    let listener = host.inside(|| Ok(TcpListener::bind("10.50.0.2:8000")?)).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                _ = stream.read(&mut [0; 1024]);
                _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            });
        }
    });
}

/// A program in a pod that asks the server again and again, and the longest time without an answer.
struct Asker {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    longest: Arc<AtomicU64>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Asker {
    fn start(host: &Namespace, number: u16) -> Self {
        let (stop, answers, longest) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted, gap) = (Arc::clone(&stop), Arc::clone(&answers), Arc::clone(&longest));
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, 20_000 + number));
        let work = move || {
            let mut last = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                if ask(proxy).is_ok() {
                    let millis = u64::try_from(last.elapsed().as_millis()).unwrap_or(u64::MAX);
                    gap.fetch_max(millis, Ordering::Relaxed);
                    last = Instant::now();
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(150));
            }
            Ok(())
        };
        let thread = Some(host.thread(work).unwrap());
        Self { stop, answers, longest, thread }
    }

    /// Milliseconds, since the last call.
    fn longest(&self) -> u64 {
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

fn ask(proxy: SocketAddr) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect_timeout(&proxy, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_millis(2500)))?;
    stream.write_all(
        b"GET http://10.50.0.2:8000/ HTTP/1.1\r\nHost: 10.50.0.2:8000\r\nConnection: close\r\n\r\n",
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    anyhow::ensure!(text.ends_with("hello"), "{text}");
    Ok(())
}

/// Every asker has had an answer after now.
fn all_answered(askers: &[Asker]) {
    let before: Vec<u64> = askers.iter().map(|asker| asker.answers.load(Ordering::Relaxed)).collect();
    wait_for(Duration::from_secs(60), "answer for every pod", || {
        let now = askers.iter().map(|asker| asker.answers.load(Ordering::Relaxed));
        Ok(now.zip(&before).all(|(now, before)| now > before + 1).then_some(()))
    })
    .unwrap();
}

/// The times without an answer, in order.
fn gaps(askers: &[Asker]) -> Vec<u64> {
    let mut gaps: Vec<u64> = askers.iter().map(Asker::longest).collect();
    gaps.sort_unstable();
    gaps
}

fn live(gateway: &Gateway) -> Vec<(String, String)> {
    let entry = |peer: &serde_json::Value| {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        (text(&peer["public_key"]), text(&peer["addresses"][0]))
    };
    let mut live: Vec<_> =
        gateway.peers().unwrap().iter().filter(|peer| peer["state"] == "live").map(entry).collect();
    live.sort();
    live
}

fn no_address_twice(peers: &[(String, String)]) {
    let addresses: BTreeSet<&String> = peers.iter().map(|(_, address)| address).collect();
    assert_eq!(addresses.len(), peers.len(), "an address twice: {peers:?}");
}

#[test]
fn gateways_pods_and_etcd_die_and_traffic_goes_on() {
    let lab = Lab::new();
    let mut gateways: Vec<Gateway> = (0..GATEWAYS).map(|index| lab.gateway(index)).collect();
    let token = lab.fabric.token("gpu", &[]).unwrap();
    let mut pods: Vec<Member> = (0..PODS).map(|number| lab.pod(number, &token)).collect();
    let askers: Vec<Asker> = (0..PODS).map(|number| Asker::start(&lab.pods, number)).collect();
    all_answered(&askers);
    gaps(&askers);
    let before = live(&gateways[0]);
    assert_eq!(before.len(), usize::from(PODS));
    no_address_twice(&before);
    for gateway in &gateways[1..] {
        assert_eq!(live(gateway), before, "every gateway knows every pod");
    }

    // A gateway.
    gateways[0].daemon.kill().unwrap();
    all_answered(&askers);
    let after = gaps(&askers);
    let moved: Vec<u64> = after.iter().copied().filter(|gap| *gap > 900).collect();
    println!(
        "kill -9 of a gateway: {} of {PODS} pods moved; without an answer for {} ms in the middle, {} ms at most",
        moved.len(),
        moved.get(moved.len() / 2).copied().unwrap_or(0),
        after.last().unwrap()
    );
    assert!(!moved.is_empty(), "no pod was at that gateway");
    assert_eq!(live(&gateways[1]), before, "a lease was lost");

    // etcd, and with it nothing but changes.
    lab.etcd.signal(Signal::STOP).unwrap();
    thread::sleep(Duration::from_secs(5));
    lab.etcd.signal(Signal::CONT).unwrap();
    all_answered(&askers);
    println!("etcd stopped for 5 s: without an answer for {} ms at most", gaps(&askers).last().unwrap());

    // The gateway comes back, and another pod finds it.
    gateways[0] = lab.gateway(0);
    wait_for(Duration::from_secs(30), "peers at the returned gateway", || {
        Ok((live(&gateways[0]) == before).then_some(()))
    })
    .unwrap();

    // A pod that dies without a word, and one that says good-bye.
    pods[0].daemon.kill().unwrap();
    assert!(pods[1].daemon.terminate().unwrap().success());
    wait_for(Duration::from_secs(10), "release", || {
        Ok((live(&gateways[2]).len() == usize::from(PODS) - 1).then_some(()))
    })
    .unwrap();
    let again = lab.pod(1, &token);
    let now = live(&gateways[2]);
    no_address_twice(&now);
    assert_eq!(now.len(), usize::from(PODS), "the silent one keeps its lease for now");
    drop((again, askers));
    assert!(lab.store.name().starts_with("warren-lab"));
}
