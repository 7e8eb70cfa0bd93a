//! How many requests run at the same time: as many as the path and the store carry. The decisions are pure.
//!
//! ```text
//! start ─► double, while that carries a fifth more ─► hold ─► try a third fewer, or half as many again ─► hold
//!   ▲                                                  │  ▲
//!   └── requests of another size ──────────────────────┘  └── 429 or 503: half as many, for longer
//! ```
//!
//! What a limit carries follows from Little's law: requests in flight, times the work of one, by its duration. This needs no
//! clock between requests, so pauses and a lack of work do not look like a slow path. Work is bytes and a constant for each
//! request, so that small objects are counted and large ones weighed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Requests at the beginning.
const BEGIN: usize = 32;
/// Fewest requests that are tried; refusals may ask for fewer.
const LEAST: usize = 4;
/// What a request costs beside its bytes, in bytes.
const REQUEST: f64 = (128 << 10) as f64;
/// How much more must be carried to double again.
const WORTH: f64 = 1.2;
/// How much more must be carried to keep a larger limit.
const MORE: f64 = 1.03;
/// How far the work of a request may differ from before; beyond, the load is another one.
const OTHER: f64 = 4.0;
/// Part of the limit that must be in flight, for a round to say something about it.
const USED: f64 = 0.8;
/// Rounds between two tries.
const ROUNDS: u32 = 8;
/// The same, after many refusals.
const MOST_ROUNDS: u32 = 256;
/// Fewest requests that a round is judged by.
const FEWEST: usize = 8;

/// The limit, without a clock.
#[derive(Debug)]
pub struct Limit {
    now: usize,
    most: usize,
    phase: Phase,
    /// The limit that is kept, and what it carries.
    held: Option<Held>,
    round: Round,
    /// Changes of the limit. Requests that began before the last one say nothing about it.
    changes: u64,
    /// Requests since the last change.
    begun: usize,
    /// Whether the last change was a refusal.
    refused: bool,
    /// Rounds between two tries.
    rounds: u32,
    /// Whether the next try is of more requests.
    upwards: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// Doubles while it is worth it.
    Doubles,
    /// Tries another limit than the held one.
    Tries,
    /// Keeps the limit for this many rounds.
    Holds(u32),
}

#[derive(Debug, Clone, Copy)]
struct Held {
    limit: usize,
    /// Work a second.
    carries: f64,
    /// The work of one request.
    work: f64,
}

/// Requests of one round, summed up.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    requests: usize,
    beside: usize,
    bytes: u64,
    seconds: f64,
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    change: u64,
    /// The first requests after a change may open their connections, so they are not judged.
    judged: bool,
    beside: usize,
}

