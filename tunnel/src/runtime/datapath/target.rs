//! The destination of a run of packets.

use std::sync::Arc;
use std::time::Duration;

use warren_proto::plane::{Carrier, DropReason, Endpoint, Peer, StreamId, Wakeup};
use warren_proto::transport::SendKey;
use warren_transport::tls::Stream;

use super::Shared;

/// A peer with its cached key and address.
pub(super) struct Target {
    pub(super) peer: Arc<Peer>,
    endpoint: Option<Endpoint>,
    /// The cached connection of the endpoint.
    stream: Option<Arc<Stream>>,
    /// `None`: packets wait for a session.
    key: Option<Arc<SendKey>>,
    /// Time of the lookup.
    at: Duration,
}

/// The key for a packet.
pub(super) enum Key {
    /// The key, and the first of the reserved counters.
    Ready(Arc<SendKey>, u64),
    /// There is no session, so packets wait for one.
    Missing,
    /// The address of the peer is not known.
    Nowhere,
}

impl Target {
    pub(super) fn new(peer: &Arc<Peer>) -> Self {
        Self { peer: Arc::clone(peer), key: None, endpoint: None, stream: None, at: Duration::MAX }
    }

    pub(super) fn is(&self, peer: &Arc<Peer>) -> bool {
        Arc::ptr_eq(&self.peer, peer)
    }

    /// Reserves `count` counters. Key and address are looked up once per reading of the clock, not per frame.
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

    /// Sends `bytes` as datagrams of `segment` bytes, the last of which may be shorter, over the carrier of the peer, and
    /// counts them. `None` if nothing was sent.
    #[inline]
    pub(super) fn send(
        &mut self,
        shared: &Shared,
        queue: usize,
        now: Duration,
        bytes: &[u8],
        segment: usize,
        ecn: u8,
    ) -> Option<Wakeup> {
        let endpoint = self.endpoint.as_ref()?;
        let count = bytes.len().div_ceil(segment.max(1)) as u64;
        let sent = match endpoint.carrier {
            Carrier::Udp => shared.udp.send_segments(queue, endpoint, bytes, segment, ecn).is_ok(),
            Carrier::Stream(id) => self.by_stream(shared, id, now, bytes, segment),
        };
        if !sent {
            self.peer.drops().count(DropReason::Send, count);
            return None;
        }
        Some(self.peer.sent(now, count, bytes.len() as u64))
    }

    fn by_stream(
        &mut self,
        shared: &Shared,
        id: StreamId,
        now: Duration,
        bytes: &[u8],
        segment: usize,
    ) -> bool {
        if self.stream.as_ref().is_none_or(|stream| stream.id() != id) {
            self.stream = shared.streams.get(id);
        }
        self.stream.as_ref().is_some_and(|stream| stream.send(now, bytes, segment))
    }
}
