//! A link with faults: rate, delay, queue, loss, reorder, duplication, corruption, changing MTU.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv6Addr;

use crate::{Rng, SEC};

/// One direction of a path.
#[derive(Clone, Debug)]
pub struct Link {
    /// Bits a second; zero is infinite.
    pub rate: u64,
    /// One way.
    pub delay: u64,
    /// Bytes that wait for the line at most.
    pub queue: u64,
    /// Bytes in the queue from which on its manager acts, if it has one: packets that take marks are marked, others vanish
    /// (RFC 3168 §5).
    pub manages: Option<u64>,
    /// Share of packets that vanish, 0 to 1; as with the others.
    pub loss: f64,
    /// Packets that come later than those behind them.
    pub reorder: f64,
    /// Extra delay of a reordered packet, at most.
    pub jitter: u64,
    /// Packets that come twice.
    pub duplicate: f64,
    /// Packets with one bit changed.
    pub corrupt: f64,
    /// Larger packets vanish.
    pub mtu: usize,
    /// ...and are answered with "too big" when true.
    pub tells_mtu: bool,
}

impl Link {
    /// Without faults, and with a queue of one product of bandwidth and round trip.
    pub fn clean(rate: u64, delay: u64) -> Self {
        let bdp = rate / 8 * (2 * delay) / SEC;
        Self {
            rate,
            delay,
            queue: bdp.max(128 * 1024),
            manages: None,
            loss: 0.0,
            reorder: 0.0,
            jitter: 0,
            duplicate: 0.0,
            corrupt: 0.0,
            mtu: 65_535,
            tells_mtu: false,
        }
    }
}

/// One direction of a path with the packets that are under way.
pub struct Pipe {
    pub(crate) link: Link,
    free_at: u64,
    flying: BinaryHeap<Reverse<(u64, u64, usize)>>,
    packets: Vec<Vec<u8>>,
    spare: Vec<usize>,
    serial: u64,
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
}

impl Pipe {
    /// An empty path.
    pub fn new(link: Link) -> Self {
        Self {
            link,
            free_at: 0,
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            spare: Vec::new(),
            serial: 0,
            sent: 0,
            dropped: 0,
            marked: 0,
        }
    }

    /// Puts a packet on the path. Returns an ICMP error when the path tells.
    pub fn push(&mut self, now: u64, rng: &mut Rng, packet: &[u8]) -> Option<Vec<u8>> {
        self.sent += 1;
        if packet.len() > self.link.mtu {
            self.dropped += 1;
            return self.link.tells_mtu.then(|| too_big(packet, self.link.mtu));
        }
        let start = self.free_at.max(now);
        let mut marks = false;
        if self.link.rate > 0 {
            let waiting = u128::from(start - now) * u128::from(self.link.rate) / 8 / u128::from(SEC);
            let length = waiting as u64 + packet.len() as u64;
            marks = self.link.manages.is_some_and(|most| length > most);
            if length > self.link.queue || (marks && ecn(packet) == 0) {
                self.dropped += 1;
                return None;
            }
            self.marked += u64::from(marks);
            self.free_at = start + packet.len() as u64 * 8 * SEC / self.link.rate;
        }
        if rng.chance(self.link.loss) {
            self.dropped += 1;
            return None;
        }
        let copies = if rng.chance(self.link.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            let mut arrives = if self.link.rate > 0 { self.free_at } else { now } + self.link.delay;
            if rng.chance(self.link.reorder) {
                arrives += 1 + rng.below(self.link.jitter.max(1));
            }
            let corrupt = rng.chance(self.link.corrupt);
            let slot = self.spare.pop().unwrap_or_else(|| {
                self.packets.push(Vec::new());
                self.packets.len() - 1
            });
            let copy = &mut self.packets[slot];
            copy.clear();
            copy.extend_from_slice(packet);
            if marks {
                mark(copy);
            }
            if corrupt {
                // One bit: the Internet checksum finds every single-bit error.
                let at = rng.below(copy.len() as u64) as usize;
                copy[at] ^= 1 << rng.below(8);
            }
            self.serial += 1;
            self.flying.push(Reverse((arrives, self.serial, slot)));
        }
        None
    }

