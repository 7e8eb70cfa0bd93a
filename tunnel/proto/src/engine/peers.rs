//! The peers of an engine: adding, changing, removing and reporting them.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use snow::HandshakeState;
use warren_wire::{PresharedKey, PublicKey};

use super::{Engine, PeerConfig, PeerStatus};
use crate::Now;
use crate::allowed::AllowedIps;
use crate::handshake::known::SharedKnown;
use crate::handshake::mac::MacKeys;
use crate::handshake::stamp::Stamp;
use crate::plane::{Endpoint, Peer, PeerId, Session, Traffic};

/// A handshake of ours that waits for its response.
pub(super) struct Outgoing {
    pub(super) index: u32,
    pub(super) state: HandshakeState,
    pub(super) sent: Duration,
    /// Nothing depends on its answer.
    pub(super) probe: bool,
}

/// A cookie that the peer gave us.
pub(super) struct Cookie {
    pub(super) bytes: [u8; 16],
    pub(super) received: Duration,
}

/// The three sessions of a peer, see the module `sessions`.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) previous: Option<Arc<Session>>,
    pub(super) current: Option<Arc<Session>>,
    pub(super) next: Option<Arc<Session>>,
}

/// All that the engine knows of a peer. What is not needed while idle is boxed.
pub(super) struct PeerState {
    pub(super) shared: Arc<Peer>,
    pub(super) psk: Option<Box<PresharedKey>>,
    pub(super) allowed_ips: Vec<IpNet>,
    pub(super) keepalive: Option<Duration>,
    /// The configured endpoint, and the one that was tried in turn with it.
    pub(super) home: Option<SocketAddr>,
    pub(super) away: Option<SocketAddr>,
    pub(super) sessions: Sessions,
    pub(super) outgoing: Option<Box<Outgoing>>,
    pub(super) cookie: Option<Box<Cookie>>,
    /// Index and mac1 of our last handshake message: what a cookie reply refers to.
    pub(super) last_message: Option<(u32, [u8; 16])>,
    /// When our last initiation or response was sent.
    pub(super) last_sent: Option<Duration>,
    /// When the present attempt began.
    pub(super) attempt: Duration,
    /// Since when initiations have had no answer.
    pub(super) waiting: Option<Duration>,
    pub(super) stamp_sent: Option<Stamp>,
    pub(super) stamp_received: Option<Stamp>,
    pub(super) initiation_received: Option<Duration>,
    pub(super) timers: super::timers::Timers,
    pub(super) last_handshake: Option<Duration>,
    pub(super) rtt: Option<Duration>,
    pub(super) answer_rtt: Option<Duration>,
    pub(super) initiated: u64,
    pub(super) answered: u64,
    pub(super) initiations: u64,
}

pub(super) struct Slot {
    pub(super) generation: NonZeroU32,
    pub(super) state: Option<Box<PeerState>>,
}

/// All peers by slot, by key and by range.
pub(super) struct Peers {
    pub(super) slots: Vec<Slot>,
    free: Vec<u32>,
    /// Shared with the handshakes of the present static key.
    known: SharedKnown,
    routes: AllowedIps<PeerId>,
}

impl Peers {
    pub(super) fn new(known: SharedKnown) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), known, routes: AllowedIps::new() }
    }

    pub(super) fn by_key(&self, key: &PublicKey) -> Option<u32> {
        self.known.lock().slot(key)
    }

    pub(super) fn get(&self, slot: u32) -> Option<&PeerState> {
        self.slots.get(slot as usize)?.state.as_deref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut PeerState> {
        self.slots.get_mut(slot as usize)?.state.as_deref_mut()
    }

    /// The slot of an id that is still in use.
    pub(super) fn slot(&self, id: PeerId) -> Option<u32> {
        let slot = self.slots.get(id.slot as usize)?;
        (slot.generation == id.generation && slot.state.is_some()).then_some(id.slot)
    }

    fn vacant(&mut self) -> PeerId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: NonZeroU32::MIN, state: None });
            (self.slots.len() - 1) as u32
        });
        PeerId { slot, generation: self.slots[slot as usize].generation }
    }

    /// Makes `nets` the ranges of a peer; true if anything changed.
    fn set_allowed(&mut self, id: PeerId, nets: &[IpNet]) -> bool {
        let mut wanted: Vec<IpNet> = nets.iter().map(IpNet::trunc).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let Some(state) = self.get_mut(id.slot) else { return false };
        if state.allowed_ips == wanted {
            return false;
        }
        let old = std::mem::replace(&mut state.allowed_ips, wanted.clone());
        for net in old.iter().filter(|net| wanted.binary_search(net).is_err()) {
            self.routes.remove(*net);
        }
        for net in wanted {
            if let Some(other) = self.routes.insert(net, id)
                && other != id
                && let Some(state) = self.get_mut(other.slot)
            {
                state.allowed_ips.retain(|of_other| *of_other != net);
            }
        }
        true
    }
}

