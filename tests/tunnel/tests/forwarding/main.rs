//! Forwarding by the kernel and by sockets: one table of cases for both, and what the kernel's leaves on the machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod lab;
mod queues;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cases::{CASES, seen};
use lab::{ALLOWED, By, Lab};
use serde_json::Value;
use warren_tunnel_tests::fabric::Gateway;
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::{Impairment, LongWire, wait_for};

/// The outcomes of all cases, the gateway's figures after them, and its audit.
fn run(by: By) -> (Vec<String>, Value, String) {
    let lab = Lab::new(by);
    let mut gateway = lab.start();
    let member = lab.member();
    let outcomes: Vec<String> = CASES.iter().map(|case| (case.act)(&lab)).collect();
    let status = gateway.status().unwrap();
    drop(member);
    assert!(gateway.daemon.terminate().unwrap().success(), "{}", gateway.daemon.log());
    (outcomes, status, gateway.audit())
}

#[test]
fn both_kinds_give_the_same_answers() {
    let threads = [By::Kernel, By::User].map(|by| (by, thread::spawn(move || run(by))));
    let mut wrong = String::new();
    for (by, thread) in threads {
        let (outcomes, status, audit) = thread.join().unwrap();
        for (port, verdict) in [(8001, "allowed"), (22, "destination")] {
            let told = format!(
                "\"destination\":\"10.50.0.2\",\"protocol\":\"tcp\",\"port\":{port},\"verdict\":\"{verdict}\",\"count\":1,"
            );
            if !audit.contains(&told) {
                wrong += &format!("{by:?}: the audit has no {told}\n");
            }
        }
        if audit.contains("10.100.0.99") {
            wrong += &format!("{by:?}: the audit has what another's address was to do\n");
        }
        for (case, outcome) in CASES.iter().zip(&outcomes) {
            let expected = case.expected.of(by);
            println!("{by:?}: {}: {outcome}", case.name);
            if outcome != expected {
                wrong += &format!("{by:?}: {}: {outcome}; expected: {expected}\n", case.name);
            }
        }
        assert_eq!(status["forward"], if by == By::Kernel { "kernel" } else { "user" });
        for figure in ["tcp", "udp", "echo", "bytes_out", "bytes_in", "denied", "failed"] {
            let value = status["figures"][figure].as_u64().unwrap();
            if value == 0 {
                wrong += &format!("{by:?}: figure {figure} is 0: {}\n", status["figures"]);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Rules that are taken away and a member that is evicted end what they had, towards both ends.
#[test]
fn what_is_taken_away_ends_at_once() {
    let threads = [By::Kernel, By::User].map(|by| {
        thread::spawn(move || {
            let lab = Lab::new(by);
            let gateway = lab.start();
            let _member = lab.member();
            let (mut near, _far) = lab.connected(8000).unwrap();
            let (_near, mut far) = lab.connected(8001).unwrap();
            let only = ALLOWED.replace("8000-8100", "8001-8100");
            lab.fabric.configure(0, &[(ALLOWED, &only)]).unwrap();
            assert!(gateway.run(&["gateway", "reload"]).unwrap().contains("groups"));
            assert_eq!(said(&mut near), "reset", "{by:?}");
            assert!(lab.connected(8002).is_ok(), "{by:?}");

            let key = gateway.peers().unwrap()[0]["public_key"].as_str().unwrap().to_owned();
            gateway.run(&["gateway", "evict", &key]).unwrap();
            wait_for(Duration::from_secs(5), "end", || {
                Ok(gateway.peers()?.iter().all(|peer| peer["state"] == "evicted").then_some(()))
            })
            .unwrap();
            // The kernel answers what the host says next. The gateway's socket ends, and then answers too.
            let ends = if by == By::Kernel { &["reset"][..] } else { &["Ok(0)", "reset"] };
            let end = said(&mut far);
            assert!(ends.contains(&end.as_str()), "{by:?}: {end}");
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

/// What comes of saying something more. A reset that is there already is told by the write, and only once.
fn said(stream: &mut TcpStream) -> String {
    match stream.write_all(b"more") {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => "reset".into(),
        _ => seen(stream),
    }
}

fn setting(lab: &Lab, name: &str) -> String {
    lab.gateway.run("sysctl", &["-n", name]).unwrap().trim().to_owned()
}

fn rules(lab: &Lab) -> String {
    lab.gateway.run("nft", &["list", "tables"]).unwrap()
}

fn answers(lab: &Lab) {
    let answered = wait_for(Duration::from_secs(30), "answer", || {
        Ok(lab.pod.run("ping", &["-c", "1", "-W", "1", "10.50.0.2"]).ok())
    });
    answered.unwrap();
}

/// What the gateway changed, and whether all is as before.
fn untouched(lab: &Lab) {
    assert_eq!(rules(lab), "");
    for name in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding", "net.ipv6.conf.lan.forwarding"] {
        assert_eq!(setting(lab, name), "0", "{name}");
    }
    assert_eq!(setting(lab, "net.ipv6.conf.lan.accept_ra"), "1");
    assert!(!lab.gateway.ip("route show").unwrap().contains("10.100.0.0"));
    let left: Vec<_> = std::fs::read_dir(lab.fabric.folder().join("gw-0/warren-tunnel")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_killed_gateway_is_replaced_and_an_ended_one_leaves_nothing() {
    let lab = Lab::new(By::Kernel);
    let mut gateway = lab.start();
    let member = lab.member();
    answers(&lab);
    assert_eq!(setting(&lab, "net.ipv4.ip_forward"), "1");
    assert_eq!(setting(&lab, "net.ipv6.conf.lan.accept_ra"), "2");
    let (mut near, mut far) = lab.connected(8000).unwrap();

    gateway.daemon.kill().unwrap();
    assert!(rules(&lab).contains("warren-gw-0"));
    // The way to pods is the default route's now, and the leftover rules let nothing go there.
    lab.gateway.ip("route add 10.100.0.0/24 via 10.50.0.2").unwrap();
    let sent = lab.server.run("ping", &["-c", "1", "-W", "1", "10.100.0.9"]);
    assert!(sent.is_err(), "{sent:?}");
    lab.gateway.ip("route del 10.100.0.0/24").unwrap();

    let mut gateway = lab.start();
    assert!(gateway.daemon.log().contains("did not end cleanly"), "{}", gateway.daemon.log());
    answers(&lab);
    assert_eq!(rules(&lab).lines().count(), 1);
    // The kernel has kept the connection.
    near.write_all(b"still").unwrap();
    let mut heard = [0; 5];
    far.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"still");
    assert!(gateway.daemon.terminate().unwrap().success());
    untouched(&lab);

    // Killed again; the next one forwards by sockets.
    let mut gateway = lab.start();
    gateway.daemon.kill().unwrap();
    lab.fabric.configure(0, &[("fabric = ", "forwarding = \"user\"\nfabric = ")]).unwrap();
    let mut gateway = lab.start();
    assert_eq!(gateway.status().unwrap()["forward_reason"], "set in the file");
    assert_eq!(rules(&lab), "");
    assert!(gateway.daemon.terminate().unwrap().success());
    untouched(&lab);
    drop(member);
}

#[test]
fn who_forwards_is_told_with_its_reason() {
    let lab = Lab::new(By::Kernel);
    let told = |mut gateway: Gateway| {
        let text = gateway.run(&["gateway", "status"]).unwrap();
        assert!(gateway.daemon.terminate().unwrap().success());
        text.lines().find(|line| line.contains("forwarding:")).unwrap().trim().to_owned()
    };
    assert_eq!(told(lab.start()), "forwarding: kernel, CAP_NET_ADMIN, a TUN device and nft are available");
    let plain = told(lab.fabric.start(0, &lab.gateway).unwrap());
    assert_eq!(plain, "forwarding: user, CAP_NET_ADMIN is missing");
    // A file in its place that is no such device.
    let no_tun = told(lab.fabric.start_admin(0, &lab.gateway, &["/dev/net/tun"]).unwrap());
    assert!(no_tun.starts_with("forwarding: user, the kernel refused: "), "{no_tun}");
    let nft = lab.gateway.run("sh", &["-c", "command -v nft"]).unwrap();
    let no_nft = told(lab.fabric.start_admin(0, &lab.gateway, &[nft.trim()]).unwrap());
    assert_eq!(no_nft, "forwarding: user, nft is not installed");

    lab.fabric.configure(0, &[("fabric = ", "forwarding = \"kernel\"\nfabric = ")]).unwrap();
    let refused = format!("{:#}", lab.fabric.start(0, &lab.gateway).unwrap_err());
    assert!(refused.contains("kernel forwarding is not available: CAP_NET_ADMIN is missing"), "{refused}");
}

/// Between pod and gateway, large datagrams vanish without a report. The stacks of a pod without privileges and of a gateway that
/// forwards by sockets then send packets of 1,280 bytes, which are 1,340 bytes on the wire.
#[test]
fn a_black_hole_for_large_datagrams_stops_no_stream_of_a_pod() {
    let lab = Lab::new(By::User);
    lab.pod.ip("link del wire").unwrap();
    let way = Impairment { delay: Duration::from_millis(5), rate: 100, loss: 0.0 };
    let _wire = LongWire::join(&[Arc::clone(&lab.pod), Arc::clone(&lab.gateway)], way).unwrap();
    for (host, address) in [(&lab.pod, "10.200.0.1/24"), (&lab.gateway, "10.200.0.2/24")] {
        host.ip(&format!("addr add {address} dev wire")).unwrap();
        for rule in [
            "add table inet hole",
            "add counter inet hole lost",
            "add chain inet hole in { type filter hook prerouting priority -450; }",
            "add rule inet hole in iifname wire meta l4proto udp meta length > 1400 counter name lost drop",
        ] {
            host.run("nft", &[rule]).unwrap();
        }
    }
    let gateway = lab.start();
    let token = lab.fabric.token("gpu", &[]).unwrap();
    let pod = lab.fabric.pod(&lab.pod, &token, &["--forward", "127.0.0.1:18001=10.50.0.2:8001"]).unwrap();
    let near: SocketAddr = "127.0.0.1:18001".parse().unwrap();
    let far: SocketAddr = "10.50.0.2:8001".parse().unwrap();
    for (start, into) in [(Stream::upload as fn(_, _, _) -> _, &lab.gateway), (Stream::download, &lab.pod)] {
        let stream = start((&lab.pod, near), (&lab.server, far), 1_000_000).unwrap();
        let end = stream.finish();
        assert!(end.is_ok(), "{end:?}\n{}\n{}", pod.daemon.log(), gateway.daemon.log());
        let lost = into.run("nft", &["list", "counter", "inet", "hole", "lost"]).unwrap();
        assert!(!lost.contains("packets 0 "), "no datagram was too large: {lost}");
    }
}
