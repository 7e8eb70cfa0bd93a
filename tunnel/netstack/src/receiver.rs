//! The receiving half of a connection: what has arrived, what to acknowledge and when, how much to offer.

use std::collections::VecDeque;
use std::ops::Range;

use crate::assembler::Ranges;
use crate::buffer::{Chunks, Direction, Pool};
use crate::seq::{MS, Nanos, to_wire};
use crate::wire::Options;

/// Delay of an acknowledgement (RFC 9293 §3.8.6.3 allows 500 ms; peers' probe timers assume less).
const ACK_DELAY: Nanos = 40 * MS;
/// Segments at the start that are acknowledged at once: the peer's slow start lives on them.
const QUICK: u8 = 16;
/// Holes remembered; what would open more is dropped and sent again.
const MAX_RANGES: usize = 1024;
/// Duplicates that wait for their report; what comes beyond is acknowledged and not reported.
const MAX_DUPLICATES: usize = 16;
/// The least window of a stream that holds nothing.
const FLOOR: u64 = 4 * 1024;
/// The window before anything was measured. A promise, not memory.
const INITIAL_LIMIT: u64 = 256 * 1024;

/// The receiver.
pub(crate) struct Receiver {
    pub(crate) initial: u32,
    pub(crate) nxt: u64,
    /// What the application has taken.
    pub(crate) read: u64,
    /// Offset of the peer's FIN.
    pub(crate) fin: Option<u64>,
    pub(crate) scale: u8,
    right: u64,
    /// Right edge of the last segment that left.
    announced: u64,
    /// In-order data was dropped because memory is short. The window is zero until there is room again; then the peer gets a
    /// window update.
    pressed: bool,
    limit: u64,
    maximum: u64,
    buffer: Chunks,
    early: Ranges,
    /// Offsets of the latest arrivals beyond a hole, newest first (RFC 2018 §4).
    recent: [u64; 4],
    /// What arrived again and was not reported yet, oldest first (RFC 2883).
    duplicates: VecDeque<Range<u64>>,
    /// The peer takes selective acknowledgements.
    pub(crate) reports: bool,
    /// An acknowledgement must leave at the next occasion.
    pub(crate) due: bool,
    /// Acknowledgements owed to a peer without SACK, which counts them.
    pub(crate) owed: u8,
    pub(crate) delayed_at: Option<Nanos>,
    unacknowledged: u64,
    largest: u64,
    quick: u8,
    pub(crate) acknowledged: u64,
    tuned_at: Nanos,
    tuned_read: u64,
    rtt: Nanos,
}

impl Receiver {
    pub(crate) fn new(maximum: u64, now: Nanos) -> Self {
        let mut scale = 0;
        while maximum >> scale > 65_535 && scale < 14 {
            scale += 1;
        }
        Self {
            initial: 0,
            nxt: 0,
            read: 1,
            fin: None,
            scale,
            right: 0,
            announced: 0,
            pressed: false,
            limit: INITIAL_LIMIT.min(maximum),
            maximum,
            buffer: Chunks::new(Direction::Receive),
            early: Ranges::default(),
            recent: [0; 4],
            duplicates: VecDeque::new(),
            reports: false,
            due: false,
            owed: 0,
            delayed_at: None,
            unacknowledged: 0,
            largest: 536,
            quick: QUICK,
            acknowledged: 0,
            tuned_at: now,
            tuned_read: 1,
            rtt: 0,
        }
    }

    /// Heap bytes beside the chunks of the pool.
    pub(crate) fn memory(&self) -> usize {
        self.early.memory() + self.duplicates.capacity() * size_of::<Range<u64>>()
    }

    /// The peer's SYN has arrived.
    pub(crate) fn synchronise(&mut self, initial: u32) {
        self.initial = initial;
        self.nxt = 1;
        self.acknowledged = 1;
    }

    /// Right edge of the window that the peer knows.
    pub(crate) fn right(&self) -> u64 {
        self.right.max(self.nxt)
    }

    /// Bytes the application can take.
    pub(crate) fn readable(&self) -> usize {
        let end = self.fin.filter(|fin| *fin < self.nxt).unwrap_or(self.nxt);
        end.saturating_sub(self.read) as usize
    }

