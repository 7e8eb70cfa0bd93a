//! Wake-up coalescing: if many small packets would each wake a thread, the thread pauses briefly and processes several at once.
//!
//! Network cards do the same by delaying interrupts. At 200,000 packets per second, a thread would spend most of its time
//! waking up, and the other end would receive packets one by one. A single packet is never delayed, and neither are requests
//! and responses: pauses start only after several wake-ups that follow each other faster than any round trip, and stop when
//! there is nothing to gather.

use std::time::Duration;

/// Length of a pause.
pub(super) const PAUSE: Duration = Duration::from_micros(50);
/// Time without a transfer after which a receiving thread also sends what the kernel answers.
pub(super) const CALM: Duration = Duration::from_millis(2);
/// Wake-ups closer than this count towards a pause.
const CLOSE: Duration = Duration::from_micros(25);
/// Number of such wake-ups in a row that starts pauses.
const WAKES: u32 = 4;
/// A pause that gathers fewer packets is the last one.
const WORTH: usize = 3;
/// With this many packets at once, no pause is needed.
const PLENTY: usize = 24;

/// One thread's decision.
#[derive(Debug, Default)]
pub(super) struct WakeupCoalescer {
    last: Duration,
    close: u32,
    pausing: bool,
}

impl WakeupCoalescer {
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
        let mut coalescer = WakeupCoalescer::default();
        let mut now = Duration::from_secs(1);
        let mut after = |micros, items| {
            now += Duration::from_micros(micros);
            coalescer.pause(now, items)
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
