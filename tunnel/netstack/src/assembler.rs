//! A set of disjoint ranges: what has arrived beyond a hole, and what a peer has selectively acknowledged.

use std::ops::Range;

/// Sorted, disjoint, non-adjacent ranges of offsets.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    list: Vec<Range<u64>>,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn first(&self) -> Option<&Range<u64>> {
        self.list.first()
    }

    pub(crate) fn last(&self) -> Option<&Range<u64>> {
        self.list.last()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Range<u64>> {
        self.list.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.list = Vec::new();
    }

    /// Bytes held on the heap.
    pub(crate) fn memory(&self) -> usize {
        self.list.capacity() * size_of::<Range<u64>>()
    }

    /// The range that holds `offset`.
    pub(crate) fn find(&self, offset: u64) -> Option<&Range<u64>> {
        let at = self.list.partition_point(|range| range.end <= offset);
        self.list.get(at).filter(|range| range.start <= offset)
    }

    /// True when every offset of `range` is in the set.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.find(range.start).is_some_and(|found| found.end >= range.end)
    }

    /// True when inserting `range` would not make the list longer.
    pub(crate) fn touches(&self, range: &Range<u64>) -> bool {
        let at = self.list.partition_point(|known| known.end < range.start);
        self.list.get(at).is_some_and(|known| known.start <= range.end)
    }

    /// Adds a range; `fresh` sees the parts that were not there, in order. Returns the range it became part of.
    pub(crate) fn insert(&mut self, range: Range<u64>, mut fresh: impl FnMut(Range<u64>)) -> Range<u64> {
        if range.is_empty() {
            return range;
        }
        let from = self.list.partition_point(|known| known.end < range.start);
        let mut to = from;
        let mut merged = range.clone();
        let mut cursor = range.start;
        while let Some(known) = self.list.get(to).filter(|known| known.start <= range.end) {
            if cursor < known.start {
                fresh(cursor..known.start);
            }
            cursor = cursor.max(known.end);
            merged.start = merged.start.min(known.start);
            merged.end = merged.end.max(known.end);
            to += 1;
        }
        if cursor < range.end {
            fresh(cursor..range.end);
        }
        if from == to {
            self.list.insert(from, merged.clone());
        } else {
            self.list[from] = merged.clone();
            self.list.drain(from + 1..to);
        }
        merged
    }

    /// Forgets everything below `offset`.
    pub(crate) fn trim(&mut self, offset: u64) {
        if self.list.first().is_none_or(|first| first.start >= offset) {
            return;
        }
        let gone = self.list.partition_point(|range| range.end <= offset);
        self.list.drain(..gone);
        if let Some(first) = self.list.first_mut() {
            first.start = first.start.max(offset);
        } else if self.list.capacity() > 32 {
            self.list = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_bitmap(steps in prop::collection::vec((0_u64..200, 0_u64..30, 0_u64..10), 1..80)) {
            let mut ranges = Ranges::default();
            let mut bits = [false; 256];
            for (start, length, trim) in steps {
                let end = start + length;
                let mut fresh = Vec::new();
                let merged = ranges.insert(start..end, |part| fresh.extend(part));
                let expected: Vec<u64> = (start..end).filter(|at| !bits[*at as usize]).collect();
                prop_assert_eq!(fresh, expected);
                bits[start as usize..end as usize].fill(true);
                if length > 0 {
                    prop_assert!(merged.clone().all(|at| bits[at as usize]));
                    prop_assert!(!bits[merged.end as usize]);
                }
                if trim == 0 {
                    ranges.trim(start);
                    bits[..start as usize].fill(false);
                }
                for at in 0..230_u64 {
                    prop_assert_eq!(ranges.find(at).is_some(), bits[at as usize]);
                }
                prop_assert!(ranges.list.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
