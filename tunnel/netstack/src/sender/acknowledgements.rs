//! What an acknowledgement says: the peer's window, what has arrived, and what was lost.

use std::ops::Range;

use super::*;

/// Duplicate acknowledgements that mean a loss when the peer has no SACK (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;

/// The fields of an acceptable acknowledgement.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) offset: u64,
    pub(crate) sacks: &'a [Range<u64>],
    /// When that left whose timestamp is echoed, rounded down to a millisecond.
    pub(crate) echoed_at: Option<Nanos>,
    /// The echoed timestamp is older than the last retransmission after a timeout (RFC 3522).
    pub(crate) echo_before_timeout: bool,
    /// The peer has seen a mark, and has not yet heard of a reduction.
    pub(crate) echo: bool,
    /// Neither data nor a window change: it may be a duplicate acknowledgement.
    pub(crate) bare: bool,
}

impl Sender {
    /// Takes the window of a segment (RFC 9293 §3.10.7.4); true when it opened.
    pub(crate) fn update_window(&mut self, seq: u64, ack: u64, window: u64) -> bool {
        let newer = seq > self.window_seq || (seq == self.window_seq && ack >= self.window_ack);
        if !newer {
            return false;
        }
        self.window_seq = seq;
        self.window_ack = ack;
        self.largest_window = self.largest_window.max(window);
        if window > 0 && self.shut && self.rtt.backoff() > 0 && self.timeout_at.is_some() {
            // What was dropped at the zero window need not wait for a timer that has backed off.
            self.timeout_at = Some(0);
        }
        self.shut = window == 0 && ack < self.nxt;
        let opened = ack + window > self.right;
        self.right = ack + window;
        if window > 0 {
            self.persist_count = 0;
        }
        if self.right > self.nxt {
            self.persist_at = None;
            self.stalled_at = None;
        }
        opened
    }

    /// Takes an acknowledgement in `una ..= nxt`. True when data was acknowledged.
    pub(crate) fn acknowledge(&mut self, now: Nanos, pool: &mut Pool, incoming: &Incoming<'_>) -> bool {
        let Incoming { offset, sacks, .. } = *incoming;
        let prior_flight = self.board.flight();
        let before = self.rate.delivered;
        let advanced = offset > self.una;
        let mut newest: Option<Segment> = None;
        let mut duplicate = false;
        for (index, block) in sacks.iter().enumerate() {
            // RFC 2883: the first block reports a duplicate when it lies below the acknowledgement or inside the second.
            if index == 0
                && (block.end <= offset
                    || sacks.get(1).is_some_and(|next| next.start <= block.start && block.end <= next.end))
            {
                duplicate = true;
                self.rack.duplicate(self.una, self.nxt);
                continue;
            }
            if block.start < offset.max(self.una) || block.end > self.nxt || block.is_empty() {
                continue;
            }
            let (rate, rack, rtt) = (&mut self.rate, &mut self.rack, &self.rtt);
            self.board.sack(block.clone(), |segment| {
                rate.delivered(now, segment);
                rack.delivered(now, segment, rtt);
                keep_newest(&mut newest, segment);
            });
        }
        if advanced {
            let (rate, rack, rtt) = (&mut self.rate, &mut self.rack, &self.rtt);
            // RFC 8985 §6.2 step 2: an echo that is older than the last retransmission is of the original.
            let again =
                |segment: &Segment| incoming.echoed_at.is_none_or(|at| segment.stamp.sent_at / MS <= at / MS);
            self.board.acknowledge(offset, |segment| {
                if segment.place != Place::Sacked {
                    rate.delivered(now, segment);
                    if !segment.retransmitted || again(segment) {
                        rack.delivered(now, segment, rtt);
                    }
                    keep_newest(&mut newest, segment);
                }
            });
            self.una = offset;
            self.buffer.release(pool, offset.min(self.end), offset >= self.end);
            self.rtt.progress();
            if let Some(found) = self.search.as_mut().and_then(|search| search.arrived(now, offset)) {
                self.search = self.search.filter(|search| search.ceiling() > found);
                self.mss = found;
                self.controller.set_mss(found);
            }
        }
        let sample = match newest {
            Some(segment) if !segment.retransmitted => Some(now.saturating_sub(segment.stamp.sent_at).max(1)),
            Some(_) if advanced => incoming.echoed_at.map(|at| (now / MS * MS).saturating_sub(at).max(MS)),
            _ => None,
        };
        if let Some(rtt) = sample {
            self.rtt.sample(now, rtt);
        }
        if advanced && self.after_timeout && incoming.echo_before_timeout {
            self.spurious_timeout();
        }
        self.after_timeout &= !advanced;
        let lost = self.detect(now, advanced, incoming.bare && !advanced && sacks.is_empty());
        self.settle_recovery(now, offset, lost, prior_flight);
        let bare = incoming.bare && !advanced && sacks.is_empty();
        self.settle_probe(now, offset, duplicate, bare, prior_flight);
        let echo = incoming.echo && self.marks;
        self.settle_marks(now, offset, echo, prior_flight);
        let delivered = self.rate.delivered - before;
        if delivered > 0 || lost > 0 {
            let rate = self.rate.sample(self.rtt.minimum());
            let window = self.controller.window();
            self.controller.on_ack(&Ack {
                now,
                delivered,
                flight: self.board.flight(),
                total_delivered: self.rate.delivered,
                rtt: newest.filter(|segment| !segment.retransmitted).and(sample),
                smoothed_rtt: self.rtt.smoothed(),
                rate,
                window_limited: !echo && (self.window_limited || prior_flight * 4 >= window * 3),
                window_full: self.window_limited,
                selective: self.sack,
            });
            self.window_limited = false;
            if self.controller.holds_back() {
                // draft-ietf-ccwg-bbr, MarkConnectionAppLimited.
                self.rate.app_limited(self.board.flight());
            }
            self.update_pacer();
        }
        if advanced || delivered > 0 {
            self.arm(now, advanced);
        }
        advanced
    }

