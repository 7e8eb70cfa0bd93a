//! Direct paths between pods: what takes them, what does not, and what happens when they end.
//!
//! ```text
//!             203.0.113.0/24                  192.168.N.0/24
//! gateway .1 ----+---- router 1, .11 ---- one
//!                +---- router 2, .12 ---- two, three
//!                +---- flat pods, .101 and so on
//! ```
//! Routers translate addresses, and let nothing in that was not asked for.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use warren_tunnel_tests::fabric::{By, Gateway, Member, both};
use warren_tunnel_tests::{Fabric, Namespace, wait_for, web};
use warren_wire::gateway::DIRECT_SECONDS;

const PATIENCE: Duration = Duration::from_secs(40);
const RULE: &str = "to = [\"group:trainers\"]\nports = [\"29500-29600\"]\nprotocols = [\"tcp\", \"udp\", \"icmp\"]\ndirect = true\n";
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[[groups.trainers.allow]]
RULE
[[groups.workers.allow]]
to = ["group:workers"]
[limits]
requests_per_minute_and_source = 100000
"#;
/// Bytes of one transfer.
const SIZE: usize = 4_000_000;

struct Lab {
    fabric: Fabric,
    gateway: Arc<Namespace>,
    internet: Arc<Namespace>,
}

/// A host with an agent that has an interface.
struct Pod {
    host: Arc<Namespace>,
    member: Member,
    address: IpAddr,
    key: String,
}

/// A number that no other host of this process has.
fn number() -> u32 {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    COUNTER.fetch_add(1, Ordering::Relaxed)
}

impl Lab {
    fn new() -> Self {
        let internet = Arc::new(Namespace::new().unwrap());
        internet.ip("link add br0 type bridge").unwrap();
        internet.ip("link set br0 up").unwrap();
        let fabric = Fabric::new(&["203.0.113.1".parse().unwrap()], &REST.replace("RULE\n", RULE)).unwrap();
        let gateway = Self::plugged(&internet, "203.0.113.1/24");
        Self { fabric, gateway, internet }
    }

    /// A host with a wire to a switch.
    fn plugged(switch: &Arc<Namespace>, address: &str) -> Arc<Namespace> {
        let (host, port) = (Arc::new(Namespace::new().unwrap()), format!("port{}", number()));
        host.ip(&format!("link add wire type veth peer name {port} netns {}", switch.name())).unwrap();
        switch.ip(&format!("link set {port} master br0 up")).unwrap();
        host.ip("link set wire up").unwrap();
        host.ip(&format!("addr add {address} dev wire")).unwrap();
        host
    }

    fn flat(&self, last: u8) -> Arc<Namespace> {
        Self::plugged(&self.internet, &format!("203.0.113.{last}/24"))
    }

