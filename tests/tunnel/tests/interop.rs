//! Ours and other implementations: handshakes either way, both families inside and outside, streams and datagrams.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::time::Duration;

use warren_tunnel_tests::traffic::{Echo, Stream};
use warren_tunnel_tests::{Family, Implementation, Pair, Settings, Side, wait_for};

/// Bytes of a stream that must arrive unchanged; `WARREN_STREAM_MB` asks for more.
fn length(usual: u64) -> u64 {
    std::env::var("WARREN_STREAM_MB").map_or(usual, |value| value.parse::<u64>().unwrap() * 1_000_000)
}

/// Sends a stream each way and proves that it arrives unchanged.
fn streams(pair: &Pair, inner: Family, bytes: u64) {
    for from in [Side::Left, Side::Right] {
        let to = from.other();
        let stream = Stream::start(pair.host(from), pair.host(to), to.inner(inner), bytes).unwrap();
        stream.finish().unwrap_or_else(|error| {
            panic!("from {from:?}, {inner:?}: {error:#}; our log:\n{}", pair.device(Side::Left).log())
        });
    }
}

/// Ours on the left; who calls, over what, is the test's.
fn meets(other: &Implementation, outer: Family, initiator: Side) {
    let settings = Settings {
        outer,
        initiator: Some(initiator),
        // Half of the combinations have a preshared key.
        preshared: (outer == Family::V6) == (initiator == Side::Left),
        ..Settings::default()
    };
    let pair = Pair::start(&Implementation::WarrenTunnel, other, &settings).unwrap();
    for inner in [Family::V4, Family::V6] {
        pair.meet(initiator, inner).unwrap();
        pair.meet(initiator.other(), inner).unwrap();
        streams(&pair, inner, length(3_000_000));
    }
    let seen = pair.device(Side::Left).peer().unwrap();
    assert!(seen.last_handshake > 1_700_000_000, "{seen:?}");
    assert_eq!(seen.preshared_key.is_some(), settings.preshared);
    assert_eq!(seen.endpoint.unwrap().ip(), Side::Right.outer(outer));
    assert!(seen.bytes.0 > 6_000_000 && seen.bytes.1 > 6_000_000, "{seen:?}");
}

macro_rules! meets {
    ($($name:ident: $other:ident, $outer:ident, $initiator:ident;)*) => {$(
        #[test]
        fn $name() {
            meets(&Implementation::$other, Family::$outer, Side::$initiator);
        }
    )*};
}

meets! {
    calls_wireguard_go_over_ipv4: WireguardGo, V4, Left;
    calls_wireguard_go_over_ipv6: WireguardGo, V6, Left;
    is_called_by_wireguard_go_over_ipv4: WireguardGo, V4, Right;
    is_called_by_wireguard_go_over_ipv6: WireguardGo, V6, Right;
    calls_boringtun_over_ipv4: BoringtunCli, V4, Left;
    calls_boringtun_over_ipv6: BoringtunCli, V6, Left;
    is_called_by_boringtun_over_ipv4: BoringtunCli, V4, Right;
    is_called_by_boringtun_over_ipv6: BoringtunCli, V6, Right;
    meets_itself: WarrenTunnel, V4, Left;
}

/// What the library seals, wireguard-go opens, and the reverse; it is loaded before the sandbox, and works inside. A processor for
/// which ring is faster is named in the error.
#[test]
fn the_library_for_wide_processors_meets_wireguard_go() {
    warren_programs::library("libIPSec_MB.so.1", "libipsec-mb1").unwrap();
    let required = ["--cipher", "ipsec-mb", "--sandbox", "require"];
    let interfaces = Pair::interfaces(&Settings::default()).unwrap();
    let started =
        Pair::start_with(&Implementation::WarrenTunnel, &Implementation::WireguardGo, interfaces, &required);
    if !fs::read_to_string("/proc/cpuinfo").unwrap().contains("avx512ifma") {
        let why = format!("{:#}", started.unwrap_err());
        assert!(why.contains("the cipher ipsec-mb is required, but not available: the processor"), "{why}");
        return;
    }
    let pair = started.unwrap();
    let device = pair.device(Side::Left);
    for inner in [Family::V4, Family::V6] {
        pair.meet(Side::Left, inner).unwrap();
        streams(&pair, inner, length(16_000_000));
    }
    assert!(device.log().contains("cipher: ipsec-mb "), "{}", device.log());
    let ours = Implementation::WarrenTunnel.path().unwrap().display().to_string();
    let status = pair.host(Side::Left).run(&ours, &["status", device.name(), "--interval", "0"]).unwrap();
    assert!(status.contains("cipher: ipsec-mb "), "{status}");
}

