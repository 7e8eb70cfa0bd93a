//! Durations such as `90s` and `10m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Whole seconds; in texts `90s`, `10m`, `24h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(Duration);

crate::text::serde_as_text!(Period);

/// The error for a text that is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a duration; write a number and a unit, like 90s, 10m, 24h or 7d")]
pub struct PeriodError;

const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];

impl Period {
    /// Whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// As a duration.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Self, PeriodError> {
        let (number, factor) = UNITS
            .iter()
            .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
            .ok_or(PeriodError)?;
        if number.is_empty() || !number.bytes().all(|c| c.is_ascii_digit()) {
            return Err(PeriodError);
        }
        let number: u64 = number.parse().map_err(|_| PeriodError)?;
        number.checked_mul(factor).map(Self::from_secs).ok_or(PeriodError)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let whole = UNITS.iter().find(|(_, factor)| seconds != 0 && seconds.is_multiple_of(*factor));
        let (unit, factor) = whole.copied().unwrap_or(("s", 1));
        write!(f, "{}{unit}", seconds / factor)
    }
}
