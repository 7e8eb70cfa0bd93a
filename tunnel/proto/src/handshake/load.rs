//! Under load: when cookies are asked for, and what a source address may then do (whitepaper section 5.3).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use blake2::Blake2sMac256;
use blake2::digest::{KeyInit, Mac};

/// How long the state lasts after the last second in which too many messages came.
const LINGER: Duration = Duration::from_secs(1);
/// Places of the limiter: 64 KiB, made when first under load.
const PLACES: usize = 4096;
/// Handshake messages a second that one source may send under load, and at once.
const RATE: u32 = 20;
const BURST: u32 = 5;
/// A bucket's state is one number: the time at which it is full again.
const INTERVAL: Duration = Duration::from_millis(1000 / RATE as u64);

/// Counts the handshake messages that are offered.
#[derive(Debug)]
pub(crate) struct Load {
    threshold: u32,
    second: Duration,
    count: u32,
    until: Duration,
}

impl Load {
    pub(crate) fn new(threshold: u32) -> Self {
        Self { threshold, second: Duration::ZERO, count: 0, until: Duration::ZERO }
    }

    /// Notes `n` messages and tells whether we are under load.
    pub(crate) fn offered(&mut self, now: Duration, n: u32) -> bool {
        if now.saturating_sub(self.second) >= Duration::from_secs(1) {
            self.second = now;
            self.count = 0;
        }
        self.count = self.count.saturating_add(n);
        if self.count > self.threshold {
            self.until = now + LINGER;
        }
        self.is_under(now)
    }

    pub(crate) fn is_under(&self, now: Duration) -> bool {
        now < self.until
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    tag: u32,
    full_at: Duration,
}

/// A token bucket for each source: an IPv4 address or an IPv6 /64.
///
/// The buckets are found by a keyed hash, so nobody can aim at another's. A full bucket says nothing and is
/// given away; a source that meets one in use shares it.
#[derive(Debug)]
pub(crate) struct SourceLimiter {
    key: [u8; 32],
    buckets: Vec<Bucket>,
}

impl SourceLimiter {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key, buckets: Vec::new() }
    }

    pub(crate) fn allow(&mut self, now: Duration, from: SocketAddr) -> bool {
        if self.buckets.is_empty() {
            self.buckets = vec![Bucket::default(); PLACES];
        }
        let (place, tag) = self.hash(from.ip());
        let bucket = &mut self.buckets[place];
        if bucket.tag != tag && bucket.full_at <= now {
            *bucket = Bucket { tag, full_at: now };
        }
        let full_at = bucket.full_at.max(now) + INTERVAL;
        if full_at > now + INTERVAL * BURST {
            return false;
        }
        bucket.full_at = full_at;
        true
    }

    fn hash(&self, source: IpAddr) -> (usize, u32) {
        let mut mac = <Blake2sMac256 as KeyInit>::new((&self.key).into());
        match source {
            IpAddr::V4(address) => mac.update(&address.octets()),
            IpAddr::V6(address) => mac.update(&address.octets()[..8]),
        }
        let hash = mac.finalize().into_bytes();
        let place = usize::from(u16::from_le_bytes([hash[0], hash[1]])) % PLACES;
        (place, u32::from_le_bytes([hash[2], hash[3], hash[4], hash[5]]))
    }
}
