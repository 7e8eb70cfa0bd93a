//! The control plane of one interface, sans-IO: peers, handshakes, timers.
//!
//! One owner calls it; the data path shares the [`Plane`]. After every call take what [`Engine::poll_output`]
//! gives until it is `None`, and arrange for [`Engine::handle_timeout`] at [`Engine::poll_timeout`]:
//!
//! ```text
//! datagram of type 1, 2, 3 ----> handle ---------+
//! wakeup by the data path --> serve_wakeups ---------+--> poll_output: Transmit, Flush, Established, Expired
//! time -----------------------> handle_timeout --+
//! ```
//!
//! The parts: `carriers` (the way to a peer), `peers` (configuration and status), `initiator` and `responder` (handshakes), `sessions` (their
//! rotation, with its diagram), `timers` (with the state diagram of a handshake), `indices`.

mod carriers;
mod config;
mod indices;
mod initiator;
mod peers;
mod responder;
mod sessions;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use warren_wire::{PrivateKey, PublicKey};

use warren_cipher::Suite;

use crate::Now;
use crate::handshake::known::SharedKnown;
use crate::handshake::load::{Load, SourceLimiter};
use crate::handshake::mac::{CookieJar, MacKeys};
use crate::handshake::message::{Kind, kind};
use crate::handshake::noise::Identity;
use crate::handshake::random::Rng;
use crate::handshake::stamp::Stamps;
use crate::plane::{Endpoint, PeerId, Plane, Traffic};

pub use carriers::Liveness;
pub use config::{EngineConfig, EngineStats, Output, PeerConfig, PeerStatus};

/// Handshakes, timers and peers of one interface.
pub struct Engine {
    plane: Arc<Plane>,
    identity: Identity,
    own_macs: MacKeys,
    rng: Rng,
    peers: peers::Peers,
    indices: indices::Indices,
    heap: timers::Heap,
    outputs: VecDeque<Output>,
    stamps: Stamps,
    load: Load,
    jar: CookieJar,
    limiter: SourceLimiter,
    /// Answers to strangers; `None`: they get none.
    strangers: Option<SourceLimiter>,
    stats: EngineStats,
    departed: Traffic,
    cipher: Suite,
}

impl Engine {
    /// A new engine. `seed` is all its randomness: 32 fresh bytes of the system's, or a constant in a test.
    #[must_use]
    pub fn new(config: EngineConfig, seed: [u8; 32]) -> Self {
        let mut rng = Rng::new(seed);
        let known = SharedKnown::default();
        let identity = Identity::new(config.private_key, Arc::clone(&known));
        Self {
            plane: Arc::new(Plane::new()),
            own_macs: MacKeys::new(&identity.public()),
            identity,
            limiter: SourceLimiter::new(rng.array()),
            strangers: config.answer_strangers.then(|| SourceLimiter::new(rng.array())),
            rng,
            peers: peers::Peers::new(known),
            indices: indices::Indices::default(),
            heap: timers::Heap::default(),
            outputs: VecDeque::new(),
            stamps: Stamps::default(),
            load: Load::new(config.load_threshold),
            jar: CookieJar::new(),
            stats: EngineStats::default(),
            departed: Traffic::default(),
            cipher: config.cipher,
        }
    }

    /// The half that the data path shares.
    #[must_use]
    pub fn plane(&self) -> Arc<Plane> {
        Arc::clone(&self.plane)
    }

    /// What seals and opens data messages.
    #[must_use]
    pub fn cipher(&self) -> Suite {
        self.cipher
    }

    /// Our public key.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        self.identity.public()
    }

    /// Replaces the static key. All sessions end, since the peers know us by the key; they are made again as
    /// traffic wants them.
    pub fn set_private_key(&mut self, now: Now, key: PrivateKey) {
        let identity = Identity::new(key, Arc::clone(self.identity.known()));
        if identity.public() == self.identity.public() {
            return;
        }
        identity.known().lock().forget();
        self.own_macs = MacKeys::new(&identity.public());
        self.identity = identity;
        for slot in 0..self.peers.slots.len() as u32 {
            self.drop_sessions(slot);
            if let Some(state) = self.peers.get_mut(slot) {
                state.timers.keepalive = state.keepalive.map(|_| now.mono);
                state.cookie = None;
                self.reschedule(slot);
            }
        }
        self.outputs.retain(|output| !matches!(output, Output::Transmit { .. }));
        self.serve_wakeups(now);
    }

    /// No initiation from now on has a stamp before this time, which is since the UNIX epoch.
    ///
    /// A peer refuses stamps that are not greater than the last one of the same key (whitepaper section 5.1). After a restart
    /// with a clock that went back, only the peer knows which that was.
    pub fn raise_stamps(&mut self, wall: Duration) {
        self.stamps.raise(wall);
    }

    /// The time in the last stamp of a peer, in seconds since the UNIX epoch.
    #[must_use]
    pub fn last_stamp(&self, public_key: &PublicKey) -> Option<Duration> {
        let state = self.peers.get(self.peers.by_key(public_key)?)?;
        state.stamp_received.map(|stamp| stamp.wall())
    }

    /// Processes a handshake message (types 1, 2, 3) from the network. Anything else is counted and ignored.
    pub fn handle(&mut self, now: Now, from: Endpoint, datagram: &mut [u8]) {
        match kind(datagram) {
            Some(Kind::CookieReply) => self.cookie_reply(now, datagram),
            Some(Kind::Initiation) => {
                if self.admit(now, from, datagram) {
                    self.initiation(now, from, datagram);
                }
            }
            Some(Kind::Response) => {
                if self.admit(now, from, datagram) {
                    self.response(now, from, datagram);
                }
            }
            None => self.stats.malformed += 1,
        }
        self.serve_wakeups(now);
    }

    /// Handshake messages were dropped before they reached the engine because its queue was full: they count as
    /// offered load.
    pub fn note_dropped(&mut self, now: Now, messages: u32) {
        self.load.offered(now.mono, messages);
    }

    /// What to do next. To be called until `None` after every other call.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Counters that belong to no peer.
    #[must_use]
    pub fn stats(&self, now: Now) -> EngineStats {
        EngineStats { under_load: self.load.is_under(now.mono), ..self.stats }
    }
}

impl Output {
    fn peer(&self) -> Option<PeerId> {
        match self {
            Self::Transmit { peer, .. } => *peer,
            Self::Flush(id) | Self::Established(id) | Self::Arrived(id) | Self::Expired(id) => Some(*id),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("public_key", &self.public_key()).finish_non_exhaustive()
    }
}
