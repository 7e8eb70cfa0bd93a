//! Direct paths to pods that the gateway has offered.
//!
//! An offer adds a peer without allowed IPs, and ends after a time unless the gateway repeats it. A peer of the configuration is
//! never replaced.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use warren_path::direct::{Action, Direct as Path, TICK};
use warren_proto::{
    Now,
    engine::PeerConfig,
    plane::{Carrier, Direct, DirectRules, Endpoint, PeerId},
};
use warren_wire::key::PublicKey;

use super::{
    FilePeer,
    state::{Control, now},
};
use crate::runtime::status::PeerDirect;

/// For how long a path that has ended is kept, and how many.
const FORMER: Duration = Duration::from_secs(600);
const FORMER_MAX: usize = 64;

/// What the gateway has offered about a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectOffer {
    /// Its key.
    pub public_key: PublicKey,
    /// Its name.
    pub name: String,
    /// Where it may be.
    pub endpoints: Vec<SocketAddr>,
    /// What may pass.
    pub rules: DirectRules,
    /// When the offer ends, on the clock of the data path.
    pub until: Duration,
}

struct State {
    id: PeerId,
    offer: DirectOffer,
    path: Path,
    direct: Arc<Direct>,
    ups: u64,
}

/// All of them.
#[derive(Default)]
pub(super) struct DirectPaths {
    states: BTreeMap<PublicKey, State>,
    /// Those that ended, and when: they see where connections begin, in case that they are offered again.
    former: BTreeMap<PublicKey, (Arc<Direct>, Duration)>,
    due: Duration,
}

impl DirectPaths {
    /// When [`Control::direct_paths`] is due.
    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        (!self.states.is_empty()).then_some(self.due)
    }

    /// Whether a peer is one of them.
    pub(super) fn is_of(&self, id: PeerId) -> bool {
        self.states.values().any(|state| state.id == id)
    }

    /// The status of a peer's direct path.
    pub(super) fn status(&self, key: &PublicKey) -> Option<PeerDirect> {
        let state = self.states.get(key)?;
        Some(PeerDirect {
            name: state.offer.name.clone(),
            addresses: state.direct.rules().addresses.clone(),
            opens: state.direct.rules().opens.clone(),
            up: state.direct.is_up(),
            ups: state.ups,
            flows: state.direct.flows() as u64,
            refused: state.direct.refused(),
            seconds_left: state.offer.until.saturating_sub(now().mono).as_secs(),
        })
    }
}

impl Control {
    /// Replaces the offers.
    pub(super) fn set_direct(&mut self, offers: Vec<DirectOffer>) {
        let now = now();
        let offered = |key: &PublicKey| offers.iter().any(|offer| offer.public_key == *key);
        let gone: Vec<PublicKey> = self.direct.states.keys().filter(|key| !offered(key)).copied().collect();
        let mut changed = self.end_direct(&gone, "no longer offered");
        for offer in offers {
            changed |= self.offer(now, offer);
        }
        if changed {
            self.publish_direct();
        }
        self.direct.due = now.mono;
    }

    /// Adds or prolongs a path. True if the data path must know.
    fn offer(&mut self, now: Now, offer: DirectOffer) -> bool {
        let key = offer.public_key;
        if let Some(state) = self.direct.states.get_mut(&key) {
            state.path.set_candidates(now.mono, offer.endpoints.clone());
            let changed = *state.direct.rules() != offer.rules;
            if changed {
                let peer = Arc::clone(state.direct.peer());
                let next = Direct::after(peer, offer.rules.clone(), &state.direct);
                next.set_up(state.direct.is_up());
                state.direct = Arc::new(next);
            }
            state.offer = offer;
            return changed;
        }
        if self.engine.find_peer(&key).is_some() || key == self.engine.public_key() {
            return false;
        }
        let peer = FilePeer { config: PeerConfig::new(key), name: None, tls: None };
        self.model.put(&mut self.engine, now, vec![peer]);
        let Some((id, peer)) =
            self.engine.find_peer(&key).and_then(|id| Some((id, self.engine.plane().peer(id)?)))
        else {
            return false;
        };
        tracing::info!(peer = %key, name = offer.name, endpoints = ?offer.endpoints, "direct path offered");
        let direct = Arc::new(match self.direct.former.remove(&key) {
            Some((before, _)) => Direct::after(peer, offer.rules.clone(), &before),
            None => Direct::new(peer, offer.rules.clone()),
        });
        let path = Path::new(now.mono, offer.endpoints.clone());
        self.direct.states.insert(key, State { id, offer, path, direct, ups: 0 });
        true
    }

