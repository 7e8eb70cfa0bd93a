//! A rate for all that only principals above their share can lose.

use std::time::Duration;

use crate::{Buckets, Rate, RateLimit};

/// The rates of an [`Admission`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionRates {
    /// For all principals together.
    pub total: Rate,
    /// The most that one principal may have, even if nobody else wants anything.
    pub each: Rate,
    /// What a principal may have while others use the rest. At most `each`.
    pub share: Rate,
}

/// Why a unit was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The principal is above its own rate.
    Each,
    /// The rate of all is used up. A principal within its share meets this only if the shares of others use it up.
    Total,
}

/// Admits units of principals.
///
/// Half of the total burst is reserved for principals within their share. One that is above takes what the others leave.
#[derive(Debug)]
pub struct Admission<P> {
    rates: AdmissionRates,
    total: RateLimit,
    each: Buckets<P>,
    share: Buckets<P>,
}

impl<P: Ord + Copy> Admission<P> {
    /// Remembers at most `capacity` principals.
    #[must_use]
    pub fn new(rates: AdmissionRates, capacity: usize) -> Self {
        Self {
            rates,
            total: rates.total.bucket(),
            each: Buckets::new(rates.each, capacity),
            share: Buckets::new(rates.share, capacity),
        }
    }

    /// Changes the rates. What was used stays used.
    pub fn set_rates(&mut self, rates: AdmissionRates) {
        if self.rates != rates {
            self.rates = rates;
            self.total = rates.total.bucket().filled_as(&self.total);
            self.each.set_rate(rates.each);
            self.share.set_rate(rates.share);
        }
    }

    /// Admits one unit of a principal.
    ///
    /// # Errors
    /// Which rate it is above. A refusal takes nothing.
    pub fn admit(&mut self, now: Duration, principal: P) -> Result<(), Refused> {
        self.each.take(now, principal, 1).map_err(|_| Refused::Each)?;
        let within = self.share.take(now, principal, 1).is_ok();
        let reserve = if within { 0 } else { self.rates.total.burst / 2 };
        if self.total.take_leaving(now, 1, reserve) {
            return Ok(());
        }
        self.each.put_back(principal, 1);
        if within {
            self.share.put_back(principal, 1);
        }
        Err(Refused::Total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates() -> AdmissionRates {
        AdmissionRates {
            total: Rate::of_two_seconds(200),
            each: Rate::of_two_seconds(150),
            share: Rate::of_two_seconds(10),
        }
    }

    #[test]
    fn one_alone_gets_its_own_rate_and_no_more() {
        let mut admission = Admission::new(rates(), 64);
        let mut admitted = 0;
        for milli in 0..10_000 {
            for _ in 0..4 {
                admitted += u32::from(admission.admit(Duration::from_millis(milli), 1).is_ok());
            }
        }
        assert!((1500..=1800).contains(&admitted), "{admitted}");
    }

    #[test]
    fn what_is_refused_is_not_counted() {
        let mut admission =
            Admission::new(AdmissionRates { total: Rate { per_second: 1, burst: 1 }, ..rates() }, 64);
        let now = Duration::from_secs(1);
        assert_eq!(admission.admit(now, 1), Ok(()));
        (0..1000).for_each(|_| assert_eq!(admission.admit(now, 2), Err(Refused::Total)));
        assert_eq!(admission.admit(now + Duration::from_secs(1), 2), Ok(()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// However many greedy principals ask, and however often: those within their share are admitted.
        #[test]
        fn greed_harms_nobody_within_the_share(greedy in 1_u32..8, each_milli in 1_u32..6, modest in 1_u32..10) {
            let mut admission = Admission::new(rates(), 64);
            for milli in 0..4000_u64 {
                let now = Duration::from_millis(milli);
                for _ in 0..each_milli {
                    (0..greedy).for_each(|principal| _ = admission.admit(now, principal));
                }
                if milli % 100 == 99 {
                    for principal in 100..100 + modest {
                        prop_assert_eq!(admission.admit(now, principal), Ok(()), "{} at {}", principal, milli);
                    }
                }
            }
        }
    }
}
