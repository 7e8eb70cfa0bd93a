//! Every parser of outside bytes, on random and mutated inputs from a seed. `tests/fuzz` does the same for hours. And strangers
//! at the TLS port of a gateway, beside a pod that uses it: what the pod notices, and what the gateway spends.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod greedy;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warren_transport::tls::{Target, Trust, exchange};
use warren_tunnel_tests::fabric::{Gateway, Member, TLS_PORT};
use warren_tunnel_tests::fleet::{Fleet, ask, proxy};
use warren_tunnel_tests::fuzz::{TARGETS, signed_token};
use warren_tunnel_tests::wait_for;
use warren_wire::Token;
use warren_wire::stream::{frame, http};

/// How long each parser is tried, at most.
const TIME: Duration = Duration::from_millis(1500);

/// A xorshift generator: the same inputs each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or_default()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[3]).collect()
    }

    /// A valid input with a few changes: bytes, cuts, doubled parts.
    fn mutated(&mut self, valid: &[u8]) -> Vec<u8> {
        let mut bytes = valid.to_vec();
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 1 << self.below(8),
                2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b'=', b'-'][self.below(8)],
                3 => {
                    let part = bytes[at..].to_vec();
                    bytes.extend(part);
                }
                4 => {
                    bytes.remove(at);
                }
                _ => bytes.insert(at, self.next().to_le_bytes()[2]),
            }
        }
        bytes
    }
}

const FILE: &str = "[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\nListenPort = 51820\nAddress = 10.0.0.1/24, fd00::1/64\nDNS = 1.1.1.1, corp.example\nMTU = 1420\nTable = auto\nPostUp = echo %i\n\n[Peer]\nPublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\nAllowedIPs = 0.0.0.0/0, ::/0\nEndpoint = [2001:db8::1]:51820\nPersistentKeepalive = 25\n";

const REQUEST: &str = "set=1\nprivate_key=e84b5a6d2717c1003a13b431570353dbaca9146cf150c5f8575680feba52027a\nlisten_port=12912\nfwmark=0\nreplace_peers=true\npublic_key=b85996fecc9c7f1fc6d2572a76eda11d59bcd20be8e543b15ce4bd85a8e75a33\npreshared_key=188515093e952f5f22e865cef3012e72f8b5f0b598ac0309d5dacce3b70fcf52\nreplace_allowed_ips=true\nallowed_ip=192.168.4.4/32\nendpoint=[abcd:23::33%2]:51820\npersistent_keepalive_interval=111\n\n";

const GATEWAY: &str = "fabric = \"llm-training\"\nname = \"gw-a\"\n[listen]\ntls = \"0.0.0.0:443\"\n[keys]\nprivate_key_file = \"k\"\ncertificate_file = \"c\"\ncertificate_key_file = \"ck\"\ntoken_keys = [\"k4.public.Hrnbu7wEfAP9cGBOAHHwmH4Wsot1ciXBHwBBXQ4gsaI\"]\n[pool]\nprefixes = [\"10.100.0.0/16\", \"fd00:1::/64\"]\nreserved = [\"10.100.0.1\"]\n[lease]\nttl = \"10m\"\n[[gateways]]\nname = \"gw-a\"\nkey = \"zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=\"\ntls = \"gw-a.example.com:443\"\npins = [\"AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM\"]\n[groups.gpu]\nrate_mbit = 2000\n[[groups.gpu.allow]]\nto = [\"10.0.0.0/16\"]\nports = [443, \"8000-8100\"]\nprotocols = [\"tcp\"]\n";

