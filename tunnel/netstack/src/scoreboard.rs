//! What is in flight: one record for each segment, in sequence order, threaded in order of transmission.
//!
//! The two orders make every step proportional to what *changes*: acknowledgements find their records by binary search
//! (RFC 2018, RFC 6675), and loss detection walks from the oldest transmission and stops at the first that is not late
//! (RFC 8985 §6.2), however large the window is.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use crate::assembler::Ranges;
use crate::seq::Nanos;

const NIL: u64 = u64::MAX;
/// Ranges remembered of a peer that acknowledges selectively; more are ignored, which costs retransmissions only.
const MAX_RANGES: usize = 4096;

/// Where a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Sent, no news.
    Flight,
    /// Selectively acknowledged.
    Sacked,
    /// Held to be lost, waits for retransmission.
    Lost,
}

/// State at the time of a transmission, for the delivery-rate sample
/// (draft-cheng-iccrg-delivery-rate-estimation §3.1).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    pub(crate) sent_at: Nanos,
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Nanos,
    pub(crate) first_sent_at: Nanos,
    pub(crate) app_limited: bool,
    /// In flight with this segment, and what was lost before it.
    pub(crate) flight: u64,
    pub(crate) lost: u64,
}

/// One segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    /// In sequence space: the FIN counts.
    pub(crate) length: u32,
    pub(crate) place: Place,
    pub(crate) retransmitted: bool,
    pub(crate) stamp: Stamp,
    older: u64,
    newer: u64,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// The records of one stream.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Identifier of `segments[0]`; identifiers never repeat.
    base: u64,
    oldest: Option<u64>,
    newest: Option<u64>,
    lost: BTreeSet<u64>,
    sacked: Ranges,
    /// Segments selectively acknowledged.
    sacked_segments: usize,
    flight: u64,
    lost_bytes: u64,
}

