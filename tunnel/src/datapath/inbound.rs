//! From the network to the device.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_device::tun::vnet::GSO_UDP_L4;
use warren_device::tun::{Queue, coalesce::Coalescer, ip};
use warren_proto::plane::{Attention, DropReason, Endpoint, Reader, Session};
use warren_proto::transport::{DATA_HEADER, Reject, TAG, data_receiver};
use warren_transport::udp::{Receiver, Wake};

use super::Shared;
use super::moderation::{Moderation, PAUSE};

/// Receives until told to stop.
pub(super) fn run(shared: &Shared, queue: usize) -> io::Result<()> {
    let Some(tun) = shared.tun.get(queue).or(shared.tun.first()) else { return Ok(()) };
    let Some(counters) = shared.inbound.get(queue) else { return Ok(()) };
    let mut receiver = Receiver::new(Arc::clone(&shared.udp), queue);
    let mut inbound = Inbound {
        shared,
        tun,
        reader: shared.plane.reader(),
        coalescer: Coalescer::new(tun.offload().joins()),
        current: None,
        attention: Attention::NONE,
        frames: 0,
        packets: 0,
    };
    let mut complained = false;
    let mut moderation = Moderation::default();
    while !shared.stopping() {
        match receiver.receive(shared.stop.as_fd()) {
            Ok(Wake::Datagrams) => {}
            Ok(Wake::Stop) => break,
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    tracing::warn!(%error, "receiving failed; trying on");
                }
                if shared.rest(Duration::from_millis(10)) {
                    break;
                }
                continue;
            }
        }
        let now = shared.clock.mono();
        let (buffer, found) = receiver.parts();
        let items = found.len();
        for datagram in found {
            for place in datagram.places() {
                inbound.datagram(now, buffer, place, &datagram.from, datagram.ecn);
            }
        }
        inbound.finish(now, buffer);
        counters.frames.store(inbound.frames, Ordering::Relaxed);
        counters.packets.store(inbound.packets, Ordering::Relaxed);
        counters.calls.fetch_add(1, Ordering::Relaxed);
        if moderation.pause(now, items) && shared.rest(PAUSE) {
            break;
        }
    }
    Ok(())
}

struct Inbound<'a> {
    shared: &'a Shared,
    tun: &'a Queue,
    reader: Reader,
    coalescer: Coalescer,
    current: Option<Current>,
    attention: Attention,
    frames: u64,
    packets: u64,
}

/// The session the last packet belonged to, with what is not yet reported to its peer.
struct Current {
    session: Arc<Session>,
    from: Endpoint,
    packets: u64,
    bytes: u64,
    /// Inner source that was found to be permitted.
    source: Option<std::net::IpAddr>,
}

impl Inbound<'_> {
    #[inline]
    fn datagram(&mut self, now: Duration, buffer: &mut [u8], place: Range<usize>, from: &Endpoint, ecn: u8) {
        let message = &mut buffer[place.clone()];
        let Some(index) = data_receiver(message) else {
            return self.other(message, from);
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
                None => return self.shared.plane.drops().count(DropReason::NoSession, 1),
            }
        }
        let Some(current) = &mut self.current else { return };
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
                return session.peer.drops().count(reason, 1);
            }
        };
        if !session.is_confirmed() {
            self.attention |= self.shared.plane.confirm(session, now);
        }
        current.bytes += place.len() as u64;
        if plain.is_empty() {
            return;
        }
        current.packets += 1;
        let (Some(length), Some(source)) = (ip::length(plain), ip::source(plain)) else {
            return session.peer.drops().count(DropReason::Malformed, 1);
        };
        if current.source != Some(source) {
            if !self.reader.permits(&session.peer, source) {
                return session.peer.drops().count(DropReason::NotAllowed, 1);
            }
            current.source = Some(source);
        }
        if !ip::decapsulate_ecn(&mut plain[..length], ecn) {
            return session.peer.drops().count(DropReason::Malformed, 1);
        }
        if self.coalescer.is_full() {
            self.write(buffer);
        }
        let start = place.start + DATA_HEADER;
        self.coalescer.push(buffer, start..start + length);
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

    /// The end of a batch: everything is written, reported and let go of.
    fn finish(&mut self, now: Duration, buffer: &mut [u8]) {
        self.write(buffer);
        self.settle(now);
        self.reader.release();
        self.shared.control.attend(std::mem::take(&mut self.attention));
    }

    /// Reports what came to the peer of the current session.
    fn settle(&mut self, now: Duration) {
        if let Some(current) = self.current.take()
            && current.bytes > 0
        {
            self.attention |=
                current.session.peer.received(now, &current.from, current.packets, current.bytes);
        }
    }

    fn write(&mut self, buffer: &mut [u8]) {
        let Self { coalescer, tun, shared, frames, packets, .. } = self;
        let mut refused = None;
        coalescer.flush(buffer, |pieces, count| match tun.write(pieces) {
            Ok(()) => {
                *frames += 1;
                *packets += count as u64;
            }
            Err(error) => {
                if count > 1 && error.kind() == io::ErrorKind::InvalidInput {
                    refused = pieces.first().and_then(|header| header.get(1).copied());
                }
                shared.plane.drops().count(DropReason::Device, count as u64);
            }
        });
        if let Some(kind) = refused {
            self.stop_joining(kind);
        }
    }

    /// Some kernels refuse frames that they say they take. Who sent the packets sends them again.
    #[cold]
    fn stop_joining(&mut self, kind: u8) {
        let mut joins = self.coalescer.joins();
        let what = if kind == GSO_UDP_L4 { &mut joins.udp } else { &mut joins.tcp };
        if std::mem::take(what) {
            let protocol = if kind == GSO_UDP_L4 { "UDP" } else { "TCP" };
            tracing::warn!(protocol, "the device refuses joined packets: writing them one by one");
        }
        self.coalescer.set_joins(joins);
    }
}

const _: () = assert!(DATA_HEADER >= warren_device::tun::vnet::VNET_HEADER && TAG == 16);