impl Limit {
    /// At most `most` requests.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            now: BEGIN.min(most),
            most,
            phase: Phase::Doubles,
            held: None,
            round: Round::default(),
            changes: 0,
            begun: 0,
            refused: false,
            rounds: ROUNDS,
            upwards: false,
        }
    }

    /// Requests that may run now.
    pub fn now(&self) -> usize {
        self.now
    }

    /// A request begins, with `beside` in flight including itself.
    pub fn begin(&mut self, beside: usize) -> Begun {
        let judged = self.begun >= self.now;
        self.begun += 1;
        Begun { change: self.changes, judged, beside }
    }

    /// A request has moved its bytes.
    pub fn end(&mut self, request: Begun, bytes: u64, took: Duration) {
        if request.change != self.changes || !request.judged {
            return;
        }
        self.round.requests += 1;
        self.round.beside += request.beside;
        self.round.bytes += bytes;
        self.round.seconds += took.as_secs_f64();
        if self.round.requests >= self.now.max(FEWEST) {
            let round = std::mem::take(&mut self.round);
            self.judge(round);
        }
    }

    /// The store refuses requests because there are too many.
    pub fn refuse(&mut self) {
        // Those in flight are refused for the same reason.
        if self.refused && self.begun < 2 * self.now {
            return;
        }
        self.rounds = (2 * self.rounds).min(MOST_ROUNDS);
        self.upwards = true;
        self.held = None;
        self.set(self.now / 2, Phase::Holds(self.rounds));
        self.refused = true;
    }

    fn judge(&mut self, round: Round) {
        let requests = round.requests as f64;
        let beside = round.beside as f64 / requests;
        if beside < USED * self.now as f64 {
            // Something else is the limit.
            if let (Phase::Tries, Some(held)) = (self.phase, self.held) {
                self.set(held.limit, Phase::Holds(self.rounds));
            }
            return;
        }
        let work = round.bytes as f64 / requests + REQUEST;
        let carries = beside * work * requests / round.seconds.max(1e-6);
        let found = Held { limit: self.now, carries, work };
        let other = |held: &Held| !(1.0 / OTHER..=OTHER).contains(&(held.work / work));
        let Some(held) = self.held.filter(|held| !other(held)) else {
            let double = self.phase == Phase::Doubles || self.held.is_some() && self.rounds == ROUNDS;
            self.held = Some(found);
            match double {
                true => self.double(),
                false if self.phase == Phase::Tries => self.phase = Phase::Holds(self.rounds),
                false => {}
            }
            return;
        };
        let times = carries / held.carries;
        match self.phase {
            Phase::Holds(rounds) => {
                // The path may change slowly.
                self.held = Some(Held { carries: f64::midpoint(carries, held.carries), ..found });
                self.phase = Phase::Holds(rounds.saturating_sub(1));
                if rounds <= 1 {
                    self.attempt();
                }
            }
            _ if self.now > held.limit && times >= WORTH => {
                self.held = Some(found);
                self.rounds = (self.rounds / 2).max(ROUNDS);
                self.double();
            }
            _ if times >= if self.now > held.limit { MORE } else { 1.0 } => {
                self.held = Some(found);
                self.phase = Phase::Holds(self.rounds);
            }
            _ => self.set(held.limit, Phase::Holds(self.rounds)),
        }
    }

    fn double(&mut self) {
        match (2 * self.now).min(self.most) {
            more if more > self.now => self.set(more, Phase::Doubles),
            _ => self.phase = Phase::Holds(self.rounds),
        }
    }

    fn attempt(&mut self) {
        let tried = if self.upwards { self.now.div_ceil(2) + self.now } else { self.now * 2 / 3 };
        let tried = tried.clamp(LEAST.min(self.now), self.most);
        self.upwards = !self.upwards;
        match tried == self.now {
            true => self.phase = Phase::Holds(self.rounds),
            false => self.set(tried, Phase::Tries),
        }
    }

    fn set(&mut self, limit: usize, phase: Phase) {
        self.now = limit.clamp(1, self.most);
        self.phase = phase;
        self.round = Round::default();
        self.changes += 1;
        self.begun = 0;
        self.refused = false;
    }
}

/// Answers by which stores refuse requests because there are too many, as the HTTP client counts them.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<AtomicU64>);

impl Refusals {
    /// One more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Slots for requests, as many as the limit says.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    state: Mutex<State>,
    refusals: Refusals,
}

#[derive(Debug)]
struct State {
    limit: Limit,
    /// Slots that exist, taken or free.
    exist: usize,
    refused: u64,
}

/// The slot of one request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    slots: &'a Slots,
    permit: Option<OwnedSemaphorePermit>,
    request: Begun,
    begun: Instant,
    moved: Option<u64>,
}

impl Slots {
    pub(crate) fn new(most: usize, refusals: Refusals) -> Self {
        let limit = Limit::new(most);
        let (exist, refused) = (limit.now(), refusals.count());
        let state = State { limit, exist, refused };
        Self { free: Arc::new(Semaphore::new(exist)), state: Mutex::new(state), refusals }
    }

    /// Waits for a slot.
    pub(crate) async fn take(&self) -> Slot<'_> {
        // It is never closed.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        let mut state = self.state.lock();
        // A slot whose waiter has not run yet is taken.
        let taken = state.exist.saturating_sub(self.free.available_permits());
        let request = state.limit.begin(taken);
        Slot { slots: self, permit, request, begun: Instant::now(), moved: None }
    }
}

