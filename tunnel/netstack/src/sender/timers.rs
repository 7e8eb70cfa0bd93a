//! The sender's timers and what they do.

use super::*;

impl Sender {
    /// The earliest of the sender's timers.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        [self.timeout_at, self.probe_at, self.reorder_at, self.persist_at, self.pace_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// The path is there again after an outage: what waits for a timer that has backed off is tried now.
    pub(crate) fn nudge(&mut self, now: Nanos) {
        if self.rtt.backoff() > 0 && self.timeout_at.is_some() {
            self.timeout_at = Some(now);
        }
        if self.persist_count > 0 && self.persist_at.is_some() {
            self.persist_at = Some(now);
        }
    }

    /// Runs what is due. True when a retransmission timeout was among it.
    pub(crate) fn expire(&mut self, now: Nanos) -> bool {
        let due = |at: Option<Nanos>| at.is_some_and(|at| at <= now);
        if due(self.pace_at) {
            self.stop_waiting(now);
        }
        if due(self.persist_at) {
            self.persist_at = None;
            self.persist_count += 1;
            self.override_silly = self.right > self.nxt;
            self.ask_window = !self.override_silly;
        }
        if due(self.reorder_at) {
            self.reorder_at = None;
            let prior = self.board.flight();
            let lost = self.detect(now, false, false);
            self.settle_recovery(now, self.una, lost, prior);
            if lost > 0 {
                self.tell_loss(now);
            }
        }
        if due(self.probe_at) {
            self.probe_at = None;
            self.probe_due = !self.board.is_empty();
        }
        if due(self.timeout_at) && !self.board.is_empty() {
            self.timeout(now);
            return true;
        }
        false
    }

    /// The pacer's timer has fired, or is no longer needed.
    pub(super) fn stop_waiting(&mut self, now: Nanos) {
        if self.pace_at.take().is_some_and(|at| at <= now) {
            self.pacer.woken(now);
        }
    }

    /// The controller's bounds follow a loss that no acknowledgement showed.
    pub(super) fn tell_loss(&mut self, now: Nanos) {
        self.controller.on_ack(&Ack {
            now,
            flight: self.board.flight(),
            total_delivered: self.rate.delivered,
            smoothed_rtt: self.rtt.smoothed(),
            selective: self.sack,
            ..Ack::default()
        });
        self.update_pacer();
    }

    /// One segment is held to be lost.
    pub(super) fn note_lost(&mut self, now: Nanos, segment: &Segment) {
        self.rate.lost += u64::from(segment.length);
        self.controller.on_lost(&Lost {
            now,
            start: segment.start,
            length: segment.length.into(),
            flight: segment.stamp.flight,
            lost: self.rate.lost - segment.stamp.lost,
            app_limited: segment.stamp.app_limited,
            total_delivered: self.rate.delivered,
            selective: self.sack,
        });
    }

    /// RFC 6298 §5.4 to §5.6 with RFC 8985 §6.3: the first segment is lost, and what is older than a round trip.
    pub(super) fn timeout(&mut self, now: Nanos) {
        let prior = self.board.flight();
        if self.board.first().is_some_and(|first| first.place == Place::Sacked) {
            self.board.forget_sacks();
        }
        let old = self.rtt.smoothed().map_or(0, |smoothed| smoothed + smoothed / 4);
        let mut lost = Vec::new();
        self.board.mark_late(|segment| {
            let late = segment.stamp.sent_at + old <= now;
            if late {
                lost.push(*segment);
            }
            late
        });
        lost.extend(self.board.mark_first());
        for segment in &lost {
            self.note_lost(now, segment);
        }
        let again = self.rtt.backoff() > 0;
        self.rtt.back_off();
        self.controller.on_timeout(now, prior, again);
        self.reduced();
        self.easing = None;
        self.update_pacer();
        self.recovery = Some(self.nxt);
        self.after_timeout = true;
        self.probe = None;
        self.probe_due = false;
        self.probe_at = None;
        self.reorder_at = None;
        self.duplicates = 0;
        self.forced = true;
        self.timeout_at = Some(now + self.rtt.rto());
    }
}
