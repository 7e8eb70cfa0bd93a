//! Decrypted packets into frames for the TUN device: what a network card's receive offload does.
//!
//! Packets of one flow that follow each other without a gap become one frame with a vnet header that tells the kernel how they were cut, so that its stack is walked once for up to 64 KiB.
//! Nothing the far end could tell from the packets one by one is lost: only packets whose headers are equal but for length, sequence and checksum are joined, and the checksum of each is
//! verified first, since the kernel will not do so for the frame.
//!
//! Packets stay where they were decrypted, in one buffer ("arena"); a run keeps their places, and is written by one gathering write. The ten bytes in front of a packet are used for its
//! vnet header (they held the tunnel's own header).

use std::io::IoSlice;
use std::ops::Range;

use super::checksum::{fill_ipv4_header, fold, pseudo, sum};
use super::ip::{be16, be32, put16};
use super::vnet::{GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, NEEDS_CSUM, VNET_HEADER, Vnet};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const ECE: u8 = 0x40;

/// Runs kept before they must be written.
const RUNS: usize = 64;
/// Packets of a TCP run: 64 KiB of segments of 536 bytes.
const TCP_PACKETS: usize = 128;
/// Packets of a UDP run: a longer burst at once overflows the small receive buffers programs have by default.
const UDP_PACKETS: usize = 16;

/// The types of frames that the device accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// TCP segments may be joined.
    pub tcp: bool,
    /// UDP datagrams may be joined.
    pub udp: bool,
}

/// A packet that may be joined with others.
#[derive(Clone, Copy)]
struct Candidate {
    at: usize,
    len: usize,
    ip: usize,
    headers: usize,
    protocol: u8,
}

struct Run {
    flow: u64,
    /// May grow.
    open: bool,
    /// Its first packet's checksum has been verified.
    verified: bool,
    push: bool,
    first: Candidate,
    /// Bytes of the frame without vnet header.
    total: usize,
    next_sequence: u32,
    /// Payloads after the first packet.
    rest: Vec<Range<usize>>,
}

/// Joins packets of one batch; reused for the next.
pub struct Coalescer {
    joins: Joins,
    runs: Vec<Run>,
    used: usize,
}

impl Coalescer {
    /// Creates a coalescer for a device that accepts `joins`.
    pub fn new(joins: Joins) -> Self {
        let none = Candidate { at: 0, len: 0, ip: 0, headers: 0, protocol: 0 };
        let run = || Run {
            flow: 0,
            open: false,
            verified: false,
            push: false,
            first: none,
            total: 0,
            next_sequence: 0,
            rest: Vec::with_capacity(TCP_PACKETS),
        };
        Self { joins, runs: (0..RUNS).map(|_| run()).collect(), used: 0 }
    }

    /// What may be joined from now on: to stop what a kernel turns out not to take.
    pub fn set_joins(&mut self, joins: Joins) {
        self.joins = joins;
    }

    /// What may be joined.
    pub fn joins(&self) -> Joins {
        self.joins
    }