impl Slot<'_> {
    /// The request was successful, and has moved this many bytes.
    pub(crate) fn moved(&mut self, bytes: u64) {
        self.moved = Some(bytes);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.slots.state.lock();
        let refused = self.slots.refusals.count();
        if refused > state.refused {
            state.refused = refused;
            state.limit.refuse();
        } else if let Some(bytes) = self.moved {
            state.limit.end(self.request, bytes, self.begun.elapsed());
        }
        let limit = state.limit.now();
        if state.exist > limit {
            state.exist -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        } else if state.exist < limit {
            self.slots.free.add_permits(limit - state.exist);
            state.exist = limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use super::*;

    /// A path and a store in virtual time: each request takes the round trip, and its turn at one of the store's workers.
    struct Path {
        round_trip: Duration,
        workers: usize,
        /// Of a worker, for each request.
        works: Duration,
        /// Bytes a second; all requests share them.
        bytes: f64,
        /// More requests in flight than this are refused.
        refuses: usize,
    }

    const FAST: Path = Path {
        round_trip: Duration::from_millis(80),
        workers: 1_000,
        works: Duration::from_millis(1),
        bytes: 1e12,
        refuses: usize::MAX,
    };

    /// Runs requests of `size` bytes one after the other in as many slots as there are; the time, and refused requests.
    fn run(limit: &mut Limit, path: &Path, requests: usize, size: u64) -> (Duration, usize) {
        let (mut now, mut left, mut refused) = (Duration::ZERO, requests, 0);
        let mut flying = BinaryHeap::new();
        let mut workers = vec![Duration::ZERO; path.workers];
        let mut wire = Duration::ZERO;
        let mut tickets = Vec::new();
        while left > 0 || !flying.is_empty() {
            while left > 0 && flying.len() < limit.now() {
                left -= 1;
                if flying.len() >= path.refuses {
                    refused += 1;
                    limit.refuse();
                    left += 1;
                    now += Duration::from_millis(1);
                    continue;
                }
                let begun = limit.begin(flying.len() + 1);
                let at = now + path.round_trip / 2;
                let worker = workers.iter_mut().min().unwrap();
                *worker = (*worker).max(at) + path.works;
                wire = wire.max(*worker) + Duration::from_secs_f64(size as f64 / path.bytes);
                tickets.push((begun, now));
                flying.push(Reverse((wire + path.round_trip / 2, tickets.len() - 1)));
            }
            if let Some(Reverse((end, index))) = flying.pop() {
                now = now.max(end);
                let (begun, from) = tickets[index];
                limit.end(begun, size, now - from);
            }
        }
        (now, refused)
    }

    #[test]
    fn small_objects_on_a_long_path_get_all_requests() {
        let mut limit = Limit::new(256);
        let (took, _) = run(&mut limit, &FAST, 4_000, 16 << 10);
        assert_eq!(limit.now(), 256);
        // 32 requests at a time would take 10.1 s, and 256 from the beginning 1.3 s.
        assert!(took < Duration::from_secs(2), "{took:?}");
    }

    #[test]
    fn a_slow_store_gets_no_more() {
        let slow = Path { workers: 8, works: Duration::from_millis(50), ..FAST };
        let mut limit = Limit::new(256);
        let (took, _) = run(&mut limit, &slow, 4_000, 16 << 10);
        assert!(limit.now() <= 48, "{limit:?}");
        let best = Duration::from_millis(50) * 4_000 / 8;
        assert!(took < best * 11 / 10, "{took:?}");
        let mut limit = Limit::new(256);
        run(&mut limit, &Path { round_trip: Duration::ZERO, ..slow }, 4_000, 16 << 10);
        assert!(limit.now() <= 32, "{limit:?}");
    }

    #[test]
    fn a_full_path_gets_no_more() {
        let full = Path { bytes: 125e6, ..FAST };
        let mut limit = Limit::new(256);
        run(&mut limit, &full, 1_000, 8 << 20);
        assert!(limit.now() <= 48, "{limit:?}");
        // Small objects after large ones begin anew.
        run(&mut limit, &full, 6_000, 16 << 10);
        assert!(limit.now() >= 128, "{limit:?}");
    }

    #[test]
    fn refusals_halve_and_become_rare() {
        let strict = Path { refuses: 20, ..FAST };
        let mut limit = Limit::new(256);
        let (took, refused) = run(&mut limit, &strict, 20_000, 16 << 10);
        assert!((8..=20).contains(&limit.now()), "{limit:?}");
        assert!(refused < 100, "{refused}");
        // With 20 at a time.
        let best = Duration::from_millis(81) * 20_000 / 20;
        assert!(took < best * 2, "{took:?}");
    }

    #[test]
    fn what_is_not_used_is_not_raised() {
        let mut limit = Limit::new(256);
        for _ in 0..5_000 {
            let begun = limit.begin(8);
            limit.end(begun, 8 << 20, Duration::from_millis(500));
        }
        assert_eq!(limit.now(), BEGIN);
        assert_eq!(Limit::new(3).now(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn slots_follow_the_limit() {
        let refusals = Refusals::default();
        let slots = Slots::new(256, refusals.clone());
        let all = async |requests: usize| {
            let work = (0..requests).map(|_| async {
                let mut slot = slots.take().await;
                tokio::time::sleep(Duration::from_millis(80)).await;
                slot.moved(1);
            });
            futures_util::future::join_all(work).await;
        };
        all(3_000).await;
        assert_eq!(slots.free.available_permits(), 256);
        // A request that was dropped is not judged.
        drop(slots.take().await);
        refusals.add();
        all(2_000).await;
        assert_eq!(slots.free.available_permits(), 128);
    }
}
