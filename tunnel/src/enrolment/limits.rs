//! Rate limits of requests: in total, and per source.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use warren_budget::{Buckets, Rate, RateLimit, Source};
use warren_wire::gateway::Limits;

/// Sources that are remembered; see [`Buckets`] for what happens when there are more.
const SOURCES: usize = 65_536;

#[derive(Debug)]
pub(super) struct RequestLimits {
    start: Instant,
    buckets: Mutex<TotalAndSources>,
}

#[derive(Debug)]
struct TotalAndSources {
    limits: Limits,
    all: RateLimit,
    sources: Buckets<Source>,
}

impl RequestLimits {
    pub(super) fn new(limits: &Limits) -> Self {
        let sources = Buckets::new(of_source(limits), SOURCES);
        let buckets = TotalAndSources { limits: *limits, all: of_all(limits), sources };
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
        buckets.sources.set_rate(of_source(limits));
    }

    /// Admits a request from there. One that is not admitted takes nothing from the others.
    ///
    /// # Errors
    /// How long until one would be admitted.
    pub(super) fn admit(&self, from: IpAddr) -> Result<(), Duration> {
        let now = self.start.elapsed();
        let source = Source::from(from);
        let mut buckets = self.buckets.lock();
        buckets.sources.take(now, source, 1000)?;
        if !buckets.all.take(now, 1) {
            buckets.sources.put_back(source, 1000);
            return Err(buckets.all.time_until(now, 1));
        }
        Ok(())
    }
}

fn of_all(limits: &Limits) -> RateLimit {
    let per_second = limits.requests_per_second.into();
    RateLimit::new(per_second, per_second)
}

/// Counts milli-requests, so that a rate below one per second is possible.
fn of_source(limits: &Limits) -> Rate {
    let per_minute = u64::from(limits.requests_per_minute_and_source);
    Rate { per_second: per_minute * 1000 / 60, burst: per_minute * 1000 }
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
    fn many_sources_make_nobody_wait() {
        let limits = RequestLimits::new(&Limits { requests_per_second: u32::MAX, ..Limits::default() });
        for number in 0..70_000_u128 {
            let from = std::net::Ipv6Addr::from((0x2001_0db8 << 96) | (number << 64));
            assert_eq!(limits.admit(from.into()), Ok(()), "{number}");
        }
    }

    #[test]
    fn what_is_refused_to_all_is_not_counted_against_one() {
        let limits =
            Limits { requests_per_second: 1, requests_per_minute_and_source: 5, ..Limits::default() };
        let limits = RequestLimits::new(&limits);
        let from: IpAddr = "192.0.2.1".parse().unwrap();
        let admitted = (0..100).filter(|_| limits.admit(from).is_ok()).count();
        assert!((1..5).contains(&admitted), "{admitted}");
        assert_eq!(
            limits.buckets.lock().sources.take(limits.start.elapsed(), Source::from(from), 1000),
            Ok(())
        );
    }
}