    /// Nothing more can be pushed before a flush.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used == self.runs.len()
    }

    /// Adds the packet at `place` of the arena, exactly as long as its IP header says. The ten bytes in front of it belong to the coalescer until the flush, as the packet does.
    /// False, and nothing done, when there are no ten bytes, the place is outside or the table is full.
    #[inline]
    pub fn push(&mut self, arena: &mut [u8], place: Range<usize>) -> bool {
        if self.is_full() || place.start < VNET_HEADER || place.end > arena.len() || place.is_empty() {
            return false;
        }
        let packet = &arena[place.clone()];
        match classify(packet, self.joins) {
            Class::Other => self.open(place, None, 0),
            Class::Unordered => {
                // Its flow cannot be told: nothing after it may overtake it.
                for run in &mut self.runs[..self.used] {
                    run.open = false;
                }
                self.open(place, None, 0);
            }
            Class::Flow { ip, headers, protocol, joinable } => {
                let candidate = Candidate { at: place.start, len: place.len(), ip, headers, protocol };
                let flow = flow_hash(packet, ip);
                let known = self.runs[..self.used]
                    .iter_mut()
                    .rev()
                    .find(|run| run.open && run.flow == flow && same_flow(arena, &run.first, &candidate));
                if let Some(run) = known {
                    if joinable && run.join(arena, &candidate) {
                        return true;
                    }
                    run.open = false;
                }
                let sequence = be32(&arena[place.clone()], ip + 4);
                self.open(place, joinable.then_some((candidate, flow)), sequence);
                if let (true, Some(run)) = (joinable && protocol == TCP, self.runs.get_mut(self.used - 1)) {
                    run.open = arena[candidate.at + ip + 13] & PSH == 0;
                }
            }
        }
        true
    }

    fn open(&mut self, place: Range<usize>, join: Option<(Candidate, u64)>, sequence: u32) {
        let run = &mut self.runs[self.used];
        self.used += 1;
        run.verified = false;
        run.push = false;
        run.rest.clear();
        run.total = place.len();
        if let Some((candidate, flow)) = join {
            run.open = true;
            run.flow = flow;
            run.first = candidate;
            run.next_sequence =
                sequence.wrapping_add(u32::try_from(candidate.len - candidate.headers).unwrap_or(0));
        } else {
            run.open = false;
            run.first = Candidate { at: place.start, len: place.len(), ip: 0, headers: 0, protocol: 0 };
        }
    }

    /// Hands every frame, in the order its first packet came, to `write`: pieces (vnet header first) and number of packets in it.
    pub fn flush(&mut self, arena: &mut [u8], mut write: impl FnMut(&[IoSlice<'_>], usize)) {
        for run in &self.runs[..self.used] {
            run.finish(arena);
            let arena = &*arena;
            let first = IoSlice::new(&arena[run.first.at - VNET_HEADER..run.first.at + run.first.len]);
            if run.rest.is_empty() {
                write(&[first], 1);
                continue;
            }
            let mut pieces = [IoSlice::new(&[]); TCP_PACKETS];
            pieces[0] = first;
            for (piece, place) in pieces[1..].iter_mut().zip(&run.rest) {
                *piece = IoSlice::new(&arena[place.clone()]);
            }
            let count = (run.rest.len() + 1).min(TCP_PACKETS);
            write(&pieces[..count], count);
        }
        self.used = 0;
    }
}

impl Run {
    /// Appends the packet when frame and packet allow it.
    #[inline]
    fn join(&mut self, arena: &[u8], candidate: &Candidate) -> bool {
        let payload = candidate.len - candidate.headers;
        let size = self.first.len - self.first.headers;
        let limit = if candidate.protocol == TCP { TCP_PACKETS } else { UDP_PACKETS };
        if payload > size || self.total + payload > usize::from(u16::MAX) || self.rest.len() + 1 >= limit {
            return false;
        }
        let first = &arena[self.first.at..self.first.at + self.first.len];
        let packet = &arena[candidate.at..candidate.at + candidate.len];
        if candidate.headers != self.first.headers || !same_ip(first, packet, self.rest.len() + 1) {
            return false;
        }
        if candidate.protocol == TCP
            && (!same_tcp(&first[candidate.ip..candidate.headers], &packet[candidate.ip..candidate.headers])
                || be32(packet, candidate.ip + 4) != self.next_sequence)
        {
            return false;
        }
        if !self.verified {
            if !checksum_holds(first, self.first.ip, self.first.protocol) {
                return false;
            }
            self.verified = true;
        }
        if !checksum_holds(packet, candidate.ip, candidate.protocol) {
            return false;
        }
        self.rest.push(candidate.at + candidate.headers..candidate.at + candidate.len);
        self.total += payload;
        self.next_sequence = self.next_sequence.wrapping_add(u32::try_from(payload).unwrap_or(0));
        if candidate.protocol == TCP && packet[candidate.ip + 13] & PSH != 0 {
            self.push = true;
            self.open = false;
        }
        if payload < size {
            self.open = false;
        }
        true
    }

    /// Writes the vnet header, and for more than one packet lengths and the partial checksum.
    #[inline]
    fn finish(&self, arena: &mut [u8]) {
        let (at, ip) = (self.first.at, self.first.ip);
        let header = &mut arena[at - VNET_HEADER..at];
        if self.rest.is_empty() {
            header.copy_from_slice(&Vnet { gso_type: GSO_NONE, ..Vnet::default() }.encode());
            return;
        }
        let narrow = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        let v4 = ip == 20;
        let (offset, gso_type) = match (self.first.protocol, v4) {
            (UDP, _) => (6, GSO_UDP_L4),
            (_, true) => (16, GSO_TCPV4),
            (_, false) => (16, GSO_TCPV6),
        };
        let vnet = Vnet {
            flags: NEEDS_CSUM,
            gso_type,
            hdr_len: narrow(self.first.headers),
            gso_size: narrow(self.first.len - self.first.headers),
            csum_start: narrow(ip),
            csum_offset: offset,
        };
        header.copy_from_slice(&vnet.encode());
        let packet = &mut arena[at..at + self.first.len];
        let addresses = if v4 {
            put16(packet, 2, narrow(self.total));
            fill_ipv4_header(&mut packet[..20]);
            &packet[12..20]
        } else {
            put16(packet, 4, narrow(self.total - 40));
            &packet[8..40]
        };
        let partial = fold(pseudo(addresses, self.first.protocol, self.total - ip));
        let field = ip + usize::from(offset);
        packet[field..field + 2].copy_from_slice(&partial.to_ne_bytes());
        if self.first.protocol == UDP {
            put16(packet, ip + 4, narrow(self.total - ip));
        } else if self.push {
            packet[ip + 13] |= PSH;
        }
    }
}

enum Class {
    /// No flow that could be joined: ICMP and the rest.
    Other,
    /// May belong to a flow that is being joined, but cannot be told to: fragments, IP options, extension headers.
    Unordered,
    Flow {
        ip: usize,
        headers: usize,
        protocol: u8,
        joinable: bool,
    },
}

#[inline]
fn classify(packet: &[u8], joins: Joins) -> Class {
    let (ip, protocol) = match packet[0] >> 4 {
        4 if packet.len() >= 20 => {
            if packet[0] & 15 != 5 || be16(packet, 6) & 0x3fff != 0 {
                return Class::Unordered;
            }
            if usize::from(be16(packet, 2)) != packet.len() {
                return Class::Other;
            }
            (20, packet[9])
        }
        6 if packet.len() >= 40 => {
            if usize::from(be16(packet, 4)) + 40 != packet.len() {
                return Class::Other;
            }
            // Hop-by-hop, routing, fragment, destination options.
            if matches!(packet[6], 0 | 43 | 44 | 60) {
                return Class::Unordered;
            }
            (40, packet[6])
        }
        _ => return Class::Other,
    };
    match protocol {
        TCP if joins.tcp && packet.len() >= ip + 20 => {
            let headers = ip + usize::from(packet[ip + 12] >> 4) * 4;
            let flags = packet[ip + 13];
            let joinable = headers >= ip + 20
                && headers < packet.len()
                && flags & !(ACK | PSH | ECE) == 0
                && flags & ACK != 0;
            Class::Flow { ip, headers, protocol, joinable }
        }
        UDP if joins.udp && packet.len() >= ip + 8 => {
            let joinable = usize::from(be16(packet, ip + 4)) == packet.len() - ip
                && packet.len() > ip + 8
                && be16(packet, ip + 6) != 0;
            Class::Flow { ip, headers: ip + 8, protocol, joinable }
        }
        _ => Class::Other,
    }
}

/// Mixes addresses and ports. Equality is checked on the bytes: a clash costs time, not correctness.
#[inline]
fn flow_hash(packet: &[u8], ip: usize) -> u64 {
    let from = if ip == 20 { 12 } else { 8 };
    packet[from..ip].as_chunks::<4>().0.iter().chain(packet[ip..].first_chunk::<4>()).fold(
        u64::from(ip == 20),
        |hash, word| {
            (hash ^ u64::from(u32::from_ne_bytes(*word))).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        },
    )
}

#[inline]
fn same_flow(arena: &[u8], one: &Candidate, other: &Candidate) -> bool {
    let from = if one.ip == 20 { 12 } else { 8 };
    one.ip == other.ip
        && one.protocol == other.protocol
        && arena[one.at + from..one.at + one.ip + 4] == arena[other.at + from..other.at + other.ip + 4]
}

/// Whether the IP headers differ in length, checksum and identification only. `nth`: which packet of the run it would be.
#[inline]
fn same_ip(first: &[u8], packet: &[u8], nth: usize) -> bool {
    if first[0] >> 4 == 6 {
        return first[..4] == packet[..4] && first[7] == packet[7];
    }
    let dont_fragment = be16(first, 6) & 0x4000 != 0;
    // Identification matters only to packets that may be fragmented (RFC 6864); the kernel will count it up when it cuts the frame again.
    let id = u16::try_from(nth).is_ok_and(|nth| be16(first, 4).wrapping_add(nth) == be16(packet, 4));
    first[1] == packet[1] && first[6..9] == packet[6..9] && (dont_fragment || id)
}

/// Whether the TCP headers differ in sequence, checksum and PSH only.
#[inline]
fn same_tcp(first: &[u8], packet: &[u8]) -> bool {
    first[8..13] == packet[8..13]
        && (first[13] ^ packet[13]) & !PSH == 0
        && first[14..16] == packet[14..16]
        && first[18..] == packet[18..]
}

#[inline]
fn checksum_holds(packet: &[u8], ip: usize, protocol: u8) -> bool {
    let addresses = if ip == 20 { &packet[12..20] } else { &packet[8..40] };
    let header = ip != 20 || fold(sum(&packet[..20])) == 0xffff;
    header && fold(pseudo(addresses, protocol, packet.len() - ip) + sum(&packet[ip..])) == 0xffff
}

#[cfg(test)]
#[path = "coalesce_tests.rs"]
mod tests;
