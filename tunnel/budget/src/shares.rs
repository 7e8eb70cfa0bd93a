//! Parts of something scarce: an amount that all principals have together, of which each has a share for certain.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::slots::Full;

/// The limits of [`Shares`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// What each principal has for certain, as long as there are at most half of `total` such shares.
    pub share: usize,
    /// The most that one principal may have.
    pub each: usize,
    /// The most that all may have together.
    pub total: usize,
}

#[derive(Debug)]
struct Counts<P> {
    limits: ShareLimits,
    /// Principals that hold something.
    held: BTreeMap<P, usize>,
    all: usize,
    /// What is held beyond the shares.
    beyond: usize,
}

/// An amount of slots or bytes. Half of it is kept for principals within their share. Of the other half, a principal may have as
/// much as it leaves free for others, so one that takes all it can never has more than half of that, and does not displace anyone.
/// Clones share the counts.
#[derive(Clone, Debug)]
pub struct Shares<P>(Arc<Mutex<Counts<P>>>);

/// A part that a principal holds. It is released on drop.
#[derive(Debug)]
#[must_use = "a part is released when it is dropped"]
pub struct Part<P: Ord> {
    counts: Arc<Mutex<Counts<P>>>,
    principal: P,
    amount: usize,
}

impl<P: Ord + Copy> Shares<P> {
    /// With these limits.
    #[must_use]
    pub fn new(limits: ShareLimits) -> Self {
        Self(Arc::new(Mutex::new(Counts { limits, held: BTreeMap::new(), all: 0, beyond: 0 })))
    }

    /// Takes an amount.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn take(&self, principal: P, amount: usize) -> Result<Part<P>, Full> {
        let mut counts = self.0.lock();
        let ShareLimits { share, each, total } = counts.limits;
        let before = counts.held.get(&principal).copied().unwrap_or(0);
        let after = before.saturating_add(amount);
        let beyond = after.saturating_sub(share);
        if after > each {
            return Err(Full::Each);
        }
        // A principal within its share has nothing beyond it.
        if counts.all.saturating_add(amount) > total || beyond > (total / 2).saturating_sub(counts.beyond) {
            return Err(Full::Total);
        }
        counts.beyond += beyond - before.saturating_sub(share);
        counts.all += amount;
        counts.held.insert(principal, after);
        drop(counts);
        Ok(Part { counts: Arc::clone(&self.0), principal, amount })
    }

    /// What a principal holds.
    #[must_use]
    pub fn held(&self, principal: P) -> usize {
        self.0.lock().held.get(&principal).copied().unwrap_or(0)
    }
}

impl<P: Ord> Drop for Part<P> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        let share = counts.limits.share;
        let Some(held) = counts.held.get_mut(&self.principal) else { return };
        let before = *held;
        *held -= self.amount;
        let after = *held;
        if after == 0 {
            counts.held.remove(&self.principal);
        }
        counts.all -= self.amount;
        counts.beyond -= before.saturating_sub(share) - after.saturating_sub(share);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: ShareLimits = ShareLimits { share: 4, each: 40, total: 64 };

    /// Takes one by one until it is refused.
    fn greedy(shares: &Shares<u8>, principal: u8) -> Vec<Part<u8>> {
        std::iter::from_fn(|| shares.take(principal, 1).ok()).collect()
    }

    #[test]
    fn the_greedy_leave_a_share_to_each_of_the_others() {
        let shares = Shares::new(LIMITS);
        let held: Vec<_> = (0..5).map(|principal| greedy(&shares, principal)).collect();
        // Half of what is left beyond the shares, and then half of the rest.
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [20, 12, 8, 6, 5]);
        for principal in 5..8 {
            assert!(greedy(&shares, principal).len() >= LIMITS.share, "{principal}");
        }
        drop(held);
        assert_eq!(greedy(&shares, 9).len(), 20);
    }

    proptest! {
        /// Whoever stays within its share is never refused while the shares of all fit into half of the total, and the counts are
        /// those of the guards that exist.
        #[test]
        fn a_share_is_certain(steps in proptest::collection::vec((0_u8..4, 0_u8..8, 1_usize..6, any::<usize>()), 0..300)) {
            let shares = Shares::new(LIMITS);
            let mut parts: Vec<(u8, usize, Part<u8>)> = Vec::new();
            let of = |parts: &[(u8, usize, Part<u8>)], principal| -> usize {
                parts.iter().filter(|(owner, ..)| *owner == principal).map(|(_, amount, _)| amount).sum()
            };
            for (kind, principal, amount, which) in steps {
                if kind == 0 && !parts.is_empty() {
                    drop(parts.swap_remove(which % parts.len()));
                    continue;
                }
                let before = of(&parts, principal);
                match shares.take(principal, amount) {
                    Ok(part) => parts.push((principal, amount, part)),
                    Err(_) => prop_assert!(before + amount > LIMITS.share),
                }
                let all: usize = parts.iter().map(|(_, amount, _)| amount).sum();
                prop_assert!(all <= LIMITS.total);
                prop_assert_eq!(shares.0.lock().all, all);
                prop_assert!(of(&parts, principal) <= LIMITS.each);
                prop_assert_eq!(shares.held(principal), of(&parts, principal));
            }
            drop(parts);
            let counts = shares.0.lock();
            prop_assert!(counts.held.is_empty() && counts.all == 0 && counts.beyond == 0);
        }
    }
}
