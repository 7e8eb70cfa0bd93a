//! Many small packets, each of which would wake a thread: then it sleeps a little and takes several at once.
//!
//! It is what network cards do by delaying interrupts. At 200,000 packets a second most of the time would go
//! into waking up, and the other end would get, and have to take, packets one by one. A packet that comes
//! alone is never delayed, nor is the exchange of questions and answers: the pause begins only after several
//! wake-ups that follow each other faster than any round trip, and ends when there is nothing to gather.

use std::time::Duration;

/// Length of a pause.
pub(super) const PAUSE: Duration = Duration::from_micros(50);
/// Wake-ups closer than this are too many.
const CLOSE: Duration = Duration::from_micros(25);
/// So many in a row.
const WAKES: u32 = 4;
/// A pause that gathers fewer is the last one.
const WORTH: usize = 3;
/// With so many at once there is no need of a pause.
const PLENTY: usize = 24;

/// One thread's decision.
#[derive(Debug, Default)]
pub(super) struct Moderation {
    last: Duration,
    close: u32,
    pausing: bool,
}

impl Moderation {
    /// Whether to pause before waiting for more. `woken` is when the thread woke last, `items` what it found.
    #[inline]
    pub(super) fn pause(&mut self, woken: Duration, items: usize) -> bool {
        let gap = woken.saturating_sub(self.last);
        self.last = woken;
        if self.pausing {
            self.pausing = items >= WORTH;
            self.close = 0;
        } else {
            self.close = if gap < CLOSE && items < PLENTY { self.close + 1 } else { 0 };
            self.pausing = self.close >= WAKES;
        }
        self.pausing && items < PLENTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stream_of_small_packets_is_gathered() {
        let mut moderation = Moderation::default();
        let mut now = Duration::from_secs(1);
        let mut after = |micros, items| {
            now += Duration::from_micros(micros);
            moderation.pause(now, items)
        };
        // Questions and answers.
        assert!((0..50).all(|_| !after(100, 1)));
        // A stream.
        assert_eq!((0..5).map(|_| after(6, 1)).collect::<Vec<_>>(), [false, false, false, true, false]);
        for _ in 0..4 {
            after(6, 1);
        }
        assert!((0..9).all(|_| after(60, 10)));
        // Busy: no pause, but the next one when it is less.
        assert!(!after(60, 64));
        assert!(after(60, 10));
        // Over.
        assert!(!after(60, 1));
        assert!(!after(6, 1));
    }
}