    /// A network behind a router that translates addresses, and its switch.
    fn behind(&self, router: u8) -> Arc<Namespace> {
        let outside = Self::plugged(&self.internet, &format!("203.0.113.{}/24", 10 + router));
        let switch = outside;
        switch.ip("link add br0 type bridge").unwrap();
        switch.ip("link set br0 up").unwrap();
        switch.ip(&format!("addr add 192.168.{router}.1/24 dev br0")).unwrap();
        switch.run("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).unwrap();
        let rules = "add table ip nat; \
            add chain ip nat out { type nat hook postrouting priority 100; }; \
            add rule ip nat out oifname wire masquerade; \
            add chain ip nat in { type filter hook input priority 0; }; \
            add rule ip nat in iifname wire ct state new drop; \
            add chain ip nat through { type filter hook forward priority 0; }; \
            add rule ip nat through iifname wire ct state new drop";
        switch.run("nft", &[rules]).unwrap();
        switch
    }

    fn inner(router: u8, switch: &Arc<Namespace>, last: u8) -> Arc<Namespace> {
        let host = Self::plugged(switch, &format!("192.168.{router}.{last}/24"));
        host.ip(&format!("route add default via 192.168.{router}.1")).unwrap();
        host
    }

    fn pod(&self, gateway: &Gateway, host: &Arc<Namespace>, group: &str) -> Pod {
        let token = self.fabric.token(group, &[]).unwrap();
        let interface = format!("dp{}x{}", std::process::id() % 1_000_000, number());
        let member = self.fabric.machine_as(host, &token, &interface).unwrap();
        let peers = gateway.peers().unwrap();
        let live = |peer: &&serde_json::Value| peer["host"] == host.name() && peer["state"] == "live";
        let peer = peers.iter().find(live).unwrap();
        Pod {
            host: Arc::clone(host),
            member,
            address: peer["addresses"][0].as_str().unwrap().parse().unwrap(),
            key: peer["public_key"].as_str().unwrap().to_owned(),
        }
    }

    /// Bytes that the gateway's host has received so far.
    fn passed(&self) -> u64 {
        let text = self.gateway.ip("-j -s link show dev wire").unwrap();
        let links: serde_json::Value = serde_json::from_str(&text).unwrap();
        links[0]["stats64"]["rx"]["bytes"].as_u64().unwrap()
    }
}

/// How often a log has a text.
fn count(member: &Member, text: &str) -> usize {
    member.daemon.log().matches(text).count()
}

/// Waits until a log has a text so often.
fn told(member: &Member, text: &str, times: usize) {
    wait_for(PATIENCE, text, || Ok((count(member, text) >= times).then_some(())))
        .unwrap_or_else(|error| panic!("{error}\n{}", member.daemon.log()));
}

fn in_use(pods: [&Member; 2], times: usize) {
    pods.iter().for_each(|pod| told(pod, "direct path in use", times));
}

/// A connection from one pod to another, and both of its ends.
fn connected(from: &Pod, to: &Pod, port: u16) -> (TcpStream, TcpStream) {
    from.host.stream(&to.host, SocketAddr::new(to.address, port), PATIENCE).unwrap()
}

/// Moves bytes from one end to the other, and compares them.
fn transfer(from: &TcpStream, to: &TcpStream, seed: u32) {
    let bytes: Vec<u8> = (0..SIZE as u32 / 4)
        .flat_map(|number| (number ^ seed.wrapping_mul(0x9e37_79b9)).to_le_bytes())
        .collect();
    let (mut writing, sent) = (from.try_clone().unwrap(), bytes.clone());
    let written = thread::spawn(move || writing.write_all(&sent).unwrap());
    let mut read = vec![0; bytes.len()];
    let mut to = to;
    to.read_exact(&mut read).unwrap();
    written.join().unwrap();
    assert!(read == bytes, "the bytes differ");
}

fn refusal(from: &Pod, to: &Pod, port: u16) -> ErrorKind {
    let at = SocketAddr::new(to.address, port);
    from.host.inside(move || Ok(TcpStream::connect_timeout(&at, PATIENCE))).unwrap().unwrap_err().kind()
}

/// Loses all datagrams of WireGuard from an address.
fn cut(host: &Namespace, from: &str) {
    let rules = format!(
        "add table ip cut; add chain ip cut in {{ type filter hook input priority -10; }}; \
         add rule ip cut in iifname wire ip saddr {from} meta l4proto udp drop"
    );
    host.run("nft", &[&rules]).unwrap();
}

fn mend(host: &Namespace) {
    host.run("nft", &["delete table ip cut"]).unwrap();
}

#[test]
fn what_a_direct_rule_allows_bypasses_the_gateway_and_returns_to_it_without_loss() {
    both(|by| {
        let lab = Lab::new();
        let gateway = lab.fabric.start_by(by, 0, &lab.gateway).unwrap();
        let [one, two] = [101, 102].map(|last| lab.pod(&gateway, &lab.flat(last), "trainers"));
        // One that began before there was a path stays with the gateway, whatever happens.
        let early = connected(&one, &two, 29501);
        transfer(&early.0, &early.1, 1);
        in_use([&one.member, &two.member], 1);
        let before = lab.passed();
        let (near, far) = connected(&one, &two, 29500);
        transfer(&near, &far, 2);
        transfer(&far, &near, 3);
        let passed = lab.passed() - before;
        assert!(passed < SIZE as u64 / 10, "{by:?}: {passed} bytes passed the gateway");
        let before = lab.passed();
        transfer(&early.0, &early.1, 4);
        assert!(lab.passed() - before > SIZE as u64, "{by:?}");

        // Datagrams and echo take the path, too.
        let ports = [40_000, 29500];
        let [asks, answers] = [(&one, ports[0]), (&two, ports[1])].map(|(pod, port)| {
            let at = SocketAddr::new(pod.address, port);
            let socket = pod.host.inside(move || Ok(UdpSocket::bind(at)?)).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        });
        let mut buffer = [0; 2_000];
        let before = lab.passed();
        for _ in 0..1_000 {
            asks.send_to(&[7; 1_200], SocketAddr::new(two.address, 29500)).unwrap();
            let (length, from) = answers.recv_from(&mut buffer).unwrap();
            answers.send_to(&buffer[..length], from).unwrap();
            assert_eq!(asks.recv(&mut buffer).unwrap(), 1_200);
        }
        one.host.run("ping", &["-c", "2", "-i", "0.2", "-W", "3", &two.address.to_string()]).unwrap();
        assert!(lab.passed() - before < 200_000, "{by:?}");
        // A closed port answers, and what no rule allows is refused.
        assert_eq!(refusal(&one, &two, 29555), ErrorKind::ConnectionRefused, "{by:?}");
        assert_eq!(refusal(&one, &two, 29700), ErrorKind::HostUnreachable, "{by:?}");

        // Cut in the middle: both connections continue through the gateway, and the direct one returns.
        cut(&one.host, "203.0.113.102");
        cut(&two.host, "203.0.113.101");
        transfer(&near, &far, 5);
        transfer(&early.0, &early.1, 6);
        let before = lab.passed();
        transfer(&far, &near, 7);
        assert!(lab.passed() - before > SIZE as u64, "{by:?}");
        mend(&one.host);
        mend(&two.host);
        in_use([&one.member, &two.member], 2);
        let before = lab.passed();
        transfer(&near, &far, 8);
        let passed = lab.passed() - before;
        let logs = || format!("{}\n---\n{}", one.member.daemon.log(), two.member.daemon.log());
        assert!(passed < SIZE as u64 / 10, "{by:?}: {passed} bytes passed the gateway\n{}", logs());

        // An eviction ends it at the other pod, which the gateway still answers.
        let begin = Instant::now();
        gateway.run(&["gateway", "evict", &two.key]).unwrap();
        told(&one.member, "direct path ended", 1);
        assert!(
            begin.elapsed() < Duration::from_secs(DIRECT_SECONDS.into()),
            "{by:?}: {:?}",
            begin.elapsed()
        );
        assert_ne!(said(&near), "goes on", "{by:?}");
    });
}

/// Whether the connection ends when its program says something more.
fn said(mut stream: &TcpStream) -> &'static str {
    stream.set_read_timeout(Some(Duration::from_millis(250))).unwrap();
    for _ in 0..60 {
        if stream.write_all(b"more").is_err() {
            return "ended";
        }
        match stream.read(&mut [0; 1]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Ok(1) => {}
            _ => return "ended",
        }
    }
    "goes on"
}

