//! Packets of one peer, sealed side by side in the buffer they are sent from.

use std::sync::Arc;
use std::time::Duration;

use warren_device::tun::ip;
use warren_device::tun::split::Frame;
use warren_proto::plane::{DropReason, Peer, Wakeup};
use warren_proto::transport::{DATA_HEADER, SendKey, TAG};
use warren_transport::udp::{MAX_BYTES, MAX_SEGMENTS};

use super::Shared;
use super::target::{Key, Target};

const OVERHEAD: usize = DATA_HEADER + TAG;

/// One run of datagrams: equal sizes but for the last, one peer, one key, one ECN mark, one flow over TLS.
pub(super) struct Batch {
    queue: usize,
    buffer: Vec<u8>,
    used: usize,
    /// Size of the datagrams.
    segment: usize,
    count: usize,
    /// The last one was shorter: none can follow.
    closed: bool,
    ecn: u8,
    /// Where the carrier keeps flows apart.
    flow: Option<u32>,
    peer: Option<Target>,
    wakeup: Wakeup,
    pub(super) sends: u64,
    pub(super) packets: u64,
}

impl Batch {
    /// To be sent from the sockets of `queue`.
    pub(super) fn new(queue: usize) -> Self {
        Self {
            queue,
            buffer: vec![0; MAX_BYTES],
            used: 0,
            segment: 0,
            count: 0,
            closed: false,
            ecn: 0,
            flow: None,
            peer: None,
            wakeup: Wakeup::NONE,
            sends: 0,
            packets: 0,
        }
    }

    /// Seals all packets of a frame for `peer`. Sends the batch when it is full.
    pub(super) fn frame(
        &mut self,
        shared: &Shared,
        peer: &Arc<Peer>,
        now: Duration,
        frame: &Frame<'_>,
    ) -> Reached {
        let count = frame.segments();
        let (key, first) = match self.key(shared, peer, now, count) {
            Key::Ready(key, first) => (key, first),
            Key::Nowhere => {
                peer.drops().count(DropReason::NoEndpoint, count as u64);
                return Reached::No;
            }
            Key::Missing => {
                self.send(shared, now);
                for index in 0..count {
                    // The buffer is empty now and can be reused.
                    match self.buffer.get_mut(..frame.segment_len(index)) {
                        Some(room) => {
                            frame.write(index, room);
                            self.wakeup |= peer.stage(room);
                        }
                        None => peer.drops().count(DropReason::Malformed, 1),
                    }
                }
                return Reached::Yes;
            }
        };
        let mtu = shared.mtu.load(std::sync::atomic::Ordering::Relaxed);
        let like = (frame.ecn(), self.flow_of(frame.packet()));
        for (index, counter) in (0..count).zip(first..) {
            let len = frame.segment_len(index);
            let Some(room) = self.room(shared, now, len, mtu, like) else {
                peer.drops().count(DropReason::Malformed, 1);
                continue;
            };
            frame.write(index, &mut room[DATA_HEADER..DATA_HEADER + len]);
            seal(&key, counter, room, len);
        }
        Reached::Yes
    }

    /// The same for a single packet.
    pub(super) fn packet(&mut self, shared: &Shared, peer: &Arc<Peer>, now: Duration, packet: &[u8]) {
        match self.key(shared, peer, now, 1) {
            Key::Nowhere => peer.drops().count(DropReason::NoEndpoint, 1),
            Key::Missing => self.wakeup |= peer.stage(packet),
            Key::Ready(key, counter) => {
                let mtu = shared.mtu.load(std::sync::atomic::Ordering::Relaxed);
                let like = (ip::ecn(packet), self.flow_of(packet));
                match self.room(shared, now, packet.len(), mtu, like) {
                    Some(room) => {
                        room[DATA_HEADER..DATA_HEADER + packet.len()].copy_from_slice(packet);
                        seal(&key, counter, room, packet.len());
                    }
                    None => peer.drops().count(DropReason::Malformed, 1),
                }
            }
        }
    }

    /// Sends the batch.
    pub(super) fn send(&mut self, shared: &Shared, now: Duration) {
        if self.used > 0
            && let Some(target) = &mut self.peer
            && let Some(wakeup) = target.send(
                shared,
                self.queue,
                now,
                &self.buffer[..self.used],
                self.segment,
                self.ecn,
                self.flow,
            )
        {
            self.wakeup |= wakeup;
            self.sends += 1;
            self.packets += self.count as u64;
        }
        self.used = 0;
        self.count = 0;
        self.closed = false;
        if self.wakeup.needed() {
            shared.control.attend(std::mem::take(&mut self.wakeup));
        }
    }

    /// Sends the batch and drops peer and key: a sleeping thread must not keep them alive.
    pub(super) fn end(&mut self, shared: &Shared, now: Duration) {
        self.send(shared, now);
        self.peer = None;
    }

    /// Selects `peer` for the batch and reserves `count` counters of its key.
    #[inline]
    fn key(&mut self, shared: &Shared, peer: &Arc<Peer>, now: Duration, count: usize) -> Key {
        if self.peer.as_ref().is_none_or(|target| !target.is(peer)) {
            self.send(shared, now);
            self.peer = None;
        }
        self.peer.get_or_insert_with(|| Target::new(peer)).reserve(now, count)
    }

    fn flow_of(&self, packet: &[u8]) -> Option<u32> {
        self.peer.as_ref().and_then(|target| target.flow(packet))
    }

    /// Reserves space in the buffer for a packet of `len` bytes with padding, header and tag. Sends the batch first if the
    /// packet cannot join it. `None` if the packet is too long for a datagram.
    #[inline]
    fn room(
        &mut self,
        shared: &Shared,
        now: Duration,
        len: usize,
        mtu: usize,
        (ecn, flow): (u8, Option<u32>),
    ) -> Option<&mut [u8]> {
        let size = OVERHEAD + padded(len, mtu);
        if size > self.buffer.len() {
            return None;
        }
        let fits = !self.closed
            && size <= self.segment
            && self.ecn == ecn
            && self.flow == flow
            && self.count < MAX_SEGMENTS
            && self.used + size <= self.buffer.len();
        if self.count > 0 && !fits {
            self.send(shared, now);
        }
        if self.count == 0 {
            self.segment = size;
            self.ecn = ecn;
            self.flow = flow;
        }
        self.closed = size < self.segment;
        self.count += 1;
        let start = self.used;
        self.used += size;
        self.buffer.get_mut(start..start + size)
    }
}

/// Whether there was an address to send to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    Yes,
    No,
}

/// Length with padding (whitepaper section 5.4.6): to 16 bytes, but not beyond the MTU.
#[inline]
fn padded(len: usize, mtu: usize) -> usize {
    len.next_multiple_of(16).min(mtu).max(len)
}

#[inline]
fn seal(key: &SendKey, counter: u64, room: &mut [u8], len: usize) {
    let end = room.len() - TAG;
    // The padding must not leak earlier packets from the same buffer.
    room[DATA_HEADER + len..end].fill(0);
    key.seal(counter, room);
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn padding_ends_at_the_mtu() {
        assert_eq!(padded(1, 1420), 16);
        assert_eq!(padded(16, 1420), 16);
        assert_eq!(padded(1410, 1420), 1420);
        assert_eq!(padded(1420, 1420), 1420);
        assert_eq!(padded(1500, 1420), 1500);
        assert_eq!(padded(0, 1420), 0);
    }
}
