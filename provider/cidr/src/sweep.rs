//! Every overlapping pair by one sorted sweep.
//!
//! CIDR blocks nest or are disjoint. Sorted by first address, then by prefix length, a block comes after all
//! blocks that contain it, and the blocks open at that point form one chain: a stack. The depth of the stack is the
//! number of pairs the block closes, so counting costs no more than sorting.

use crate::bits::Word;
use ipnet::IpNet;

/// Index bits of a packed key. More ranges than this take the wide keys.
const INDEX_BITS: u32 = 26;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
/// Digit size of the radix sort; four digits cover the 38 bits of address and prefix length.
const DIGIT_BITS: u32 = 10;
/// Below this many keys a comparison sort is faster.
const RADIX_FROM: usize = 2048;

/// The sorted sweep over a set of ranges; made by [`overlaps`].
#[derive(Debug, Clone)]
pub struct Overlaps {
    /// IPv4: first address (32 bits), prefix length (6), index (26).
    packed: Vec<u64>,
    /// IPv6 (and IPv4 beyond `INDEX_BITS`): first and last address, prefix length, index.
    wide: Vec<Wide>,
    total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide {
    /// IPv4 sorts before IPv6.
    v6: bool,
    start: u128,
    prefix: u8,
    index: usize,
}

impl Wide {
    fn end(&self) -> u128 {
        self.start | u128::low_mask(if self.v6 { 128 } else { 32 } - self.prefix)
    }
}

/// Finds every overlapping pair of ranges, IPv4 and IPv6 together, in n log n (+ the pairs that are read).
pub fn overlaps(nets: &[IpNet]) -> Overlaps {
    let pack = nets.len() <= INDEX_MASK as usize;
    let mut packed = Vec::new();
    let mut wide = Vec::new();
    for (index, net) in nets.iter().enumerate() {
        match net {
            IpNet::V4(net) if pack => packed.push(
                u64::from(u32::from(net.network())) << 32
                    | u64::from(net.prefix_len()) << INDEX_BITS
                    | index as u64,
            ),
            IpNet::V4(net) => {
                let start = u128::from(u32::from(net.network()));
                wide.push(Wide { v6: false, start, prefix: net.prefix_len(), index });
            }
            IpNet::V6(net) => {
                let start = u128::from(net.network());
                wide.push(Wide { v6: true, start, prefix: net.prefix_len(), index });
            }
        }
    }
    sort_packed(&mut packed);
    wide.sort_unstable();
    let total = count_packed(&packed) + count_wide(&wide);
    Overlaps { packed, wide, total }
}

impl Overlaps {
    /// How many pairs overlap; known from the sort, without listing them.
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

    /// Family, first address, last address and index of the range at a place of the sweep.
    fn entry(&self, at: usize) -> Option<(bool, u128, u128, usize)> {
        match self.packed.get(at) {
            Some(&key) => {
                let (start, end) = unpack(key);
                Some((false, u128::from(start), u128::from(end), (key & INDEX_MASK) as usize))
            }
            None => self
                .wide
                .get(at - self.packed.len())
                .map(|wide| (wide.v6, wide.start, wide.end(), wide.index)),
        }
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
    let prefix = (key >> INDEX_BITS) as u8 & 63;
    (start, start.last(prefix))
}

fn count_packed(keys: &[u64]) -> u64 {
    let mut total = 0;
    let mut open: Vec<u32> = Vec::new();
    for &key in keys {
        let (start, end) = unpack(key);
        while open.last().is_some_and(|&last| last < start) {
            open.pop();
        }
        total += open.len() as u64;
        open.push(end);
    }
    total
}

fn count_wide(keys: &[Wide]) -> u64 {
    let mut total = 0;
    let mut open: Vec<(bool, u128)> = Vec::new();
    for key in keys {
        while open.last().is_some_and(|&(v6, last)| v6 != key.v6 || last < key.start) {
            open.pop();
        }
        total += open.len() as u64;
        open.push((key.v6, key.end()));
    }
    total
}

/// Sorts by the whole key. The keys come in index order and the radix sort is stable, so the index needs no digit.
fn sort_packed(keys: &mut Vec<u64>) {
    if keys.len() < RADIX_FROM {
        keys.sort_unstable();
        return;
    }
    const BUCKETS: usize = 1 << DIGIT_BITS;
    const PASSES: usize = 4;
    let digit =
        |key: u64, pass: usize| (key >> (INDEX_BITS + pass as u32 * DIGIT_BITS)) as usize & (BUCKETS - 1);
    let mut counts = vec![[0usize; BUCKETS]; PASSES];
    for &key in keys.iter() {
        for (pass, count) in counts.iter_mut().enumerate() {
            count[digit(key, pass)] += 1;
        }
    }
    let mut other = vec![0u64; keys.len()];
    for (pass, count) in counts.iter_mut().enumerate() {
        if count.contains(&keys.len()) {
            continue;
        }
        let mut offset = 0;
        for slot in count.iter_mut() {
            offset += std::mem::replace(slot, offset);
        }
        for &key in keys.iter() {
            let slot = &mut count[digit(key, pass)];
            other[*slot] = key;
            *slot += 1;
        }
        std::mem::swap(keys, &mut other);
    }
}
