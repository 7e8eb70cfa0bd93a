//! Points in time, in whole seconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::text::serde_as_text;

/// Seconds since the UNIX epoch, up to the end of the year 9999. In texts: RFC 3339, printed in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixTime(u64);

serde_as_text!(UnixTime);

/// The error for a text that is not a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a point in time; write it like 2027-01-31T12:00:00Z")]
pub struct TimeError;

impl UnixTime {
    /// 9999-12-31T23:59:59Z: later ones have no RFC 3339 form.
    pub const MAX: Self = Self(253_402_300_799);

    /// Seconds since the epoch; what is later than [`UnixTime::MAX`] is that.
    #[must_use]
    pub fn from_secs(seconds: u64) -> Self {
        Self(seconds.min(Self::MAX.0))
    }

    /// Time since the epoch, rounded down.
    #[must_use]
    pub fn from_epoch(elapsed: Duration) -> Self {
        Self::from_secs(elapsed.as_secs())
    }

    /// Seconds since the epoch.
    #[must_use]
    pub fn as_secs(self) -> u64 {
        self.0
    }

    /// Later by whole seconds of a duration.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self::from_secs(self.0.saturating_add(duration.as_secs()))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.0.saturating_sub(earlier.0))
    }
}

impl FromStr for UnixTime {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| TimeError)?;
        let seconds = u64::try_from(time.unix_timestamp()).map_err(|_| TimeError)?;
        (seconds <= Self::MAX.0).then_some(Self(seconds)).ok_or(TimeError)
    }
}

impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.0).map_err(|_| fmt::Error)?;
        let time = OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| fmt::Error)?;
        f.pad(&time.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip_and_bad_ones_do_not_panic() {
        for seconds in [0, 1_800_000_000, UnixTime::MAX.as_secs()] {
            let time = UnixTime::from_secs(seconds);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        assert_eq!("2027-01-15T09:00:00+01:00".parse(), Ok(UnixTime::from_secs(1_800_000_000)));
        for bad in
            ["", "1969-12-31T23:59:59Z", "2027-01-15", "9999-12-31T23:59:59-01:00", "2027-13-01T00:00:00Z"]
        {
            assert_eq!(bad.parse::<UnixTime>(), Err(TimeError), "{bad}");
        }
        assert_eq!(UnixTime::from_secs(u64::MAX), UnixTime::MAX);
    }
}
