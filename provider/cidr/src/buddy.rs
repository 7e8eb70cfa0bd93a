//! Largest first into one space: exact for aligned power-of-two blocks.
//!
//! Invariant: demands come in falling order, so the space that is free when a demand of order `k` is placed can be split
//! into blocks of order `k` without loss. If none is free, no earlier choice could have kept one free: every block of order
//! `k` or more holds the same number of the demands placed before, wherever they are.

use crate::bits::blocks;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Starts of blocks of the given orders (falling), or the index of the first one that does not fit.
///
/// The smallest free block that holds a demand is used, the lowest of equals, so that large blocks stay whole.
pub(crate) fn buddy(free: &[(u128, u128)], orders: &[u8]) -> Result<Vec<u128>, usize> {
    let mut lists: Vec<BinaryHeap<Reverse<u128>>> = (0..=128).map(|_| BinaryHeap::new()).collect();
    for (start, order) in free.iter().flat_map(|&(start, end)| blocks(start, end)) {
        lists[usize::from(order)].push(Reverse(start));
    }
    let mut placed = Vec::with_capacity(orders.len());
    for (index, &order) in orders.iter().enumerate() {
        let order = usize::from(order);
        let found =
            (order..lists.len()).find_map(|from| lists[from].pop().map(|Reverse(start)| (from, start)));
        let (from, start) = found.ok_or(index)?;
        for (half, list) in lists.iter_mut().enumerate().take(from).skip(order) {
            list.push(Reverse(start + (1 << half)));
        }
        placed.push(start);
    }
    Ok(placed)
}
