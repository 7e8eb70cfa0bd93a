use std::time::Duration;

use warren_wire::{PresharedKey, PrivateKey};

use super::*;
use crate::plane::Peer;
use crate::time::limits;
use crate::transport::{DATA_HEADER, TAG};

fn key(byte: u8) -> PrivateKey {
    PrivateKey::from_random([byte; 32])
}

fn at(seconds: f64) -> Now {
    Now::new(Duration::from_secs_f64(seconds), Duration::from_secs_f64(1_700_000_000.0 + seconds))
}

fn address(byte: u8) -> Endpoint {
    Endpoint::new(format!("192.0.2.{byte}:51820").parse().unwrap())
}

fn engine(byte: u8) -> Engine {
    Engine::new(EngineConfig::new(key(byte)), [byte; 32])
}

fn peer_config(byte: u8) -> PeerConfig {
    PeerConfig {
        endpoint: Some(address(byte).remote),
        allowed_ips: vec![format!("10.0.0.{byte}/32").parse().unwrap()],
        ..PeerConfig::new(key(byte).public())
    }
}

/// Two engines that know each other.
struct Pair {
    a: Engine,
    b: Engine,
    a_knows: PeerId,
    b_knows: PeerId,
}

impl Pair {
    fn new() -> Self {
        let (mut a, mut b) = (engine(1), engine(2));
        let a_knows = a.upsert_peer(at(0.0), peer_config(2));
        let b_knows = b.upsert_peer(at(0.0), peer_config(1));
        Self { a, b, a_knows, b_knows }
    }

    fn a_peer(&self) -> Arc<Peer> {
        self.a.plane().peer(self.a_knows).unwrap()
    }

    fn b_peer(&self) -> Arc<Peer> {
        self.b.plane().peer(self.b_knows).unwrap()
    }

    /// Carries messages to and fro until there are none.
    fn settle(&mut self, now: Now) -> Vec<Output> {
        let mut other = Vec::new();
        loop {
            let (from_a, from_b) = (transmits(&mut self.a, &mut other), transmits(&mut self.b, &mut other));
            if from_a.is_empty() && from_b.is_empty() {
                return other;
            }
            for bytes in from_a {
                deliver(&mut self.b, now, address(1), bytes);
            }
            for bytes in from_b {
                deliver(&mut self.a, now, address(2), bytes);
            }
        }
    }

    fn establish(&mut self, now: Now) {
        self.a.want_session(now, self.a_knows);
        self.settle(now);
        assert!(self.a_peer().sealer(now.mono).is_some());
        assert!(self.b_peer().sealer(now.mono).is_some());
    }
}

fn transmits(engine: &mut Engine, other: &mut Vec<Output>) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some(output) = engine.poll_output() {
        match output {
            Output::Transmit { bytes, .. } => messages.push(bytes),
            output => other.push(output),
        }
    }
    messages
}

fn deliver(engine: &mut Engine, now: Now, from: Endpoint, mut bytes: Vec<u8>) {
    let Some(index) = crate::transport::data_receiver(&bytes) else {
        return engine.handle(now, from, &mut bytes);
    };
    let plane = engine.plane();
    let Some(session) = plane.session(index) else { return };
    let length = bytes.len() as u64;
    if let Ok(plain) = session.open(now.mono, &mut bytes) {
        let packets = u64::from(!plain.is_empty());
        let _ = plane.confirm(&session, now.mono);
        let _ = session.peer.received(now.mono, &from, packets, length);
        engine.serve_wakeups(now);
    }
}

fn data(peer: &Peer, now: Now, plain: &[u8]) -> Vec<u8> {
    let key = peer.sealer(now.mono).unwrap();
    let mut packet = vec![0; DATA_HEADER + plain.len() + TAG];
    packet[DATA_HEADER..DATA_HEADER + plain.len()].copy_from_slice(plain);
    key.seal(key.reserve(1).unwrap(), &mut packet);
    let _ = peer.sent(now.mono, 1, packet.len() as u64);
    packet
}

