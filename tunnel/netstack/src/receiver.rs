//! The receiving half of a connection: what has arrived, what to acknowledge and when, how much to offer.

use std::collections::VecDeque;
use std::ops::Range;

use crate::assembler::Ranges;
use crate::buffer::{CHUNK, Chunks, Direction, Pool};
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
/// The window before a reader has shown its pace: the initial flight of a peer (RFC 6928), in four chunks.
const INITIAL_LIMIT: u64 = 16 * 1024 - 1;
/// The period of autotuning before there is a sample of the round trip.
const UNKNOWN_RTT: Nanos = 100 * MS;
/// Periods after which the largest amount that was read in one is forgotten, at the earliest; at the latest after twice as many.
const PERIODS: u8 = 8;

/// The receiver.
pub(crate) struct Receiver {
    pub(crate) initial: u32,
    pub(crate) nxt: u64,
    /// What the application has taken.
    pub(crate) read: u64,
    /// Offset of the peer's FIN.
    pub(crate) fin: Option<u64>,
    pub(crate) scale: u8,
    /// Right edge of what the peer may send. Memory is reserved up to here, and it never moves back.
    right: u64,
    /// Right edge of the last segment that left.
    announced: u64,
    /// The window is small because other streams have the memory: the peer gets an update when there is room.
    pressed: bool,
    limit: u64,
    maximum: u64,
    /// The application reads fast enough for more than a first window.
    proved: bool,
    /// Its turn among the streams that wait for memory.
    turn: bool,
    /// Nobody reads any more.
    abandoned: bool,
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
    /// Most that was read in a period: among the latest periods, and among those before.
    most_read: [u64; 2],
    periods: u8,
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
            proved: false,
            turn: false,
            abandoned: false,
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
            most_read: [0; 2],
            periods: 0,
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
            // Nothing follows it: what was promised beyond is free.
            self.buffer.withdraw(pool, self.nxt);
        }
    }

    /// Old data: acknowledged again, and reported as a duplicate (RFC 2883 §4).
    pub(crate) fn repeated(&mut self, range: Range<u64>) {
        self.due = true;
        if self.reports && !range.is_empty() && self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push_back(range);
        }
    }

    /// Data that is not taken, for another reason than its place: what of it had arrived is a duplicate.
    pub(crate) fn dropped(&mut self, range: Range<u64>) {
        if range.start < self.nxt {
            self.repeated(range.start..range.end.min(self.nxt));
        } else {
            self.repeated_beyond(&range);
        }
    }

    /// What of the range had arrived beyond a hole.
    fn repeated_beyond(&mut self, range: &Range<u64>) {
        let known = self.early.iter().find(|known| known.start < range.end && range.start < known.end);
        if let Some(known) = known.cloned() {
            self.repeated(known.start.max(range.start)..known.end.min(range.end));
        }
    }

    fn in_order(&mut self, now: Nanos, pool: &mut Pool, start: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        if self.readable() == 0 && self.early.is_empty() {
            self.release(pool, self.nxt, true);
        }
        let done = self.buffer.write(pool, start, data);
        pool.discarded += (data.len() - done) as u64;
        let filling = !self.early.is_empty();
        self.nxt = start + done as u64;
        // One segment may reach over several holes, as a sender may divide its data anew.
        while let Some(first) = self.early.first().filter(|first| first.start <= self.nxt) {
            self.nxt = self.nxt.max(first.end);
            self.early.trim(self.nxt);
        }
        self.largest = self.largest.max(data.len() as u64);
        self.unacknowledged += done as u64;
        if filling || self.quick > 0 || self.unacknowledged >= 2 * self.largest {
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
        self.repeated_beyond(&range);
        if self.early.len() >= MAX_RANGES && !self.early.touches(&range) {
            pool.discarded += data.len() as u64;
            return;
        }
        let done = self.buffer.write(pool, start, data);
        pool.discarded += (data.len() - done) as u64;
        if done == 0 {
            return;
        }
        self.early.insert(start..start + done as u64, |_| {});
        self.recent.rotate_right(1);
        self.recent[0] = start;
    }

    /// Copies readable bytes, which stay readable.
    pub(crate) fn peek(&self, out: &mut [u8]) -> usize {
        let most = out.len().min(self.readable());
        self.buffer.read(self.read, &mut out[..most])
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
            self.release(pool, self.read, empty);
        }
        total
    }

    /// Gives back what lies below `offset`, and what is reserved beyond the window.
    fn release(&mut self, pool: &mut Pool, offset: u64, empty: bool) {
        self.buffer.release(pool, offset, empty);
        self.buffer.withdraw(pool, self.right());
    }

    /// Drops everything held.
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.buffer.clear(pool, self.nxt);
        self.early.clear();
        self.read = self.nxt;
        self.delayed_at = None;
        self.due = false;
    }

    /// Nobody reads any more, or nothing can arrive: what was promised is free.
    pub(crate) fn abandon(&mut self, pool: &mut Pool) {
        self.abandoned = true;
        self.pressed = false;
        self.buffer.withdraw(pool, self.nxt);
    }

    /// The peer does not scale windows (RFC 7323 §2.2).
    pub(crate) fn unscaled(&mut self) {
        self.scale = 0;
        self.maximum = self.maximum.min(65_535);
        self.limit = self.limit.min(self.maximum);
    }

    fn grows(&self) -> bool {
        !self.finished() && !self.abandoned
    }

    /// The window to offer now, for which memory is reserved.
    pub(crate) fn offer(&mut self, now: Nanos, pool: &mut Pool) -> u64 {
        self.tune(now);
        if self.grows() {
            let edge = self.edge(pool);
            // Silly-window avoidance (RFC 9293 §3.8.6.2.2). The edge never moves back.
            if edge >= self.right + self.step(edge) {
                let allowed = self.allowed(pool);
                self.right = self.right.max(self.buffer.reserve(pool, edge, allowed));
            }
            self.turn = false;
            self.pressed = self.short(pool);
        }
        self.right().saturating_sub(self.nxt.max(1))
    }

    /// The window to put into a segment. Rounding by the scale does not take back what the peer knows while there is memory; without,
    /// it takes back less than a unit, and what was promised is still kept (RFC 7323 §2.4).
    pub(crate) fn announce(&mut self, now: Nanos, pool: &mut Pool) -> u16 {
        let offered = self.offer(now, pool);
        let unit = 1 << self.scale;
        let mut units = offered / unit;
        let known = self.announced.saturating_sub(self.nxt);
        if units * unit < known {
            let edge = self.nxt + known.div_ceil(unit) * unit;
            let most = if pool.waiting > 0 { self.buffer.span() } else { usize::MAX };
            if !self.grows() || self.buffer.reserve(pool, edge, most) >= edge {
                units = known.div_ceil(unit);
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
        self.announced = self.nxt.max(1) + window;
        window as u16
    }

    /// The window is small for want of memory, which others may give back.
    pub(crate) fn pressed(&self) -> bool {
        self.pressed && self.grows()
    }

    /// There is room that the peer should hear of.
    pub(crate) fn worth_telling(&self, pool: &Pool) -> bool {
        let edge = self.edge(pool);
        let gain = edge.saturating_sub(self.right);
        gain >= self.step(edge) && (gain >= self.limit / 4 || self.right() - self.nxt < 2 * self.largest)
    }

    /// It is this stream's turn to take memory: whether there is enough for a word to the peer.
    pub(crate) fn turn(&mut self, pool: &Pool) -> bool {
        self.turn = true;
        self.turn = self.worth_telling(pool);
        self.turn
    }

    /// After a read: whether only memory keeps the window small.
    pub(crate) fn press(&mut self, pool: &Pool) {
        self.pressed = self.grows() && self.short(pool);
    }

    fn short(&self, pool: &Pool) -> bool {
        let wanted = self.wanted();
        self.right() - self.nxt < 2 * self.largest
            && wanted >= self.right + self.step(wanted)
            && self.edge(pool) < self.right + self.step(wanted)
    }

    /// The limit follows the most that the application took lately in a round trip, four times that (a peer may double its flight in
    /// each). A smaller limit takes back no promise: the edge stays until the peer has used what it was given.
    fn tune(&mut self, now: Nanos) {
        let taken = self.read - self.tuned_read;
        self.most_read[0] = self.most_read[0].max(taken);
        self.limit = (self.most_read[0].max(self.most_read[1]) * 4).max(INITIAL_LIMIT).min(self.maximum);
        self.proved |= taken * 4 >= (self.buffer.span() * CHUNK) as u64 && taken > 0;
        let period = if self.rtt == 0 { UNKNOWN_RTT } else { self.rtt };
        if now.saturating_sub(self.tuned_at) >= period {
            self.tuned_at = now;
            self.tuned_read = self.read;
            self.periods += 1;
            if self.periods == PERIODS {
                self.periods = 0;
                self.most_read = [0, self.most_read[0]];
            }
        }
    }

    /// Right edge that the application's pace asks for.
    fn wanted(&self) -> u64 {
        self.read + self.limit
    }

    /// Chunks that this stream may have. While others wait, each has its turn.
    fn allowed(&self, pool: &Pool) -> usize {
        if pool.waiting > 0 && !self.turn {
            return self.buffer.span();
        }
        let segments = if pool.waiting > 0 { 1 } else { 2 };
        let least = self.buffer.chunks_to(self.read + segments * self.largest);
        pool.allowance(self.buffer.span(), least, self.proved)
    }

    /// Right edge that pace and memory allow.
    fn edge(&self, pool: &Pool) -> u64 {
        self.wanted().min(self.buffer.reach(self.allowed(pool))).max(self.right)
    }

    /// What the window must open by to be worth a word (RFC 9293 §3.8.6.2.2): two segments, or half of all that fits.
    fn step(&self, edge: u64) -> u64 {
        (2 * self.largest).min((edge - self.read.min(edge)) / 2).max(1)
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