#[test]
fn pods_behind_translators_and_behind_the_same_one_have_direct_paths() {
    let lab = Lab::new();
    let gateway = lab.fabric.start_by(By::User, 0, &lab.gateway).unwrap();
    let [first, second] = [1, 2].map(|router| lab.behind(router));
    let one = lab.pod(&gateway, &Lab::inner(1, &first, 2), "trainers");
    // Without privileges: the netstack of the agent.
    let token = lab.fabric.token("trainers", &[]).unwrap();
    let [two, three] = [2, 3].map(|last| Lab::inner(2, &second, last));
    web::serve(&two, "127.0.0.1".parse().unwrap(), "trained").unwrap();
    let serving = lab.fabric.pod(&two, &token, &["--reverse", "29500=127.0.0.1:8080"]).unwrap();
    let asking = lab.fabric.pod(&three, &token, &[]).unwrap();
    let url = format!("http://{}.trainers.warren.internal:29500/", two.name());
    let by_proxy = || {
        let got = three.run("curl", &["-sS", "--max-time", "20", "--proxy", "http://127.0.0.1:3128", &url]);
        assert_eq!(got.unwrap(), "trained", "{}\n{}", serving.daemon.log(), asking.daemon.log());
    };
    let by_interface = || {
        let got = one.host.run("curl", &["-sS", "--max-time", "20", &url]);
        assert_eq!(got.unwrap(), "trained", "{}\n{}", serving.daemon.log(), one.member.daemon.log());
    };
    // These bring it about, through the gateway.
    by_proxy();
    by_interface();
    in_use([&asking, &one.member], 1);
    told(&serving, "direct path in use", 2);
    for log in [asking.daemon.log(), serving.daemon.log()] {
        // Neighbours use their own network, others what the translators made of it.
        assert!(log.contains("192.168.2."), "{log}");
    }
    let offers = |pod: &Member| count(pod, "direct path offered");
    assert_eq!((offers(&asking), offers(&serving), offers(&one.member)), (1, 2, 1));
    let before = gateway.status().unwrap()["figures"]["tcp"].as_u64().unwrap();
    for _ in 0..3 {
        by_proxy();
        by_interface();
    }
    let after = gateway.status().unwrap()["figures"]["tcp"].as_u64().unwrap();
    assert_eq!(before, after, "connections passed the gateway");
}