    /// The peer's FIN is in order: nothing follows what is readable.
    pub(crate) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.nxt)
    }

    /// A round-trip sample from an echoed timestamp or from the handshake.
    pub(crate) fn sample(&mut self, rtt: Nanos) {
        let rtt = rtt.max(MS);
        self.rtt = if self.rtt == 0 { rtt } else { (self.rtt * 7 + rtt) / 8 };
    }

    /// Takes data and FIN of a segment that begins inside the window or before it.
    pub(crate) fn accept(&mut self, now: Nanos, pool: &mut Pool, start: u64, data: &[u8], fin: bool) {
        self.relieve(pool);
        let end = start + data.len() as u64;
        let limit = self.right();
        let whole = end <= limit && self.fin.is_none_or(|known| end <= known);
        let end = end.min(limit).min(self.fin.unwrap_or(u64::MAX)).max(start);
        if fin && whole && self.fin.is_none() && self.early.last().is_none_or(|last| last.end <= end) {
            self.fin = Some(end);
        }
        let from = start.max(self.nxt);
        if start < from && from < end {
            self.repeated(start..from);
        }
        if end < from || (end == from && !data.is_empty()) {
            self.repeated(start..end.max(start));
        } else if from == self.nxt {
            self.in_order(now, pool, from, &data[(from - start) as usize..(end - start) as usize]);
        } else if !data.is_empty() {
            self.beyond(pool, from, &data[(from - start) as usize..(end - start) as usize]);
        } else {
            self.due = true;
        }
        if self.fin == Some(self.nxt) {
            self.nxt += 1;
            self.due = true;
        }
    }

    /// Old data: acknowledged again, and reported as a duplicate (RFC 2883 §4).
    pub(crate) fn repeated(&mut self, range: Range<u64>) {
        self.due = true;
        if self.reports && !range.is_empty() && self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push_back(range);
        }
    }

    fn in_order(&mut self, now: Nanos, pool: &mut Pool, start: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        if self.readable() == 0 && self.early.is_empty() {
            self.buffer.release(pool, self.nxt, true);
        }
        let held = &data[..data.len().min(self.room(pool))];
        let mut done = self.buffer.write(pool, start, held);
        while done < held.len() && !self.early.is_empty() {
            // Out of budget: what lies beyond a hole goes first, its sender still has it (RFC 2018 §8).
            self.renege(pool, start + done as u64);
            done += self.buffer.write(pool, start + done as u64, &held[done..]);
        }
        let filling = !self.early.is_empty();
        self.pressed |= done < data.len();
        self.nxt = start + done as u64;
        if let Some(first) = self.early.first()
            && first.start <= self.nxt
        {
            self.nxt = self.nxt.max(first.end);
            self.early.trim(self.nxt);
        }
        self.largest = self.largest.max(data.len() as u64);
        self.unacknowledged += done as u64;
        if filling || done < data.len() || self.quick > 0 || self.unacknowledged >= 2 * self.largest {
            self.quick = self.quick.saturating_sub(1);
            self.due = true;
        } else {
            self.delayed_at.get_or_insert(now + ACK_DELAY);
        }
    }

    fn beyond(&mut self, pool: &mut Pool, start: u64, data: &[u8]) {
        self.due = true;
        if !self.reports {
            self.owed = self.owed.saturating_add(1).min(8);
        }
        let range = start..start + data.len() as u64;
        if self.early.covers(&range) {
            return self.repeated(range);
        }
        let known = self.early.iter().find(|known| known.start < range.end && range.start < known.end);
        if let Some(known) = known.cloned() {
            self.repeated(known.start.max(range.start)..known.end.min(range.end));
        }
        let full = range.end - self.nxt > self.room(pool) as u64;
        if full || (self.early.len() >= MAX_RANGES && !self.early.touches(&range)) {
            return;
        }
        let done = self.buffer.write(pool, start, data) as u64;
        if done == 0 {
            return;
        }
        self.early.insert(start..start + done, |_| {});
        self.recent.rotate_right(1);
        self.recent[0] = start;
    }

    /// Bytes from `nxt` on that are taken. Windows promise more than all streams together may hold: who does not read
    /// keeps no more than its share, whatever it was promised, and its peer sends the rest again.
    fn room(&self, pool: &Pool) -> usize {
        pool.share(Direction::Receive).saturating_sub(self.readable())
    }

    /// Drops the last range beyond a hole; `written` is in order already.
    fn renege(&mut self, pool: &mut Pool, written: u64) {
        if self.early.pop_last().is_some() {
            let keep = self.early.last().map_or(written, |last| last.end.max(written));
            self.buffer.truncate(pool, keep);
        }
    }

    /// Hands the readable bytes to `take` in slices until it takes less than it was given. Returns what was taken.
    pub(crate) fn consume(&mut self, pool: &mut Pool, mut take: impl FnMut(&[u8]) -> usize) -> usize {
        let mut total = 0;
        let end = self.read + self.readable() as u64;
        while self.read < end {
            let slice = self.buffer.slice(self.read, (end - self.read) as usize);
            if slice.is_empty() {
                debug_assert!(false, "readable bytes are held");
                break;
            }
            let taken = take(slice).min(slice.len());
            let short = taken < slice.len();
            self.read += taken as u64;
            total += taken;
            if short {
                break;
            }
        }
        if total > 0 {
            let empty = self.read >= end && self.early.is_empty();
            self.buffer.release(pool, self.read, empty);
        }
        total
    }

    /// Drops everything held.
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.buffer.clear(pool, self.nxt);
        self.early.clear();
        self.read = self.nxt;
        self.delayed_at = None;
        self.due = false;
    }

    /// The window to offer now; grows with what the application takes in a round trip.
    pub(crate) fn offer(&mut self, now: Nanos, pool: &Pool) -> u64 {
        if self.rtt > 0 && now.saturating_sub(self.tuned_at) >= self.rtt {
            let taken = self.read - self.tuned_read;
            self.limit = self.limit.max(taken * 4).min(self.maximum);
            self.tuned_at = now;
            self.tuned_read = self.read;
        }
        self.relieve(pool);
        if self.pressed {
            // The promise cannot be kept. A peer that knows waits and asks; one that does not sends again until it gives up.
            self.right = self.nxt;
            return 0;
        }
        let edge = self.edge(pool);
        // Silly-window avoidance (RFC 9293 §3.8.6.2.2). The edge never moves back.
        if edge >= self.right + self.step(pool) || self.right < self.nxt {
            self.right = self.right.max(edge);
        }
        self.right() - self.nxt
    }

    /// The window to put into a segment. Rounding by the scale never takes back what the peer knows (RFC 7323 §2.4), but where the
    /// stream has no more memory.
    pub(crate) fn announce(&mut self, now: Nanos, pool: &Pool) -> u16 {
        let offered = self.offer(now, pool);
        let unit = 1 << self.scale;
        let mut units = offered / unit;
        let known = self.announced.saturating_sub(self.nxt);
        if !self.pressed && units * unit < known {
            let rounded = known.div_ceil(unit);
            let held = self.nxt + rounded * unit - self.read.min(self.nxt);
            if held <= pool.share(Direction::Receive) as u64 {
                units = rounded;
            }
        }
        units = units.min(65_535);
        self.announced = self.nxt + units * unit;
        self.right = self.right.max(self.announced);
        units as u16
    }

    /// The window of a SYN, which has no scale.
    pub(crate) fn opening(&mut self, offered: u64) -> u16 {
        let window = offered.min(65_535);
        self.announced = self.nxt + window;
        window as u16
    }

    /// Memory was short and is not any more.
    fn relieve(&mut self, pool: &Pool) {
        if self.pressed && self.edge(pool) >= self.nxt + self.step(pool) {
            self.pressed = false;
        }
    }

    /// The window is zero for want of memory, which others may give back.
    pub(crate) fn pressed(&self) -> bool {
        self.pressed
    }

    /// The application has made room that the peer should hear of.
    pub(crate) fn worth_telling(&self, pool: &Pool) -> bool {
        let gain = self.edge(pool).saturating_sub(self.right);
        gain >= self.step(pool) && (gain >= self.limit / 4 || self.right() - self.nxt < 2 * self.largest)
    }

    fn edge(&self, pool: &Pool) -> u64 {
        let unread = self.nxt - self.read.min(self.nxt);
        let share = pool.share(Direction::Receive) as u64;
        // What arrives makes the share smaller, by twice its size: a third of what is left can be kept.
        let kept = (share.saturating_sub(unread) / 3).max(FLOOR.saturating_sub(unread));
        let free = pool.free(Direction::Receive) as u64;
        self.nxt + self.limit.saturating_sub(unread).min(kept).min(free)
    }

    /// What the window must open by to be worth a word (RFC 9293 §3.8.6.2.2): two segments, or half of all that fits.
    fn step(&self, pool: &Pool) -> u64 {
        let whole = self.edge(pool) - self.read.min(self.nxt);
        (2 * self.largest).min(whole / 2).max(1)
    }

    /// An acknowledgement has left.
    pub(crate) fn acknowledged(&mut self) {
        self.due = false;
        self.owed = self.owed.saturating_sub(1);
        self.delayed_at = None;
        self.unacknowledged = 0;
        self.acknowledged = self.nxt;
    }

    /// A duplicate that waits for its report; each has an acknowledgement of its own (RFC 2883 §4).
    pub(crate) fn has_duplicates(&self) -> bool {
        !self.duplicates.is_empty()
    }

    /// There is something beyond a hole, or a duplicate to report.
    pub(crate) fn has_blocks(&self) -> bool {
        !self.early.is_empty() || self.has_duplicates()
    }

    /// Adds up to `room` SACK blocks: a duplicate first (RFC 2883 §4), then the newest arrivals (RFC 2018 §4).
    pub(crate) fn blocks(&mut self, options: &mut Options, room: usize) {
        let duplicate = self.duplicates.pop_front();
        let mut count = 0;
        let mut put = |range: &Range<u64>| {
            if count < room {
                options.push_sack((to_wire(self.initial, range.start), to_wire(self.initial, range.end)));
                count += 1;
            }
        };
        if let Some(duplicate) = &duplicate {
            put(duplicate);
        }
        let mut reported: [u64; 4] = [u64::MAX; 4];
        for (slot, offset) in self.recent.iter().enumerate() {
            if let Some(range) = self.early.find(*offset)
                && !reported.contains(&range.start)
            {
                reported[slot] = range.start;
                put(range);
            }
        }
        for range in self.early.iter().take(4) {
            if !reported.contains(&range.start) {
                put(range);
            }
        }
    }
}
