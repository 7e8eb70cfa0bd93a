//! Things that are held at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The principal's own.
    Each,
    /// That of all principals together.
    Total,
}

#[derive(Debug)]
struct Counts<P> {
    each: usize,
    total: usize,
    /// Principals with at least one slot, so never more than `total`.
    held: BTreeMap<P, usize>,
    all: usize,
}

/// A number of slots in total, and a number for each principal. Clones share them.
#[derive(Clone, Debug)]
pub struct Slots<P>(Arc<Mutex<Counts<P>>>);

/// A slot of a principal. It is released on drop.
#[derive(Debug)]
#[must_use = "a slot is released when it is dropped"]
pub struct Slot<P: Ord> {
    counts: Arc<Mutex<Counts<P>>>,
    principal: P,
}

impl<P: Ord + Copy> Slots<P> {
    /// At most `each` slots for a principal, and `total` for all.
    #[must_use]
    pub fn new(each: usize, total: usize) -> Self {
        Self(Arc::new(Mutex::new(Counts { each, total, held: BTreeMap::new(), all: 0 })))
    }

    /// Changes the limits. Slots above them stay until they are released.
    pub fn set_limits(&self, each: usize, total: usize) {
        let mut counts = self.0.lock();
        (counts.each, counts.total) = (each, total);
    }

    /// Takes a slot.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn take(&self, principal: P) -> Result<Slot<P>, Full> {
        let mut counts = self.0.lock();
        let held = counts.held.get(&principal).copied().unwrap_or(0);
        if held >= counts.each {
            return Err(Full::Each);
        }
        if counts.all >= counts.total {
            return Err(Full::Total);
        }
        counts.held.insert(principal, held + 1);
        counts.all += 1;
        Ok(Slot { counts: Arc::clone(&self.0), principal })
    }

    /// Slots that a principal holds.
    #[must_use]
    pub fn held(&self, principal: P) -> usize {
        self.0.lock().held.get(&principal).copied().unwrap_or(0)
    }

    /// Slots that are held in total.
    #[must_use]
    pub fn all(&self) -> usize {
        self.0.lock().all
    }
}

impl<P: Ord> Drop for Slot<P> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        counts.all -= 1;
        if let Some(held) = counts.held.get_mut(&self.principal) {
            *held -= 1;
            if *held == 0 {
                counts.held.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lower_limits_wait_for_releases() {
        let slots = Slots::new(3, 10);
        let mut held: Vec<_> = (0..3).map(|_| slots.take(1).unwrap()).collect();
        slots.set_limits(2, 10);
        held.pop();
        assert_eq!(slots.take(1).err(), Some(Full::Each));
        held.pop();
        assert!(slots.take(1).is_ok());
    }

    proptest! {
        /// The counts are those of the guards that exist, and no limit is exceeded.
        #[test]
        fn the_guards_are_the_count(steps in proptest::collection::vec((any::<bool>(), 0_u8..6, any::<usize>()), 0..200)) {
            let slots = Slots::new(4, 12);
            let mut guards = Vec::new();
            for (take, principal, which) in steps {
                if take {
                    let of_one = guards.iter().filter(|(owner, _)| *owner == principal).count();
                    match slots.take(principal) {
                        Ok(guard) => guards.push((principal, guard)),
                        Err(Full::Each) => prop_assert_eq!(of_one, 4),
                        Err(Full::Total) => prop_assert_eq!(guards.len(), 12),
                    }
                } else if !guards.is_empty() {
                    drop(guards.swap_remove(which % guards.len()));
                }
                prop_assert_eq!(slots.all(), guards.len());
                for principal in 0..6 {
                    let of_one = guards.iter().filter(|(owner, _)| *owner == principal).count();
                    prop_assert_eq!(slots.held(principal), of_one);
                    prop_assert!(of_one <= 4);
                }
            }
            drop(guards);
            prop_assert!(slots.0.lock().held.is_empty());
        }
    }
}
