//! A pod whose only gateway refuses it for now: it waits for as long as the gateway says, and joins.
//!
//! ```text
//! pod 10.200.0.1 ---wire--- 10.200.0.2 gateway
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::{Fabric, Implementation, Namespace, wait_for};
use warren_wire::token::{CLOCK_SKEW, SigningKey, Validity};
use warren_wire::{Token, UnixTime};

const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
/// An address that another program has.
const TAKEN: &str = "127.0.0.1:1999";
/// A pool of one address.
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/30"]
reserved = ["10.100.0.1"]
[lease]
quarantine = "1s"
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.0/24"]
"#;

struct Lab {
    fabric: Fabric,
    pod: Arc<Namespace>,
    gateway: Gateway,
}

impl Lab {
    fn new() -> Self {
        let [pod, host] = [(); 2].map(|()| Arc::new(Namespace::new().unwrap()));
        pod.join(&host).unwrap();
        pod.ip("addr add 10.200.0.1/24 dev wire").unwrap();
        host.ip("addr add 10.200.0.2/24 dev wire").unwrap();
        let fabric = Fabric::new(&[GATEWAY], REST).unwrap();
        let gateway = fabric.start(0, &host).unwrap();
        Self { fabric, pod, gateway }
    }

    fn token(&self) -> String {
        self.fabric.token("gpu", &[]).unwrap()
    }

    /// A token that becomes valid in the future, by the clock of the gateway.
    fn token_valid_in(&self, delay: Duration) -> String {
        let mut claims = Token::parse(&self.token()).unwrap().peek().unwrap();
        let now = UnixTime::from_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap());
        let from = now.plus(CLOCK_SKEW + delay);
        claims.validity = Validity::new(from, from.plus(Duration::from_secs(600))).unwrap();
        let secret = std::fs::read_to_string(self.fabric.folder().join("signing.key")).unwrap();
        claims.sign(&SigningKey::parse(secret.trim()).unwrap()).unwrap().secret().to_owned()
    }

    /// An agent that was refused, and waits.
    fn waiting_pod(&self, token: &str, reason: &str) -> Member {
        let mut member = self.fabric.starting_pod(&self.pod, token, &[]).unwrap();
        let refused = wait_for(Duration::from_secs(20), "refusal", || {
            if let Some(status) = member.daemon.ended()? {
                anyhow::bail!("it ended: {status}");
            }
            Ok(member.daemon.log().contains("retrying in").then_some(()))
        });
        refused.unwrap_or_else(|error| panic!("{error:#}\n{}", member.daemon.log()));
        let log = member.daemon.log();
        assert!(log.contains(reason) && log.contains("(retry after"), "{log}");
        member
    }

    /// How often the gateway has refused for this reason.
    fn refusals(&self, kind: &str) -> usize {
        let log = self.gateway.daemon.log();
        log.lines().filter(|line| line.contains("refused") && line.contains(kind)).count()
    }
}

#[test]
fn a_pod_joins_when_its_only_gateway_no_longer_drains() {
    let lab = Lab::new();
    lab.gateway.run(&["gateway", "drain"]).unwrap();
    let mut member = lab.waiting_pod(&lab.token(), "this gateway is being drained");
    // `Retry-After` is ten seconds.
    thread::sleep(Duration::from_secs(12));
    let refusals = lab.refusals("draining");
    assert!((1..=2).contains(&refusals), "{refusals} requests in 12 seconds\n{}", lab.gateway.daemon.log());
    lab.gateway.run(&["gateway", "drain", "--undo"]).unwrap();
    member.wait_until_up().unwrap();
    assert!(member.daemon.terminate().unwrap().success());
}

