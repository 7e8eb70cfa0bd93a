//! Three gateways over a real etcd, many pods, and what happens to them when parts die. `cargo xtask bench gateway` does the
//! same with 50 pods and prints more of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::fleet::{Asker, Felt, Fleet, all_answered, live, no_address_twice};
use warren_tunnel_tests::wait_for;

const GATEWAYS: u8 = 3;
const PODS: u16 = 24;

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
    assert!(said.contains("sent to the others"), "{said}");
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

/// Connections that a gateway forwards now.
fn flows(gateway: &Gateway) -> u64 {
    let text = gateway.run(&["gateway", "status", "--json"]).unwrap();
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    status["figures"]["tcp_now"].as_u64().unwrap()
}
