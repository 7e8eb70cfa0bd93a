//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation).

use crate::scoreboard::{Segment, Stamp};
use crate::seq::{Nanos, SEC};

/// What one acknowledgement says about the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Bytes a second; zero when the interval was too short to tell.
    pub(crate) rate: u64,
    /// Bytes that had been delivered when the newest acknowledged segment was sent, and since then.
    pub(crate) prior_delivered: u64,
    pub(crate) delivered: u64,
    /// Bytes held to be lost since then.
    pub(crate) lost: u64,
    /// What was in flight then, with that segment.
    pub(crate) flight: u64,
    /// The sender had nothing more to send then: the rate is a lower bound.
    pub(crate) app_limited: bool,
}

/// The estimator of one stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rate {
    pub(crate) delivered: u64,
    /// Bytes held to be lost, each time that they are.
    pub(crate) lost: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// Until `delivered` is beyond it, samples are limited by the application; zero for never.
    app_limited_until: u64,
    newest: Option<Stamp>,
}

impl Rate {
    /// The stamp of a segment that leaves now; `flight` includes it.
    pub(crate) fn stamp(&mut self, now: Nanos, idle: bool, flight: u64) -> Stamp {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Stamp {
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.limited(),
            flight,
            lost: self.lost,
        }
    }

    /// There was room to send and nothing to send.
    pub(crate) fn app_limited(&mut self, flight: u64) {
        self.app_limited_until = (self.delivered + flight).max(1);
    }

    /// What is sent now says less of the path than of the application. That includes what follows a pause in which everything was
    /// acknowledged.
    pub(crate) fn limited(&self) -> bool {
        self.app_limited_until > 0 && self.app_limited_until >= self.delivered
    }

    /// A segment was delivered.
    pub(crate) fn delivered(&mut self, now: Nanos, segment: &Segment) {
        self.delivered += u64::from(segment.length);
        self.delivered_at = now;
        let stamp = segment.stamp;
        if self
            .newest
            .is_none_or(|newest| (stamp.delivered, stamp.sent_at) >= (newest.delivered, newest.sent_at))
        {
            self.newest = Some(stamp);
        }
    }

    /// Ends an acknowledgement.
    pub(crate) fn sample(&mut self, least_rtt: Option<Nanos>) -> Option<RateSample> {
        let stamp = self.newest.take()?;
        self.first_sent_at = self.first_sent_at.max(stamp.sent_at);
        let sending = stamp.sent_at.saturating_sub(stamp.first_sent_at);
        let acking = self.delivered_at.saturating_sub(stamp.delivered_at);
        let interval = sending.max(acking);
        // Shorter than any round trip: compressed acknowledgements, not a rate.
        let known = interval > 0 && least_rtt.is_none_or(|least| interval >= least);
        let delivered = self.delivered - stamp.delivered;
        let rate = if known { u128::from(delivered) * u128::from(SEC) / u128::from(interval) } else { 0 };
        Some(RateSample {
            rate: rate as u64,
            prior_delivered: stamp.delivered,
            delivered,
            lost: self.lost - stamp.lost,
            flight: stamp.flight,
            app_limited: stamp.app_limited,
        })
    }
}