/// A pod that keeps its key is killed, and starts with a clock of an hour ago: its peer refuses it until that hour is over.
#[test]
fn a_clock_that_went_back_locks_nobody_out_who_knows_the_last_stamp() {
    let back = |seconds: f64| Now::new(at(seconds).mono, at(seconds).wall - Duration::from_secs(3600));
    let mut pair = Pair::new();
    pair.establish(at(1.0));
    let floor = pair.b.last_stamp(&key(1).public()).unwrap();
    assert_eq!(floor, Duration::from_secs(1_700_000_001));
    for (known, established) in [(None, false), (Some(floor + Duration::from_secs(1)), true)] {
        pair.a = engine(1);
        pair.a_knows = pair.a.upsert_peer(back(10.0), peer_config(2));
        if let Some(floor) = known {
            pair.a.raise_stamps(floor);
        }
        pair.a.want_session(back(10.0), pair.a_knows);
        pair.settle(back(10.0));
        assert_eq!(pair.a_peer().sealer(at(10.0).mono).is_some(), established);
    }
    assert_eq!(pair.b.stats(at(10.0)).replayed_initiations, 1);
}

#[test]
fn a_session_is_made_and_confirmed_by_a_keepalive() {
    let mut pair = Pair::new();
    pair.a.want_session(at(1.0), pair.a_knows);
    let outputs = pair.settle(at(1.0));
    assert_eq!(outputs, [Output::Established(pair.a_knows), Output::Established(pair.b_knows)]);
    let status = pair.a.peer(at(3.0), pair.a_knows).unwrap();
    assert_eq!(status.session_age, Some(Duration::from_secs(2)));
    assert_eq!((status.handshakes_initiated, status.initiations_sent), (1, 1));
    assert_eq!(status.last_handshake, Some(at(1.0).wall));
    assert_eq!((status.traffic.tx_bytes, status.traffic.rx_bytes), (148 + 32, 92));
    let status = pair.b.peer(at(3.0), pair.b_knows).unwrap();
    assert_eq!(status.handshakes_answered, 1);
    assert_eq!((status.traffic.tx_bytes, status.traffic.rx_bytes), (92, 148 + 32));
    let packet = data(&pair.b_peer(), at(3.0), b"hello");
    deliver(&mut pair.a, at(3.0), address(2), packet);
    assert_eq!(pair.a_peer().traffic().rx_packets, 1);
}

#[test]
fn both_ends_of_a_handshake_know_its_round_trip() {
    let mut pair = Pair::new();
    pair.a.want_session(at(1.0), pair.a_knows);
    let mut outputs = Vec::new();
    // 20 ms in each direction.
    let initiation = transmits(&mut pair.a, &mut outputs).remove(0);
    deliver(&mut pair.b, at(1.02), address(1), initiation);
    let response = transmits(&mut pair.b, &mut outputs).remove(0);
    assert_eq!(pair.b.peer(at(1.02), pair.b_knows).unwrap().answer_rtt, None);
    deliver(&mut pair.a, at(1.04), address(2), response);
    let keepalive = transmits(&mut pair.a, &mut outputs).remove(0);
    deliver(&mut pair.b, at(1.06), address(1), keepalive);
    pair.settle(at(1.06));
    let rtt = Some(at(1.06).mono - at(1.02).mono);
    assert_eq!(pair.b.peer(at(2.0), pair.b_knows).unwrap().answer_rtt, rtt);
    let of_a = pair.a.peer(at(2.0), pair.a_knows).unwrap();
    assert_eq!((of_a.handshake_rtt, of_a.answer_rtt), (Some(at(1.04).mono - at(1.0).mono), None));
}

