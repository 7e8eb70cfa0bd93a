//! The rate of calls to one service.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Calls that may begin at once.
const BURST: f64 = 100.0;
/// Calls per second at most.
const MOST: f64 = 100.0;
/// Calls per second at least.
const LEAST: f64 = 2.0;
/// By how many calls per second the rate grows in each second without throttling.
const GROWTH: f64 = 1.0;
/// Throttled responses within this time count as one, because their calls began at the same rate.
const EPOCH: Duration = Duration::from_millis(500);

/// The budget of a service: a token bucket that every attempt of every call takes from. A throttled call halves its rate,
/// which then grows slowly, so that a run of any size settles at the rate that the cloud grants, whatever else uses the
/// account.
#[derive(Debug)]
pub struct Budget(Mutex<Bucket>);

#[derive(Debug)]
pub(super) struct Bucket {
    tokens: f64,
    /// When `tokens` was computed.
    at: Instant,
    /// The rate after the last reduction.
    rate: f64,
    /// When the rate was reduced last.
    reduced: Option<Instant>,
    /// When the call that waits longest in line may try again.
    line: Instant,
    /// No call begins before.
    held: Instant,
}

impl Bucket {
    pub(super) fn new(now: Instant) -> Bucket {
        Bucket { tokens: BURST, at: now, rate: MOST, reduced: None, line: now, held: now }
    }

    fn rate(&self, now: Instant) -> f64 {
        let growth = self.reduced.map_or(0.0, |at| (now - at).as_secs_f64() * GROWTH);
        (self.rate + growth).min(MOST)
    }

    fn refill(&mut self, now: Instant) {
        let gained = (now - self.at).as_secs_f64() * self.rate(now);
        // A service that throttles grants no burst.
        let most = if self.reduced.is_some() { self.rate(now).clamp(1.0, BURST) } else { BURST };
        self.tokens = (self.tokens + gained).min(most);
        self.at = now;
    }

    /// Takes a token, or returns how long to wait before trying again.
    pub(super) fn take(&mut self, now: Instant) -> Option<Duration> {
        self.refill(now);
        if now < self.held {
            return Some(self.held - now);
        }
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return None;
        }
        // Each waiting call tries at a time of its own.
        let missing = Duration::from_secs_f64((1.0 - self.tokens) / self.rate(now));
        let step = Duration::from_secs_f64(1.0 / self.rate(now));
        self.line = (self.line + step).max(now + missing);
        Some(self.line - now)
    }

    pub(super) fn throttled(&mut self, now: Instant) {
        self.refill(now);
        if self.reduced.is_none_or(|at| now >= at + EPOCH) {
            self.rate = (self.rate(now) / 2.0).max(LEAST);
            self.reduced = Some(now);
            self.tokens = self.tokens.min(0.0);
        }
    }
}

impl Budget {
    /// The budget of a service, which all clients of this process share.
    pub fn of(service: &str) -> Arc<Budget> {
        static ALL: Mutex<BTreeMap<String, Arc<Budget>>> = Mutex::new(BTreeMap::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(service.to_owned()).or_default())
    }

    /// Waits until a call may begin, or until its operation ends.
    pub async fn admit(&self) {
        loop {
            let wait = self.bucket().take(Instant::now());
            let Some(wait) = wait else { return };
            if !super::pause(wait).await {
                return;
            }
        }
    }

    /// Records that the cloud throttled a call.
    pub fn throttled(&self) {
        self.bucket().throttled(Instant::now());
    }

    /// Lets no call begin for a while, which the cloud has requested.
    pub fn hold(&self, wait: Duration) {
        let mut bucket = self.bucket();
        bucket.held = bucket.held.max(Instant::now() + wait);
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget(Mutex::new(Bucket::new(Instant::now())))
    }
}