#[test]
fn ring_is_used_on_request() {
    let interfaces = Pair::interfaces(&Settings::default()).unwrap();
    let (ours, ring) = (Implementation::WarrenTunnel, ["--cipher", "ring"]);
    let pair = Pair::start_with(&ours, &ours, interfaces, &ring).unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    streams(&pair, Family::V4, length(3_000_000));
    let log = pair.device(Side::Left).log();
    assert!(log.contains("cipher: ring (selected by --cipher)"), "{log}");
}

#[test]
fn a_wrong_preshared_key_lets_nothing_through() {
    let settings = Settings { preshared: true, ..Settings::default() };
    let mut interfaces = Pair::interfaces(&settings).unwrap();
    interfaces[0].peers[0].preshared_key = Some(warren_tunnel_tests::preshared_key().unwrap());
    let pair = Pair::start_with(&Implementation::WarrenTunnel, &Implementation::WireguardGo, interfaces, &[])
        .unwrap();
    let target = Side::Right.inner(Family::V4).to_string();
    assert!(pair.host(Side::Left).run("ping", &["-c2", "-W1", &target]).is_err());
    assert_eq!(pair.device(Side::Left).peer().unwrap().last_handshake, 0);
}

#[test]
fn large_streams_arrive_unchanged_both_ways() {
    let pair = Pair::start(&Implementation::WarrenTunnel, &Implementation::WireguardGo, &Settings::default())
        .unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    streams(&pair, Family::V4, length(64_000_000));
}

#[test]
fn four_streams_and_both_ways_at_once() {
    let pair =
        Pair::start(&Implementation::WarrenTunnel, &Implementation::WarrenTunnel, &Settings::default())
            .unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    let mut streams = Vec::new();
    for (from, inner) in [(Side::Left, Family::V4), (Side::Right, Family::V6)].repeat(2) {
        let to = from.other();
        let stream = Stream::start(pair.host(from), pair.host(to), to.inner(inner), length(8_000_000));
        streams.push(stream.unwrap());
    }
    for stream in streams {
        stream.finish().unwrap();
    }
}

#[test]
fn datagrams_of_every_size_and_their_fragments() {
    for other in [Implementation::WireguardGo, Implementation::WarrenTunnel] {
        let pair = Pair::start(&Implementation::WarrenTunnel, &other, &Settings::default()).unwrap();
        pair.meet(Side::Left, Family::V4).unwrap();
        for inner in [Family::V4, Family::V6] {
            let echo = Echo::start(pair.host(Side::Right), Side::Right.inner(inner)).unwrap();
            // Around the padding of 16, around what one packet holds, and in up to 46 fragments.
            for length in
                [0, 1, 15, 16, 17, 100, 1371, 1372, 1373, 1391, 1392, 1393, 3000, 8972, 40_000, 65_000]
            {
                let times = echo.ask(pair.host(Side::Left), length, 3).unwrap();
                assert!(times.len() >= 2, "{other:?} {inner:?} {length}: {} of 3 came back", times.len());
            }
        }
    }
}

#[test]
fn other_mtus() {
    for mtu in [1280, 1500, 9000] {
        let settings = Settings { mtu, ..Settings::default() };
        let pair =
            Pair::start(&Implementation::WarrenTunnel, &Implementation::WireguardGo, &settings).unwrap();
        pair.meet(Side::Left, Family::V4).unwrap();
        for from in [Side::Left, Side::Right] {
            let to = from.other();
            let stream =
                Stream::start(pair.host(from), pair.host(to), to.inner(Family::V6), 2_000_000).unwrap();
            stream.finish().unwrap_or_else(|error| panic!("MTU {mtu}, from {from:?}: {error:#}"));
        }
    }
}

#[test]
fn an_echo_is_quick() {
    let pair =
        Pair::start(&Implementation::WarrenTunnel, &Implementation::WarrenTunnel, &Settings::default())
            .unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    let echo = Echo::start(pair.host(Side::Right), Side::Right.inner(Family::V4)).unwrap();
    let mut times = echo.ask(pair.host(Side::Left), 64, 200).unwrap();
    times.sort();
    assert!(times.len() >= 198, "{} of 200 came back", times.len());
    // Other tests run beside this one, so it is a bound against sleeping threads, not a measurement.
    assert!(times[100] < Duration::from_millis(20), "{:?}", times[100]);
}