    /// Removes the peers of paths. True if there were any.
    fn end_direct(&mut self, keys: &[PublicKey], why: &str) -> bool {
        let mut any = false;
        let now = now().mono;
        self.direct.former.retain(|_, (_, at)| now.saturating_sub(*at) < FORMER);
        for key in keys {
            if let Some(state) = self.direct.states.remove(key) {
                any = true;
                state.direct.set_up(false);
                if self.direct.former.len() < FORMER_MAX {
                    self.direct.former.insert(*key, (Arc::clone(&state.direct), now));
                }
                self.attempts.remove(&state.id);
                self.model.remove(&mut self.engine, key);
                tracing::info!(peer = %key, name = state.offer.name, why, "direct path ended");
            }
        }
        any
    }

    fn publish_direct(&self) {
        // An address that has another owner by now is the new one's.
        let former = self.direct.former.values().map(|(direct, _)| direct);
        let current = self.direct.states.values().map(|state| &state.direct);
        let all: Vec<Arc<Direct>> = former.chain(current).map(Arc::clone).collect();
        self.engine.plane().set_directs(&all);
    }

    /// Tries, uses, and leaves paths.
    pub(super) fn direct_paths(&mut self, now: Now) {
        if self.direct.states.is_empty() || now.mono < self.direct.due {
            return;
        }
        self.direct.due = now.mono + TICK;
        let ended: Vec<PublicKey> = self
            .direct
            .states
            .iter()
            .filter(|(_, state)| state.offer.until <= now.mono || self.engine.peer(now, state.id).is_none())
            .map(|(key, _)| *key)
            .collect();
        if self.end_direct(&ended, "the offer has expired") {
            self.publish_direct();
        }
        for (key, state) in &mut self.direct.states {
            let Some(signs) = self.engine.liveness(now, state.id) else { continue };
            match state.path.poll(now.mono, &signs) {
                Some(Action::Probe(to)) => _ = self.engine.probe(now, state.id, Endpoint::new(to)),
                Some(Action::Use) => {
                    state.direct.set_up(true);
                    state.ups += 1;
                    let endpoint = signs.endpoint.map(|endpoint| tracing::field::display(endpoint.remote));
                    tracing::info!(peer = %key, name = state.offer.name, endpoint, "direct path in use");
                }
                Some(Action::Leave) => {
                    state.direct.set_up(false);
                    tracing::info!(peer = %key, name = state.offer.name, "direct path does not answer, using the gateway");
                }
                None => {}
            }
        }
        self.outputs();
    }

    /// The addresses of this end on which its peers reach it by UDP, as it sees them itself.
    pub(super) fn own_endpoints(&self) -> Vec<SocketAddr> {
        let port = self.datapath.udp().port();
        let mut own: Vec<SocketAddr> = self
            .engine
            .peers(now())
            .into_iter()
            .filter(|peer| !self.direct.is_of(peer.id))
            .filter_map(|peer| peer.endpoint)
            .filter(|endpoint| endpoint.carrier == Carrier::Udp)
            .filter_map(|endpoint| Some(SocketAddr::new(endpoint.local?.0.to_canonical(), port)))
            .collect();
        own.sort_unstable();
        own.dedup();
        own
    }
}
