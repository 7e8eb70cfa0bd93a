//! How many requests are answered: of everybody together, and of one source.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use warren_proto::policy::RateLimit;
use warren_wire::gateway::Limits;

/// Sources that are remembered. When there are more, those that have been quiet are forgotten.
const SOURCES: usize = 65_536;

#[derive(Debug)]
pub(super) struct RequestLimits {
    start: Instant,
    all: RateLimit,
    per_minute: u64,
    sources: Mutex<BTreeMap<IpAddr, (Duration, RateLimit)>>,
}

impl RequestLimits {
    pub(super) fn new(limits: &Limits) -> Self {
        let per_second = u64::from(limits.requests_per_second);
        Self {
            start: Instant::now(),
            all: RateLimit::new(per_second, per_second),
            per_minute: limits.requests_per_minute_and_source.into(),
            sources: Mutex::default(),
        }
    }

    /// Whether a request from there is answered. One that is not takes nothing from the others.
    pub(super) fn admit(&self, from: IpAddr) -> bool {
        let now = self.start.elapsed();
        let source = source(from);
        let mut sources = self.sources.lock();
        if sources.len() >= SOURCES && !sources.contains_key(&source) {
            // After a minute a source may do all it may do again: nothing is lost with it.
            sources.retain(|_, (last, _)| now.saturating_sub(*last) < Duration::from_secs(60));
            if sources.len() >= SOURCES {
                return false;
            }
        }
        let burst = self.per_minute;
        // Milli-requests, so that less than one a second can be said.
        let fresh = || (now, RateLimit::new(self.per_minute * 1000 / 60, burst * 1000));
        let (last, limit) = sources.entry(source).or_insert_with(fresh);
        *last = now;
        if !limit.take(now, 1000) {
            return false;
        }
        if self.all.take(now, 1) {
            return true;
        }
        limit.put_back(1000);
        false
    }
}

/// Who has one IPv6 address mostly has its /64.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_subnet() {
        let limits = Limits { requests_per_minute_and_source: 2, ..Limits::default() };
        let limits = RequestLimits::new(&limits);
        let ask = |address: &str| limits.admit(address.parse().unwrap());
        assert!(ask("192.0.2.1") && ask("::ffff:192.0.2.1"));
        assert!(!ask("192.0.2.1"));
        assert!(ask("192.0.2.2"));
        assert!(ask("2001:db8::1") && ask("2001:db8::2") && !ask("2001:db8::3") && ask("2001:db8:0:1::1"));
    }

    #[test]
    fn what_is_refused_to_all_is_not_counted_against_one() {
        let limits =
            Limits { requests_per_second: 1, requests_per_minute_and_source: 5, ..Limits::default() };
        let limits = RequestLimits::new(&limits);
        let from = "192.0.2.1".parse().unwrap();
        let admitted = (0..100).filter(|_| limits.admit(from)).count();
        assert!((1..5).contains(&admitted), "{admitted}");
        assert!(limits.sources.lock()[&from].1.take(limits.start.elapsed(), 1000));
    }
}
