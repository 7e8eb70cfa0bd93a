//! Datagrams under way, and what happens to them there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::Duration;

/// A small generator (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64 <= probability && probability > 0.0
    }

    pub(crate) fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        seed.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()));
        seed
    }
}

/// What the network does to datagrams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    /// Delay of all.
    pub(crate) delay: Duration,
    /// Random addition, which also reorders.
    pub(crate) jitter: Duration,
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        loss: 0.0,
        duplicate: 0.0,
        corrupt: 0.0,
        delay: Duration::from_millis(20),
        jitter: Duration::ZERO,
    };
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Datagram {
    pub(crate) at: Duration,
    order: u64,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Network {
    pub(crate) faults: Faults,
    flying: BinaryHeap<Reverse<Datagram>>,
    order: u64,
    /// A few datagrams of the past, which are sent once more.
    recorded: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
}

impl Network {
    pub(crate) fn new() -> Self {
        Self { faults: Faults::NONE, flying: BinaryHeap::new(), order: 0, recorded: Vec::new() }
    }

    pub(crate) fn send(
        &mut self,
        dice: &mut Dice,
        now: Duration,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
    ) {
        let faults = self.faults;
        if self.recorded.len() < 64 {
            self.recorded.push((from, to, bytes.to_vec()));
        } else {
            let at = dice.below(64) as usize;
            self.recorded[at] = (from, to, bytes.to_vec());
        }
        if dice.chance(faults.loss) {
            return;
        }
        let copies = if dice.chance(faults.duplicate) { 3 } else { 1 };
        for _ in 0..copies {
            let mut bytes = bytes.to_vec();
            if dice.chance(faults.corrupt) {
                match dice.below(4) {
                    0 => bytes.truncate(dice.below(bytes.len() as u64) as usize),
                    1 => bytes.push(0),
                    _ => {
                        let at = dice.below(bytes.len() as u64) as usize;
                        bytes[at] ^= 1 << dice.below(8);
                    }
                }
            }
            let jitter = dice.below(faults.jitter.as_nanos() as u64);
            self.fly(now + faults.delay + Duration::from_nanos(jitter), from, to, bytes);
        }
    }

    /// Somebody who listens sends a datagram of the past again, from where it came or from elsewhere.
    pub(crate) fn replay(&mut self, dice: &mut Dice, now: Duration, from: Option<SocketAddr>) {
        if self.recorded.is_empty() {
            return;
        }
        let at = dice.below(self.recorded.len() as u64) as usize;
        let (sender, to, bytes) = self.recorded[at].clone();
        self.fly(now, from.unwrap_or(sender), to, bytes);
    }

    pub(crate) fn next_at(&self) -> Option<Duration> {
        self.flying.peek().map(|datagram| datagram.0.at)
    }

    pub(crate) fn pop(&mut self) -> Option<Datagram> {
        self.flying.pop().map(|datagram| datagram.0)
    }

    fn fly(&mut self, at: Duration, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        self.order += 1;
        self.flying.push(Reverse(Datagram { at, order: self.order, from, to, bytes }));
    }
}
