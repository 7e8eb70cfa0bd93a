//! How an object is divided.

use std::ops::Range;

/// The smallest part of a multipart upload that S3 and Google accept, except for the last.
pub const SMALLEST: u64 = 5 << 20;
/// The largest part: all parts in flight fit into the memory budget.
pub const LARGEST: u64 = 96 << 20;
/// The most parts of a multipart upload.
pub const MOST: u64 = 10_000;

/// An object of `size` bytes in parts of equal size, except for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    size: u64,
    part: u64,
}

impl Parts {
    /// Parts of `preferred` bytes, or of as many whole MiB as keep their number within [`MOST`].
    pub fn of(size: u64, preferred: u64) -> Self {
        let part = preferred.max(1).max(size.div_ceil(MOST));
        let part = if part == preferred { part } else { part.next_multiple_of(1 << 20) };
        Self { size, part }
    }

    /// Parts of exactly `part` bytes, as a journal recorded them.
    pub fn exactly(size: u64, part: u64) -> Self {
        Self { size, part: part.max(1) }
    }

    /// The number of parts; an empty object has one.
    pub fn count(self) -> u32 {
        u32::try_from(self.size.div_ceil(self.part).max(1)).unwrap_or(u32::MAX)
    }

    /// The bytes of part `n`, counted from 0.
    pub fn range(self, n: u32) -> Range<u64> {
        let start = (u64::from(n) * self.part).min(self.size);
        start..(start + self.part).min(self.size)
    }

    /// The size of all parts but the last.
    pub fn part(self) -> u64 {
        self.part
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_cover_the_object_once(size in 0_u64..50_000, preferred in 1_u64..5_000) {
            let parts = Parts::of(size, preferred);
            let mut at = 0;
            for n in 0..parts.count() {
                let range = parts.range(n);
                prop_assert_eq!(range.start, at);
                prop_assert!(range.end - range.start == parts.part() || n + 1 == parts.count());
                at = range.end;
            }
            prop_assert_eq!(at, size);
        }
    }

    #[test]
    fn a_large_object_has_at_most_ten_thousand_parts() {
        let parts = Parts::of(500 << 30, 8 << 20);
        assert!(parts.count() <= 10_000 && parts.part().is_multiple_of(1 << 20), "{parts:?}");
        assert_eq!(Parts::of(80 << 20, 8 << 20).count(), 10);
        assert_eq!(Parts::of(0, 8).count(), 1);
    }
}
