//! Against boringtun: an implementation that shares no code of the protocol with this one.
//!
//! boringtun reads the clock itself; nothing here waits for it. Our side's time is virtual.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use boringtun::noise::rate_limiter::RateLimiter;
use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519;
use warren_proto::Now;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::{Endpoint, Peer, PeerId};
use warren_proto::transport::{DATA_HEADER, TAG, data_receiver};
use warren_wire::{PresharedKey, PrivateKey};

const OURS: [u8; 32] = [0x21; 32];
const THEIRS: [u8; 32] = [0x42; 32];

struct Pair {
    engine: Engine,
    peer: PeerId,
    theirs: Tunn,
    time: Duration,
    to_us: Vec<Vec<u8>>,
    to_them: Vec<Vec<u8>>,
    /// Inner packets delivered here and there.
    here: Vec<Vec<u8>>,
    there: Vec<Vec<u8>>,
}

fn from() -> Endpoint {
    Endpoint::new(([192, 0, 2, 2], 51820).into())
}

impl Pair {
    /// `threshold` is our load threshold, `limit` theirs: handshake messages a second before cookies.
    fn new(psk: Option<[u8; 32]>, threshold: u32, limit: Option<u64>) -> Self {
        let (ours, theirs) = (PrivateKey::from_random(OURS), PrivateKey::from_random(THEIRS));
        let mut engine = Engine::new(
            EngineConfig { load_threshold: threshold, ..EngineConfig::new(ours.clone()) },
            [1; 32],
        );
        let config = PeerConfig {
            preshared_key: psk.map(PresharedKey::from_bytes),
            endpoint: Some(from().remote),
            allowed_ips: vec![IpAddr::from([10, 0, 0, 2]).into()],
            ..PeerConfig::new(theirs.public())
        };
        let peer = engine.upsert_peer(Now::default(), config);
        let secret = x25519::StaticSecret::from(*theirs.as_bytes());
        let public = x25519::PublicKey::from(*ours.public().as_bytes());
        let limiter = limit.map(|limit| Arc::new(RateLimiter::new(&x25519::PublicKey::from(&secret), limit)));
        let theirs = Tunn::new(secret, public, psk, None, 7, limiter);
        Self {
            engine,
            peer,
            theirs,
            time: Duration::from_secs(1),
            to_us: Vec::new(),
            to_them: Vec::new(),
            here: Vec::new(),
            there: Vec::new(),
        }
    }

    fn now(&self) -> Now {
        Now::new(self.time, Duration::from_secs(1_800_000_000) + self.time)
    }

    fn ours(&self) -> Arc<Peer> {
        self.engine.plane().peer(self.peer).expect("the peer is there")
    }

    fn send(&mut self, packet: &[u8]) {
        let (now, peer) = (self.now(), self.ours());
        let Some(key) = peer.sealer(now.mono) else {
            let _ = peer.stage(packet);
            self.engine.serve_wakeups(now);
            return;
        };
        let mut message = vec![0; DATA_HEADER + packet.len().next_multiple_of(16) + TAG];
        message[DATA_HEADER..DATA_HEADER + packet.len()].copy_from_slice(packet);
        key.seal(key.reserve(1).expect("counters do not end here"), &mut message);
        let _ = peer.sent(now.mono, 1, message.len() as u64);
        self.to_them.push(message);
    }

    fn they_send(&mut self, packet: &[u8]) {
        let mut buffer = [0; 2048];
        if let TunnResult::WriteToNetwork(message) = self.theirs.encapsulate(packet, &mut buffer) {
            self.to_us.push(message.to_vec());
        }
    }

    fn they_receive(&mut self, message: &[u8]) {
        let mut buffer = [0; 2048];
        let mut datagram = message;
        loop {
            match self.theirs.decapsulate(Some(IpAddr::from([192, 0, 2, 1])), datagram, &mut buffer) {
                TunnResult::WriteToNetwork(answer) => {
                    self.to_us.push(answer.to_vec());
                    datagram = &[];
                }
                TunnResult::WriteToTunnelV4(packet, _) | TunnResult::WriteToTunnelV6(packet, _) => {
                    self.there.push(packet.to_vec());
                    return;
                }
                TunnResult::Done | TunnResult::Err(_) => return,
            }
        }
    }

    fn we_receive(&mut self, mut message: Vec<u8>) {
        let (now, plane) = (self.now(), self.engine.plane());
        let Some(index) = data_receiver(&message) else {
            return self.engine.handle(now, from(), &mut message);
        };
        let Some(session) = plane.session(index) else { return };
        let length = message.len() as u64;
        let Ok(plain) = session.open(now.mono, &mut message) else { return };
        let data = !plain.is_empty();
        if data {
            let length = usize::from(u16::from_be_bytes([plain[2], plain[3]]));
            self.here.push(plain[..length].to_vec());
        }
        let _ = plane.confirm(&session, now.mono);
        let _ = session.peer.received(now.mono, &from(), u64::from(data), length);
        self.engine.serve_wakeups(now);
    }