#[test]
fn a_pod_joins_a_full_gateway_when_the_quarantine_of_an_address_ends() {
    let lab = Lab::new();
    let mut first = lab.fabric.pod(&lab.pod, &lab.token(), &[]).unwrap();
    assert!(first.daemon.terminate().unwrap().success());
    let released = Instant::now();
    let mut second = lab.waiting_pod(&lab.token(), "1 of them in quarantine");
    let early = lab.refusals("pool-exhausted");
    second.wait_until_up().or_else(|_| second.wait_until_up()).unwrap();
    // A lease that has ended is kept for 30 s longer than its quarantine: a store may be as late as that.
    assert!(released.elapsed() > Duration::from_secs(30), "{:?}", released.elapsed());
    let refusals = lab.refusals("pool-exhausted");
    assert!(early == 1 && refusals <= 2, "{refusals} requests\n{}", lab.gateway.daemon.log());
    assert!(second.daemon.terminate().unwrap().success());
}

/// An agent that cannot start spends no use of its token, and leaves no lease.
#[test]
fn an_agent_enrols_only_where_it_can_start() {
    let lab = Lab::new();
    let taken = lab.pod.inside(|| Ok((TcpListener::bind(TAKEN)?, UdpSocket::bind(TAKEN)?))).unwrap();
    for (arguments, expected) in [
        (["--socks5", TAKEN], "SOCKS5 proxy cannot listen on 127.0.0.1:1999: Address already in use"),
        (["--listen-port", "1999"], "cannot listen on UDP port 1999: Address already in use"),
    ] {
        let mut member = lab.fabric.starting_pod(&lab.pod, &lab.token(), &arguments).unwrap();
        let ended = wait_for(Duration::from_secs(20), "end", || member.daemon.ended()).unwrap();
        let log = member.daemon.log();
        assert!(!ended.success() && log.contains(expected), "{log}");
        assert!(!log.contains("enrolled"), "{log}");
    }
    drop(taken);
    assert!(!lab.gateway.audit().contains("enrol"), "{}", lab.gateway.audit());
    assert!(lab.gateway.peers().unwrap().is_empty());
}

/// A pipe has its text once.
#[test]
fn a_token_can_come_from_a_pipe() {
    let lab = Lab::new();
    let mut command = lab.pod.command(Implementation::WarrenTunnel.path().unwrap());
    command.args(["exec", "--device", "user", "--socks5", "127.0.0.1:0", "--metrics", "off"]);
    command.args(["--token-file", "/dev/stdin", "--", "echo", "started"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lab.token().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == b"started\n", "{told}");
}

/// `exec --wait` is the time for all that comes before the program.
#[test]
fn who_waits_for_a_gateway_waits_no_longer_than_told() {
    let lab = Lab::new();
    lab.gateway.daemon.signal(Signal::STOP).unwrap();
    for (wait, at_most) in [("3", 5), ("0", 22)] {
        let mut command = lab.pod.command(Implementation::WarrenTunnel.path().unwrap());
        command.args(["exec", "--device", "user", "--metrics", "off", "--wait", wait, "--", "true"]);
        command.env("WARREN_TOKEN", lab.token());
        let begun = Instant::now();
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{told}");
        assert!(begun.elapsed() < Duration::from_secs(at_most), "{:?} {told}", begun.elapsed());
        assert!(told.contains("no gateway of the token accepted this pod"), "{told}");
    }
    lab.gateway.daemon.signal(Signal::CONT).unwrap();
}

#[test]
fn a_pod_joins_when_its_token_becomes_valid() {
    let lab = Lab::new();
    let mut member =
        lab.waiting_pod(&lab.token_valid_in(Duration::from_secs(8)), "The token is not valid yet");
    member.wait_until_up().unwrap();
    let refusals = lab.refusals("token-early");
    assert!(refusals <= 2, "{refusals} requests\n{}", lab.gateway.daemon.log());
    assert!(member.daemon.terminate().unwrap().success());
}

#[test]
fn a_pod_does_not_wait_an_hour_for_its_token() {
    let lab = Lab::new();
    let started = Instant::now();
    let log = lab.fabric.refused(&lab.pod, &lab.token_valid_in(Duration::from_secs(3600))).unwrap();
    assert!(log.contains("The token is not valid yet"), "{log}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
