//! A rate for each principal, in a table of bounded size.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::RateLimit;

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Units per second, at least 1.
    pub per_second: u64,
    /// Units that may be taken at once, at least 1.
    pub burst: u64,
}

impl Rate {
    /// A rate with a burst of two seconds.
    #[must_use]
    pub fn of_two_seconds(per_second: u64) -> Self {
        Self { per_second, burst: per_second.saturating_mul(2) }
    }

    pub(crate) fn bucket(self) -> RateLimit {
        RateLimit::new(self.per_second, self.burst)
    }
}

/// Token buckets, one for each principal that has taken anything recently.
///
/// A full table forgets the principal with the least debt. That never harms the forgotten one, whose next bucket is full.
/// An attacker gains at most that debt, the smallest in the table, and a flood of new principals does not refuse other new ones.
#[derive(Debug)]
pub struct Buckets<P> {
    rate: Rate,
    capacity: usize,
    buckets: BTreeMap<P, RateLimit>,
    /// The same principals, ordered by the time at which their buckets are full again.
    by_debt: BTreeSet<(Duration, P)>,
}

impl<P: Ord + Copy> Buckets<P> {
    /// Buckets for at most `capacity` principals, at least one.
    #[must_use]
    pub fn new(rate: Rate, capacity: usize) -> Self {
        Self { rate, capacity: capacity.max(1), buckets: BTreeMap::new(), by_debt: BTreeSet::new() }
    }

    /// Changes the rate. Buckets stay as empty as they are, measured in the time that they need to fill.
    pub fn set_rate(&mut self, rate: Rate) {
        if self.rate != rate {
            self.rate = rate;
            self.buckets.values_mut().for_each(|bucket| *bucket = rate.bucket().filled_as(bucket));
        }
    }

    /// Takes units from a principal's bucket.
    ///
    /// # Errors
    /// There are not as many: the time until there are, if the principal takes none before. Nothing is taken.
    pub fn take(&mut self, now: Duration, principal: P, units: u64) -> Result<(), Duration> {
        if let Some(bucket) = self.buckets.get(&principal) {
            let before = bucket.full_at();
            if !bucket.take(now, units) {
                return Err(bucket.time_until(now, units));
            }
            self.by_debt.remove(&(before, principal));
            self.by_debt.insert((bucket.full_at(), principal));
            return Ok(());
        }
        let bucket = self.rate.bucket();
        if !bucket.take(now, units) {
            return Err(bucket.time_until(now, units));
        }
        self.make_room(now);
        self.by_debt.insert((bucket.full_at(), principal));
        self.buckets.insert(principal, bucket);
        Ok(())
    }

    /// Puts back units that a principal took in vain.
    pub fn put_back(&mut self, principal: P, units: u64) {
        if let Some(bucket) = self.buckets.get(&principal) {
            self.by_debt.remove(&(bucket.full_at(), principal));
            bucket.put_back(units);
            self.by_debt.insert((bucket.full_at(), principal));
        }
    }

    /// Principals that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Whether no principal is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Forgets two principals whose buckets are full, which changes nothing, and one that owes if there is no room.
    fn make_room(&mut self, now: Duration) {
        for _ in 0..2 {
            if self.by_debt.first().is_some_and(|(full_at, _)| *full_at <= now) {
                self.forget_first();
            }
        }
        if self.buckets.len() >= self.capacity {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, principal)) = self.by_debt.pop_first() {
            self.buckets.remove(&principal);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { per_second: 10, burst: 20 };

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn each_principal_has_a_burst_and_then_a_rate() {
        let mut buckets = Buckets::new(RATE, 8);
        let mut count = |principal: u8, at: u64| {
            (0..100).filter(|_| buckets.take(millis(at), principal, 1).is_ok()).count()
        };
        assert_eq!(count(1, 0), 20);
        assert_eq!(count(2, 0), 20);
        assert_eq!(count(1, 1000), 10);
        assert_eq!(count(1, 60_000), 20);
        assert_eq!(buckets.take(millis(60_000), 1, 1), Err(millis(100)));
    }

    #[test]
    fn a_flood_of_principals_makes_nobody_forget_who_owes_most() {
        let mut buckets = Buckets::new(RATE, 100);
        assert_eq!(buckets.take(millis(0), 0, 20), Ok(()));
        for stranger in 1..10_000_u32 {
            assert_eq!(buckets.take(millis(0), stranger, 1), Ok(()), "{stranger}");
        }
        assert_eq!(buckets.len(), 100);
        assert!(buckets.take(millis(0), 0, 1).is_err());
    }

    #[test]
    fn a_changed_rate_forgives_no_debt() {
        let mut buckets = Buckets::new(RATE, 8);
        assert_eq!(buckets.take(millis(0), 1, 20), Ok(()));
        buckets.set_rate(Rate { per_second: 100, burst: 200 });
        assert!(buckets.take(millis(0), 1, 1).is_err());
        assert_eq!(buckets.take(millis(500), 1, 50), Ok(()));
        assert!(buckets.take(millis(500), 1, 1).is_err());
    }

    proptest! {
        /// Whatever others do: the table is bounded, a principal that stays within its rate is never refused, and in a table
        /// with room nobody gets more than burst and rate.
        #[test]
        fn budgets_hold(
            steps in proptest::collection::vec((0_u8..12, 0_u64..40, 1_u64..6, any::<bool>()), 1..300),
            capacity in 1_usize..16,
        ) {
            let mut buckets = Buckets::new(RATE, capacity);
            let mut now = 0;
            let mut taken = [0_u64; 12];
            let mut modest_at = 0;
            for (principal, wait, units, back) in steps {
                now += wait;
                if buckets.take(millis(now), principal, units).is_ok() {
                    taken[usize::from(principal)] += units;
                    if back {
                        buckets.put_back(principal, units);
                        taken[usize::from(principal)] -= units;
                    }
                }
                if now >= modest_at {
                    prop_assert_eq!(buckets.take(millis(now), 200, 1), Ok(()));
                    modest_at = now + 100;
                }
                prop_assert!(buckets.len() <= capacity);
                prop_assert_eq!(buckets.len(), buckets.by_debt.len());
            }
            if capacity > 12 {
                let most = RATE.burst + now * RATE.per_second / 1000 + 1;
                prop_assert!(taken.iter().all(|taken| *taken <= most), "{:?}", taken);
            }
        }
    }
}
