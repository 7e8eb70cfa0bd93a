//! Three gateways over a real etcd, many pods, and what happens to them when parts die. `cargo xtask bench gateway` does the
//! same with 50 pods and prints more of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::Signal;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::fleet::{Asker, Felt, Fleet, all_answered, live, no_address_twice, proxy};
use warren_tunnel_tests::wait_for;

const GATEWAYS: u8 = 3;
const PODS: u16 = 24;
const PATIENCE: Duration = Duration::from_secs(20);

/// What programs felt since they were asked last, and a line that tells it.
fn felt(what: &str, askers: &[Asker]) -> (Felt, String) {
    all_answered(askers).unwrap();
    let felt = Felt::by(askers);
    let line = format!(
        "{what}: {} of {PODS} pods felt it; without an answer for {} ms in the middle, {} ms at most",
        felt.gaps.len(),
        felt.median(),
        felt.longest
    );
    (felt, line)
}

#[test]
fn gateways_pods_and_etcd_die_and_traffic_goes_on() {
    let fleet = Fleet::new(GATEWAYS).unwrap();
    let mut gateways: Vec<Gateway> =
        (0..usize::from(GATEWAYS)).map(|index| fleet.gateway(index).unwrap()).collect();
    let token = fleet.fabric.token("gpu", &[]).unwrap();
    let mut pods: Vec<Member> = (0..PODS).map(|number| fleet.pod(number, &token).unwrap()).collect();
    let askers: Vec<Asker> = (0..PODS).map(|number| fleet.asker(number).unwrap()).collect();
    all_answered(&askers).unwrap();
    Felt::by(&askers);
    let before = live(&gateways[0]).unwrap();
    assert_eq!(before.len(), usize::from(PODS));
    no_address_twice(&before).unwrap();
    for gateway in &gateways[1..] {
        assert_eq!(live(gateway).unwrap(), before, "every gateway knows every pod");
    }

    // A gateway.
    gateways[0].daemon.kill().unwrap();
    let (kill, line) = felt("kill -9 of a gateway", &askers);
    println!("{line}");
    assert!(!kill.gaps.is_empty(), "no pod was at that gateway");
    assert_eq!(live(&gateways[1]).unwrap(), before, "a lease was lost");

    // etcd, and with it nothing but changes.
    fleet.etcd.signal(Signal::STOP).unwrap();
    thread::sleep(Duration::from_secs(5));
    fleet.etcd.signal(Signal::CONT).unwrap();
    println!("{}", felt("etcd stopped for 5 s", &askers).1);

    // The gateway comes back, and the way to another is cut without a word.
    gateways[0] = fleet.gateway(0).unwrap();
    wait_for(Duration::from_secs(30), "peers at the returned gateway", || {
        Ok((live(&gateways[0])? == before).then_some(()))
    })
    .unwrap();
    fleet.cut(1).unwrap();
    let (cut, line) = felt("the way to a gateway cut", &askers);
    println!("{line}");
    assert!(!cut.gaps.is_empty(), "no pod was at that gateway");
    assert_eq!(live(&gateways[1]).unwrap(), before, "a lease was lost");
    fleet.mend(1).unwrap();

    // A gateway that is taken out of service sends its pods to the others, and gets them back only when they have a reason.
    let said = gateways[2].run(&["gateway", "drain"]).unwrap();
    assert!(said.contains("to other gateways"), "{said}");
    println!("{}", felt("gateway drain", &askers).1);
    assert_eq!(flows(&gateways[2]), 0, "a pod is still there");
    assert_eq!(live(&gateways[0]).unwrap(), before, "a lease was lost");
    gateways[2].run(&["gateway", "drain", "--undo"]).unwrap();

    // A pod that dies without a word, and one that says good-bye.
    pods[0].daemon.kill().unwrap();
    assert!(pods[1].daemon.terminate().unwrap().success());
    wait_for(Duration::from_secs(10), "release", || {
        Ok((live(&gateways[2])?.len() == usize::from(PODS) - 1).then_some(()))
    })
    .unwrap();
    let again = fleet.pod(1, &token).unwrap();
    let now = live(&gateways[2]).unwrap();
    no_address_twice(&now).unwrap();
    assert_eq!(now.len(), usize::from(PODS), "the silent one keeps its lease for now");
    drop((again, askers));
}

