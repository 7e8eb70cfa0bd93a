//! Bytes of an enemy: nothing panics, nothing is answered that must not be, nothing grows.

use std::time::Duration;

use proptest::prelude::*;
use warren_proto::Now;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::Endpoint;
use warren_wire::PrivateKey;

fn key(byte: u8) -> PrivateKey {
    PrivateKey::from_random([byte; 32])
}

fn at(millis: u64) -> Now {
    Now::new(Duration::from_millis(millis), Duration::from_millis(millis))
}

fn endpoint(port: u16) -> Endpoint {
    Endpoint::new(([192, 0, 2, 1], port).into())
}

/// An engine that waits for a response.
fn engine() -> (Engine, Vec<u8>) {
    let mut engine = Engine::new(EngineConfig::new(key(1)), [1; 32]);
    let config = PeerConfig { endpoint: Some(endpoint(1).remote), ..PeerConfig::new(key(2).public()) };
    let id = engine.upsert_peer(at(0), config);
    engine.want_session(at(0), id);
    let Some(Output::Transmit { bytes, .. }) = engine.poll_output() else { panic!("an initiation") };
    (engine, bytes)
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let typed = (1_u8..6, prop_oneof![Just(148_usize), Just(92), Just(64), Just(32), 0_usize..200])
        .prop_flat_map(|(kind, length)| (Just(kind), prop::collection::vec(any::<u8>(), length)))
        .prop_map(|(kind, mut bytes)| {
            bytes.iter_mut().zip([kind, 0, 0, 0]).for_each(|(byte, value)| *byte = value);
            bytes
        });
    prop_oneof![typed, prop::collection::vec(any::<u8>(), 0..2000)]
}

proptest! {
    #[test]
    fn arbitrary_datagrams_are_not_answered(messages in prop::collection::vec(message(), 1..30)) {
        let (mut engine, _) = engine();
        for mut message in messages {
            engine.handle(at(10), endpoint(2), &mut message);
            prop_assert_eq!(engine.poll_output(), None);
        }
    }

    #[test]
    fn changed_handshake_messages_make_no_session(
        at_byte in 0_usize..148, bit in 0_u8..8, length in 0_usize..160, response in any::<bool>(),
    ) {
        let (mut ours, mut initiation) = engine();
        let mut theirs = Engine::new(EngineConfig::new(key(2)), [2; 32]);
        let id = theirs.upsert_peer(at(0), PeerConfig::new(key(1).public()));
        let change = |message: &mut Vec<u8>| {
            let original = message.clone();
            let place = at_byte % message.len();
            message[place] ^= 1 << bit;
            message.resize(length.max(message.len().min(100)), 0);
            // mac2 is not looked at when there is no load.
            let end = original.len() - 16;
            message.len() == original.len() && message[..end] == original[..end]
        };
        let harmless = !response && change(&mut initiation);
        theirs.handle(at(10), endpoint(2), &mut initiation);
        let answer = theirs.poll_output();
        if !response {
            prop_assert_eq!(answer.is_some(), harmless);
            return Ok(());
        }
        let Some(Output::Transmit { bytes: mut answer, .. }) = answer else { panic!("a response") };
        let harmless = change(&mut answer);
        ours.handle(at(20), endpoint(1), &mut answer);
        prop_assert_eq!(ours.poll_output().is_some(), harmless);
        prop_assert!(theirs.peer(at(20), id).is_some_and(|status| status.session_age.is_none()));
    }
}

/// A flood of initiations with a valid mac1 from a thousand addresses: what it costs is bounded.
#[test]
fn a_flood_gets_cookies_and_leaves_nothing_behind() {
    let mut ours = Engine::new(EngineConfig { load_threshold: 20, ..EngineConfig::new(key(1)) }, [1; 32]);
    let mut stranger = Engine::new(EngineConfig::new(key(9)), [9; 32]);
    let config = PeerConfig { endpoint: Some(endpoint(1).remote), ..PeerConfig::new(key(1).public()) };
    let id = stranger.upsert_peer(at(0), config);
    stranger.want_session(at(0), id);
    let Some(Output::Transmit { bytes, .. }) = stranger.poll_output() else { panic!("an initiation") };
    let mut cookies = 0;
    for port in 0..1000 {
        ours.handle(at(u64::from(port)), endpoint(port + 1), &mut bytes.clone());
        cookies += usize::from(ours.poll_output().is_some_and(
            |output| matches!(output, Output::Transmit { bytes, peer: None, .. } if bytes.len() == 64),
        ));
    }
    assert_eq!(cookies, 980);
    let stats = ours.stats(at(1000));
    assert_eq!((stats.refused_initiations, stats.cookies_sent), (20, 980));
    assert_eq!(ours.poll_timeout(), None);
}
