//! Reassembly of IP fragments (RFC 791, RFC 815, RFC 8200 §4.5) with a strict budget.
//!
//! - Overlapping fragments end their datagram, and what follows of it is dropped (RFC 5722). An exact duplicate is ignored.
//! - Fragments are held for 60 s (RFC 1122 §3.3.2, RFC 8200 §4.5), the oldest datagram makes way when there are too many.
//! - One source has at most a quarter of the memory and of the datagrams, so it cannot displace those of all others.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use hashbrown::HashMap;
use smoltcp::wire::{Ipv4Packet, Ipv6Packet};

use crate::buffer::Pool;
use crate::checksum;
use crate::ecn;
use crate::random::Keyed;
use crate::seq::{Nanos, SEC};
use crate::wire::{self, ip_header};

/// How long fragments wait for the others.
const TIMEOUT: Nanos = 60 * SEC;
/// Datagrams at once.
const MAX_DATAGRAMS: usize = 256;
/// Fragments of one datagram: 65,535 bytes in packets of IPv6's least MTU.
const MAX_FRAGMENTS: usize = 64;
/// The part of the budget that fragments may take.
const PART: usize = 16;
/// What a fragment costs beside its bytes.
const OVERHEAD: usize = 96;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    /// IPv4's protocol; zero in IPv6, where only the first fragment tells.
    protocol: u8,
    id: u32,
}

/// One fragment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment<'a> {
    key: Key,
    protocol: u8,
    offset: usize,
    more: bool,
    ecn: u8,
    data: &'a [u8],
}

impl Fragment<'_> {
    pub(crate) fn source(&self) -> IpAddr {
        self.key.source
    }

    pub(crate) fn destination(&self) -> IpAddr {
        self.key.destination
    }
}

/// Reads a fragment; `None` when the packet is malformed, or none.
pub(crate) fn parse(packet: &[u8]) -> Option<Fragment<'_>> {
    let fragment = match packet.first()? >> 4 {
        4 => parse4(packet)?,
        6 => parse6(packet)?,
        _ => return None,
    };
    let length = fragment.data.len();
    let whole = ip_header(fragment.key.source) + fragment.offset + length;
    let right = length > 0 && (!fragment.more || length.is_multiple_of(8)) && whole <= wire::MAX_MTU;
    right.then_some(fragment)
}

fn parse4(packet: &[u8]) -> Option<Fragment<'_>> {
    let view = Ipv4Packet::new_checked(packet).ok()?;
    let header = usize::from(view.header_len());
    let (more, offset) = (view.more_frags(), usize::from(view.frag_offset()));
    if header < 20 || !(more || offset > 0) || checksum::fold(checksum::sum(&packet[..header])) != 0xffff {
        return None;
    }
    let protocol = view.next_header().into();
    let key = Key {
        source: IpAddr::V4(view.src_addr()),
        destination: IpAddr::V4(view.dst_addr()),
        protocol,
        id: view.ident().into(),
    };
    let data = packet.get(header..usize::from(view.total_len()))?;
    Some(Fragment { key, protocol, offset, more, ecn: view.ecn(), data })
}

fn parse6(packet: &[u8]) -> Option<Fragment<'_>> {
    let view = Ipv6Packet::new_checked(packet).ok()?;
    let payload = packet.get(40..view.total_len())?;
    let (next, rest) = wire::skip_extensions(view.next_header().into(), payload)?;
    let (head, data) = rest.split_first_chunk::<8>().filter(|_| next == wire::FRAGMENT)?;
    let [protocol, _, high, low, a, b, c, d] = *head;
    let place = u16::from_be_bytes([high, low]);
    let key = Key {
        source: IpAddr::V6(view.src_addr()),
        destination: IpAddr::V6(view.dst_addr()),
        protocol: 0,
        id: u32::from_be_bytes([a, b, c, d]),
    };
    let (offset, more) = (usize::from(place & !7), place & 1 != 0);
    Some(Fragment { key, protocol, offset, more, ecn: view.traffic_class() & 3, data })
}

