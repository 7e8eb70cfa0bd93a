//! Whether this gateway hears from the store, and how its clock compares with those of other gateways.
//!
//! Every gateway of a shared store writes a record of its own, the beat, every few seconds. A beat that comes back by way of
//! the changes proves that every earlier change is known here too, evictions included. If none comes back for the grace, the
//! gateway serves nobody until one does. So an eviction is effective everywhere within the grace, whatever the network does.
//!
//! A beat contains its writer's time. The difference from the reader's time is the skew of the two clocks, and the time that
//! the beat took. Until the skew is known, and while most others have another time, the clock is in doubt.

use std::collections::BTreeMap;
use std::time::Duration;

use warren_wire::{PublicKey, UnixTime};

use crate::types::{Now, Shared};

/// The longest time between two beats.
const INTERVAL_MAX: Duration = Duration::from_secs(15);
/// The shortest.
const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// Clocks that differ by more do not agree. NTP keeps clocks within milliseconds, and a beat takes at most seconds.
const SKEW_MAX: u64 = 60;
/// After so long the beats of all others have arrived.
const SETTLED_AFTER: Duration = Duration::from_secs(60);
/// Beats that are older say nothing: their writer may have ended.
const HEARD_WITHIN: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub(crate) struct Contact {
    pub(crate) shared: Shared,
    /// When the last beat that came back had been sent: everything that the store did before is known.
    confirmed: Duration,
    open: bool,
    next: Duration,
    /// Beats that are in the store, by revision, and when they were sent.
    committed: BTreeMap<u64, Duration>,
    /// All changes up to this revision have been applied.
    applied: u64,
    /// Seconds that the clocks of other gateways are ahead, and when that was measured.
    skews: BTreeMap<PublicKey, (i64, Duration)>,
    /// When the wall clock was last set, as far as is known, and by how much it is ahead of the monotonic clock.
    set: (Duration, i64),
}

impl Contact {
    pub(crate) fn new(shared: Shared, now: Now) -> Self {
        let set = (now.mono, ahead(now));
        let now = now.mono;
        Self {
            shared,
            // The contents of the store are read after this.
            confirmed: now,
            open: true,
            next: now,
            committed: BTreeMap::new(),
            applied: 0,
            skews: BTreeMap::new(),
            set,
        }
    }

    /// Whether peers are served.
    pub(crate) fn open(&self) -> bool {
        self.open
    }

    /// When something is to be done.
    pub(crate) fn deadline(&self) -> Duration {
        if self.open { self.next.min(self.closes()) } else { self.next }
    }

    fn closes(&self) -> Duration {
        self.confirmed + self.shared.grace
    }

    /// Whether a beat is to be sent now.
    pub(crate) fn beat_due(&mut self, now: Duration) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + (self.shared.grace / 4).clamp(INTERVAL_MIN, INTERVAL_MAX);
        true
    }

    /// A beat that was sent then is in the store.
    pub(crate) fn committed(&mut self, revision: u64, sent: Duration) {
        self.committed.insert(revision, sent);
        self.confirm();
    }

    /// All changes up to a revision have been applied.
    pub(crate) fn applied(&mut self, revision: u64) {
        self.applied = self.applied.max(revision);
        self.confirm();
    }

    fn confirm(&mut self) {
        while let Some(beat) = self.committed.first_entry().filter(|beat| *beat.key() <= self.applied) {
            self.confirmed = self.confirmed.max(beat.remove());
        }
    }

    /// Returns whether the gateway has opened or closed.
    pub(crate) fn update(&mut self, now: Now) -> bool {
        let ahead = ahead(now);
        if ahead.abs_diff(self.set.1) > SKEW_MAX {
            // What is known of the others was measured with another time.
            self.set = (now.mono, ahead);
            self.skews.clear();
        }
        let open = now.mono < self.closes();
        std::mem::replace(&mut self.open, open) != open
    }

    /// Another gateway's beat has arrived.
    pub(crate) fn heard(&mut self, now: Now, gateway: PublicKey, at: UnixTime) {
        if gateway != self.shared.gateway {
            let skew =
                i64::try_from(at.as_secs()).unwrap_or(i64::MAX).saturating_sub_unsigned(now.wall.as_secs());
            self.skews.insert(gateway, (skew, now.mono));
        }
    }

    /// Whether the time of day may be wrong.
    pub(crate) fn doubts_clock(&self, now: Now) -> bool {
        let settled = now.mono.saturating_sub(self.set.0) >= SETTLED_AFTER;
        !settled || ahead(now).abs_diff(self.set.1) > SKEW_MAX || self.skew(now.mono).1
    }

    /// The largest difference between clocks, in seconds, and whether at least half of the gateways disagree with this one.
    pub(crate) fn skew(&self, now: Duration) -> (i64, bool) {
        let recent = self.skews.values().filter(|(_, at)| now.saturating_sub(*at) <= HEARD_WITHIN);
        let (mut largest, mut others, mut agree) = (0_i64, 0, 0);
        for (skew, _) in recent {
            if skew.unsigned_abs() > largest.unsigned_abs() {
                largest = *skew;
            }
            others += 1;
            agree += u32::from(skew.unsigned_abs() <= SKEW_MAX);
        }
        (largest, (1 + agree) * 2 <= 1 + others)
    }
}

/// Seconds by which the wall clock is ahead of the monotonic clock.
fn ahead(now: Now) -> i64 {
    i64::try_from(now.wall.as_secs()).unwrap_or(i64::MAX).saturating_sub_unsigned(now.mono.as_secs())
}