/// The other side restarts with its keys and knows nothing of the session; traffic flows again.
#[test]
fn a_restarted_peer_is_met_again() {
    for (other, restarted) in [
        (Implementation::WireguardGo, Side::Right),
        (Implementation::BoringtunCli, Side::Right),
        (Implementation::WireguardGo, Side::Left),
        (Implementation::BoringtunCli, Side::Left),
    ] {
        let mut pair = Pair::start(&Implementation::WarrenTunnel, &other, &Settings::default()).unwrap();
        pair.meet(Side::Left, Family::V4).unwrap();
        pair.restart(restarted).unwrap();
        // The one that restarted has something to send, so it makes the handshake.
        pair.meet(restarted, Family::V4).unwrap();
        pair.meet(restarted.other(), Family::V4).unwrap();
        let stream = Stream::start(
            pair.host(Side::Left),
            pair.host(Side::Right),
            Side::Right.inner(Family::V4),
            1_000_000,
        );
        stream.unwrap().finish().unwrap();
    }
}

/// Our side forgets the session in the middle of a stream; the other side does not know and is answered anew.
#[test]
fn a_restarted_tunnel_carries_on_a_stream_of_its_guests() {
    let mut pair =
        Pair::start(&Implementation::WarrenTunnel, &Implementation::WireguardGo, &Settings::default())
            .unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    let before = pair.device(Side::Right).peer().unwrap().last_handshake;
    let stream = Stream::start(
        pair.host(Side::Right),
        pair.host(Side::Left),
        Side::Left.inner(Family::V4),
        30_000_000,
    )
    .unwrap();
    stream.reached(0.2).unwrap();
    pair.restart(Side::Left).unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    stream.finish().unwrap();
    assert!(pair.device(Side::Right).peer().unwrap().last_handshake >= before);
}

/// A host changes its address, then its daemon the port, while a stream is under way.
#[test]
fn roaming_in_the_middle_of_a_stream() {
    for other in [Implementation::WireguardGo, Implementation::BoringtunCli, Implementation::WarrenTunnel] {
        let (pair, stream) = under_way(&other, Side::Left);
        move_house(&pair, Side::Left);
        seen_at(&pair, Side::Right, "10.200.0.77:51820");
        pair.device(Side::Left).set("listen-port 51999").unwrap();
        seen_at(&pair, Side::Right, "10.200.0.77:51999");
        stream.finish().unwrap_or_else(|error| panic!("{other:?}: {error:#}"));
    }
}

/// The other side moves. Debian's wireguard-go goes on only once its sockets are new, boringtun only once it is
/// started again (cloudflare/boringtun#187).
#[test]
fn a_peer_that_moves_in_the_middle_of_a_stream_is_followed() {
    for other in [Implementation::WireguardGo, Implementation::BoringtunCli] {
        let (mut pair, stream) = under_way(&other, Side::Right);
        move_house(&pair, Side::Right);
        pair.interface(Side::Right).port = 51999;
        if other == Implementation::WireguardGo {
            pair.device(Side::Right).set("listen-port 51999").unwrap();
        } else {
            pair.restart(Side::Right).unwrap();
        }
        seen_at(&pair, Side::Left, "10.200.0.77:51999");
        stream.finish().unwrap_or_else(|error| panic!("{other:?}: {error:#}"));
    }
}

/// A tunnel with ours on the left, and a stream from one side that has begun.
fn under_way(other: &Implementation, from: Side) -> (Pair, Stream) {
    let pair = Pair::start(&Implementation::WarrenTunnel, other, &Settings::default()).unwrap();
    pair.meet(Side::Left, Family::V4).unwrap();
    let to = from.other();
    let stream = Stream::start(pair.host(from), pair.host(to), to.inner(Family::V4), 60_000_000).unwrap();
    stream.reached(0.1).unwrap();
    (pair, stream)
}

/// Takes a host's address away and gives it another one.
fn move_house(pair: &Pair, side: Side) {
    let host = pair.host(side);
    host.ip(&format!("address del {}/24 dev wire", side.outer(Family::V4))).unwrap();
    host.ip("address add 10.200.0.77/24 dev wire").unwrap();
}

/// Waits until one side has found the other at its new address.
fn seen_at(pair: &Pair, side: Side, expected: &str) {
    let expected: std::net::SocketAddr = expected.parse().unwrap();
    let found = wait_for(Duration::from_secs(15), "new endpoint of the peer", || {
        Ok((pair.device(side).peer()?.endpoint == Some(expected)).then_some(()))
    });
    found.unwrap_or_else(|error| {
        panic!(
            "{side:?} expects {expected} and sees {:?}: {error:#}; our log:\n{}",
            pair.device(side).peer(),
            pair.device(Side::Left).log()
        )
    });
}
