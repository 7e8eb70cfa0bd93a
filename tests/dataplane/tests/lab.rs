//! The lab itself: what its parts promise to those who build on it.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_proto::op::ResponseCode;
use warren_dataplane::lab::{
    Answer, Internet, Lab, Link, Names, Node, Outcome, Probe, Question, Script, Watch,
};

const CLIENT: &str = "10.0.0.2";
const SERVER: &str = "10.0.1.2";

/// `client -- router -- server`, with a server on port 443.
struct Line {
    lab: Lab,
    client: Node,
    router: Node,
    server: Node,
}

impl Line {
    fn new() -> Line {
        let lab = Lab::new().unwrap().quiet(Duration::from_millis(700));
        let [client, router, server] = lab.nodes(["client", "router", "server"]).unwrap();
        lab.link(&[
            Link::new(&client, "eth0", &router, "left"),
            Link::new(&router, "right", &server, "eth0"),
        ])
        .unwrap();
        let host = |address: &str, gateway: &str| {
            Script::new()
                .ip(&format!("address add {address}/24 dev eth0"))
                .ip(&format!("route add default via {gateway}"))
        };
        let between =
            Script::new().ip("address add 10.0.0.1/24 dev left").ip("address add 10.0.1.1/24 dev right");
        lab.configure(&[
            (&client, host(CLIENT, "10.0.0.1")),
            (&router, between.forward()),
            (&server, host(SERVER, "10.0.1.1")),
        ])
        .unwrap();
        lab.respond(&server, &[SERVER.parse().unwrap()], &[443]).unwrap();
        Line { lab, client, router, server }
    }

    fn tcp(&self, to: &str) -> Outcome {
        self.lab.probe(&[Probe::tcp(&self.client, to.parse().unwrap())]).remove(0)
    }
}

#[test]
fn probes_say_who_answered_and_whom_it_saw() {
    let line = Line::new();
    let to = format!("{SERVER}:443").parse().unwrap();
    for probe in [Probe::tcp(&line.client, to), Probe::udp(&line.client, to)] {
        let outcome = line.lab.probe(&[probe]).remove(0);
        let Outcome::Answered { server, seen } = outcome else { panic!("{outcome:?}") };
        assert_eq!((server.as_str(), seen.ip().to_string().as_str()), ("server", CLIENT));
    }
    assert_eq!(line.tcp(&format!("{SERVER}:80")), Outcome::Refused);
    assert_eq!(line.tcp("192.0.2.1:443"), Outcome::Unreachable);
    line.router
        .nft(
            "table ip filter { chain forward { type filter hook forward priority 0; tcp dport 443 drop; }; }",
        )
        .unwrap();
    assert_eq!(line.tcp(&format!("{SERVER}:443")), Outcome::Silent);
}

#[test]
fn a_probe_needs_the_way_back() {
    let line = Line::new();
    line.server.ip("route del default").unwrap();
    assert!(!line.tcp(&format!("{SERVER}:443")).reached());
}

#[test]
fn hundreds_of_probes_take_as_long_as_one() {
    let line = Line::new();
    let to = |port: u16| format!("{SERVER}:{port}").parse().unwrap();
    let closed = "table ip filter { chain forward { type filter hook forward priority 0; tcp dport 1000-1999 drop; }; }";
    line.router.nft(closed).unwrap();
    let probes: Vec<Probe> = (0..300)
        .map(|index| Probe::tcp(&line.client, to(if index % 2 == 0 { 443 } else { 1000 + index })))
        .collect();
    let started = Instant::now();
    let outcomes = line.lab.probe(&probes);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.reached()).count(), 150);
    // One after the other, the 150 that get no answer alone would take more than three minutes.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn a_watch_records_what_crosses() {
    let line = Line::new();
    let watch = Watch::of(&line.router).unwrap();
    assert!(line.tcp(&format!("{SERVER}:443")).reached());
    let crossed = watch.packets();
    let matching = crossed.iter().filter(|packet| {
        (packet.source.to_string().as_str(), packet.destination_port, packet.protocol) == (CLIENT, 443, 6)
    });
    assert!(matching.count() > 2, "{crossed:?}");
    watch.clear();
    assert!(watch.packets().is_empty());
}

#[derive(Debug)]
struct OneName;

#[async_trait::async_trait]
impl Names for OneName {
    async fn answer(&self, question: Question) -> Option<Answer> {
        Some(match question.name.as_str() {
            "server.test" => Answer::addresses(&question, [SERVER.parse::<IpAddr>().unwrap()]),
            _ => Answer::code(ResponseCode::NXDomain),
        })
    }
}

#[test]
fn names_resolve_for_lookups_and_programs() {
    let line = Line::new();
    let names: Arc<dyn Names> = Arc::new(OneName);
    line.lab.serve_names(&line.router, &["10.0.0.1".parse().unwrap()], &names).unwrap();
    line.client.set_resolvers(&["10.0.0.1".parse().unwrap()]).unwrap();
    let found = line.lab.lookup(&line.client, "server.test");
    assert_eq!(found.addresses, [SERVER.parse::<IpAddr>().unwrap()].into());
    assert_eq!(line.lab.lookup(&line.client, "other.test").code, ResponseCode::NXDomain);
    assert_eq!(line.lab.lookup(&line.server, "server.test").code, ResponseCode::ServFail);
    let page = line.client.output("curl --silent --fail --max-time 5 http://server.test:443/").unwrap();
    assert!(page.starts_with(&format!("server {CLIENT}:")), "{page}");
}

#[test]
fn the_internet_forwards_between_networks_answers_elsewhere_and_records() {
    let lab = Lab::new().unwrap().quiet(Duration::from_millis(700));
    let mut internet = Internet::new(&lab, &[443]).unwrap();
    let [one, two] = lab.nodes(["one", "two"]).unwrap();
    for (node, address) in [(&one, "203.0.113.1"), (&two, "198.51.100.1")] {
        node.ip(&format!("address add {address}/32 dev lo")).unwrap();
        internet.attach(&lab, node, "out", &[format!("{address}/32").parse().unwrap()]).unwrap();
    }
    lab.respond(&two, &["198.51.100.1".parse().unwrap()], &[443]).unwrap();
    let from_one = |to: &str| {
        let probe = Probe::tcp(&one, format!("{to}:443").parse().unwrap());
        lab.probe(&[probe.source("203.0.113.1".parse().unwrap())]).remove(0)
    };
    assert_eq!(from_one("198.51.100.1").server(), Some("two"));
    assert_eq!(from_one("9.9.9.9").server(), Some("internet"));
    assert!(internet.seen().contains("203.0.113.1 -> 9.9.9.9:443"), "{}", internet.seen());
    let outside = Probe::tcp(internet.node(), "198.51.100.1:443".parse().unwrap());
    assert_eq!(lab.probe(&[outside]).remove(0).server(), Some("two"));
    let names = internet.names();
    names.add("*.s3.test", ["192.0.2.1".parse().unwrap()]);
    assert_eq!(names.find("Bucket.s3.test."), Some(vec!["192.0.2.1".parse().unwrap()]));
    assert_eq!(names.find("s3.test"), None);
}

#[test]
fn nothing_is_left_behind() {
    let line = Line::new();
    let path = line.client.path();
    assert!(std::path::Path::new(&path).exists());
    let namespace = std::fs::read_link(&path).unwrap();
    let held = || {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| target == namespace)
    };
    assert!(held());
    drop(line);
    assert!(!held());
}
