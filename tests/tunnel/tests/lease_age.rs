//! A pod that dies without a word keeps its lease for as long as leases live, four minutes at the least; then nothing of it is
//! left. One that is only silent finds its gateway again.
//!
//! They take minutes and do next to nothing meanwhile. So this is no part of `cargo test`: `cargo xtask test` runs it
//! beside all the others, and `cargo test -p warren-tunnel-tests --test lease_age` alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use warren_tunnel_tests::fabric::Gateway;
use warren_tunnel_tests::fleet::{Fleet, live};
use warren_tunnel_tests::wait_for;

/// Of a lease, as the file has it, and the time that a change of leases may take beside it.
const TTL: Duration = Duration::from_secs(240);
const SLACK: Duration = Duration::from_secs(90);

fn states(gateway: &Gateway) -> Vec<String> {
    let peers = gateway.peers().unwrap();
    peers.iter().map(|peer| peer["state"].as_str().unwrap().to_owned()).collect()
}

/// A silent pod asks its gateway twice a minute; a session by itself would be renewed after two minutes.
const ASKED: Duration = Duration::from_secs(60);

/// A gateway that comes back has lost its sessions and does not know where its pods are: nobody could reach them.
#[test]
fn a_silent_pod_finds_a_gateway_that_came_back() {
    let fleet = Fleet::new(1).unwrap();
    let mut gateway = fleet.gateway(0).unwrap();
    let token = fleet.fabric.token("gpu", &[]).unwrap();
    let pod = fleet.pod(0, &token).unwrap();
    gateway.daemon.kill().unwrap();
    let gateway = fleet.gateway(0).unwrap();
    let begun = Instant::now();
    let found = wait_for(ASKED, "the silent pod's handshake", || {
        let peers = gateway.peers()?;
        Ok(peers.into_iter().find(|peer| peer["last_handshake_age"].is_number()))
    });
    let found = found.unwrap_or_else(|error| panic!("{error:#}\n{}", pod.daemon.log()));
    assert_eq!(found["state"], "live");
    println!("the silent pod found its gateway again after {:?}", begun.elapsed());
}

#[test]
fn a_pod_that_was_killed_leaves_nothing() {
    let fleet = Fleet::new(2).unwrap();
    for index in [0, 1] {
        fleet.fabric.configure(index, &[("ttl = \"4m\"", "ttl = \"4m\"\nquarantine = \"20s\"")]).unwrap();
    }
    let gateways = [0, 1].map(|index| fleet.gateway(index).unwrap());
    let token = fleet.fabric.token("gpu", &[]).unwrap();
    let [mut killed, _stays] = [0, 1].map(|number| fleet.pod(number, &token).unwrap());
    assert_eq!((fleet.stored("lease").unwrap().len(), fleet.stored("address").unwrap().len()), (2, 2));
    let both = live(&gateways[0]).unwrap();
    killed.daemon.kill().unwrap();
    let died = Instant::now();
    // The other gateway is asked before the lease ends, and has a third of the TTL to hear of it.
    wait_for(TTL + TTL / 3 + SLACK, "end of the lease", || {
        Ok((states(&gateways[1]).contains(&"expired".into())).then_some(()))
    })
    .unwrap();
    let (ended, left) = (died.elapsed(), live(&gateways[0]).unwrap());
    assert!(ended + Duration::from_secs(60) > TTL, "it ended after {ended:?}");
    assert!(left.len() == 1 && both.contains(&left[0]), "the other's lease was lost: {left:?}");
    wait_for(SLACK, "end of the quarantine", || {
        Ok((fleet.stored("lease")?.len() == 1 && fleet.stored("address")?.len() == 1).then_some(()))
    })
    .unwrap();
    let mut renewed = 0;
    for gateway in &gateways {
        assert_eq!(states(gateway), ["live"]);
        renewed += gateway.status().unwrap()["leases"]["renewed"].as_u64().unwrap();
    }
    // Once a minute, a quarter of its time, and by one gateway: no more than it must.
    assert!((1..=10).contains(&renewed), "the lease of the pod that stays was renewed {renewed} times");
    println!(
        "the lease of a pod that was killed ended after {ended:?}; after {:?} nothing of it was left",
        died.elapsed()
    );
}