impl Engine {
    /// Adds a peer or changes it, and publishes the routes. Sessions stay, also with a new preshared key, which
    /// the next handshake uses. For many peers use [`Engine::upsert_peers`].
    pub fn upsert_peer(&mut self, now: Now, config: PeerConfig) -> PeerId {
        let (id, changed) = self.apply(now, config);
        if changed {
            self.publish();
        }
        self.serve_wakeups(now);
        id
    }

    /// As [`Engine::upsert_peer`] for many, with one update of the routes.
    pub fn upsert_peers(&mut self, now: Now, configs: impl IntoIterator<Item = PeerConfig>) -> Vec<PeerId> {
        let mut changed = false;
        let mut ids = Vec::new();
        for config in configs {
            let (id, routes) = self.apply(now, config);
            changed |= routes;
            ids.push(id);
        }
        if changed {
            self.publish();
        }
        self.serve_wakeups(now);
        ids
    }

    /// Sends packets for a peer to another one, such as the gateway where it is, and takes its packets from there, until
    /// [`Output::Arrived`](super::Output::Arrived). `None`: it is here. False if one of them is unknown; it then counts as here.
    pub fn set_via(&mut self, public_key: &PublicKey, via: Option<&PublicKey>) -> bool {
        let Some(state) = self.peers.by_key(public_key).and_then(|slot| self.peers.get(slot)) else {
            return false;
        };
        let id = via.and_then(|via| self.find_peer(via)).filter(|id| *id != state.shared.id());
        state.shared.set_via(id);
        via.is_none() || id.is_some()
    }

    /// Removes a peer with its sessions; false if there is none of that id.
    pub fn remove_peer(&mut self, id: PeerId) -> bool {
        let Some(slot) = self.peers.slot(id) else { return false };
        self.peers.set_allowed(id, &[]);
        self.drop_sessions(slot);
        let entry = &mut self.peers.slots[slot as usize];
        if let Some(state) = entry.state.take() {
            self.peers.known.lock().remove(state.shared.public_key());
            self.departed += state.shared.traffic();
            let _ = state.shared.take_staged();
        }
        // A slot whose generations are used up is left empty.
        if let Some(generation) = entry.generation.checked_add(1) {
            entry.generation = generation;
            self.peers.free.push(slot);
        }
        self.outputs.retain(|output| output.peer() != Some(id));
        self.publish();
        true
    }

    /// The peer of a public key.
    #[must_use]
    pub fn find_peer(&self, public_key: &PublicKey) -> Option<PeerId> {
        self.peers.by_key(public_key).and_then(|slot| self.peers.get(slot)).map(|state| state.shared.id())
    }

    /// All peers.
    #[must_use]
    pub fn peers(&self, now: Now) -> Vec<PeerStatus> {
        self.peers
            .slots
            .iter()
            .filter_map(|slot| slot.state.as_deref())
            .map(|state| state.status(now))
            .collect()
    }

    /// One peer.
    #[must_use]
    pub fn peer(&self, now: Now, id: PeerId) -> Option<PeerStatus> {
        self.peers.slot(id).and_then(|slot| self.peers.get(slot)).map(|state| state.status(now))
    }

    /// Traffic of all peers that have been removed.
    #[must_use]
    pub fn departed(&self) -> Traffic {
        self.departed
    }