#[derive(Default)]
struct Parts {
    pieces: BTreeMap<usize, Vec<u8>>,
    /// Bytes of the whole, when the last fragment is there.
    total: Option<usize>,
    /// Of the first fragment.
    protocol: Option<u8>,
    /// The ECN bits of the fragments.
    ecn: Vec<u8>,
    held: usize,
    /// Fragments overlapped: nothing of this datagram is taken any more.
    dead: bool,
}

impl Parts {
    /// Whether the fragment is known already, or its place is free; `None` when it contradicts another.
    fn fits(&self, fragment: &Fragment<'_>) -> Option<bool> {
        let (start, end) = (fragment.offset, fragment.offset + fragment.data.len());
        if self.pieces.get(&start).is_some_and(|known| known == fragment.data) {
            return Some(true);
        }
        let before = self.pieces.range(..end).next_back();
        let overlaps = before.is_some_and(|(at, known)| at + known.len() > start);
        let beyond = self.total.is_some_and(|total| end > total || !fragment.more);
        let last = self.pieces.last_key_value().map_or(0, |(at, known)| at + known.len());
        let short = !fragment.more && last > end;
        (!overlaps && !beyond && !short).then_some(false)
    }

    fn complete(&self) -> bool {
        let mut next = 0;
        for (at, piece) in &self.pieces {
            if *at != next {
                return false;
            }
            next += piece.len();
        }
        self.total == Some(next)
    }

    fn packet(&self, key: &Key, most: usize, ecn: u8) -> Vec<u8> {
        let header = ip_header(key.source);
        let mut packet = vec![0; header];
        for piece in self.pieces.values() {
            packet.extend_from_slice(piece);
        }
        packet.truncate(most);
        let protocol = self.protocol.unwrap_or(key.protocol);
        wire::emit_ip(&mut packet, key.source, key.destination, protocol, ecn);
        packet
    }
}

/// What a source has of the table.
#[derive(Default, Clone, Copy)]
struct Share {
    bytes: usize,
    datagrams: usize,
}

/// Datagrams of which fragments have arrived.
pub(crate) struct Fragments {
    table: HashMap<Key, Parts, Keyed>,
    order: VecDeque<(Nanos, Key)>,
    sources: HashMap<IpAddr, Share, Keyed>,
    held: usize,
    most: usize,
}

impl Fragments {
    pub(crate) fn new(keyed: Keyed, budget: usize) -> Self {
        Self {
            table: HashMap::with_hasher(keyed),
            order: VecDeque::new(),
            sources: HashMap::with_hasher(keyed),
            held: 0,
            most: budget / PART,
        }
    }

    /// Heap bytes beside those that are counted in the pool.
    pub(crate) fn memory(&self) -> usize {
        self.table.allocation_size()
            + self.sources.allocation_size()
            + self.order.capacity() * size_of::<(Nanos, Key)>()
    }