impl Scoreboard {
    /// Bytes believed to be in the network.
    pub(crate) fn flight(&self) -> u64 {
        self.flight
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub(crate) fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Segments selectively acknowledged.
    pub(crate) fn sacked_segments(&self) -> usize {
        self.sacked_segments
    }

    pub(crate) fn first(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// Bytes held on the heap.
    pub(crate) fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>() + self.lost.len() * 16 + self.sacked.memory()
    }

    /// A new segment leaves.
    pub(crate) fn push(&mut self, start: u64, length: u32, stamp: Stamp) {
        let id = self.base + self.segments.len() as u64;
        self.segments.push_back(Segment {
            start,
            length,
            place: Place::Flight,
            retransmitted: false,
            stamp,
            older: NIL,
            newer: NIL,
        });
        self.flight += u64::from(length);
        self.thread(id);
    }

    /// Cumulative acknowledgement: `each` sees every record that ends at or below `offset`.
    pub(crate) fn acknowledge(&mut self, offset: u64, mut each: impl FnMut(&Segment)) {
        while let Some(front) = self.segments.front() {
            if front.end() > offset {
                break;
            }
            let segment = *front;
            self.drop_place(self.base, &segment);
            self.segments.pop_front();
            self.base += 1;
            each(&segment);
        }
        if let Some(front) = self.segments.front_mut()
            && front.start < offset
        {
            let cut = (offset - front.start) as u32;
            front.start = offset;
            front.length -= cut;
            match front.place {
                Place::Flight => self.flight -= u64::from(cut),
                Place::Lost => self.lost_bytes -= u64::from(cut),
                Place::Sacked => {}
            }
        }
        self.sacked.trim(offset);
        if self.segments.is_empty() && self.segments.capacity() > 8 {
            self.segments = VecDeque::new();
        }
    }

    /// One SACK block: `each` sees every record that it newly covers.
    pub(crate) fn sack(&mut self, block: Range<u64>, mut each: impl FnMut(&Segment)) {
        if self.sacked.covers(&block) || (self.sacked.len() >= MAX_RANGES && !self.sacked.touches(&block)) {
            return;
        }
        let merged = self.sacked.insert(block.clone(), |_| {});
        let mut index = self.segments.partition_point(|segment| segment.end() <= block.start);
        while let Some(segment) = self.segments.get(index).copied() {
            if segment.start >= block.end {
                break;
            }
            if segment.place != Place::Sacked && segment.start >= merged.start && segment.end() <= merged.end
            {
                self.drop_place(self.base + index as u64, &segment);
                self.segments[index].place = Place::Sacked;
                self.sacked_segments += 1;
                each(&segment);
            }
            index += 1;
        }
    }

    /// Walks the flight from the oldest transmission while `late` says so and marks what it meets as lost. Returns the
    /// bytes marked and the first record that was spared.
    pub(crate) fn mark_late(&mut self, mut late: impl FnMut(&Segment) -> bool) -> (u64, Option<Segment>) {
        let mut marked = 0;
        while let Some(id) = self.oldest {
            let segment = self.segments[(id - self.base) as usize];
            if !late(&segment) {
                return (marked, Some(segment));
            }
            self.mark(id);
            marked += u64::from(segment.length);
        }
        (marked, None)
    }

    /// Marks the first segment as lost (RFC 6582's partial acknowledgement, and timeouts).
    pub(crate) fn mark_first(&mut self) -> Option<Segment> {
        let first = *self.segments.front().filter(|first| first.place == Place::Flight)?;
        self.mark(self.base);
        Some(first)
    }

    /// The peer has taken its word back (RFC 2018 §8): nothing counts as selectively acknowledged any more.
    pub(crate) fn forget_sacks(&mut self) {
        for index in 0..self.segments.len() {
            let segment = &mut self.segments[index];
            if segment.place == Place::Sacked {
                segment.place = Place::Lost;
                self.lost_bytes += u64::from(segment.length);
                self.lost.insert(self.base + index as u64);
            }
        }
        self.sacked_segments = 0;
        self.sacked.clear();
    }

    /// The lost segment that comes first in the stream.
    pub(crate) fn next_lost(&self) -> Option<(u64, Segment)> {
        let id = *self.lost.first()?;
        Some((id, self.segments[(id - self.base) as usize]))
    }

    /// The last segment, for a tail loss probe.
    pub(crate) fn probe(&self) -> Option<(u64, Segment)> {
        let last = self.segments.back()?;
        Some((self.base + self.segments.len() as u64 - 1, *last))
    }

    /// A segment is sent again; `length` is what fits into a packet now, the rest becomes a record of its own.
    pub(crate) fn resend(&mut self, id: u64, length: u32, stamp: Stamp) {
        let index = (id - self.base) as usize;
        let segment = self.segments[index];
        if length < segment.length {
            return self.split(index, length, stamp);
        }
        self.drop_place(id, &segment);
        let record = &mut self.segments[index];
        record.place = Place::Flight;
        record.retransmitted = true;
        record.stamp = stamp;
        self.flight += u64::from(segment.length);
        self.thread(id);
    }

    /// Marks every segment in flight that carries more than `length` bytes as lost: they were too big for the path.
    pub(crate) fn mark_oversized(&mut self, length: u32) {
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if segment.place == Place::Flight && segment.length > length {
                self.mark(self.base + index as u64);
            }
        }
    }

    /// Cuts a lost record in two and sends the first part. Identifiers move, so both orders are built again; this
    /// happens only when the path's MTU has shrunk.
    fn split(&mut self, index: usize, length: u32, stamp: Stamp) {
        let segment = self.segments[index];
        let head = Segment { length, place: Place::Flight, retransmitted: true, stamp, ..segment };
        let tail = Segment {
            start: segment.start + u64::from(length),
            length: segment.length - length,
            place: Place::Lost,
            ..segment
        };
        self.segments[index] = head;
        self.segments.insert(index + 1, tail);
        self.rebuild();
    }

    /// A timeout was spurious: what was held to be lost is in flight after all.
    pub(crate) fn restore(&mut self) {
        for segment in &mut self.segments {
            if segment.place == Place::Lost {
                segment.place = Place::Flight;
            }
        }
        self.rebuild();
    }

    /// Gives every record a new identifier and builds both orders and all accounts again.
    fn rebuild(&mut self) {
        self.base += self.segments.len() as u64;
        self.oldest = None;
        self.newest = None;
        self.lost.clear();
        self.flight = 0;
        self.lost_bytes = 0;
        let mut order = Vec::new();
        for (index, segment) in self.segments.iter().enumerate() {
            let id = self.base + index as u64;
            match segment.place {
                Place::Lost => {
                    self.lost.insert(id);
                    self.lost_bytes += u64::from(segment.length);
                }
                Place::Flight => {
                    self.flight += u64::from(segment.length);
                    order.push((segment.stamp.sent_at, id));
                }
                Place::Sacked => {}
            }
        }
        order.sort_unstable();
        for (_, id) in order {
            self.thread(id);
        }
    }

