//! Pacing by release times, in bursts: one timer a burst, none for a packet.
//!
//! `next` is the time at which everything released so far would have left at the pacing rate. Sending is allowed until
//! `next` is a burst ahead of the clock; then it stops until the clock has caught up. After a timer that fires late, all that it
//! withheld may leave, as in QUIC's pacers: a stack that gets its processor only now and then would otherwise send less than the
//! pacing rate, measure that as the bandwidth of the path, and slow down further with each round trip. After any other pause, a
//! burst may.

use crate::seq::{MS, Nanos, SEC};

const MAX_BURST: u64 = 64 * 1024;
/// Lateness of a timer that counts: more than a scheduler takes a processor away for, less than a suspended machine.
const MAX_LATE: Nanos = 100 * MS;

/// The pacer of one stream.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    /// Bytes a second; zero sends without pacing.
    rate: u64,
    burst: Nanos,
    next: Nanos,
    waiting: bool,
    /// How far `next` may be behind the clock.
    credit: Nanos,
}

impl Pacer {
    pub(crate) fn new() -> Self {
        Self { rate: 0, burst: 0, next: 0, waiting: false, credit: 0 }
    }

    /// Sets the rate: a burst is what a millisecond carries, between two segments and 64 KiB.
    pub(crate) fn set_rate(&mut self, rate: u64, mss: u64) {
        if rate == self.rate {
            return;
        }
        self.rate = rate;
        let bytes = (rate / (SEC / MS)).clamp(2 * mss, MAX_BURST.max(2 * mss));
        self.burst = bytes * SEC / rate.max(1);
    }

    /// When the next packet may go; `None` for at once.
    pub(crate) fn blocked(&mut self, now: Nanos) -> Option<Nanos> {
        if self.rate == 0 {
            return None;
        }
        if self.waiting {
            if now < self.next {
                return Some(self.next);
            }
            self.waiting = false;
        } else if self.next >= now + self.burst {
            self.waiting = true;
            self.credit = 0;
            return Some(self.next);
        }
        None
    }

    /// The timer for what `blocked` has said has fired.
    pub(crate) fn woken(&mut self, now: Nanos) {
        if self.waiting && now >= self.next {
            self.waiting = false;
            self.credit = (now - self.next).min(MAX_LATE);
        }
    }

    /// `bytes` have left.
    pub(crate) fn sent(&mut self, now: Nanos, bytes: u64) {
        if let Some(time) = (bytes * SEC).checked_div(self.rate) {
            let from = self.next.max(now.saturating_sub(self.burst.max(self.credit)));
            self.next = from + time;
        }
    }

    /// Forgets the credit of an idle time.
    pub(crate) fn restart(&mut self, now: Nanos) {
        self.next = self.next.max(now);
    }
}
