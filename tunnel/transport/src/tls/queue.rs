//! Datagrams that wait for a congested connection: short in bytes, and in time by CoDel (RFC 8289). Pure.

use std::collections::VecDeque;
use std::time::Duration;

/// Bytes at most: some milliseconds of a fast path, some tens of a slow one, and beyond that CoDel is quicker.
const BYTES: usize = 1 << 20;
/// Waiting longer than this all the time is a standing queue. More than RFC 8289's 5 ms, for below is a TCP of its own.
const TARGET: Duration = Duration::from_millis(15);
/// "All the time": about a round trip.
const INTERVAL: Duration = Duration::from_millis(100);
/// Nothing older than this is of use to anyone.
const OLDEST: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
struct Entry {
    since: Duration,
    length: usize,
}

/// A queue of datagrams.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bytes: VecDeque<u8>,
    entries: VecDeque<Entry>,
    /// When waiting will have been too long for an interval.
    above: Option<Duration>,
    dropping: bool,
    drop_next: Duration,
    count: u32,
    dropped: u64,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Datagrams dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Puts a datagram at the end, or drops it when there is no room.
    pub(super) fn push(&mut self, now: Duration, datagram: &[u8]) {
        if self.bytes.len() + datagram.len() > BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes.extend(datagram);
        self.entries.push_back(Entry { since: now, length: datagram.len() });
    }

    /// Length of the first datagram that is not to be dropped; those before it are.
    pub(super) fn peek(&mut self, now: Duration) -> Option<usize> {
        loop {
            let entry = *self.entries.front()?;
            if !self.is_late(now, entry.since) {
                return Some(entry.length);
            }
            self.discard(entry.length);
            self.dropped += 1;
        }
    }

    /// Appends the datagram that was peeked at to `to`.
    pub(super) fn take(&mut self, to: &mut Vec<u8>) {
        let Some(entry) = self.entries.front().copied() else { return };
        let (first, second) = self.bytes.as_slices();
        let part = entry.length.min(first.len());
        to.extend_from_slice(&first[..part]);
        to.extend_from_slice(&second[..entry.length - part]);
        self.discard(entry.length);
    }

    /// Gives memory back that nothing is in.
    pub(super) fn shrink(&mut self) {
        if self.entries.is_empty() {
            self.bytes = VecDeque::new();
            self.entries = VecDeque::new();
        }
    }

    fn discard(&mut self, length: usize) {
        self.entries.pop_front();
        self.bytes.drain(..length);
        if self.entries.is_empty() {
            self.above = None;
            self.dropping = false;
        }
    }

    /// RFC 8289 section 5: drop when the least time spent here was above the target for an interval, then at
    /// intervals that shrink with the square root of the count, until it is not.
    fn is_late(&mut self, now: Duration, since: Duration) -> bool {
        let waited = now.saturating_sub(since);
        if waited > OLDEST {
            return true;
        }
        if waited < TARGET || self.entries.len() < 2 {
            self.above = None;
            self.dropping = false;
            return false;
        }
        let above = *self.above.get_or_insert(now + INTERVAL);
        if !self.dropping {
            if now < above {
                return false;
            }
            self.dropping = true;
            // Soon after the last time: the rate that was right then is a good beginning.
            let recent = now.saturating_sub(self.drop_next) < INTERVAL * 8;
            self.count = if recent && self.count > 2 { self.count - 2 } else { 1 };
            self.drop_next = now + INTERVAL.div_f64(f64::from(self.count).sqrt());
            return true;
        }
        if now < self.drop_next {
            return false;
        }
        self.count = self.count.saturating_add(1);
        self.drop_next += INTERVAL.div_f64(f64::from(self.count).sqrt());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn drain(queue: &mut Queue, now: Duration, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..count {
            if queue.peek(now).is_none() {
                break;
            }
            queue.take(&mut out);
        }
        out
    }

    #[test]
    fn a_short_wait_drops_nothing_and_keeps_the_order() {
        let mut queue = Queue::default();
        for turn in 0..1000u64 {
            for n in 0..20u8 {
                queue.push(ms(turn * 10), &[n; 100]);
            }
            let out = drain(&mut queue, ms(turn * 10 + 8), 20);
            assert!(out.chunks(100).zip(0..).all(|(chunk, n)| chunk == [n; 100]));
        }
        assert_eq!(queue.dropped(), 0);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_standing_queue_is_dropped_from_more_and_more() {
        let mut queue = Queue::default();
        let mut rates = Vec::new();
        // 1.5 times as much comes as goes, of 1,000 bytes.
        for second in 0..3u64 {
            let before = queue.dropped();
            for milli in 0..1000 {
                let now = ms(second * 1000 + milli);
                let n = if milli % 2 == 0 { 2 } else { 1 };
                (0..n).for_each(|_| queue.push(now, &[0; 1000]));
                drain(&mut queue, now, 1);
            }
            rates.push(queue.dropped() - before);
        }
        assert!(rates[0] > 5 && rates[2] > 100 && rates[2] <= 520, "{rates:?}");
    }

    #[test]
    fn it_is_bounded_in_bytes_and_in_age() {
        let mut queue = Queue::default();
        (0..2000).for_each(|_| queue.push(ms(0), &[0; 1000]));
        assert_eq!(queue.dropped(), 2000 - (BYTES / 1000) as u64);
        assert_eq!(queue.peek(ms(600)), None);
        assert_eq!(queue.dropped(), 2000);
        queue.shrink();
        assert_eq!(queue.bytes.capacity(), 0);
    }
}