    /// Loss detection by time, and by count where the peer has no SACK.
    pub(super) fn detect(&mut self, now: Nanos, advanced: bool, duplicate: bool) -> u64 {
        if !self.sack {
            if advanced {
                self.duplicates = 0;
                if self.recovery.is_some_and(|point| self.una < point) {
                    return self.lose_first(now);
                }
            } else if duplicate && !self.board.is_empty() {
                self.duplicates += 1;
                if self.duplicates == DUPLICATES && self.recovery.is_none() {
                    return self.lose_first(now);
                }
            }
            return 0;
        }
        let recovering = self.recovery.is_some();
        let mut segments = Vec::new();
        let each = |segment: &Segment| segments.push(*segment);
        let (mut lost, again) = self.rack.detect(now, &mut self.board, &self.rtt, recovering, each);
        self.reorder_at = again;
        for segment in &segments {
            if self.search.is_some_and(|search| search.is_probe(segment.start)) {
                // RFC 8899 §3: it was too large, which is no congestion.
                lost -= u64::from(segment.length);
                continue;
            }
            self.note_lost(now, segment);
        }
        lost
    }

    fn lose_first(&mut self, now: Nanos) -> u64 {
        let Some(segment) = self.board.mark_first() else { return 0 };
        self.note_lost(now, &segment);
        segment.length.into()
    }

    pub(super) fn settle_recovery(&mut self, now: Nanos, offset: u64, lost: u64, prior_flight: u64) {
        if self.recovery.is_some_and(|point| offset >= point) {
            self.recovery = None;
            self.after_timeout = false;
            self.duplicates = 0;
            self.controller.on_recovered(now);
            self.rack.recovered();
        }
        if lost > 0 && self.recovery.is_none() {
            self.recovery = Some(self.nxt);
            if self.controller.on_loss(now, prior_flight) {
                self.reduced();
            }
            self.easing = None;
            self.forced = true;
            self.probe_at = None;
        }
    }

    /// RFC 8985 §7.4.2: a probe that repaired a loss counts as one. What had arrived already is reported as a duplicate, or
    /// acknowledged twice; an acknowledgement of the probe alone leaves it open.
    fn settle_probe(&mut self, now: Nanos, offset: u64, duplicate: bool, bare: bool, prior_flight: u64) {
        let Some(probe) = self.probe.filter(|probe| offset >= probe.end) else { return };
        if !probe.retransmission || duplicate {
            self.probe = None;
        } else if offset > probe.end {
            self.probe = None;
            if self.recovery.is_none() {
                if self.controller.on_loss(now, prior_flight) {
                    self.reduced();
                }
                self.controller.on_recovered(now);
                self.easing = None;
            }
        } else if bare {
            self.probe = None;
        }
    }

    /// RFC 3168 §6.1.2: an echo is answered as a loss would be, once in a round trip and without a retransmission. What was sent
    /// before the last reduction, whatever caused it, was answered by that. No echo lets the window grow.
    fn settle_marks(&mut self, now: Nanos, offset: u64, echo: bool, prior_flight: u64) {
        if self.easing.take_if(|point| offset >= *point).is_some() {
            self.controller.on_recovered(now);
        }
        if !echo || offset <= self.reduced_at {
            return;
        }
        if self.controller.window() <= self.mss {
            // There is no smaller window: the next segment waits for a timeout.
            self.hold_until = now + self.rtt.rto();
            self.timeout_at = self.timeout_at.map(|_| self.hold_until);
        }
        self.marked += 1;
        self.controller.on_mark(&Lost {
            now,
            flight: prior_flight,
            app_limited: self.rate.limited(),
            total_delivered: self.rate.delivered,
            ..Lost::default()
        });
        self.update_pacer();
        self.easing = Some(self.nxt);
        self.reduced();
    }

    /// The window was reduced: the first new data says so (RFC 3168 §6.1.2).
    pub(super) fn reduced(&mut self) {
        self.cwr = self.marks;
        self.reduced_at = self.nxt;
    }

    fn spurious_timeout(&mut self) {
        self.board.restore();
        self.controller.undo();
        self.recovery = None;
        self.after_timeout = false;
    }
}

/// Of several segments delivered together, the one sent last tells the round trip.
fn keep_newest(newest: &mut Option<Segment>, segment: &Segment) {
    if newest.is_none_or(|known| {
        (segment.stamp.sent_at, !segment.retransmitted) >= (known.stamp.sent_at, !known.retransmitted)
    }) {
        *newest = Some(*segment);
    }
}