    fn mark(&mut self, id: u64) {
        let index = (id - self.base) as usize;
        let segment = self.segments[index];
        self.drop_place(id, &segment);
        self.segments[index].place = Place::Lost;
        self.lost_bytes += u64::from(segment.length);
        self.lost.insert(id);
    }

    /// Takes a record out of the accounts of the place it is in.
    fn drop_place(&mut self, id: u64, segment: &Segment) {
        match segment.place {
            Place::Flight => {
                self.flight -= u64::from(segment.length);
                self.unthread(id);
            }
            Place::Lost => {
                self.lost_bytes -= u64::from(segment.length);
                self.lost.remove(&id);
            }
            Place::Sacked => self.sacked_segments -= 1,
        }
    }

    fn thread(&mut self, id: u64) {
        let base = self.base;
        let newest = self.newest.replace(id);
        let record = &mut self.segments[(id - base) as usize];
        record.newer = NIL;
        record.older = newest.unwrap_or(NIL);
        match newest {
            Some(newest) => self.segments[(newest - base) as usize].newer = id,
            None => self.oldest = Some(id),
        }
    }

    fn unthread(&mut self, id: u64) {
        let base = self.base;
        let Segment { older, newer, .. } = self.segments[(id - base) as usize];
        if older == NIL {
            self.oldest = (newer != NIL).then_some(newer);
        } else {
            self.segments[(older - base) as usize].newer = newer;
        }
        if newer == NIL {
            self.newest = (older != NIL).then_some(older);
        } else {
            self.segments[(newer - base) as usize].older = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn check(board: &Scoreboard) {
        let mut flight = 0;
        let mut lost = 0;
        let mut sacked = 0;
        let mut at = board.segments.front().map_or(0, |segment| segment.start);
        for (index, segment) in board.segments.iter().enumerate() {
            assert_eq!(segment.start, at);
            at = segment.end();
            let id = board.base + index as u64;
            match segment.place {
                Place::Flight => flight += u64::from(segment.length),
                Place::Lost => {
                    lost += u64::from(segment.length);
                    assert!(board.lost.contains(&id));
                }
                Place::Sacked => {
                    assert!(board.sacked.covers(&(segment.start..segment.end())));
                    sacked += 1;
                }
            }
        }
        assert_eq!((flight, lost, sacked), (board.flight, board.lost_bytes, board.sacked_segments));
        let mut threaded = 0;
        let mut id = board.oldest;
        let mut sent_at = 0;
        while let Some(current) = id {
            let segment = &board.segments[(current - board.base) as usize];
            assert_eq!(segment.place, Place::Flight);
            assert!(segment.stamp.sent_at >= sent_at);
            sent_at = segment.stamp.sent_at;
            threaded += u64::from(segment.length);
            id = (segment.newer != NIL).then_some(segment.newer);
        }
        assert_eq!(threaded, flight);
    }

    #[test]
    fn accounts_and_orders_stay_consistent() {
        let mut rng = Rng::new(3);
        for _ in 0..60 {
            let mut board = Scoreboard::default();
            let mut end = 1;
            let mut acked = 1;
            for now in 0..300 {
                let stamp = Stamp { sent_at: now, ..Stamp::default() };
                match rng.below(8) {
                    0..=2 => {
                        let length = 1 + rng.below(1400) as u32;
                        board.push(end, length, stamp);
                        end += u64::from(length);
                    }
                    3 => {
                        acked += rng.below(end - acked + 1) / 4;
                        board.acknowledge(acked, |_| {});
                    }
                    4 => {
                        let start = acked + rng.below(end - acked + 1);
                        board.sack(start..start + rng.below(end - start + 1), |_| {});
                    }
                    5 => {
                        let before = now - now.min(rng.below(100));
                        board.mark_late(|segment| segment.stamp.sent_at < before);
                    }
                    6 => {
                        if let Some((id, segment)) = board.next_lost() {
                            let length = 1 + rng.below(u64::from(segment.length)) as u32;
                            board.resend(id, length, stamp);
                        }
                    }
                    _ => match rng.below(12) {
                        0 => board.forget_sacks(),
                        1 => {
                            board.mark_first();
                        }
                        2 => board.mark_oversized(700),
                        3 => board.restore(),
                        _ => {}
                    },
                }
                check(&board);
            }
        }
    }
}