#[test]
fn staged_packets_are_flushed_and_confirm_the_session() {
    let mut pair = Pair::new();
    assert!(pair.a_peer().stage(b"one").needed());
    assert!(!pair.a_peer().stage(b"two").needed());
    pair.a.serve_wakeups(at(1.0));
    assert!(!pair.a_peer().stage(b"three").needed());
    let outputs = pair.settle(at(1.0));
    assert_eq!(outputs, [Output::Established(pair.a_knows), Output::Flush(pair.a_knows)]);
    assert_eq!(pair.a_peer().take_staged(), [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
    assert!(pair.b_peer().sealer(at(1.0).mono).is_none(), "not confirmed yet");
    let packet = data(&pair.a_peer(), at(1.0), b"one");
    deliver(&mut pair.b, at(1.0), address(1), packet);
    assert!(pair.b_peer().sealer(at(1.0).mono).is_some());
}

#[test]
fn preshared_keys_must_agree() {
    let mut pair = Pair::new();
    let psk = || Some(PresharedKey::from_bytes([5; 32]));
    pair.a.upsert_peer(at(0.0), PeerConfig { preshared_key: psk(), ..peer_config(2) });
    pair.a.want_session(at(1.0), pair.a_knows);
    pair.settle(at(1.0));
    assert!(pair.a_peer().sealer(at(1.0).mono).is_none());
    assert_eq!(pair.a.stats(at(1.0)).refused_responses, 1);
    pair.b.upsert_peer(at(2.0), PeerConfig { preshared_key: psk(), ..peer_config(1) });
    pair.a.handle_timeout(at(7.0));
    pair.settle(at(7.0));
    assert!(pair.a_peer().sealer(at(7.0).mono).is_some());
}

#[test]
fn initiations_are_repeated_and_given_up() {
    let mut a = engine(1);
    let id = a.upsert_peer(at(0.0), peer_config(2));
    let _ = a.plane().peer(id).unwrap().stage(b"packet");
    a.serve_wakeups(at(0.0));
    let (mut sent, mut others, mut time) = (Vec::new(), Vec::new(), Duration::ZERO);
    while let Some(next) = a.poll_timeout() {
        sent.extend(transmits(&mut a, &mut others).into_iter().map(|_| time));
        time = next;
        a.handle_timeout(Now::new(time, time));
    }
    sent.extend(transmits(&mut a, &mut others).into_iter().map(|_| time));
    assert_eq!(others, [Output::Expired(id)]);
    assert!(sent.len() >= 18 && sent.len() <= 19, "{sent:?}");
    assert_eq!(sent[1] - sent[0], limits::FIRST_RETRY);
    for pair in sent[1..].windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_secs(5) && gap <= Duration::from_millis(5334), "{gap:?}");
    }
    assert!(time >= Duration::from_secs(90) && time < Duration::from_secs(96), "{time:?}");
    let status = a.peer(at(100.0), id).unwrap();
    assert_eq!(status.drops, [(crate::plane::DropReason::GivenUp, 1)]);
    assert_eq!(a.indices.in_use(), 0);
}

#[test]
fn initiations_are_at_least_a_timeout_apart() {
    let mut a = engine(1);
    let id = a.upsert_peer(at(0.0), peer_config(2));
    for step in 0..100 {
        a.want_session(at(f64::from(step) * 0.01), id);
    }
    assert_eq!(transmits(&mut a, &mut Vec::new()).len(), 1);
}

#[test]
fn a_replayed_or_too_frequent_initiation_is_refused() {
    let mut pair = Pair::new();
    pair.a.want_session(at(1.0), pair.a_knows);
    let first = transmits(&mut pair.a, &mut Vec::new()).remove(0);
    deliver(&mut pair.b, at(1.0), address(1), first.clone());
    deliver(&mut pair.b, at(2.0), address(9), first);
    assert_eq!(pair.b.stats(at(2.0)).replayed_initiations, 1);
    assert_eq!(pair.b_peer().endpoint(), Some(address(1)), "a replay does not move the endpoint");
    pair.a.handle_timeout(at(6.4));
    let second = transmits(&mut pair.a, &mut Vec::new()).remove(0);
    pair.a.handle_timeout(at(11.8));
    let third = transmits(&mut pair.a, &mut Vec::new()).remove(0);
    deliver(&mut pair.b, at(12.0), address(1), second);
    deliver(&mut pair.b, at(12.01), address(1), third);
    assert_eq!(pair.b.stats(at(13.0)).peer_limited, 1);
}