#[test]
fn only_who_may_and_wants_gets_an_offer_and_what_is_withdrawn_ends() {
    let lab = Lab::new();
    let gateway = lab.fabric.start_by(By::User, 0, &lab.gateway).unwrap();
    let [one, two] = [101, 102].map(|last| lab.pod(&gateway, &lab.flat(last), "trainers"));
    // Without a direct rule, and with an agent that wants none.
    let [three, four] = [103, 104].map(|last| lab.pod(&gateway, &lab.flat(last), "workers"));
    let token = lab.fabric.token("trainers", &[]).unwrap();
    let five = lab.flat(105);
    let shy = lab.fabric.pod(&five, &token, &["--gateway-only"]).unwrap();
    // Datagrams do not pass between these, except for those of the gateway.
    let six = lab.pod(&gateway, &lab.flat(106), "trainers");
    cut(&six.host, "203.0.113.101");
    let (near, far) = connected(&one, &two, 29500);
    transfer(&near, &far, 1);
    let (unlucky, other) = connected(&one, &six, 29500);
    transfer(&unlucky, &other, 2);
    let (near_worker, far_worker) = connected(&three, &four, 29500);
    transfer(&near_worker, &far_worker, 3);
    let name = format!("http://{}:29500/", one.address);
    _ = five.run("curl", &["-sS", "--max-time", "5", "--proxy", "http://127.0.0.1:3128", &name]);
    in_use([&one.member, &two.member], 1);
    told(&six.member, "direct path offered", 1);
    let begun = connected(&one, &two, 29502);
    transfer(&begun.0, &begun.1, 4);
    let blocked = connected(&one, &six, 29502);
    transfer(&blocked.0, &blocked.1, 5);
    assert_eq!(count(&six.member, "direct path in use"), 0, "{}", six.member.daemon.log());
    for member in [&three.member, &four.member, &shy] {
        assert_eq!(count(member, "direct path"), 0, "{}", member.daemon.log());
    }

    // The rule still allows connections, but not directly.
    lab.fabric.configure(0, &[("direct = true\n", "")]).unwrap();
    let begin = Instant::now();
    gateway.run(&["gateway", "reload"]).unwrap();
    for pod in [&one, &two] {
        told(&pod.member, "direct path ended", 1);
    }
    assert!(begin.elapsed() < Duration::from_secs(DIRECT_SECONDS.into()), "{:?}", begin.elapsed());
    assert_eq!(said(&begun.0), "ended");
    let again = connected(&one, &two, 29503);
    transfer(&again.0, &again.1, 6);
    assert_ne!(said(&near), "ended");

    // A gateway that has gone ends it, too.
    drop(far);
}
