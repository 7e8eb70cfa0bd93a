//! The control plane of one interface.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use warren_wire::{PresharedKey, PrivateKey, PublicKey};

use crate::Now;
use crate::plane::{DropReason, Endpoint, PeerId, Plane, Traffic};

/// Settings of an engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The static key.
    pub private_key: PrivateKey,
    /// Handshake messages a second above which the engine is "under load" and asks for cookies.
    pub load_threshold: u32,
}

impl EngineConfig {
    /// The usual settings.
    #[must_use]
    pub fn new(private_key: PrivateKey) -> Self {
        Self { private_key, load_threshold: 250 }
    }
}

/// What a peer should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its identity.
    pub public_key: PublicKey,
    /// The preshared key; `None` is none.
    pub preshared_key: Option<PresharedKey>,
    /// Where it is; `None` leaves what is known.
    pub endpoint: Option<SocketAddr>,
    /// All its ranges. A range that another peer has moves here.
    pub allowed_ips: Vec<IpNet>,
    /// Seconds between persistent keepalives; `None` and 0 are none.
    pub persistent_keepalive: Option<u16>,
}

impl PeerConfig {
    /// A peer with nothing but its identity.
    #[must_use]
    pub fn new(public_key: PublicKey) -> Self {
        Self {
            public_key,
            preshared_key: None,
            endpoint: None,
            allowed_ips: Vec::new(),
            persistent_keepalive: None,
        }
    }
}

/// What a peer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its id.
    pub id: PeerId,
    /// Its identity.
    pub public_key: PublicKey,
    /// Where it is, as far as known.
    pub endpoint: Option<Endpoint>,
    /// Its ranges.
    pub allowed_ips: Vec<IpNet>,
    /// Seconds between persistent keepalives.
    pub persistent_keepalive: Option<u16>,
    /// Whether a preshared key is set.
    pub preshared_key_set: bool,
    /// Wall time of the last completed handshake, since the UNIX epoch.
    pub last_handshake: Option<Duration>,
    /// Packets and bytes.
    pub traffic: Traffic,
    /// Age of the session that is sent with.
    pub session_age: Option<Duration>,
    /// Whether a handshake of ours is under way.
    pub handshaking: bool,
    /// Handshakes completed as initiator.
    pub handshakes_initiated: u64,
    /// Handshakes completed as responder.
    pub handshakes_answered: u64,
    /// Initiations sent, repetitions included.
    pub initiations_sent: u64,
    /// Round trip of the last handshake as initiator, the other end's computation included.
    pub handshake_rtt: Option<Duration>,
    /// Dropped packets by reason.
    pub drops: Vec<(DropReason, u64)>,
}

/// What the caller is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a datagram.
    Transmit {
        /// Where to.
        to: Endpoint,
        /// Whose it is; a cookie reply is nobody's.
        peer: Option<PeerId>,
        /// The UDP payload.
        bytes: Vec<u8>,
    },
    /// Send the packets that wait (`Peer::take_staged`): there is a session now.
    Flush(PeerId),
    /// A session can be used.
    Established(PeerId),
    /// There is no usable session any more, or the attempt to make one was given up.
    Expired(PeerId),
}

/// Handshakes, timers and peers of one interface.
#[derive(Debug)]
pub struct Engine {
    plane: Arc<Plane>,
}

impl Engine {
    /// A new engine. `seed` is all its randomness: give it fresh random bytes.
    #[must_use]
    pub fn new(config: EngineConfig, seed: [u8; 32]) -> Self {
        let _ = (config, seed);
        Self { plane: Arc::new(Plane::new()) }
    }

    /// The half that the data path shares.
    #[must_use]
    pub fn plane(&self) -> Arc<Plane> {
        Arc::clone(&self.plane)
    }

    /// Replaces the static key: all sessions end.
    pub fn set_private_key(&mut self, now: Now, key: PrivateKey) {
        let _ = (now, key);
    }

    /// Adds a peer or changes it. Sessions stay.
    pub fn upsert_peer(&mut self, now: Now, config: PeerConfig) -> PeerId {
        let _ = (now, config);
        unreachable!()
    }

    /// As [`Engine::upsert_peer`] for many, with one update of the routes: use it for whole files.
    pub fn upsert_peers(&mut self, now: Now, configs: impl IntoIterator<Item = PeerConfig>) -> Vec<PeerId> {
        configs.into_iter().map(|config| self.upsert_peer(now, config)).collect()
    }

    /// Removes a peer; false if there is none of that id.
    pub fn remove_peer(&mut self, id: PeerId) -> bool {
        let _ = id;
        false
    }

    /// The peer of a public key.
    #[must_use]
    pub fn find_peer(&self, public_key: &PublicKey) -> Option<PeerId> {
        let _ = public_key;
        None
    }

    /// All peers.
    #[must_use]
    pub fn peers(&self, now: Now) -> Vec<PeerStatus> {
        let _ = now;
        Vec::new()
    }

    /// One peer.
    #[must_use]
    pub fn peer(&self, now: Now, id: PeerId) -> Option<PeerStatus> {
        let _ = (now, id);
        None
    }

    /// Takes a handshake message (types 1, 2, 3) from the network. Others are ignored.
    pub fn handle(&mut self, now: Now, from: Endpoint, datagram: &mut [u8]) {
        let _ = (now, from, datagram);
    }

    /// Makes a session with a peer unless there is one or one is being made.
    pub fn want_session(&mut self, now: Now, id: PeerId) {
        let _ = (now, id);
    }

    /// Does what the data path asked for by an `Attention`.
    pub fn attend(&mut self, now: Now) {
        let _ = now;
    }

    /// Monotonic time at which [`Engine::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        None
    }

    /// Does what is due. May be called early.
    pub fn handle_timeout(&mut self, now: Now) {
        let _ = now;
    }

    /// What to do next. To be called until `None` after every other call.
    pub fn poll_output(&mut self) -> Option<Output> {
        None
    }
}
