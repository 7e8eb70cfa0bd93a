//! Upward search of the path's MTU with segments of data (RFC 8899 §5, RFC 4821 §7): after the path took a smaller size, larger
//! segments are tried now and then. A probe that is lost says nothing of congestion.

use crate::seq::{Nanos, SEC};

/// Before the search begins, and before it begins again (RFC 8899 §5.1.1, `PMTU_RAISE_TIMER`; RFC 1191 §6.3).
const RAISE: Nanos = 600 * SEC;
/// Between probes (RFC 8899 §5.1.1, `PROBE_TIMER`).
const PAUSE: Nanos = 15 * SEC;
/// Lost probes of one size that end its trial (`MAX_PROBES`).
const MOST_PROBES: u32 = 3;
/// Bytes that are not worth another size.
const STEP: u64 = 32;

/// The search of one stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    /// The size that the path took before, and the one that is tried now.
    ceiling: u64,
    size: u64,
    losses: u32,
    at: Nanos,
    /// Offset of the probe that is under way.
    start: Option<u64>,
}

impl Search {
    pub(super) fn new(now: Nanos, ceiling: u64) -> Self {
        Self { ceiling, size: ceiling, losses: 0, at: now + RAISE, start: None }
    }

    pub(super) fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// A segment of this size may be tried.
    pub(super) fn due(&self, now: Nanos) -> Option<u64> {
        (self.start.is_none() && now >= self.at).then_some(self.size)
    }

    pub(super) fn sent(&mut self, start: u64) {
        self.start = Some(start);
    }

    pub(super) fn is_probe(&self, start: u64) -> bool {
        self.start == Some(start)
    }

    /// What begins here is sent again: if it was the probe, it did not arrive.
    pub(super) fn lost(&mut self, now: Nanos, start: u64, mss: u64) {
        if !self.is_probe(start) {
            return;
        }
        self.start = None;
        self.losses += 1;
        self.at = now + PAUSE;
        if self.losses >= MOST_PROBES {
            self.losses = 0;
            self.size = mss + (self.size - mss) / 2;
            if self.size < mss + STEP {
                self.size = self.ceiling;
                self.at = now + RAISE;
            }
        }
    }

    /// Everything below this offset has arrived: the size that the path is now known to take, if a probe was among it.
    pub(super) fn arrived(&mut self, now: Nanos, una: u64) -> Option<u64> {
        self.start.take_if(|start| una >= *start + self.size)?;
        self.losses = 0;
        self.at = now + PAUSE;
        let found = self.size;
        self.size = self.ceiling;
        Some(found)
    }
}
