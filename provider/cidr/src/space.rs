//! Sets of ranges: union, difference, holes.

use crate::bits::{Spans, Word, minus, nets, union};
use ipnet::IpNet;

/// The fewest blocks that cover exactly the union; sorted, IPv4 first.
pub fn merge(ranges: &[IpNet]) -> Vec<IpNet> {
    nets::<u32>(&union(ranges)).chain(nets::<u128>(&union(ranges))).collect()
}

/// The fewest blocks that cover exactly the addresses in `from` that are not in `remove`, sorted, IPv4 first.
pub fn subtract(from: &[IpNet], remove: &[IpNet]) -> Vec<IpNet> {
    nets::<u32>(&minus(&union(from), &union(remove)))
        .chain(nets::<u128>(&minus(&union(from), &union(remove))))
        .collect()
}

/// Whether the union of `outer` holds every address of `inner`.
pub fn contains(outer: &[IpNet], inner: &IpNet) -> bool {
    fn holds<W: Word>(outer: &[IpNet], inner: &IpNet) -> bool {
        W::of(inner).is_some_and(|(start, prefix)| {
            union::<W>(outer).iter().any(|&(low, high)| low <= start && start.last(prefix) <= high)
        })
    }
    // One block that holds it is the common case and needs no sorting.
    outer.iter().any(|net| net.contains(inner)) || holds::<u32>(outer, inner) || holds::<u128>(outer, inner)
}

/// The lowest free aligned block of `prefix` inside `within` that does not overlap `taken`. IPv4 is tried first
/// if `within` has both families. `None` if there is none, or the prefix is too long for the family.
pub fn next(within: &[IpNet], taken: &[IpNet], prefix: u8) -> Option<IpNet> {
    fn lowest<W: Word>(within: &[IpNet], taken: &[IpNet], prefix: u8) -> Option<IpNet> {
        candidates::<W>(within, &union(taken), prefix).next().map(|(first, _)| first.net(prefix))
    }
    lowest::<u32>(within, taken, prefix).or_else(|| lowest::<u128>(within, taken, prefix))
}

/// The free aligned block of `prefix` inside `pools` whose start is nearest to the start of `near` (the lower one of
/// two equally near), of the family of `near`. `None` if there is none.
pub fn nearest_free(pools: &[IpNet], taken: &[IpNet], prefix: u8, near: &IpNet) -> Option<IpNet> {
    Taken::new(taken).nearest_free(pools, prefix, near)
}

/// Ranges that are taken, for several searches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    v4: Spans<u32>,
    v6: Spans<u128>,
}

impl Taken {
    pub(crate) fn new(nets: &[IpNet]) -> Self {
        Self { v4: union(nets), v6: union(nets) }
    }

    /// Adds a range.
    pub(crate) fn add(&mut self, net: &IpNet) {
        fn insert<W: Word>(spans: &mut Spans<W>, net: &IpNet) {
            let Some((start, prefix)) = W::of(net) else { return };
            let (mut low, mut high) = (start, start.last(prefix));
            let first = spans.partition_point(|&(_, end)| end < low);
            let touched = spans[first..].iter().take_while(|&&(other, _)| other <= high).count();
            for &(start, end) in &spans[first..first + touched] {
                (low, high) = (low.min(start), high.max(end));
            }
            spans.splice(first..first + touched, [(low, high)]);
        }
        insert(&mut self.v4, net);
        insert(&mut self.v6, net);
    }

    /// Like [`nearest_free`].
    pub(crate) fn nearest_free(&self, pools: &[IpNet], prefix: u8, near: &IpNet) -> Option<IpNet> {
        match near {
            IpNet::V4(near) => nearest::<u32>(pools, &self.v4, prefix, near.network().into()),
            IpNet::V6(near) => nearest::<u128>(pools, &self.v6, prefix, near.network().into()),
        }
    }
}

fn nearest<W: Word>(pools: &[IpNet], taken: &[(W, W)], prefix: u8, near: W) -> Option<IpNet> {
    let mask = W::low_mask(W::BITS.checked_sub(prefix)?);
    candidates::<W>(pools, taken, prefix)
        .flat_map(|(first, last)| {
            let below = near.down_to(mask).clamp(first, last);
            let above = near.down_to(mask).or(mask).up().unwrap_or(last).clamp(first, last);
            [below, above]
        })
        .min_by_key(|&start| (start.max(near).minus(start.min(near)), start))
        .map(|start| start.net(prefix))
}

/// The free blocks of `pools`, as few and large as possible: `subtract(pools, taken)`.
pub fn free_blocks(pools: &[IpNet], taken: &[IpNet]) -> Vec<IpNet> {
    subtract(pools, taken)
}

/// For every free span that holds an aligned block of `prefix`: the starts of the first and of the last one.
fn candidates<W: Word>(
    within: &[IpNet],
    taken: &[(W, W)],
    prefix: u8,
) -> impl Iterator<Item = (W, W)> + use<W> {
    let spans = if prefix <= W::BITS { minus::<W>(&union(within), taken) } else { Vec::new() };
    let mask = W::low_mask(W::BITS.saturating_sub(prefix));
    spans.into_iter().filter_map(move |(start, end)| {
        // Round the start up and the end down to the alignment.
        let first = match start.down() {
            Some(before) => before.or(mask).up()?,
            None => start,
        };
        let last = match end.up() {
            Some(after) => after.or(mask).minus(mask).down()?,
            None => end,
        };
        let last = last.down_to(mask);
        (first <= last && first.or(mask) <= end).then_some((first, last))
    })
}
