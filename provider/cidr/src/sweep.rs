//! Every overlapping pair by one sorted sweep.
//!
//! CIDR blocks nest or are disjoint. Sorted by first address, then by prefix length, a block comes after all
//! blocks that contain it, and the blocks open at that point form one chain: a stack. The depth of the stack is the
//! number of pairs the block closes, so counting costs no more than sorting.

use crate::bits::{Word, span};
use crate::order::{ByAddress, MOST, PLACE_BITS, place, sort_keys, sorted};
use ipnet::IpNet;

/// The sorted sweep over a set of ranges; made by [`overlaps`].
#[derive(Debug, Clone)]
pub struct Overlaps {
    /// IPv4: first address (32 bits), prefix length (6), index (26).
    packed: Vec<u64>,
    /// IPv4 where an index needs more than 26 bits.
    many: Vec<Wide>,
    /// IPv6.
    wide: Vec<Wide>,
    total: u64,
}

/// First address (high and low half), then prefix length and index in one word: 24 bytes where an `u128` makes it 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide([u64; 3]);

/// Bits of the index in the last word of a [`Wide`].
const INDEX_BITS: u32 = 56;

impl Wide {
    fn new(start: u128, prefix: u8, index: usize) -> Self {
        Self([(start >> 64) as u64, start as u64, u64::from(prefix) << INDEX_BITS | index as u64])
    }

    /// The last address, in a family with addresses of so many bits.
    fn end(&self, bits: u8) -> u128 {
        self.address() | u128::low_mask(bits - (self.0[2] >> INDEX_BITS) as u8)
    }

    fn index(&self) -> usize {
        (self.0[2] & ((1 << INDEX_BITS) - 1)) as usize
    }
}

impl ByAddress for Wide {
    fn address(&self) -> u128 {
        u128::from(self.0[0]) << 64 | u128::from(self.0[1])
    }
}

/// Finds every overlapping pair of ranges, IPv4 and IPv6 together, in n log n (+ the pairs that are read).
pub fn overlaps(nets: &[IpNet]) -> Overlaps {
    let wide_of = |index: usize, net: &IpNet| Wide::new(span(net).0, net.prefix_len(), index);
    let start = |net: &IpNet, v6: bool| (matches!(net, IpNet::V6(_)) == v6).then(|| span(net).0);
    let (mut packed, mut many) = (Vec::new(), Vec::new());
    if nets.len() <= MOST {
        packed.extend(nets.iter().enumerate().filter_map(|(index, net)| match net {
            IpNet::V4(net) => Some(
                u64::from(u32::from(net.network())) << 32
                    | u64::from(net.prefix_len()) << PLACE_BITS
                    | index as u64,
            ),
            IpNet::V6(_) => None,
        }));
        sort_keys(&mut packed);
    } else {
        many = sorted(nets, |net| start(net, false), wide_of);
    }
    let wide = sorted(nets, |net| start(net, true), wide_of);
    let total = count(packed.iter().map(|&key| unpack(key)))
        + count(many.iter().map(|range| (range.address(), range.end(32))))
        + count(wide.iter().map(|range| (range.address(), range.end(128))));
    Overlaps { packed, many, wide, total }
}

impl Overlaps {
    /// Number of overlapping pairs, computed by the sort without listing them.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether no two ranges overlap.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Every overlapping pair `(outer, inner)` as indices, lazily: `outer` contains or equals `inner`; of two equal
    /// ranges the one with the lower index is the outer.
    pub fn pairs(&self) -> OverlapPairs<'_> {
        OverlapPairs { sweep: self, at: 0, open: Vec::new(), emit: 0, current: 0 }
    }

    /// The first `limit` pairs of [`Overlaps::pairs`].
    pub fn first(&self, limit: usize) -> Vec<(usize, usize)> {
        self.pairs().take(limit).collect()
    }

    /// Family, first address, last address and index of the range at a position of the sweep.
    fn entry(&self, at: usize) -> Option<(bool, u128, u128, usize)> {
        if let Some(&key) = self.packed.get(at) {
            let (start, end) = unpack(key);
            return Some((false, start.into(), end.into(), place(key)));
        }
        let at = at - self.packed.len();
        let (v6, bits, range) = match self.many.get(at) {
            Some(range) => (false, 32, range),
            None => (true, 128, self.wide.get(at - self.many.len())?),
        };
        Some((v6, range.address(), range.end(bits), range.index()))
    }
}

/// Iterator over overlapping pairs, in address order of the inner range. See [`Overlaps::pairs`].
#[derive(Debug, Clone)]
pub struct OverlapPairs<'a> {
    sweep: &'a Overlaps,
    at: usize,
    /// The chain of ranges that hold the current one: family, last address, index.
    open: Vec<(bool, u128, usize)>,
    emit: usize,
    current: usize,
}

impl Iterator for OverlapPairs<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        // The last of `open` is the current range itself; the ones before it are its pairs.
        while self.emit + 1 >= self.open.len() {
            let (v6, start, end, index) = self.sweep.entry(self.at)?;
            self.at += 1;
            while self.open.last().is_some_and(|&(family, last, _)| family != v6 || last < start) {
                self.open.pop();
            }
            self.open.push((v6, end, index));
            self.emit = 0;
            self.current = index;
        }
        let outer = self.open[self.emit].2;
        self.emit += 1;
        Some((outer, self.current))
    }
}

fn unpack(key: u64) -> (u32, u32) {
    let start = (key >> 32) as u32;
    let prefix = (key >> PLACE_BITS) as u8 & 63;
    (start, start.last(prefix))
}

/// Number of overlapping pairs among sorted ranges, given by first and last address.
fn count<W: Word>(ranges: impl Iterator<Item = (W, W)>) -> u64 {
    let mut total = 0;
    let mut open: Vec<W> = Vec::new();
    for (start, end) in ranges {
        while open.last().is_some_and(|&last| last < start) {
            open.pop();
        }
        total += open.len() as u64;
        open.push(end);
    }
    total
}
