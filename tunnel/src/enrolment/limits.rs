//! Rate limits of requests: in total, and per source.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use warren_lease::policy::RateLimit;
use warren_wire::gateway::Limits;

/// Sources that are remembered. When there are more, those that have been quiet are forgotten.
const SOURCES: usize = 65_536;

/// After a minute a source may make all the requests that it may make again.
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct RequestLimits {
    start: Instant,
    buckets: Mutex<Buckets>,
}

#[derive(Debug)]
struct Buckets {
    limits: Limits,
    all: RateLimit,
    sources: BTreeMap<IpAddr, (Duration, RateLimit)>,
}

impl RequestLimits {
    pub(super) fn new(limits: &Limits) -> Self {
        let buckets = Buckets { limits: *limits, all: of_all(limits), sources: BTreeMap::new() };
        Self { start: Instant::now(), buckets: Mutex::new(buckets) }
    }

    /// Goes on with other limits. Who has used up what it may is not let in sooner by that.
    pub(super) fn change(&self, limits: &Limits) {
        let mut buckets = self.buckets.lock();
        if buckets.limits == *limits {
            return;
        }
        buckets.limits = *limits;
        buckets.all = of_all(limits).filled_as(&buckets.all);
        for (_, limit) in buckets.sources.values_mut() {
            *limit = of_source(limits).filled_as(limit);
        }
    }

    /// Admits a request from there. One that is not admitted takes nothing from the others.
    ///
    /// # Errors
    /// How long until one would be admitted.
    pub(super) fn admit(&self, from: IpAddr) -> Result<(), Duration> {
        let now = self.start.elapsed();
        let source = source(from);
        let mut buckets = self.buckets.lock();
        let Buckets { limits, all, sources } = &mut *buckets;
        if sources.len() >= SOURCES && !sources.contains_key(&source) {
            sources.retain(|_, (last, _)| now.saturating_sub(*last) < MINUTE);
            if sources.len() >= SOURCES {
                return Err(MINUTE);
            }
        }
        let (last, limit) = sources.entry(source).or_insert_with(|| (now, of_source(limits)));
        *last = now;
        if !limit.take(now, 1000) {
            return Err(limit.time_until(now, 1000));
        }
        if !all.take(now, 1) {
            limit.put_back(1000);
            return Err(all.time_until(now, 1));
        }
        Ok(())
    }
}

fn of_all(limits: &Limits) -> RateLimit {
    let per_second = limits.requests_per_second.into();
    RateLimit::new(per_second, per_second)
}

/// Counts milli-requests, so that a rate below one per second is possible.
fn of_source(limits: &Limits) -> RateLimit {
    let per_minute = u64::from(limits.requests_per_minute_and_source);
    RateLimit::new(per_minute * 1000 / 60, per_minute * 1000)
}

/// A host with one IPv6 address usually has its /64.
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
        let ask = |address: &str| limits.admit(address.parse().unwrap()).is_ok();
        assert!(ask("192.0.2.1") && ask("::ffff:192.0.2.1"));
        assert!(!ask("192.0.2.1"));
        let wait = limits.admit("192.0.2.1".parse().unwrap()).unwrap_err();
        assert!((28..=30).contains(&wait.as_secs()), "{wait:?}");
        assert!(ask("192.0.2.2"));
        assert!(ask("2001:db8::1") && ask("2001:db8::2") && !ask("2001:db8::3") && ask("2001:db8:0:1::1"));
    }

    #[test]
    fn what_is_refused_to_all_is_not_counted_against_one() {
        let limits =
            Limits { requests_per_second: 1, requests_per_minute_and_source: 5, ..Limits::default() };
        let limits = RequestLimits::new(&limits);
        let from = "192.0.2.1".parse().unwrap();
        let admitted = (0..100).filter(|_| limits.admit(from).is_ok()).count();
        assert!((1..5).contains(&admitted), "{admitted}");
        assert!(limits.buckets.lock().sources[&from].1.take(limits.start.elapsed(), 1000));
    }
}