#[test]
fn under_load_a_cookie_is_asked_for_before_any_computation() {
    let mut pair = Pair::new();
    pair.b.note_dropped(at(1.0), 1000);
    pair.a.want_session(at(1.0), pair.a_knows);
    pair.settle(at(1.0));
    assert!(pair.a_peer().sealer(at(1.0).mono).is_none());
    assert_eq!(pair.b.stats(at(1.0)).cookies_sent, 1);
    assert!(pair.b.stats(at(1.0)).under_load);
    assert_eq!(pair.a.stats(at(1.0)).cookies_received, 1);
    pair.b.note_dropped(at(6.5), 1000);
    pair.a.handle_timeout(at(6.5));
    pair.settle(at(6.5));
    assert!(pair.b.stats(at(6.5)).under_load);
    assert!(pair.a_peer().sealer(at(6.5).mono).is_some(), "the second initiation has mac2");
}

#[test]
fn a_forged_mac1_costs_no_answer() {
    let mut pair = Pair::new();
    pair.a.want_session(at(1.0), pair.a_knows);
    let mut message = transmits(&mut pair.a, &mut Vec::new()).remove(0);
    message[20] ^= 1;
    deliver(&mut pair.b, at(1.0), address(1), message);
    assert_eq!(pair.b.stats(at(1.0)).bad_mac1, 1);
    assert_eq!(pair.b.poll_output(), None);
}

#[test]
fn both_initiate_at_once() {
    let mut pair = Pair::new();
    pair.a.want_session(at(1.0), pair.a_knows);
    pair.b.want_session(at(1.0), pair.b_knows);
    pair.settle(at(1.0));
    let packet = data(&pair.a_peer(), at(1.1), b"from a");
    deliver(&mut pair.b, at(1.1), address(1), packet);
    let packet = data(&pair.b_peer(), at(1.1), b"from b");
    deliver(&mut pair.a, at(1.1), address(2), packet);
    assert_eq!(pair.a_peer().traffic().rx_packets, 1);
    assert_eq!(pair.b_peer().traffic().rx_packets, 1);
    assert!(pair.a.peer(at(2.0), pair.a_knows).is_some_and(|status| !status.handshaking));
}

#[test]
fn the_initiator_rekeys_when_it_sends_with_an_old_session() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let packet = data(&pair.b_peer(), at(121.0), b"answer");
    pair.b.serve_wakeups(at(121.0));
    assert!(transmits(&mut pair.b, &mut Vec::new()).is_empty(), "the responder does not");
    deliver(&mut pair.a, at(121.0), address(2), packet);
    assert!(transmits(&mut pair.a, &mut Vec::new()).is_empty(), "nor does receiving before 165 s");
    data(&pair.a_peer(), at(121.0), b"data");
    pair.a.serve_wakeups(at(121.0));
    pair.settle(at(121.0));
    assert_eq!(pair.a.peer(at(121.0), pair.a_knows).unwrap().session_age, Some(Duration::ZERO));
    assert_eq!(pair.b.peer(at(121.0), pair.b_knows).unwrap().session_age, Some(Duration::ZERO));
}

#[test]
fn the_initiator_rekeys_when_it_only_receives() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let packet = data(&pair.b_peer(), at(165.0), b"stream");
    deliver(&mut pair.a, at(165.0), address(2), packet);
    pair.settle(at(165.0));
    assert_eq!(pair.a.peer(at(165.0), pair.a_knows).unwrap().session_age, Some(Duration::ZERO));
}