/// A stall of the agent's control thread, as on an overloaded machine, is longer than anybody waits for its answers.
#[test]
fn an_agent_that_stood_still_fails_over_all_the_same() {
    let fleet = Fleet::new(2).unwrap();
    let mut gateways = [0, 1].map(|index| fleet.gateway(index).unwrap());
    let pod = fleet.pod(1, &fleet.fabric.token("gpu", &[]).unwrap()).unwrap();
    let asker = [fleet.asker(1).unwrap()];
    all_answered(&asker).unwrap();
    pod.daemon.freeze("control", Duration::from_secs(12)).unwrap();
    assert!(pod.daemon.log().contains("the control thread does not answer"), "{}", pod.daemon.log());
    all_answered(&asker).unwrap();
    let at = answers(&gateways);
    gateways[at].daemon.kill().unwrap();
    all_answered(&asker).unwrap_or_else(|error| panic!("{error:#}\n{}", pod.daemon.log()));
}

/// A program that has asked and waits for its answer sends nothing that anybody could reset: its agent does it.
#[test]
fn who_waits_learns_that_its_gateway_has_died() {
    let fleet = Fleet::new(2).unwrap();
    let mut gateways = [0, 1].map(|index| fleet.gateway(index).unwrap());
    let _pod = fleet.pod(1, &fleet.fabric.token("gpu", &[]).unwrap()).unwrap();
    let listener = fleet.server.inside(|| Ok(TcpListener::bind("10.50.0.2:8001")?)).unwrap();
    let mut near = fleet.pods.inside(|| Ok(TcpStream::connect(proxy(1))?)).unwrap();
    near.set_read_timeout(Some(PATIENCE)).unwrap();
    near.write_all(b"GET http://10.50.0.2:8001/ HTTP/1.1\r\nHost: 10.50.0.2:8001\r\n\r\n").unwrap();
    let mut far = listener.accept().unwrap().0;
    let asked = far.read(&mut [0; 1024]).unwrap();
    assert!(asked > 0);
    let at = carries(&gateways);
    // What another program of the pod sends without an answer is by what the agent finds out.
    let _asker = fleet.asker(1).unwrap();
    gateways[at].daemon.kill().unwrap();
    let begun = Instant::now();
    let mut answer = [0; 64];
    let told = near.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..told]);
    println!("it waited {:?}: {answer}", begun.elapsed());
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

