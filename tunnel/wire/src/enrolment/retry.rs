//! When a refused request is repeated, and where.
//!
//! The gateway names the earliest time in `Retry-After` (RFC 9110 section 10.2.3). A client adds jitter, so that clients
//! refused at the same moment do not return at the same moment.

use std::time::{Duration, SystemTime};

use crate::UnixTime;

/// The longest time that a client waits because a gateway has asked it to.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(600);
/// The part of a delay that jitter may add, at most.
const JITTER: f64 = 0.25;

/// Whether another attempt with the same token and key may succeed, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retry {
    /// No gateway accepts it, now or later.
    Never,
    /// Another gateway may accept it; this one will not.
    Elsewhere,
    /// Another gateway may accept it now, and this one later.
    Later,
}

/// Parses the value of `Retry-After`: seconds, or a date of RFC 9110 section 5.6.7 in any of its three forms.
///
/// `None` if it is neither. A date in the past is a delay of zero.
#[must_use]
pub fn parse_retry_after(value: &str, now: UnixTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are still a delay, if an absurd one.
        return Some(value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let since_epoch = date.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Some(UnixTime::from_epoch(since_epoch).since(now))
}

/// A delay with jitter: never shorter, and up to a quarter longer. `random` is uniform.
#[must_use]
pub fn with_jitter(delay: Duration, random: u32) -> Duration {
    delay.saturating_add(delay.min(RETRY_AFTER_MAX).mul_f64(JITTER * f64::from(random) / f64::from(u32::MAX)))
}

/// The seconds of a `Retry-After`: rounded up, at least one.
pub(super) fn whole_seconds(delay: Duration) -> u32 {
    let seconds = delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0));
    u32::try_from(seconds.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the example of RFC 9110.
    const NOVEMBER: u64 = 784_111_777;

    #[test]
    fn both_forms_are_read() {
        let now = UnixTime::from_secs(NOVEMBER - 90);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (value, delay) in [
            ("120", seconds(120)),
            (" 0 ", seconds(0)),
            ("99999999999999999999999", Some(Duration::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", seconds(90)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", seconds(90)),
            ("Sun Nov  6 08:49:37 1994", seconds(90)),
            ("Sun, 06 Nov 1988 08:49:37 GMT", seconds(0)),
            ("", None),
            ("-1", None),
            ("+5", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994", None),
        ] {
            assert_eq!(parse_retry_after(value, now), delay, "{value}");
        }
    }

    #[test]
    fn a_delay_is_announced_in_whole_seconds() {
        let millis = Duration::from_millis;
        for (delay, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (u64::MAX, u32::MAX)] {
            assert_eq!(whole_seconds(millis(delay)), seconds, "{delay} ms");
        }
    }

    proptest! {
        #[test]
        fn jitter_never_shortens_a_delay(seconds in 0..100_000_u64, random in any::<u32>()) {
            let delay = Duration::from_secs(seconds);
            let with = with_jitter(delay, random);
            prop_assert!(with >= delay && with <= delay + delay.mul_f64(0.251));
        }

        #[test]
        fn any_value_is_read_or_refused_without_a_panic(value in ".{0,40}", now in any::<u64>()) {
            _ = parse_retry_after(&value, UnixTime::from_secs(now));
        }

        #[test]
        fn a_date_is_as_far_away_as_it_says(now in 0..4_000_000_000_u64, delay in 0..1_000_000_u64) {
            let date = SystemTime::UNIX_EPOCH + Duration::from_secs(now + delay);
            let read = parse_retry_after(&httpdate::fmt_http_date(date), UnixTime::from_secs(now));
            prop_assert_eq!(read, Some(Duration::from_secs(delay)));
        }
    }
}