#[test]
fn an_old_session_is_used_no_more() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let mut packet = data(&pair.b_peer(), at(179.0), b"late");
    let session = pair.a.plane().session(u32::from_le_bytes(packet[4..8].try_into().unwrap())).unwrap();
    assert!(pair.a_peer().sealer(at(180.0).mono).is_none());
    assert!(session.open(at(180.0).mono, &mut packet).is_err());
    pair.a.handle_timeout(at(180.0));
    let mut outputs = Vec::new();
    transmits(&mut pair.a, &mut outputs);
    assert_eq!(outputs, [Output::Expired(pair.a_knows)]);
    assert!(pair.a.plane().session(session.index()).is_none());
}

#[test]
fn received_data_is_answered_by_a_keepalive_after_ten_seconds() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let packet = data(&pair.a_peer(), at(1.0), b"data");
    deliver(&mut pair.b, at(1.0), address(1), packet);
    pair.b.handle_timeout(at(10.9));
    assert!(transmits(&mut pair.b, &mut Vec::new()).is_empty());
    pair.b.handle_timeout(at(11.0));
    assert_eq!(transmits(&mut pair.b, &mut Vec::new()).len(), 1);
    pair.b.handle_timeout(at(60.0));
    assert!(transmits(&mut pair.b, &mut Vec::new()).is_empty(), "and once only");
}

#[test]
fn data_without_an_answer_starts_a_handshake_after_fifteen_seconds() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    data(&pair.b_peer(), at(10.0), b"lost");
    pair.b.serve_wakeups(at(10.0));
    pair.b.handle_timeout(at(24.9));
    assert!(transmits(&mut pair.b, &mut Vec::new()).is_empty());
    pair.b.handle_timeout(at(25.0));
    assert_eq!(transmits(&mut pair.b, &mut Vec::new())[0].len(), 148);
}

#[test]
fn persistent_keepalives_make_and_keep_a_session() {
    let mut pair = Pair::new();
    pair.a.upsert_peer(at(0.0), PeerConfig { persistent_keepalive: Some(25), ..peer_config(2) });
    let mut time = Duration::ZERO;
    while time < Duration::from_secs(3600) {
        let now = Now::new(time, time);
        pair.a.handle_timeout(now);
        pair.b.handle_timeout(now);
        pair.settle(now);
        assert!(pair.b_peer().sealer(time).is_some(), "{time:?}");
        let next = [pair.a.poll_timeout(), pair.b.poll_timeout()].into_iter().flatten().min().unwrap();
        assert!(next > time);
        time = next;
    }
    let status = pair.a.peer(Now::new(time, time), pair.a_knows).unwrap();
    assert!((24..=30).contains(&status.handshakes_initiated), "{status:?}");
}

#[test]
fn a_worn_session_is_replaced_and_an_exhausted_one_refused() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let worn = crate::time::limits::REKEY_AFTER_MESSAGES;
    let spent = crate::time::limits::REJECT_AFTER_MESSAGES;
    let peer = pair.b_peer();
    peer.set_sealer(Some(Arc::new(crate::transport::SendKey::with_counter(
        warren_cipher::Suite::RING,
        &[0; 32],
        1,
        Duration::ZERO,
        worn,
    ))));
    assert!(peer.sealer(at(20.0).mono).is_some());
    assert!(peer.sent(at(20.0).mono, 1, 100).needed());
    pair.b.serve_wakeups(at(20.0));
    assert_eq!(transmits(&mut pair.b, &mut Vec::new())[0].len(), 148);
    peer.set_sealer(Some(Arc::new(crate::transport::SendKey::with_counter(
        warren_cipher::Suite::RING,
        &[0; 32],
        1,
        Duration::ZERO,
        spent,
    ))));
    assert!(peer.sealer(at(20.0).mono).is_none());
}

