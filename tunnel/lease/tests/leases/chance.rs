//! What goes wrong in a fleet: chance, and the clocks of machines.

use std::time::Duration;

use warren_lease::Now;
use warren_wire::UnixTime;

/// The time of day at the beginning.
const START: u64 = 1_800_000_000;

/// What may happen to the clocks and links of a fleet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// Wall clocks differ by up to so many seconds, from the start.
    pub(crate) offset: i64,
    /// Wall clocks jump by up to as much at any time.
    pub(crate) jumps: bool,
    /// Clocks run too fast or slow by up to so many parts per million.
    pub(crate) drift: i64,
    /// Gateways lose the store for up to so many seconds.
    pub(crate) cuts: u64,
    /// Gateways are suspended for up to so many seconds.
    pub(crate) suspensions: u64,
    /// Gateways start again.
    pub(crate) restarts: bool,
    /// Operators evict pods.
    pub(crate) evictions: bool,
    /// Operators revoke tokens.
    pub(crate) revocations: bool,
    /// Pods restart without their key, and others use their tokens.
    pub(crate) lost_keys: bool,
    /// How long a gateway serves without the store.
    pub(crate) grace: Duration,
    /// When a pod that no gateway serves tries again.
    pub(crate) retry: Duration,
    /// One step of true time: how often a gateway reports handshakes.
    pub(crate) step: Duration,
    /// Whether the store's answers and changes arrive at once.
    pub(crate) prompt: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            offset: 0,
            jumps: false,
            drift: 0,
            cuts: 0,
            suspensions: 0,
            restarts: false,
            evictions: false,
            revocations: false,
            lost_keys: false,
            grace: Duration::from_secs(200),
            retry: Duration::from_secs(5),
            step: Duration::from_secs(5),
            prompt: false,
        }
    }
}

/// A small generator (SplitMix64), so that a seed is a history.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Between `-limit` and `limit`.
    pub(crate) fn around(&mut self, limit: i64) -> i64 {
        self.below(2 * limit.unsigned_abs() + 1) as i64 - limit
    }
}

/// The clocks of one machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Seconds that the wall clock is ahead.
    pub(crate) offset: i64,
    /// Parts per million that both clocks run too fast.
    pub(crate) drift: i64,
}

impl Clock {
    pub(crate) fn run(self, at: Duration) -> Duration {
        let millis = at.as_millis() as i64;
        Duration::from_millis((millis + millis * self.drift / 1_000_000) as u64)
    }

    pub(crate) fn read(self, at: Duration) -> Now {
        let mono = self.run(at);
        let wall = UnixTime::from_secs((START + mono.as_secs()).saturating_add_signed(self.offset));
        Now { mono, wall }
    }
}

/// What a right clock shows.
pub(crate) fn wall(at: Duration) -> UnixTime {
    UnixTime::from_secs(START + at.as_secs())
}

/// The end that a record has, in true time.
pub(crate) fn until(record: &[u8]) -> Duration {
    let record: serde_json::Value = serde_json::from_slice(record).unwrap();
    let until: UnixTime = serde_json::from_value(record["until"].clone()).unwrap();
    Duration::from_secs(until.as_secs() - START)
}