    fn apply(&mut self, now: Now, config: PeerConfig) -> (PeerId, bool) {
        let (id, new) = match self.find_peer(&config.public_key) {
            Some(id) => (id, false),
            None => (self.add(config.public_key), true),
        };
        let changed = self.peers.set_allowed(id, &config.allowed_ips) | new;
        if let Some(state) = self.peers.get_mut(id.slot) {
            state.psk = config.preshared_key.map(Box::new);
            state.home = config.endpoint.or(state.home);
            if let Some(remote) = config.endpoint
                && state.shared.endpoint().map(|endpoint| endpoint.remote) != Some(remote)
            {
                state.shared.set_endpoint(Endpoint::new(remote));
            }
            let keepalive = config.persistent_keepalive.filter(|seconds| *seconds > 0);
            let keepalive = keepalive.map(|seconds| Duration::from_secs(seconds.into()));
            if state.keepalive != keepalive || new {
                state.keepalive = keepalive;
                // The first one is sent at once: it makes the session.
                state.timers.keepalive = keepalive.map(|_| now.mono);
            }
            self.reschedule(id.slot);
        }
        (id, changed)
    }

    fn add(&mut self, public_key: PublicKey) -> PeerId {
        let id = self.peers.vacant();
        let shared = Arc::new(self.plane.new_peer(id, public_key));
        let state = PeerState {
            shared,
            psk: None,
            allowed_ips: Vec::new(),
            keepalive: None,
            home: None,
            away: None,
            sessions: Sessions::default(),
            outgoing: None,
            cookie: None,
            last_message: None,
            last_sent: None,
            attempt: Duration::ZERO,
            waiting: None,
            stamp_sent: self.stamps.unknown(),
            stamp_received: None,
            initiation_received: None,
            timers: super::timers::Timers::default(),
            last_handshake: None,
            rtt: None,
            answer_rtt: None,
            initiated: 0,
            answered: 0,
            initiations: 0,
        };
        self.peers.slots[id.slot as usize].state = Some(Box::new(state));
        self.peers.known.lock().insert(public_key, id.slot);
        id
    }

    fn publish(&self) {
        let peers =
            self.peers.slots.iter().map(|slot| slot.state.as_ref().map(|state| Arc::clone(&state.shared)));
        self.plane.publish(self.peers.routes.clone(), peers.collect());
    }
}

impl PeerState {
    /// Where to try next when no answer comes. The local address may be the reason, so it is left to the system.
    /// Later, the peer may not be where it was last seen (or a replayed packet pretended to be): then that place
    /// and the configured one are tried in turn.
    pub(super) fn try_elsewhere(&mut self, long: bool) {
        let Some(endpoint) = self.shared.endpoint() else { return };
        if endpoint.carrier.stream().is_some() {
            // Which carrier to take is not decided here.
            return;
        }
        let mut next = endpoint.without_local();
        if long && let Some(home) = self.home {
            if next.remote == home {
                next.remote = self.away.unwrap_or(home);
            } else {
                self.away = Some(next.remote);
                next.remote = home;
            }
        }
        self.shared.set_endpoint(next);
    }

    pub(super) fn mac_keys(&self) -> MacKeys {
        MacKeys::new(self.shared.public_key())
    }

    fn status(&self, now: Now) -> PeerStatus {
        let current = self.sessions.current.as_ref().filter(|session| !session.expired(now.mono));
        PeerStatus {
            id: self.shared.id(),
            public_key: *self.shared.public_key(),
            endpoint: self.shared.endpoint(),
            allowed_ips: self.allowed_ips.clone(),
            persistent_keepalive: self.keepalive.and_then(|time| u16::try_from(time.as_secs()).ok()),
            preshared_key_set: self.psk.is_some(),
            last_handshake: self.last_handshake,
            traffic: self.shared.traffic(),
            session_age: current.map(|session| now.mono.saturating_sub(session.send.born())),
            handshaking: self.outgoing.as_ref().is_some_and(|outgoing| !outgoing.probe),
            handshakes_initiated: self.initiated,
            handshakes_answered: self.answered,
            initiations_sent: self.initiations,
            handshake_rtt: self.rtt,
            answer_rtt: self.answer_rtt,
            drops: self.shared.drops().list(),
        }
    }
}
