//! Sorting by address in linear time, if there are enough items.
//!
//! A key is one word of 64 bits, with the sort key in the top bits and the index of the item in the bottom bits. A pass of
//! the radix sort therefore moves eight bytes for items of any size.

/// Below this many items a comparison sort is faster.
const RADIX_FROM: usize = 2048;
/// Bits of one pass: its counters stay in the nearest cache.
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
/// Passes over the top bits. They separate nearly all keys; the few remaining runs are sorted by comparison.
const PASSES: u32 = 3;
/// Bits below those that the passes look at.
const REST_BITS: u32 = 64 - PASSES * DIGIT_BITS;
/// Number of items fetched at once.
const FETCHED: usize = 64;

/// Bits of a key for the index of an item.
pub(crate) const PLACE_BITS: u32 = 26;
/// Maximum number of items whose index fits into a key.
pub(crate) const MOST: usize = 1 << PLACE_BITS;

/// The index in a key.
pub(crate) fn place(key: u64) -> usize {
    (key & (MOST as u64 - 1)) as usize
}

/// Sorts keys.
pub(crate) fn sort_keys(keys: &mut Vec<u64>) {
    if keys.len() < RADIX_FROM || u32::try_from(keys.len()).is_err() || keys.is_sorted() {
        keys.sort_unstable();
        return;
    }
    radix(keys);
    for run in keys.chunk_by_mut(|a, b| a >> REST_BITS == b >> REST_BITS) {
        run.sort_unstable();
    }
}

/// Sorts by the top bits, the lowest digit first; every pass is stable.
fn radix(keys: &mut Vec<u64>) {
    let digit =
        |key: u64, pass: usize| (key >> (REST_BITS + pass as u32 * DIGIT_BITS)) as usize & (BUCKETS - 1);
    let mut counts = vec![[0u32; BUCKETS]; PASSES as usize];
    for &key in keys.iter() {
        for (pass, count) in counts.iter_mut().enumerate() {
            count[digit(key, pass)] += 1;
        }
    }
    let mut other = vec![0u64; keys.len()];
    for (pass, count) in counts.iter_mut().enumerate() {
        // A digit that all keys share does not affect the order.
        if count.contains(&(keys.len() as u32)) {
            continue;
        }
        let mut offset = 0;
        for slot in count.iter_mut() {
            offset += std::mem::replace(slot, offset);
        }
        for &key in keys.iter() {
            let slot = &mut count[digit(key, pass)];
            other[*slot as usize] = key;
            *slot += 1;
        }
        std::mem::swap(keys, &mut other);
    }
}

/// Items that are ordered by an address of up to 128 bits first.
pub(crate) trait ByAddress: Copy + Ord {
    fn address(&self) -> u128;
}

impl ByAddress for (u128, u128) {
    fn address(&self) -> u128 {
        self.0
    }
}

/// The items that `make` gives for the places of `source`, sorted; `address` is the address of the item, or `None`
/// where there is no item.
///
/// Addresses of one set share their first bits, and the following bits separate nearly all of them. The remaining runs are
/// sorted in the same way by the next bits, in at most four rounds.
pub(crate) fn sorted<S: Copy, T: ByAddress>(
    source: &[S],
    address: impl Fn(&S) -> Option<u128>,
    make: impl Fn(usize, &S) -> T,
) -> Vec<T> {
    let (mut count, mut any, mut all, mut before, mut ascending) = (0usize, 0u128, u128::MAX, 0u128, true);
    for address in source.iter().filter_map(&address) {
        count += 1;
        any |= address;
        all &= address;
        ascending &= before <= address;
        before = address;
    }
    let shared = (any ^ all).leading_zeros();
    if ascending || count < RADIX_FROM || source.len() > MOST {
        let places = source.iter().enumerate().filter(|(_, item)| address(item).is_some());
        let mut items: Vec<T> = places.map(|(place, item)| make(place, item)).collect();
        items.sort_unstable();
        return items;
    }
    let mut keys = Vec::with_capacity(count);
    keys.extend(source.iter().enumerate().filter_map(|(place, item)| {
        let head = ((address(item)? << shared) >> 64) as u64;
        Some(head >> PLACE_BITS << PLACE_BITS | place as u64)
    }));
    radix(&mut keys);
    let mut items: Vec<T> = Vec::with_capacity(count);
    let mut near = Vec::with_capacity(FETCHED);
    for keys in keys.chunks(FETCHED) {
        // The items are far apart in memory: fetching them in a loop of their own keeps many loads in flight.
        near.clear();
        near.extend(keys.iter().map(|&key| source[place(key)]));
        items.extend(keys.iter().zip(&near).map(|(&key, item)| make(place(key), item)));
    }
    let mut from = 0;
    for run in keys.chunk_by(|a, b| a >> REST_BITS == b >> REST_BITS) {
        sort_run(&mut items[from..from + run.len()]);
        from += run.len();
    }
    items
}

/// Sorts the runs that the first bits do not separate.
fn sort_run<T: ByAddress>(run: &mut [T]) {
    if run.len() < RADIX_FROM {
        run.sort_unstable();
    } else {
        let parted = sorted(run, |item| Some(item.address()), |_, item| *item);
        run.copy_from_slice(&parted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

        /// Addresses that share bits at the top, in the middle and at the bottom, so that every round has runs.
        #[test]
        fn the_order_is_that_of_comparisons(
            seed in any::<u64>(),
            masks in prop::collection::vec((any::<u128>(), any::<u128>(), any::<u128>()), 1..4),
            count in RADIX_FROM - 2..3 * RADIX_FROM,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state >> 32
            };
            let mut items: Vec<(u128, u128)> = (0..count)
                .map(|at| {
                    let (a, b, c) = masks[at % masks.len()];
                    let bits = (0..4).fold(0, |bits, _| bits << 32 | u128::from(next()));
                    (bits & a & b & c, u128::from(next() % 3))
                })
                .collect();
            let even = |item: &(u128, u128)| item.1.is_multiple_of(2).then_some(item.0);
            let found = sorted(&items, even, |_, item| *item);
            items.retain(|item| even(item).is_some());
            items.sort_unstable();
            prop_assert_eq!(found, items);

            let masks: Vec<u64> = masks.iter().map(|mask| mask.0 as u64 & mask.1 as u64).collect();
            let mut keys: Vec<u64> = (0..count).map(|at| (next() << 32 | next()) & masks[at % masks.len()]).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_keys(&mut keys);
            prop_assert_eq!(keys, expected);
        }
    }
}
