//! The lab itself, proven with other implementations against each other.

use std::time::Duration;

use warren_tunnel_tests::traffic::{Echo, Stream};
use warren_tunnel_tests::{Family, Implementation, Namespace, Pair, Settings, Side};

#[test]
fn hosts_are_gone_when_dropped_also_after_a_panic() {
    let listed = |name: &str| {
        let output = std::process::Command::new("ip").args(["netns", "list"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.split(' ').next() == Some(name))
    };
    let name = std::sync::Mutex::new(String::new());
    let outcome = std::panic::catch_unwind(|| {
        let host = Namespace::new().unwrap();
        host.name().clone_into(&mut name.lock().unwrap());
        assert!(listed(host.name()));
        drop(host.ip("no such object").unwrap());
    });
    let name = name.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert!(outcome.is_err());
    assert!(!name.is_empty() && !listed(&name));
}

#[test]
fn a_stream_crosses_the_bare_wire_and_its_digest_is_checked() {
    let hosts = Pair::hosts().unwrap();
    for family in [Family::V4, Family::V6] {
        let stream = Stream::start(&hosts[0], &hosts[1], Side::Right.outer(family), 4_000_000).unwrap();
        stream.finish().unwrap();
    }
}

#[test]
fn other_implementations_meet_in_the_lab() {
    let settings =
        Settings { outer: Family::V6, preshared: true, initiator: Some(Side::Left), ..Settings::default() };
    let pair = Pair::start(&Implementation::BoringtunCli, &Implementation::WireguardGo, &settings).unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    let seen = pair.device(Side::Right).peer().unwrap();
    assert!(seen.last_handshake > 0 && seen.preshared_key.is_some());
    let stream = Stream::start(
        pair.host(Side::Left),
        pair.host(Side::Right),
        Side::Right.inner(Family::V6),
        4_000_000,
    );
    stream.unwrap().finish().unwrap();
    let echo = Echo::start(pair.host(Side::Right), Side::Right.inner(Family::V4)).unwrap();
    let times = echo.ask(pair.host(Side::Left), 5000, 10).unwrap();
    assert_eq!(times.len(), 10);
    assert!(times.iter().all(|time| *time < Duration::from_millis(500)), "{times:?}");
    let device = pair.device(Side::Right);
    assert!(device.cpu().unwrap() < 60.0 && device.peak_memory().unwrap() > 500_000);
}
