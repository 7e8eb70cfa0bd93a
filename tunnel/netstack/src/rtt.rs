//! Round-trip time and the retransmission timeout (RFC 6298).

use crate::seq::{MS, Nanos, SEC};

/// Before the first sample (RFC 6298 §2.1).
const INITIAL_RTO: Nanos = SEC;
/// After a lost SYN (RFC 6298 §5.7).
const LOST_SYN_RTO: Nanos = 3 * SEC;
/// Lower than the RFC's second, as every deployed stack has it: tail losses are TLP's business.
const MIN_RTO: Nanos = 200 * MS;
const MAX_RTO: Nanos = 60 * SEC;
/// The window of the minimum (RFC 8985 §6.2 asks for a windowed minimum).
const MIN_WINDOW: Nanos = 300 * SEC;

/// The estimator.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    smoothed: Nanos,
    variance: Nanos,
    minimum: Nanos,
    minimum_at: Nanos,
    backoff: u32,
    initial: Nanos,
}

impl Rtt {
    pub(crate) fn new() -> Self {
        Self {
            smoothed: 0,
            variance: 0,
            minimum: Nanos::MAX,
            minimum_at: 0,
            backoff: 0,
            initial: INITIAL_RTO,
        }
    }

    /// Takes a sample; the caller has applied Karn's rule.
    pub(crate) fn sample(&mut self, now: Nanos, rtt: Nanos) {
        let rtt = rtt.max(1);
        if self.smoothed == 0 {
            self.smoothed = rtt;
            self.variance = rtt / 2;
        } else {
            let error = self.smoothed.abs_diff(rtt);
            self.variance = self.variance - self.variance / 4 + error / 4;
            self.smoothed = self.smoothed - self.smoothed / 8 + rtt / 8;
        }
        if rtt <= self.minimum || now.saturating_sub(self.minimum_at) > MIN_WINDOW {
            self.minimum = rtt;
            self.minimum_at = now;
        }
        self.backoff = 0;
    }

    /// The smoothed time, when there was a sample.
    pub(crate) fn smoothed(&self) -> Option<Nanos> {
        (self.smoothed != 0).then_some(self.smoothed)
    }

    /// The least time seen lately.
    pub(crate) fn minimum(&self) -> Option<Nanos> {
        (self.minimum != Nanos::MAX).then_some(self.minimum)
    }

    /// The timeout with its backoff (RFC 6298 §2.3, §5.5).
    pub(crate) fn rto(&self) -> Nanos {
        let base = if self.smoothed == 0 {
            self.initial
        } else {
            (self.smoothed + (4 * self.variance).max(MIN_RTO)).max(MIN_RTO)
        };
        (base << self.backoff.min(16)).min(MAX_RTO)
    }

    /// A SYN was lost: the first data waits longer until there is a sample.
    pub(crate) fn syn_lost(&mut self) {
        self.initial = LOST_SYN_RTO;
    }

    /// A timeout has fired.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Timeouts in a row.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Data went through: the path is alive.
    pub(crate) fn progress(&mut self) {
        self.backoff = 0;
    }
}