/// A frame of a TCP packet over IPv4 (and one over IPv6) that is to be cut into segments.
fn frames() -> Vec<Vec<u8>> {
    let payload = 5000_u16;
    let mut v4 = vec![1, 1, 54, 0, 0xb4, 5, 20, 0, 16, 0];
    v4.extend([0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    v4[12..14].copy_from_slice(&(40 + payload).to_be_bytes());
    let mut v6 = vec![1, 4, 74, 0, 0xa0, 5, 40, 0, 16, 0];
    v6.extend([0x60, 0, 0, 0, 0, 0, 6, 64]);
    v6[14..16].copy_from_slice(&(20 + payload).to_be_bytes());
    v6.extend([0xfd; 32]);
    [v4, v6]
        .into_iter()
        .map(|mut frame| {
            frame.extend([0, 80, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
            frame.extend((0..payload).map(|n| n.to_le_bytes()[0]));
            frame
        })
        .collect()
}

/// A request, an answer and a refusal.
fn enrolments() -> Vec<Vec<u8>> {
    let key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=";
    let proof = "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM";
    let token = signed_token();
    let gateways = serde_json::to_string(&token.peek().unwrap().gateways).unwrap();
    [
        format!(
            r#"{{"version":1,"token":"{}","public_key":"{key}","proof":"{proof}","host":{{"name":"pod","labels":{{"a":"b"}}}}}}"#,
            token.secret()
        ),
        format!(r#"{{"version":1,"public_key":"{key}","proof":"{proof}"}}"#),
        format!(
            r#"{{"version":1,"group":"gpu","addresses":["10.0.0.2","fd00::2"],"routes":["10.0.0.0/8"],"dns":{{"servers":["10.0.0.1"],"domains":["example.com"]}},"zones":[{{"domains":["example.org"],"servers":["10.0.0.1"]}}],"gateways":{gateways},"lease_seconds":600,"mtu":1420,"keepalive_seconds":25}}"#
        ),
        r#"{"type":"urn:warren:problem:store","title":"t","status":503,"detail":"d","retry_after":2}"#.to_owned(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// Packets of one flow, as the coalescer's target takes them.
fn packets() -> Vec<u8> {
    let mut all = Vec::new();
    for number in 0_u8..6 {
        let mut packet = vec![0x45, 0, 0, 140, 0, number, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([0, 80, 1, 0, 0, 0, 0, number * 40, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        packet.extend([number; 100]);
        all.extend([0, 140]);
        all.extend(packet);
    }
    all
}

/// Valid inputs of a target, from which others are made.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "wg_quick" => vec![FILE.into()],
        "uapi" => vec![REQUEST.into(), "get=1\n\n".into()],
        "token" => vec![signed_token().secret().into()],
        "enrolment" => enrolments(),
        "gateway_config" => vec![GATEWAY.into()],
        "frame" => frames(),
        "coalescer" => vec![packets()],
        "handshake" => vec![vec![], vec![0, 9, 1], vec![1, 40, 0x80, 1, 41, 1]],
        _ => [(1, 148), (2, 92), (3, 64), (4, 32), (4, 1452)]
            .map(|(kind, length)| {
                let mut message = vec![7; length];
                message[..4].copy_from_slice(&[kind, 0, 0, 0]);
                message
            })
            .to_vec(),
    }
}

#[test]
fn hostile_bytes_break_no_parser() {
    for (name, target) in TARGETS {
        let mut random = Random(0x5eed_0000_0001);
        let seeds = seeds(name);
        for seed in &seeds {
            target(seed);
        }
        let begun = Instant::now();
        let mut count = 0;
        while begun.elapsed() < TIME && count < 20_000 {
            let length = random.below(if count % 10 == 0 { 4096 } else { 256 });
            target(&random.bytes(length));
            let seed = &seeds[random.below(seeds.len())];
            target(&random.mutated(seed));
            count += 1;
        }
        assert!(count >= 10, "{name}: only {count} inputs in {TIME:?}");
        eprintln!("{name}: {count} random and {count} mutated inputs");
    }
}

/// The gateway as a pod reaches it, and as the attacker does, who has another address.
const OF_POD: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 10);
const OF_ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 10);
/// How long an attack lasts.
const ATTACK: Duration = Duration::from_secs(8);
/// What an attack may cost the gateway.
const MEMORY: u64 = 24 << 20;

/// A gateway and a pod that uses it over TLS.
struct Honest {
    fleet: Fleet,
    gateway: Gateway,
    trust: Trust,
    _pod: Member,
}

/// What was attempted, and what of it failed.
#[derive(Debug, Default)]
struct Count {
    all: u32,
    failed: u32,
}

impl Honest {
    fn new() -> Honest {
        let fleet = Fleet::new(1).unwrap();
        let gateway = fleet.gateway(0).unwrap();
        let token = fleet.fabric.token("gpu", &[]).unwrap();
        let pins = Token::parse(&token).unwrap().peek().unwrap().gateways.as_slice()[0].pins.clone();
        let at = proxy(1).to_string();
        let arguments = ["--http-proxy", &at, "--socks5", "off", "--interface", "pod1", "--carrier", "tls"];
        let pod = fleet.fabric.pod(&fleet.pods, &token, &arguments).unwrap();
        let asked =
            fleet.pods.inside(|| wait_for(Duration::from_secs(20), "answer", || Ok(ask(proxy(1)).ok())));
        asked.unwrap();
        Honest { fleet, gateway, trust: Trust::Pins(pins), _pod: pod }
    }

    fn target(&self, host: Ipv4Addr) -> Target {
        let trust = self.trust.clone();
        Target { host: host.to_string(), port: TLS_PORT, server_name: None, trust, proxy: None, fwmark: None }
    }

    /// Repeats something on the pod's host until `stop`.
    fn repeat(
        &self,
        stop: &Arc<AtomicBool>,
        once: impl Fn() -> anyhow::Result<()> + Send + 'static,
    ) -> JoinHandle<anyhow::Result<Count>> {
        let stop = Arc::clone(stop);
        let work = move || {
            let mut count = Count::default();
            while !stop.load(Ordering::Relaxed) {
                count.all += 1;
                count.failed += u32::from(once().is_err());
                thread::sleep(Duration::from_millis(30));
            }
            Ok(count)
        };
        self.fleet.pods.thread(work).unwrap()
    }

    /// What the pod and another client notice while attackers are at work, and what the gateway spends.
    fn during(&self, attackers: Vec<JoinHandle<anyhow::Result<u32>>>) {
        let memory = self.gateway.daemon.memory().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let requests = self.repeat(&stop, || ask(proxy(1)));
        let target = self.target(OF_POD);
        let client = self.repeat(&stop, move || {
            exchange(&target, Duration::from_secs(3))?;
            Ok(())
        });
        let attacks: u32 = attackers.into_iter().map(|thread| thread.join().unwrap().unwrap()).sum();
        stop.store(true, Ordering::Relaxed);
        let (requests, client) = (requests.join().unwrap().unwrap(), client.join().unwrap().unwrap());
        let spent = self.gateway.daemon.peak_memory().unwrap().saturating_sub(memory);
        eprintln!("{attacks} attacks: pod {requests:?}, other client {client:?}, {spent} bytes of memory");
        eprintln!("{}", self.gateway.status().unwrap()["interface"]["tls"]);
        assert!(attacks > 0);
        for count in [&requests, &client] {
            assert!(count.all >= 50, "{count:?}");
            assert!(count.failed * 100 <= count.all, "{count:?}");
        }
        assert!(spent < MEMORY, "{spent} bytes");
    }
}

/// One connection at a time: pings and frames of no known type, while nothing is read.
#[test]
fn a_stranger_that_pings_and_does_not_read_harms_no_pod() {
    let honest = Honest::new();
    let target = honest.target(OF_ATTACKER);
    let attack = move || {
        let (begun, mut connections) = (Instant::now(), 0);
        let frames = [frame::ping(7).repeat(1400), [0, 3, 0x90, 1, 2].repeat(3000)].concat();
        while begun.elapsed() < ATTACK {
            let Ok(mut tls) = exchange(&target, Duration::from_secs(2)) else { continue };
            if tls.write_all(http::tunnel_request("g", None).as_bytes()).is_err() {
                continue;
            }
            connections += 1;
            while begun.elapsed() < ATTACK && tls.write_all(&frames).is_ok() {}
        }
        Ok(connections)
    };
    honest.during(vec![honest.fleet.server.thread(attack).unwrap()]);
}

/// As many connections per second as one address can open, up to 4,000.
#[test]
fn a_flood_of_connections_from_one_address_harms_no_other() {
    let honest = Honest::new();
    let flood = || {
        let (begun, mut connections) = (Instant::now(), 0_u32);
        let to = SocketAddr::from((OF_ATTACKER, TLS_PORT));
        while begun.elapsed() < ATTACK {
            connections += u32::from(TcpStream::connect_timeout(&to, Duration::from_millis(200)).is_ok());
            let due = Duration::from_millis(connections.into());
            thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        Ok(connections)
    };
    let attackers = (0..4).map(|_| honest.fleet.server.thread(flood).unwrap()).collect();
    honest.during(attackers);
}
