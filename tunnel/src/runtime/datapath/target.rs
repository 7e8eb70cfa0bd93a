//! The destination of a run of packets.

use std::sync::Arc;
use std::time::Duration;

use warren_device::tun::ip;
use warren_proto::plane::{Carrier, DropReason, Endpoint, Peer, StreamId, Wakeup};
use warren_proto::transport::SendKey;
use warren_transport::tls::Bundle;

use super::Shared;

/// A peer with its cached key and address.
pub(super) struct Target {
    pub(super) peer: Arc<Peer>,
    endpoint: Option<Endpoint>,
    /// The cached connections of the endpoint.
    bundle: Option<Arc<Bundle>>,
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
        Self { peer: Arc::clone(peer), key: None, endpoint: None, bundle: None, at: Duration::MAX }
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

    /// The flow of a packet, if the carrier keeps flows apart. After [`Self::reserve`].
    #[inline]
    pub(super) fn flow(&self, packet: &[u8]) -> Option<u32> {
        let by_stream = self.endpoint.is_some_and(|endpoint| endpoint.carrier != Carrier::Udp);
        by_stream.then(|| ip::flow(packet))
    }

    /// Sends `bytes` as datagrams of `segment` bytes, the last of which may be shorter, over the carrier of the peer, and
    /// counts them. `None` if nothing was sent. `flow` is that of all of them.
    #[expect(clippy::too_many_arguments, reason = "what a run of datagrams has in common")]
    #[inline]
    pub(super) fn send(
        &mut self,
        shared: &Shared,
        queue: usize,
        now: Duration,
        bytes: &[u8],
        segment: usize,
        ecn: u8,
        flow: Option<u32>,
    ) -> Option<Wakeup> {
        let endpoint = self.endpoint.as_ref()?;
        let count = bytes.len().div_ceil(segment.max(1)) as u64;
        let sent = match endpoint.carrier {
            Carrier::Udp => shared.udp.send_segments(queue, endpoint, bytes, segment, ecn).is_ok(),
            Carrier::Stream(id) => {
                self.by_stream(shared, id, now, (flow.unwrap_or_default(), bytes, segment))
            }
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
        (flow, bytes, segment): (u32, &[u8], usize),
    ) -> bool {
        if self.bundle.as_ref().is_none_or(|bundle| bundle.id() != id) {
            self.bundle = shared.streams.get(id);
        }
        self.bundle.as_ref().is_some_and(|bundle| bundle.send(now, flow, bytes, segment))
    }
}
