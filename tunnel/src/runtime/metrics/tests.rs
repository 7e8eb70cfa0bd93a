use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use super::*;
use crate::gateway::forward::ForwardCounters;
use crate::gateway::model::{DnsStatus, GatewayStatus, ResolverStatus, SiteEntry};
use crate::runtime::status::{Rate, tests::sample};
use crate::runtime::supervise::Supervisor;

#[test]
fn the_scrape_has_names_units_and_help() {
    insta::assert_snapshot!(render(&sample(), Some(Rate { rx: 250e6, tx: 1e3 })));
}

#[test]
fn ten_thousand_peers_are_rendered_quickly() {
    let mut status = sample();
    let peer = status.peers[0].clone();
    status.peers = (0..10_000)
        .map(|n| crate::runtime::status::Peer { public_key: format!("{n:044}"), ..peer.clone() })
        .collect();
    let start = Instant::now();
    let text = render(&status, None);
    let took = start.elapsed();
    assert_eq!(text.matches("peer_receive_bytes_total{").count(), 10_000);
    assert!(took.as_millis() < 1000, "unoptimised: {took:?}");
}

#[test]
fn readiness_names_the_peer_that_is_missing() {
    let mut status = sample();
    assert_eq!(ready(&status), Ok(()));
    status.peers[0].last_handshake = Some(status.at - 200.0);
    status.peers[1].persistent_keepalive = Some(25);
    insta::assert_snapshot!(ready(&status).unwrap_err());
}

struct Fake {
    alive: AtomicBool,
    supervisor: Supervisor,
}

impl Source for Fake {
    fn status(&self) -> Option<Status> {
        self.alive().then(sample)
    }

    fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    fn alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }
}

fn get(server: &Server, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn the_server_serves() {
    let source = Arc::new(Fake { alive: AtomicBool::new(true), supervisor: Supervisor::default() });
    let server =
        Server::start("127.0.0.1:0".parse().unwrap(), Arc::clone(&source) as Arc<dyn Source>).unwrap();
    assert_eq!(get(&server, "/healthz"), (200, "ok\n".into()));
    assert_eq!(get(&server, "/readyz").0, 200);
    let (code, body) = get(&server, "/metrics");
    assert_eq!(code, 200);
    assert!(body.contains("warren_tunnel_peers{interface=\"wg0\"} 2"));
    assert_eq!(get(&server, "/nothing").0, 404);
    source.alive.store(false, Ordering::Relaxed);
    assert_eq!(get(&server, "/healthz").0, 503);
    assert_eq!(get(&server, "/readyz").0, 503);

    source.alive.store(true, Ordering::Relaxed);
    _ = source.supervisor.thread("lease task", 64 << 10, || panic!("planted")).unwrap().join();
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(&server, path), (503, "ended unexpectedly: lease task\n".into()));
    }

    let taken = Server::start(server.address(), source).err().unwrap().to_string();
    insta::assert_snapshot!(taken.replace(&server.address().port().to_string(), "PORT"));
}

/// A gateway with something of everything.
fn gateway() -> GatewayStatus {
    GatewayStatus {
        dns: Some(dns()),
        credentials: vec![crate::gateway::model::CredentialStatus {
            cloud: "aws".to_owned(),
            issued: 1,
            kept: 2,
            refused: 3,
            failed: 4,
            limited: 5,
        }],
        fabric: "llm-training".into(),
        name: "gw-a".into(),
        draining: false,
        store: true,
        forward: "user".into(),
        forward_reason: "CAP_NET_ADMIN is missing".into(),
        counters: ForwardCounters {
            streams: [("bbr".to_owned(), 2), ("cubic".to_owned(), 1)].into(),
            ..ForwardCounters::default()
        },
        leases: Default::default(),
        gateways: vec!["gw-a".into(), "gw-b".into()],
        sites: vec![SiteEntry {
            name: "gcp-hub".into(),
            public_key: "TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0=".into(),
            prefixes: vec!["10.0.0.0/16".parse().unwrap()],
            up: true,
            last_handshake_age: Some(12.0),
            endpoint: None,
            rx_bytes: 1,
            tx_bytes: 2,
        }],
        direct_offers: 7,
        interface: sample(),
    }
}

/// `warren capacity --measured` reads this scrape in its tests.
#[test]
fn the_scrape_of_a_gateway() {
    let mut interface = sample();
    interface.interface = "gw-a".into();
    interface.peers.clear();
    interface.services = None;
    insta::assert_snapshot!(render(&interface, Some(Rate { rx: 250e6, tx: 1e3 })) + &gateway().metrics());
}

/// Metric names in a text, each with the labels that are asked of it in braces.
fn named(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (at, _) in text.match_indices("warren_") {
        if text[..at].ends_with(word) {
            continue;
        }
        let name = text[at..].split(|c| !word(c)).next().unwrap_or_default();
        if name == "warren_" {
            // The beginning of a pattern.
            continue;
        }
        let labels = found.entry(name).or_default();
        let rest = &text[at + name.len()..];
        let inside =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
        for selector in inside.split(',') {
            let label = selector.trim().split(|c| !word(c)).next().unwrap_or_default();
            if !label.is_empty() {
                labels.insert(label);
            }
        }
    }
    found
}

#[test]
fn what_alerts_and_dashboard_ask_for_is_what_agents_and_gateways_tell() {
    let told = render(&sample(), Some(Rate { rx: 1.0, tx: 1.0 })) + &gateway().metrics();
    let told = named(&told);
    let asked_for = [
        ("alerts.yaml", include_str!("../../../operations/alerts.yaml")),
        ("dashboard.json", include_str!("../../../operations/dashboard.json")),
    ];
    // What every scrape has of Prometheus itself.
    let own = ["instance", "job"];
    for (file, text) in asked_for {
        // JSON escapes quotes, and the comment at the top names families.
        let text = text.replace("\\\"", "\"").replace("warren_tunnel_*", "").replace("warren_gateway_*", "");
        let asked = named(&text);
        assert!(asked.len() > 5, "{file}: {asked:?}");
        for (name, labels) in asked {
            let Some(known) = told.get(name) else { panic!("{file}: there is no metric {name}") };
            for label in labels {
                assert!(known.contains(label) || own.contains(&label), "{file}: {name} has no label {label}");
            }
        }
    }
}

fn dns() -> DnsStatus {
    let resolver = |address: &str, answers| ResolverStatus { address: address.parse().unwrap(), answers };
    DnsStatus {
        addresses: vec!["10.100.0.1".parse().unwrap()],
        zones: Vec::new(),
        resolvers: vec![resolver("172.16.0.2", true), resolver("10.101.0.1", false)],
        queries: 100,
        cached: 60,
        failed: 3,
        refused: 7,
        dropped: 2,
        strange: 1,
    }
}
