//! A gateway whose device has several queues.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;

use warren_tunnel_tests::Namespace;
use warren_tunnel_tests::fabric::Member;

use crate::lab::{By, Lab, PATIENCE, patient};

/// With so many pods, it happens once in 16,000 times that all have the same queue.
const PODS: usize = 8;
const QUEUES: usize = 4;
const BYTES: usize = 2_000_000;

/// A pod on a wire of its own.
fn pod(lab: &Lab, number: usize) -> (Arc<Namespace>, Member) {
    let host = Arc::new(Namespace::new().unwrap());
    let wire = format!("wire{number}");
    host.join_as(&lab.gateway, &wire).unwrap();
    host.ip(&format!("addr add 10.201.{number}.1/24 dev {wire}")).unwrap();
    lab.gateway.ip(&format!("addr add 10.201.{number}.2/24 dev {wire}")).unwrap();
    host.ip(&format!("route add 10.200.0.2 via 10.201.{number}.2")).unwrap();
    let token = lab.fabric.token("gpu", &[]).unwrap();
    let member = lab.fabric.machine_as(&host, &token, &format!("{}q{number}", lab.interface)).unwrap();
    (host, member)
}

/// Sends bytes to the server and back, and compares them.
fn exchange(lab: &Lab, host: &Namespace, number: usize) {
    let to = format!("10.50.0.2:{}", 8000 + number).parse().unwrap();
    let listener =
        lab.server.inside(move || Ok(std::net::TcpListener::bind::<std::net::SocketAddr>(to)?)).unwrap();
    let near = host.inside(move || Ok(std::net::TcpStream::connect_timeout(&to, PATIENCE)?)).unwrap();
    let (mut near, mut far) = (patient(near), patient(listener.accept().unwrap().0));
    let bytes: Vec<u8> = (0..BYTES).map(|at| (at * 7 + at / 251 + number) as u8).collect();
    let echo = thread::spawn(move || {
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        far.write_all(&all).unwrap();
    });
    near.write_all(&bytes).unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let mut back = Vec::new();
    near.read_to_end(&mut back).unwrap();
    echo.join().unwrap();
    assert!(back == bytes, "pod {number}: the bytes differ");
}

/// The times that each thread of this name has waited.
fn waits(process: u32, name: &str) -> Vec<u64> {
    let mut waits = Vec::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default();
        let field = |field: &str| status.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
        if field("Name:")
            .is_some_and(|found| found.strip_prefix(name).is_some_and(|rest| rest.parse::<u8>().is_ok()))
        {
            waits.push(field("voluntary_ctxt_switches:").unwrap().parse().unwrap());
        }
    }
    waits
}

#[test]
fn several_queues_carry_the_streams_of_pods() {
    let lab = Lab::new(By::Kernel);
    let gateway = lab.fabric.start_with(By::Kernel, &lab.gateway, &[("WARREN_QUEUES", "4")]).unwrap();
    let pods: Vec<_> = (0..PODS).map(|number| pod(&lab, number)).collect();
    let process = gateway.daemon.id();
    thread::scope(|scope| {
        for (number, (host, _)) in pods.iter().enumerate() {
            let lab = &lab;
            scope.spawn(move || exchange(lab, host, number));
        }
    });
    for name in ["warren-in-", "warren-out-"] {
        let waits = waits(process, name);
        assert_eq!(waits.len(), QUEUES, "{name}: {waits:?}");
        // A thread that carried nothing has waited once or twice.
        assert!(waits.iter().filter(|waits| **waits > 20).count() > 1, "{name}: {waits:?}");
    }
    let link = lab.gateway.ip("-d link show type tun").unwrap();
    assert!(link.contains("multi_queue"), "{link}");
}