    /// When the oldest datagram expires.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.order.front().map(|(at, _)| *at)
    }

    /// Takes a fragment. Returns the whole packet when it was the last that was missing.
    pub(crate) fn take(&mut self, now: Nanos, pool: &mut Pool, fragment: &Fragment<'_>) -> Option<Vec<u8>> {
        let key = fragment.key;
        if fragment.offset == 0 && !fragment.more {
            // Complete in itself, whatever else has the same number (RFC 6946).
            let alone = Parts { protocol: Some(fragment.protocol), ..Parts::default() };
            let mut packet = alone.packet(&key, usize::MAX, fragment.ecn);
            packet.extend_from_slice(fragment.data);
            wire::emit_ip(&mut packet, key.source, key.destination, fragment.protocol, fragment.ecn);
            return Some(packet);
        }
        let fresh = !self.table.contains_key(&key);
        if let Some(parts) = self.table.get(&key) {
            match parts.fits(fragment) {
                _ if parts.dead => return None,
                Some(false) if parts.pieces.len() < MAX_FRAGMENTS => {}
                Some(true) => return None,
                Some(false) | None => {
                    self.kill(pool, &key);
                    return None;
                }
            }
        }
        let bytes = fragment.data.len() + OVERHEAD;
        let share = self.sources.get(&key.source).copied().unwrap_or_default();
        if share.bytes + bytes > self.most / 4 || (fresh && share.datagrams >= MAX_DATAGRAMS / 4) {
            return None;
        }
        while self.held + bytes > self.most || (fresh && self.table.len() >= MAX_DATAGRAMS) {
            let oldest = self.order.pop_front().map(|(_, key)| key)?;
            self.remove(pool, &oldest);
            if oldest == key {
                return None;
            }
        }
        if !pool.charge(bytes) {
            return None;
        }
        self.held += bytes;
        let share = self.sources.entry(key.source).or_default();
        share.bytes += bytes;
        share.datagrams += usize::from(fresh);
        if fresh {
            self.order.push_back((now + TIMEOUT, key));
        }
        let parts = self.table.entry(key).or_default();
        parts.held += bytes;
        parts.pieces.insert(fragment.offset, fragment.data.to_vec());
        parts.ecn.push(fragment.ecn);
        if fragment.offset == 0 {
            parts.protocol = Some(fragment.protocol);
        }
        if !fragment.more {
            parts.total = Some(fragment.offset + fragment.data.len());
        }
        if !parts.complete() {
            return None;
        }
        // A mark on the part of a sender that takes none is an error of the path: the whole counts as lost.
        let packet =
            ecn::reassembled(parts.ecn.iter().copied()).map(|ecn| parts.packet(&key, usize::MAX, ecn));
        self.remove(pool, &key);
        self.order.retain(|(_, other)| *other != key);
        packet
    }

    /// Takes one datagram that has waited too long: source, destination, and the beginning of the packet when its first fragment
    /// had arrived.
    pub(crate) fn expire(
        &mut self,
        now: Nanos,
        pool: &mut Pool,
    ) -> Option<(IpAddr, IpAddr, Option<Vec<u8>>)> {
        let (_, key) = *self.order.front().filter(|(at, _)| *at <= now)?;
        self.order.pop_front();
        let begun = self.table.get(&key).filter(|parts| parts.pieces.contains_key(&0));
        let packet = begun.map(|parts| parts.packet(&key, 576, ecn::NOT_ECT));
        self.remove(pool, &key);
        Some((key.source, key.destination, packet))
    }

    fn remove(&mut self, pool: &mut Pool, key: &Key) {
        self.kill(pool, key);
        self.table.remove(key);
        if let Some(share) = self.sources.get_mut(&key.source) {
            share.datagrams -= 1;
            if share.datagrams == 0 {
                self.sources.remove(&key.source);
            }
        }
    }

    /// Gives back the fragments of a datagram; it stays known, and takes no more.
    fn kill(&mut self, pool: &mut Pool, key: &Key) {
        let Some(parts) = self.table.get_mut(key) else { return };
        parts.dead = true;
        parts.pieces.clear();
        let held = std::mem::take(&mut parts.held);
        pool.refund(held);
        self.held -= held;
        if let Some(share) = self.sources.get_mut(&key.source) {
            share.bytes -= held;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(source: u8, id: u32, offset: usize, more: bool) -> Fragment<'static> {
        let key = Key {
            source: IpAddr::from([10, 0, 0, source]),
            destination: IpAddr::from([10, 0, 0, 9]),
            protocol: wire::UDP,
            id,
        };
        Fragment { key, protocol: wire::UDP, offset, more, ecn: 0, data: &[7; 8] }
    }

    #[test]
    fn one_source_does_not_displace_the_datagrams_of_another() {
        let mut pool = Pool::new(32 << 20);
        let mut fragments = Fragments::new(Keyed::new(&[1; 32], 0), 32 << 20);
        assert!(fragments.take(0, &mut pool, &fragment(1, 1, 0, true)).is_none());
        for id in 0..2 * MAX_DATAGRAMS as u32 {
            assert!(fragments.take(1, &mut pool, &fragment(2, id, 0, true)).is_none());
        }
        assert_eq!(fragments.table.len(), 1 + MAX_DATAGRAMS / 4);
        assert!(fragments.take(2, &mut pool, &fragment(1, 1, 8, false)).is_some());
        // All of it is released in time.
        while fragments.expire(u64::MAX, &mut pool).is_some() {}
        assert_eq!((pool.used(), fragments.held, fragments.sources.len()), (0, 0, 0));
    }
}