    fn settle(&mut self) {
        loop {
            while let Some(output) = self.engine.poll_output() {
                match output {
                    Output::Transmit { bytes, .. } => self.to_them.push(bytes),
                    Output::Flush(_) => {
                        for packet in self.ours().take_staged() {
                            self.send(&packet);
                        }
                    }
                    Output::Established(_) | Output::Arrived(_) | Output::Expired(_) => {}
                }
            }
            let (to_us, to_them) = (std::mem::take(&mut self.to_us), std::mem::take(&mut self.to_them));
            if to_us.is_empty() && to_them.is_empty() {
                return;
            }
            to_them.iter().for_each(|message| self.they_receive(message));
            to_us.into_iter().for_each(|message| self.we_receive(message));
        }
    }

    /// Packets of many sizes both ways.
    fn exchange(&mut self) {
        self.here.clear();
        self.there.clear();
        let mut sent = Vec::new();
        for size in (20..1421).step_by(89) {
            let packet = packet(size);
            self.send(&packet);
            self.they_send(&packet);
            sent.push(packet);
            self.settle();
        }
        assert_eq!(self.there, sent);
        assert_eq!(self.here, sent);
    }
}

fn packet(size: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..size).map(|i| i as u8).collect();
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(size as u16).to_be_bytes());
    packet[12..16].copy_from_slice(&[10, 0, 0, 2]);
    packet
}

#[test]
fn as_initiator() {
    for psk in [None, Some([9; 32])] {
        let mut pair = Pair::new(psk, 1000, None);
        pair.send(&packet(100));
        pair.settle();
        assert_eq!(pair.there, [packet(100)], "the packet that waited");
        pair.exchange();
        assert_eq!(pair.engine.peers(pair.now())[0].handshakes_initiated, 1);
    }
}

#[test]
fn as_responder() {
    for psk in [None, Some([9; 32])] {
        let mut pair = Pair::new(psk, 1000, None);
        pair.they_send(&packet(100));
        pair.settle();
        assert_eq!(pair.here, [packet(100)], "the packet that waited");
        pair.exchange();
        assert_eq!(pair.engine.peers(pair.now())[0].handshakes_answered, 1);
    }
}

#[test]
fn with_another_preshared_key_there_is_no_session() {
    let mut pair = Pair::new(Some([9; 32]), 1000, None);
    let config = PeerConfig {
        preshared_key: Some(PresharedKey::from_bytes([8; 32])),
        ..PeerConfig::new(PrivateKey::from_random(THEIRS).public())
    };
    pair.engine.upsert_peer(pair.now(), config);
    pair.send(&packet(100));
    pair.settle();
    assert!(pair.there.is_empty());
    assert_eq!(pair.engine.stats(pair.now()).refused_responses, 1);
}

#[test]
fn rekeying_both_ways() {
    let mut pair = Pair::new(None, 1000, None);
    pair.send(&packet(100));
    pair.settle();
    for round in 0..4 {
        pair.time += Duration::from_secs(121);
        // Old data of ours makes us begin; their initiation replaces the session from the other side.
        pair.send(&packet(100));
        pair.engine.serve_wakeups(pair.now());
        pair.settle();
        pair.exchange();
        if round % 2 == 0 {
            let mut buffer = [0; 2048];
            if let TunnResult::WriteToNetwork(message) =
                pair.theirs.format_handshake_initiation(&mut buffer, true)
            {
                pair.to_us.push(message.to_vec());
            }
            pair.time += Duration::from_secs(1);
            pair.settle();
            pair.exchange();
        }
    }
    let status = &pair.engine.peers(pair.now())[0];
    assert!(status.handshakes_initiated >= 3 && status.handshakes_answered >= 2, "{status:?}");
}

#[test]
fn their_cookie_lets_us_in() {
    let mut pair = Pair::new(None, 1000, Some(0));
    pair.send(&packet(100));
    pair.settle();
    assert!(pair.there.is_empty());
    assert_eq!(pair.engine.stats(pair.now()).cookies_received, 1);
    pair.time += Duration::from_secs(6);
    let now = pair.now();
    pair.engine.handle_timeout(now);
    pair.settle();
    assert_eq!(pair.there, [packet(100)]);
    pair.exchange();
}

#[test]
fn our_cookie_lets_them_in() {
    let mut pair = Pair::new(Some([3; 32]), 0, None);
    pair.they_send(&packet(100));
    pair.settle();
    assert!(pair.here.is_empty());
    assert_eq!(pair.engine.stats(pair.now()).cookies_sent, 1);
    let mut buffer = [0; 2048];
    if let TunnResult::WriteToNetwork(message) = pair.theirs.format_handshake_initiation(&mut buffer, true) {
        pair.to_us.push(message.to_vec());
    }
    pair.settle();
    assert_eq!(pair.here, [packet(100)]);
    pair.exchange();
}