    /// Sends an error of the path itself, which nothing delays or loses.
    pub(crate) fn answer(&mut self, now: u64, error: Vec<u8>) {
        self.serial += 1;
        self.packets.push(error);
        self.flying.push(Reverse((now + self.link.delay, self.serial, self.packets.len() - 1)));
    }

    /// Packets that it has lost.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Packets that it has marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<u64> {
        self.flying.peek().map(|Reverse((at, ..))| *at)
    }

    /// Passes on the packets that have arrived; returns their number.
    pub fn deliver(&mut self, now: u64, mut receive: impl FnMut(&[u8])) -> usize {
        let mut count = 0;
        while let Some(Reverse((at, _, slot))) = self.flying.peek().copied() {
            if at > now {
                break;
            }
            self.flying.pop();
            receive(&self.packets[slot]);
            self.spare.push(slot);
            count += 1;
        }
        count
    }
}

/// The ECN bits of an IP packet (RFC 3168 §5).
pub fn ecn(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 4 { packet[1] & 3 } else { packet[1] >> 4 & 3 }
}

/// Says that there is congestion, in the name of a router that would have dropped the packet otherwise.
pub fn mark(packet: &mut [u8]) {
    if packet[0] >> 4 == 4 {
        packet[1] |= 3;
        packet[10..12].fill(0);
        let check = sum(&packet[..20], 0);
        packet[10..12].copy_from_slice(&check.to_be_bytes());
    } else {
        packet[1] |= 0x30;
    }
}

/// The Internet checksum.
pub(crate) fn sum(bytes: &[u8], mut total: u32) -> u16 {
    for pair in bytes.chunks(2) {
        total += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// What a router says of a packet that is larger than `mtu`: ICMP's "fragmentation needed", ICMPv6's "packet too big".
///
/// # Panics
/// `packet` has no whole IP header.
pub fn too_big(packet: &[u8], mtu: usize) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(128)];
    if packet[0] >> 4 == 4 {
        let mut out = vec![0; 28 + quoted.len()];
        let length = out.len() as u16;
        out[0] = 0x45;
        out[2..4].copy_from_slice(&length.to_be_bytes());
        out[8] = 64;
        out[9] = 1;
        out[12..16].copy_from_slice(&[192, 0, 2, 254]);
        out[16..20].copy_from_slice(&packet[12..16]);
        let check = sum(&out[..20], 0);
        out[10..12].copy_from_slice(&check.to_be_bytes());
        out[20] = 3;
        out[21] = 4;
        out[26..28].copy_from_slice(&(mtu as u16).to_be_bytes());
        out[28..].copy_from_slice(quoted);
        let check = sum(&out[20..], 0);
        out[22..24].copy_from_slice(&check.to_be_bytes());
        out
    } else {
        let mut out = vec![0; 48 + quoted.len()];
        let length = (out.len() - 40) as u16;
        out[0] = 0x60;
        out[4..6].copy_from_slice(&length.to_be_bytes());
        out[6] = 58;
        out[7] = 64;
        out[8..24].copy_from_slice(&Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe).octets());
        out[24..40].copy_from_slice(&packet[8..24]);
        out[40] = 2;
        out[44..48].copy_from_slice(&(mtu as u32).to_be_bytes());
        out[48..].copy_from_slice(quoted);
        let mut pseudo = 58 + u32::from(length);
        for pair in out[8..40].chunks(2) {
            pseudo += u32::from(pair[0]) << 8 | u32::from(pair[1]);
        }
        let check = sum(&out[40..], pseudo);
        out[42..44].copy_from_slice(&check.to_be_bytes());
        out
    }
}
