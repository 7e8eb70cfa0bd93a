//! Token buckets, as the generic cell rate algorithm (ITU-T I.371 annex A): one number a bucket, and no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A rate and a burst, shared by all senders.
///
/// The state is the time at which the bucket would be full again if nothing were taken any more.
#[derive(Debug)]
pub struct RateLimit {
    /// Picoseconds that a unit costs.
    cost: u64,
    /// Nanoseconds by which the state may be ahead of the clock.
    burst: u64,
    full_at: AtomicU64,
}

const PICOS_OF_NANO: u128 = 1000;

impl RateLimit {
    /// `units` a second, of which `burst` may be taken at once; at least one each.
    #[must_use]
    pub fn new(units: u64, burst: u64) -> Self {
        let cost = (1_000_000_000_000 / units.max(1)).max(1);
        let limit = Self { cost, burst: 0, full_at: AtomicU64::new(0) };
        Self { burst: limit.price(burst.max(1)), ..limit }
    }

    /// For bytes: Mbit/s, and a burst of 20 ms but at least 64 KiB, so that a full batch of packets passes.
    #[must_use]
    pub fn of_mbit(mbit: u32) -> Self {
        let bytes = u64::from(mbit) * 125_000;
        Self::new(bytes, (bytes / 50).max(65_536))
    }

    /// The same, with what has been taken of another still taken: a bucket whose burst takes as long to fill is as full.
    #[must_use]
    pub fn filled_as(self, other: &Self) -> Self {
        self.full_at.store(other.full_at.load(Ordering::Relaxed), Ordering::Relaxed);
        self
    }

    /// Takes units at a time since any fixed origin, or none of them if there are not as many.
    #[must_use]
    pub fn take(&self, now: Duration, units: u64) -> bool {
        self.take_leaving(now, units, 0)
    }

    /// The same, if `reserve` units would be left.
    #[must_use]
    pub fn take_leaving(&self, now: Duration, units: u64, reserve: u64) -> bool {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let price = self.price(units);
        let room = self.burst.saturating_sub(self.price(reserve));
        let take = |full_at: u64| {
            let next = full_at.max(now).saturating_add(price);
            (next - now <= room).then_some(next)
        };
        self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// When the bucket is full if nothing is taken any more, on the clock of [`Self::take`].
    #[must_use]
    pub fn full_at(&self) -> Duration {
        Duration::from_nanos(self.full_at.load(Ordering::Relaxed))
    }

    /// How long until these units can be taken, if nobody takes any before.
    #[must_use]
    pub fn time_until(&self, now: Duration, units: u64) -> Duration {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let next = self.full_at.load(Ordering::Relaxed).max(now).saturating_add(self.price(units));
        Duration::from_nanos((next - now).saturating_sub(self.burst))
    }

    /// Puts units back that were taken in vain.
    pub fn put_back(&self, units: u64) {
        let price = self.price(units);
        let put = |full_at: u64| Some(full_at.saturating_sub(price));
        // The closure always gives a value.
        _ = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, put);
    }

    /// Takes units from all of these buckets, or from none.
    #[must_use]
    pub fn take_from_all(limits: &[&Self], now: Duration, units: u64) -> bool {
        for (index, limit) in limits.iter().enumerate() {
            if !limit.take(now, units) {
                for taken in &limits[..index] {
                    taken.put_back(units);
                }
                return false;
            }
        }
        true
    }

    fn price(&self, units: u64) -> u64 {
        u64::try_from(u128::from(self.cost) * u128::from(units) / PICOS_OF_NANO).unwrap_or(u64::MAX)
    }
}