#[test]
fn peers_change_without_harm_to_others() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let third = pair.a.upsert_peer(at(1.0), peer_config(3));
    assert!(pair.a_peer().sealer(at(1.0).mono).is_some());
    let moved = PeerConfig { allowed_ips: vec!["10.0.0.2/32".parse().unwrap()], ..peer_config(3) };
    assert_eq!(pair.a.upsert_peer(at(1.0), moved), third);
    let address = "10.0.0.2".parse().unwrap();
    assert_eq!(pair.a.plane().route(address).unwrap().id(), third);
    assert!(!pair.a_peer().permits(address));
    assert!(pair.a.peer(at(1.0), pair.a_knows).unwrap().allowed_ips.is_empty());
    let (mut reader, session) = (pair.a.plane().reader(), pair.a_peer());
    assert_eq!(reader.route(address).unwrap().id(), third);
    assert!(pair.a.remove_peer(third));
    assert!(!pair.a.remove_peer(third));
    assert!(reader.route(address).is_none());
    assert!(pair.a.find_peer(&key(3).public()).is_none());
    pair.a.upsert_peer(at(1.0), peer_config(2));
    assert!(session.permits(address));
    let again = pair.a.upsert_peer(at(2.0), peer_config(3));
    assert_ne!(again, third, "ids are not used again");
    let packet = data(&pair.b_peer(), at(2.0), b"still");
    deliver(&mut pair.a, at(2.0), self::address(2), packet);
    assert_eq!(pair.a_peer().traffic().rx_packets, 1);
    let (moved, before) = (pair.a_peer().traffic(), pair.a.departed());
    assert!(pair.a.remove_peer(pair.a_knows));
    let after = pair.a.departed();
    assert_eq!(after.rx_bytes, before.rx_bytes + moved.rx_bytes, "what a peer moved is counted on");
    assert_eq!((before.rx_packets, after.rx_packets), (0, 1));
}

#[test]
fn a_new_private_key_ends_all_sessions() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    pair.a.set_private_key(at(1.0), key(7));
    assert!(pair.a_peer().sealer(at(1.0).mono).is_none());
    assert_eq!(pair.a.indices.in_use(), 0);
    pair.b.upsert_peer(at(1.0), peer_config(7));
    pair.a.want_session(at(6.0), pair.a_knows);
    pair.settle(at(6.0));
    assert!(pair.a_peer().sealer(at(6.0).mono).is_some());
}

#[test]
fn the_endpoint_follows_the_last_authentic_packet() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let packet = data(&pair.a_peer(), at(1.0), b"moved");
    deliver(&mut pair.b, at(1.0), address(77), packet.clone());
    assert_eq!(pair.b_peer().endpoint(), Some(address(77)));
    deliver(&mut pair.b, at(1.0), address(66), packet);
    assert_eq!(pair.b_peer().endpoint(), Some(address(77)), "a repetition does not move it");
}

#[test]
fn a_clock_that_jumps_back_does_not_lock_us_out() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    let back = Now::new(Duration::from_secs(200), Duration::from_secs(1000));
    pair.a.handle_timeout(back);
    pair.a.want_session(back, pair.a_knows);
    pair.b.handle_timeout(back);
    pair.settle(back);
    assert!(pair.a_peer().sealer(back.mono).is_some());
    pair.a.remove_peer(pair.a_knows);
    pair.a_knows = pair.a.upsert_peer(back, peer_config(2));
    pair.establish(Now::new(Duration::from_secs(300), Duration::from_secs(1000)));
}

/// The place of side A's peer by a connection.
fn by_stream(number: u64) -> Endpoint {
    Endpoint::stream(([192, 0, 2, 200], 443).into(), crate::plane::StreamId::new(number))
}

