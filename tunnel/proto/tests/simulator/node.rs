//! One peer: an engine and the simplest data path.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use warren_proto::Now;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::{Endpoint, Peer, Reader};
use warren_proto::transport::{DATA_HEADER, TAG, data_receiver};
use warren_wire::PrivateKey;

use crate::model::Model;
use crate::network::{Dice, Network};

pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) engine: Engine,
    reader: Reader,
    /// Where it is in the network.
    pub(crate) address: SocketAddr,
    /// How far its wall clock is from the simulator's time, in seconds from an origin in 2023.
    pub(crate) wall: f64,
    pub(crate) configs: Vec<PeerConfig>,
}

pub(crate) fn key(node: usize) -> PrivateKey {
    let mut bytes = [0x11; 32];
    // Not the first byte: clamping takes bits from it.
    bytes[8..16].copy_from_slice(&(node as u64).to_le_bytes());
    PrivateKey::from_random(bytes)
}

impl Node {
    pub(crate) fn new(dice: &mut Dice, number: usize, address: SocketAddr) -> Self {
        let engine = Engine::new(EngineConfig::new(key(number)), dice.seed());
        let reader = engine.plane().reader();
        Self { number, engine, reader, address, wall: 1_700_000_000.0, configs: Vec::new() }
    }

    pub(crate) fn now(&self, mono: Duration) -> Now {
        Now::new(mono, Duration::from_secs_f64((self.wall + mono.as_secs_f64()).max(0.0)))
    }

    pub(crate) fn configure(&mut self, mono: Duration, configs: Vec<PeerConfig>) {
        let now = self.now(mono);
        self.configs = configs.clone();
        self.engine.upsert_peers(now, configs);
    }

    /// Forgets everything but the configuration.
    pub(crate) fn restart(&mut self, dice: &mut Dice, mono: Duration) {
        self.engine = Engine::new(EngineConfig::new(key(self.number)), dice.seed());
        self.reader = self.engine.plane().reader();
        self.configure(mono, self.configs.clone());
    }

    /// An inner packet from the device.
    pub(crate) fn outbound(&mut self, world: &mut Outside<'_>, packet: &[u8]) {
        let dst = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
        let Some(peer) = self.reader.route(IpAddr::V4(dst)).cloned() else { return };
        self.send(world, &peer, packet);
        self.outputs(world);
    }

    fn send(&mut self, world: &mut Outside<'_>, peer: &Peer, packet: &[u8]) {
        let now = self.now(world.now);
        let Some((key, to)) = peer.sealer(now.mono).zip(peer.endpoint()) else {
            if peer.stage(packet).needed() {
                self.engine.serve_wakeups(now);
            }
            return;
        };
        assert!(now.mono - key.born() < warren_proto::time::limits::REJECT_AFTER_TIME);
        let mut message = vec![0; DATA_HEADER + packet.len().next_multiple_of(16) + TAG];
        message[DATA_HEADER..DATA_HEADER + packet.len()].copy_from_slice(packet);
        key.seal(key.reserve(1).expect("counters do not end here"), &mut message);
        let needed = peer.sent(now.mono, 1, message.len() as u64).needed();
        world.transmit(self.address, to.remote, &message);
        if needed {
            self.engine.serve_wakeups(now);
        }
    }

    /// A datagram from the network.
    pub(crate) fn inbound(&mut self, world: &mut Outside<'_>, from: SocketAddr, mut bytes: Vec<u8>) {
        let now = self.now(world.now);
        let from = Endpoint { local: Some((self.address.ip(), 1)), ..Endpoint::new(from) };
        let length = bytes.len() as u64;
        match data_receiver(&bytes) {
            None => self.engine.handle(now, from, &mut bytes),
            Some(index) => {
                let Some(session) = self.reader.session(index).cloned() else { return };
                let Ok(plain) = session.open(now.mono, &mut bytes) else { return };
                world.model.used(now.mono, self.number, index);
                let mut wakeup = self.reader.plane().confirm(&session, now.mono);
                wakeup |= session.peer.received(now.mono, &from, u64::from(!plain.is_empty()), length);
                if !plain.is_empty() {
                    let src = Ipv4Addr::new(plain[12], plain[13], plain[14], plain[15]);
                    assert_eq!(
                        self.reader.permits(&session.peer, IpAddr::V4(src)),
                        session.peer.permits(IpAddr::V4(src))
                    );
                    if session.peer.permits(IpAddr::V4(src)) {
                        let total = usize::from(u16::from_be_bytes([plain[2], plain[3]]));
                        world.model.deliver(now.mono, self.number, &plain[..total]);
                    }
                }
                if wakeup.needed() {
                    self.engine.serve_wakeups(now);
                }
            }
        }
        self.outputs(world);
    }

    pub(crate) fn timeout(&mut self, world: &mut Outside<'_>) {
        let now = self.now(world.now);
        self.engine.handle_timeout(now);
        self.outputs(world);
    }

    pub(crate) fn outputs(&mut self, world: &mut Outside<'_>) {
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::Transmit { to, bytes, peer } => {
                    if let Some(peer) = peer.filter(|_| bytes[0] == 1) {
                        world.model.initiated(world.now, self.number, peer);
                    }
                    assert!(peer.is_some() || bytes[0] == 3, "only cookie replies are nobody's");
                    world.transmit(self.address, to.remote, &bytes);
                }
                Output::Flush(id) => {
                    let peer = self.engine.plane().peer(id).expect("a peer of this engine");
                    for packet in peer.take_staged() {
                        self.send(world, &peer, &packet);
                    }
                }
                Output::Established(_) | Output::Arrived(_) | Output::Expired(_) => {}
            }
        }
    }
}

/// What a node acts upon.
pub(crate) struct Outside<'a> {
    pub(crate) now: Duration,
    pub(crate) dice: &'a mut Dice,
    pub(crate) network: &'a mut Network,
    pub(crate) model: &'a mut Model,
}

impl Outside<'_> {
    fn transmit(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.network.send(self.dice, self.now, from, to, bytes);
    }
}
