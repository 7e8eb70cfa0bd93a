//! Whom a run of packets is for.

use std::sync::Arc;
use std::time::Duration;

use warren_proto::plane::{Endpoint, Peer};
use warren_proto::transport::SendKey;

/// A peer with its key and address as they were looked up.
pub(super) struct Target {
    pub(super) peer: Arc<Peer>,
    pub(super) endpoint: Option<Endpoint>,
    /// `None`: packets wait for a session.
    key: Option<Arc<SendKey>>,
    /// When they were looked up.
    at: Duration,
}

/// What a packet is sealed with.
pub(super) enum Key {
    /// This key, and the first of the counters that were taken.
    Ready(Arc<SendKey>, u64),
    /// There is no session: packets wait for one.
    Missing,
    /// Nobody knows where the peer is.
    Nowhere,
}

impl Target {
    pub(super) fn new(peer: &Arc<Peer>) -> Self {
        Self { peer: Arc::clone(peer), key: None, endpoint: None, at: Duration::MAX }
    }

    pub(super) fn is(&self, peer: &Arc<Peer>) -> bool {
        Arc::ptr_eq(&self.peer, peer)
    }

    /// Takes `count` counters. Key and address are looked up once for each reading of the clock, not for each frame.
    #[inline]
    pub(super) fn reserve(&mut self, now: Duration, count: usize) -> Key {
        if self.at != now {
            self.at = now;
            self.key = self.peer.sealer(now);
            self.endpoint = self.peer.endpoint();
        }
        match (&self.key, &self.endpoint) {
            (_, None) => Key::Nowhere,
            (None, _) => Key::Missing,
            (Some(key), _) => match key.reserve(count as u64) {
                Some(first) => Key::Ready(Arc::clone(key), first),
                None => Key::Missing,
            },
        }
    }
}