/// The kernel cannot end what passes through it: each end of a connection is told when it next sends, whoever it reaches by then.
#[test]
fn a_drain_where_the_kernel_forwards_resets_connections_and_leaves_nothing() {
    let fleet = Fleet::new(2).unwrap();
    let mut gateways = [0, 1].map(|index| fleet.admin_gateway(index).unwrap());
    for gateway in &gateways {
        assert_eq!(gateway.status().unwrap()["forward"], "kernel");
    }
    let name = format!("dr{}", std::process::id() % 1_000_000);
    let _pod = fleet.fabric.machine_as(&fleet.pods, &fleet.fabric.token("gpu", &[]).unwrap(), &name).unwrap();
    let (mut near, mut far) = connected(&fleet, 8001);
    let (mut busy, _busy_far) = connected(&fleet, 8002);
    near.write_all(b"?").unwrap();
    far.read_exact(&mut [0]).unwrap();
    let at = carries(&gateways);

    let begun = Instant::now();
    let sending = thread::spawn(move || {
        loop {
            if let Err(error) = busy.write_all(&[7; 1000]) {
                return (error.kind(), begun.elapsed());
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    let drained = begun.elapsed();
    let said = gateways[at].run(&["gateway", "drain"]).unwrap();
    assert!(said.contains("moves its peers (1) to other gateways"), "{said}");
    let (kind, told) = sending.join().unwrap();
    assert_eq!(kind, ErrorKind::ConnectionReset);
    println!("a connection that sends is reset {:?} after the drain", told.checked_sub(drained).unwrap());
    // What begins meanwhile waits for the next gateway, and is not refused.
    let _new = connected(&fleet, 8003);
    println!("and a new one is there after {:?}", begun.elapsed());
    carried(&gateways[1 - at], 1);
    for silent in [&mut far, &mut near] {
        let told = silent.write_all(b"!").and_then(|()| silent.read(&mut [0]));
        assert_eq!(told.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    let rules = |host: usize| {
        let table = format!("warren-gw-{host}");
        fleet.gateway_host(host).run("nft", &["list", "map", "inet", &table, "out4"]).unwrap()
    };
    assert!(rules(at).contains("jump leaving") && !rules(at).contains("jump out-gpu"), "{}", rules(at));

    // And back.
    gateways[at].run(&["gateway", "drain", "--undo"]).unwrap();
    assert!(rules(at).contains("jump out-gpu"), "{}", rules(at));
    gateways[1 - at].run(&["gateway", "drain"]).unwrap();
    let _back = connected(&fleet, 8004);
    carried(&gateways[at], 3);
    for (index, gateway) in gateways.iter_mut().enumerate() {
        assert!(gateway.daemon.terminate().unwrap().success(), "{}", gateway.daemon.log());
        let host = fleet.gateway_host(index);
        assert_eq!(host.run("nft", &["list", "tables"]).unwrap(), "");
        assert!(!host.ip("route show").unwrap().contains("10.100.0.0"));
        assert_eq!(host.run("sysctl", &["-n", "net.ipv4.ip_forward"]).unwrap().trim(), "0");
    }
}

/// Which gateway forwards connections now; its figures are half a second old at the most.
fn carries(gateways: &[Gateway]) -> usize {
    wait_for(PATIENCE, "flows", || Ok(gateways.iter().position(|gateway| flows(gateway) > 0))).unwrap()
}

/// Which gateway forwards new connections, each of which may be too short to be seen.
fn answers(gateways: &[Gateway]) -> usize {
    let before: Vec<_> = gateways.iter().map(|gateway| so_far(gateway).unwrap()).collect();
    let grown =
        || Ok(gateways.iter().zip(&before).position(|(gateway, before)| so_far(gateway).unwrap() > *before));
    wait_for(PATIENCE, "new connection at a gateway", grown).unwrap()
}

/// Connections that a gateway has forwarded since its start.
fn so_far(gateway: &Gateway) -> anyhow::Result<u64> {
    gateway.status()?["figures"]["tcp"].as_u64().context("a status without connections")
}

/// Waits until a gateway has forwarded so many connections since its start.
fn carried(gateway: &Gateway, count: u64) {
    let so_far = || Ok(Some(so_far(gateway)?).filter(|tcp| *tcp >= count));
    wait_for(PATIENCE, "connection at the gateway", so_far).unwrap();
}

/// A connection from the pods to the server, and its other end.
fn connected(fleet: &Fleet, port: u16) -> (TcpStream, TcpStream) {
    let at = SocketAddr::from(([10, 50, 0, 2], port));
    let listener = fleet.server.inside(move || Ok(TcpListener::bind(at)?)).unwrap();
    let near = fleet.pods.inside(move || Ok(TcpStream::connect_timeout(&at, PATIENCE)?)).unwrap();
    let far = listener.accept().unwrap().0;
    for stream in [&near, &far] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    (near, far)
}

/// Connections that a gateway forwards now.
fn flows(gateway: &Gateway) -> u64 {
    let text = gateway.run(&["gateway", "status", "--json"]).unwrap();
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    status["figures"]["tcp_now"].as_u64().unwrap()
}
