//! Loss detection by time: RACK-TLP (RFC 8985).
//!
//! A segment is lost when one sent later was delivered and the reordering window has passed since. The window starts at
//! a quarter of the least round trip, grows when the peer reports duplicates, and is zero until reordering was seen and
//! three segments are known to be delivered beyond a hole.

use crate::rtt::Rtt;
use crate::scoreboard::{Scoreboard, Segment};
use crate::seq::{MS, Nanos};

/// Segments delivered beyond a hole that mean a loss without waiting (RFC 8985 §6.2 step 4).
const DUPLICATES: usize = 3;
/// Delayed-acknowledgement time assumed of a peer with one segment outstanding (RFC 8985 §7.2).
const MAX_ACK_DELAY: Nanos = 40 * MS;
/// Round trips without a duplicate after which the reordering window shrinks again (RFC 8985 §6.2 step 4).
const PERSIST: u8 = 16;

/// RACK's state.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// Send time and end of the most recently sent segment that is known to be delivered.
    sent_at: Nanos,
    end: u64,
    rtt: Nanos,
    /// Highest offset acknowledged in any way.
    forward: u64,
    reordering: bool,
    multiplier: u32,
    persist: u8,
    duplicate_round: Option<u64>,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            sent_at: 0,
            end: 0,
            rtt: 0,
            forward: 0,
            reordering: false,
            multiplier: 1,
            persist: PERSIST,
            duplicate_round: None,
        }
    }

    /// Steps 1 to 3: a segment was delivered.
    pub(crate) fn delivered(&mut self, now: Nanos, segment: &Segment, rtt: &Rtt) {
        let sent_at = segment.stamp.sent_at;
        let elapsed = now.saturating_sub(sent_at);
        // Step 2: an acknowledgement that comes sooner than any round trip was for the original.
        if segment.retransmitted && rtt.minimum().is_some_and(|minimum| elapsed < minimum) {
            return;
        }
        if (sent_at, segment.end()) > (self.sent_at, self.end) {
            self.sent_at = sent_at;
            self.end = segment.end();
            self.rtt = elapsed;
        }
        if segment.end() > self.forward {
            self.forward = segment.end();
        } else if segment.end() < self.forward && !segment.retransmitted {
            self.reordering = true;
        }
    }

    /// Step 4: a duplicate was reported; `round_end` is what had been sent.
    pub(crate) fn duplicate(&mut self, una: u64, round_end: u64) {
        if self.duplicate_round.is_none_or(|round| una >= round) {
            self.duplicate_round = Some(round_end);
            self.multiplier = (self.multiplier + 1).min(64);
            self.persist = PERSIST;
        }
    }

    /// A recovery has ended.
    pub(crate) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
            self.persist = PERSIST;
        }
    }

    /// Step 5: marks what is late; returns the bytes marked, and when to look again.
    pub(crate) fn detect(
        &self,
        now: Nanos,
        board: &mut Scoreboard,
        rtt: &Rtt,
        recovering: bool,
        mut lost: impl FnMut(&Segment),
    ) -> (u64, Option<Nanos>) {
        let window = self.window(board, rtt, recovering);
        let mut again = None;
        let (marked, _) = board.mark_late(|segment| {
            if (segment.stamp.sent_at, segment.end()) >= (self.sent_at, self.end) {
                return false;
            }
            let due = segment.stamp.sent_at + self.rtt + window;
            if due <= now {
                lost(segment);
                return true;
            }
            again = Some(due);
            false
        });
        (marked, again)
    }

    fn window(&self, board: &Scoreboard, rtt: &Rtt, recovering: bool) -> Nanos {
        if !self.reordering && (recovering || board.sacked_segments() >= DUPLICATES) {
            return 0;
        }
        let least = rtt.minimum().unwrap_or(MS);
        let most = rtt.smoothed().unwrap_or(least);
        (least / 4 * Nanos::from(self.multiplier)).min(most)
    }
}

/// The probe timeout (RFC 8985 §7.2).
pub(crate) fn probe_timeout(rtt: &Rtt, single: bool) -> Nanos {
    let Some(smoothed) = rtt.smoothed() else { return rtt.rto() };
    let extra = if single { MAX_ACK_DELAY } else { 0 };
    (2 * smoothed + extra).max(2 * MS).min(rtt.rto())
}
