//! A session that grows old under light traffic is followed by another, and no packet is lost (whitepaper section 6.1).
//!
//! Each test takes the two minutes of a session and does next to nothing meanwhile. So this is no part of
//! `cargo test`: `cargo xtask test` runs it beside all the others, and `cargo test -p warren-tunnel-tests --test age` alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use warren_tunnel_tests::traffic::Echo;
use warren_tunnel_tests::{Family, Implementation, Pair, Settings, Side};

/// Sessions are renewed after 120 seconds. The rest is for handshakes that are tried again.
const LONGEST: Duration = Duration::from_secs(140);
/// A session that was renewed for another reason than its age would be younger.
const YOUNGEST: u64 = 115;

/// Ours on the left; `initiator` makes the sessions, since the other side does not know where it is.
fn is_renewed(other: &Implementation, initiator: Side) {
    let settings = Settings { initiator: Some(initiator), ..Settings::default() };
    let pair = Pair::start(&Implementation::WarrenTunnel, other, &settings).unwrap();
    pair.meet(initiator, Family::V4).unwrap();
    let first = pair.device(Side::Left).peer().unwrap().last_handshake;
    let echo = Echo::start(pair.host(Side::Right), Side::Right.inner(Family::V4)).unwrap();
    let begun = Instant::now();
    let mut second = None;
    let mut after = 0;
    // Some more when the new session is there: the old one is in use until it is confirmed.
    while after < 10 {
        assert!(begun.elapsed() < LONGEST, "no new session; our log:\n{}", pair.device(Side::Left).log());
        let answers = echo.ask(pair.host(Side::Left), 200, 1).unwrap().len();
        assert_eq!(
            answers,
            1,
            "lost after {:?}; our log:\n{}",
            begun.elapsed(),
            pair.device(Side::Left).log()
        );
        let last = pair.device(Side::Left).peer().unwrap().last_handshake;
        if last != first {
            assert_eq!(*second.get_or_insert(last), last, "a third session");
            after += 1;
        }
        let soon = begun.elapsed() > Duration::from_secs(YOUNGEST);
        std::thread::sleep(if soon { Duration::from_millis(500) } else { Duration::from_secs(2) });
    }
    let age = second.unwrap() - first;
    assert!(age >= YOUNGEST, "renewed after {age} s");
}

#[test]
fn a_session_we_made_with_wireguard_go() {
    is_renewed(&Implementation::WireguardGo, Side::Left);
}

#[test]
fn a_session_wireguard_go_made() {
    is_renewed(&Implementation::WireguardGo, Side::Right);
}

#[test]
fn a_session_we_made_with_boringtun() {
    is_renewed(&Implementation::BoringtunCli, Side::Left);
}

#[test]
fn a_session_boringtun_made() {
    is_renewed(&Implementation::BoringtunCli, Side::Right);
}