#[test]
fn a_probe_moves_a_peer_only_when_it_is_answered() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    // Both know each other by a connection.
    pair.a.hold(pair.a_knows, by_stream(1));
    let packet = data(&pair.a_peer(), at(1.0), b"by a connection");
    deliver(&mut pair.b, at(1.0), by_stream(9), packet);
    assert_eq!(pair.b_peer().endpoint(), Some(by_stream(9)));

    // Unanswered: A stays, and so does B, whose answer is lost.
    assert!(pair.a.probe(at(6.0), pair.a_knows, address(2)));
    let lost = transmits(&mut pair.a, &mut Vec::new()).pop().unwrap();
    deliver(&mut pair.b, at(6.0), address(1), lost);
    let answer = transmits(&mut pair.b, &mut Vec::new()).pop().unwrap();
    assert_eq!(answer.len(), 92);
    assert_eq!(pair.a_peer().endpoint(), Some(by_stream(1)));
    assert_eq!(pair.b_peer().endpoint(), Some(by_stream(9)));
    assert!(pair.a.liveness(at(6.0), pair.a_knows).unwrap().session);

    // Answered: A moves at once, B with the first message of the session.
    deliver(&mut pair.a, at(6.1), address(2), answer);
    assert_eq!(pair.a_peer().endpoint(), Some(address(2)));
    let packet = data(&pair.a_peer(), at(6.2), b"by UDP");
    deliver(&mut pair.b, at(6.2), address(1), packet);
    assert_eq!(pair.b_peer().endpoint(), Some(address(1)));
    assert_eq!(pair.a.liveness(at(6.2), pair.a_knows).unwrap().handshakes, 2);
}

#[test]
fn a_relocated_peer_is_told_at_once() {
    let mut pair = Pair::new();
    pair.establish(at(0.0));
    pair.a.relocate(at(1.0), pair.a_knows, by_stream(1));
    assert_eq!(pair.a_peer().endpoint(), Some(by_stream(1)));
    let bytes = transmits(&mut pair.a, &mut Vec::new());
    assert_eq!(bytes.iter().map(Vec::len).collect::<Vec<_>>(), [148]);
    assert_eq!(pair.a.liveness(at(2.0), pair.a_knows).unwrap().waiting, Some(at(1.0).mono));
    // No probe takes the place of a handshake that is under way, and a connection is not left by itself.
    assert!(!pair.a.probe(at(2.0), pair.a_knows, address(2)));
    pair.a.handle_timeout(at(40.0));
    assert_eq!(pair.a_peer().endpoint(), Some(by_stream(1)));
}

/// A program that is started again at once sends its initiation so soon after the last one that the peer takes it for a
/// replay or a flood. It does not wait for REKEY_TIMEOUT then.
#[test]
fn a_restart_within_the_peers_limits_costs_a_quarter_of_a_second() {
    for gap in [0.001, 0.015, 0.018] {
        let mut pair = Pair::new();
        pair.establish(at(10.0));
        pair.a = engine(1);
        pair.a_knows = pair.a.upsert_peer(at(10.0 + gap), peer_config(2));
        pair.a.want_session(at(10.0 + gap), pair.a_knows);
        pair.settle(at(10.0 + gap));
        assert!(pair.a_peer().sealer(at(10.0).mono).is_none(), "{gap}");
        let again = pair.a.poll_timeout().unwrap();
        assert_eq!(again, at(10.0 + gap).mono + limits::FIRST_RETRY);
        let later = at(10.0 + gap + 0.25);
        pair.a.handle_timeout(later);
        pair.settle(later);
        assert!(pair.a_peer().sealer(later.mono).is_some(), "{gap}");
    }
}

#[test]
fn an_initiation_that_follows_a_session_is_not_repeated_soon() {
    let mut pair = Pair::new();
    pair.establish(at(1.0));
    pair.a.relocate(at(50.0), pair.a_knows, address(3));
    assert_eq!(transmits(&mut pair.a, &mut Vec::new()).len(), 1);
    pair.a.handle_timeout(at(54.9));
    assert!(transmits(&mut pair.a, &mut Vec::new()).is_empty());
}
