//! Opens datagrams in place, in the buffer in which they were received.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use warren_device::tun::ip;
use warren_proto::plane::{DropReason, Endpoint, Reader, Session, Wakeup};
use warren_proto::transport::{DATA_HEADER, Reject, data_receiver};

use super::Shared;

/// Opens the datagrams of one thread.
pub(super) struct Opener<'a> {
    shared: &'a Shared,
    reader: Reader,
    current: Option<Current>,
    wakeup: Wakeup,
}

/// The session of the last packet, with counts not yet reported to its peer.
struct Current {
    session: Arc<Session>,
    from: Endpoint,
    packets: u64,
    bytes: u64,
    /// Inner source that was found to be permitted.
    source: Option<std::net::IpAddr>,
}

impl<'a> Opener<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, reader: shared.plane.reader(), current: None, wakeup: Wakeup::NONE }
    }

    /// Opens a datagram and returns the range of the packet in it, if its sender is permitted to send the packet.
    #[inline]
    pub(super) fn open(
        &mut self,
        now: Duration,
        buffer: &mut [u8],
        place: Range<usize>,
        from: &Endpoint,
        ecn: u8,
    ) -> Option<Range<usize>> {
        let message = &mut buffer[place.clone()];
        let Some(index) = data_receiver(message) else {
            self.other(message, from);
            return None;
        };
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.session.index() != index || current.from != *from)
        {
            self.settle(now);
            match self.reader.session(index) {
                Some(session) => {
                    let session = Arc::clone(session);
                    self.current = Some(Current { session, from: *from, packets: 0, bytes: 0, source: None });
                }
                None => {
                    self.shared.plane.drops().count(DropReason::NoSession, 1);
                    return None;
                }
            }
        }
        let current = self.current.as_mut()?;
        let session = &current.session;
        let plain = match session.open(now, message) {
            Ok(plain) => plain,
            Err(reject) => {
                let reason = match reject {
                    Reject::Authentication => DropReason::Authentication,
                    Reject::Replay => DropReason::Replay,
                    Reject::Expired => DropReason::Expired,
                    Reject::Short | Reject::Type => DropReason::Malformed,
                };
                session.peer.drops().count(reason, 1);
                return None;
            }
        };
        if session.is_confirmed() {
            self.wakeup |= session.peer.arrived();
        } else {
            self.wakeup |= self.shared.plane.confirm(session, now);
        }
        current.bytes += place.len() as u64;
        if plain.is_empty() {
            return None;
        }
        current.packets += 1;
        let (Some(length), Some(source)) = (ip::length(plain), ip::source(plain)) else {
            session.peer.drops().count(DropReason::Malformed, 1);
            return None;
        };
        match self.reader.direct_permits(now, &session.peer, source, &plain[..length]) {
            Some(true) => {}
            None if current.source == Some(source) => {}
            None if self.reader.permits(&session.peer, source) => current.source = Some(source),
            Some(false) | None => {
                session.peer.drops().count(DropReason::NotAllowed, 1);
                return None;
            }
        }
        if !ip::decapsulate_ecn(&mut plain[..length], ecn) {
            session.peer.drops().count(DropReason::Malformed, 1);
            return None;
        }
        let start = place.start + DATA_HEADER;
        Some(start..start + length)
    }

    /// Handshakes and cookies have fixed lengths (whitepaper section 5.4); nothing else is worth a wake-up.
    #[cold]
    fn other(&self, message: &[u8], from: &Endpoint) {
        let known = match message.first_chunk::<4>() {
            Some([1, 0, 0, 0]) => message.len() == 148,
            Some([2, 0, 0, 0]) => message.len() == 92,
            Some([3, 0, 0, 0]) => message.len() == 64,
            _ => false,
        };
        if known {
            self.shared.control.datagram(*from, message);
        } else {
            self.shared.plane.drops().count(DropReason::Malformed, 1);
        }
    }

    /// Ends a batch: reports all counts and drops the session.
    pub(super) fn finish(&mut self, now: Duration) {
        self.settle(now);
        self.reader.release();
        self.shared.control.attend(std::mem::take(&mut self.wakeup));
    }

    /// Reports received packets to the peer of the current session.
    pub(super) fn settle(&mut self, now: Duration) {
        if let Some(current) = self.current.take()
            && current.bytes > 0
        {
            self.wakeup |= current.session.peer.received(now, &current.from, current.packets, current.bytes);
            if let Some(stream) = current.from.carrier.stream() {
                self.shared.prove(stream);
            }
        }
    }
}
