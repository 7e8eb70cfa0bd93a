//! Placement without backtracking, for demands whose search is too long.
//!
//! Large demands first; among equal ones, those with the least space. Each is placed where the fewest other demands could be,
//! in the smallest free block, at the lowest address. If that fails, they are spread over the largest free blocks instead. It
//! finds no proof that nothing fits.

use crate::bits::{Spans, blocks, minus};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Starts of the demands' blocks (order, region) in the free spans of their regions, or `None` if one did not fit. Counts the
/// demands that were placed in `tried`.
pub(crate) fn greedy(regions: &[Spans<u128>], demands: &[(u8, usize)], tried: &mut u64) -> Option<Vec<u128>> {
    [false, true].into_iter().find_map(|spread| place(regions, demands, spread, tried))
}

fn place(
    regions: &[Spans<u128>],
    demands: &[(u8, usize)],
    spread: bool,
    tried: &mut u64,
) -> Option<Vec<u128>> {
    let mut free = regions.to_vec();
    let mut left = vec![0_usize; regions.len()];
    demands.iter().for_each(|&(_, region)| left[region] += 1);
    let room: Vec<u128> = regions
        .iter()
        .map(|spans| {
            spans.iter().fold(0u128, |sum, &(low, high)| sum.saturating_add((high - low).saturating_add(1)))
        })
        .collect();
    let mut queue: Vec<usize> = (0..demands.len()).collect();
    queue.sort_by_key(|&index| {
        let (order, region) = demands[index];
        (Reverse(order), room[region], index)
    });
    // Where the rivals change inside a free block.
    let edges: BTreeSet<u128> = regions.iter().flatten().map(|&(low, _)| low).collect();
    let mut starts = vec![0; demands.len()];
    for index in queue {
        let (order, region) = demands[index];
        *tried += 1;
        left[region] -= 1;
        let whole = free[region].iter().flat_map(|&(low, high)| blocks(low, high));
        let parts = free[region].iter().flat_map(|&(low, high)| {
            let cuts: Vec<u128> = edges.range(low..=high).copied().filter(|&cut| cut > low).collect();
            let lows: Vec<u128> = std::iter::once(low).chain(cuts.iter().copied()).collect();
            let highs = cuts.into_iter().map(|cut| cut - 1).chain([high]);
            lows.into_iter().zip(highs).flat_map(|(low, high)| blocks(low, high)).collect::<Vec<_>>()
        });
        let (_, _, _, start) = whole
            .chain(parts)
            .filter(|&(_, size)| size >= order)
            .map(|(start, size)| {
                let large = if spread { u8::MAX - size } else { 0 };
                (large, rivals(&free, &left, start, order), size, start)
            })
            .min()?;
        starts[index] = start;
        let taken = [(start, last(start, order))];
        for spans in &mut free {
            if touches(spans, start, order) {
                *spans = minus(spans, &taken);
            }
        }
    }
    Some(starts)
}

/// Number of open demands that could use the block.
fn rivals(free: &[Spans<u128>], left: &[usize], start: u128, order: u8) -> usize {
    let open = free.iter().zip(left).filter(|(_, left)| **left > 0);
    open.filter(|(spans, _)| touches(spans, start, order)).map(|(_, left)| left).sum()
}

fn touches(spans: &Spans<u128>, start: u128, order: u8) -> bool {
    let after = spans.partition_point(|&(_, high)| high < start);
    spans.get(after).is_some_and(|&(low, _)| low <= last(start, order))
}

fn last(start: u128, order: u8) -> u128 {
    start | 1u128.checked_shl(order.into()).map_or(u128::MAX, |size| size - 1)
}
