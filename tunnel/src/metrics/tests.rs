use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use super::*;
use crate::status::{Rate, tests::sample};

#[test]
fn the_scrape_has_names_units_and_help() {
    insta::assert_snapshot!(render(&sample(), Some(Rate { rx: 250e6, tx: 1e3 })));
}

#[test]
fn ten_thousand_peers_are_rendered_quickly() {
    let mut status = sample();
    let peer = status.peers[0].clone();
    status.peers =
        (0..10_000).map(|n| crate::status::Peer { public_key: format!("{n:044}"), ..peer.clone() }).collect();
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
}

impl Source for Fake {
    fn status(&self) -> Option<Status> {
        self.alive().then(sample)
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
    let source = Arc::new(Fake { alive: AtomicBool::new(true) });
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

    let taken = Server::start(server.address(), source).err().unwrap().to_string();
    insta::assert_snapshot!(taken.replace(&server.address().port().to_string(), "PORT"));
}
