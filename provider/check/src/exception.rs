//! Exceptions: findings that a team accepts.

use crate::{Finding, Rule};
use std::fmt;

/// A day of the calendar: year, month and day.
pub type Day = (u16, u8, u8);

/// Hides the findings of a rule about an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The rule.
    pub rule: Rule,
    /// Address of a resource or entry, or of its attribute; `*` matches any text.
    pub address: String,
    /// The last day on which it applies, in UTC. `None` means that it always applies.
    pub until: Option<Day>,
    /// Why the findings are accepted.
    pub reason: Option<String>,
    /// Where it is defined, for messages.
    pub place: String,
}

impl Exception {
    /// Whether it no longer applies on a day.
    pub(crate) fn is_expired(&self, today: Day) -> bool {
        self.until.is_some_and(|until| until < today)
    }

    /// Whether it covers a finding: one of the ranges has the address.
    pub(crate) fn covers(&self, finding: &Finding) -> bool {
        let is = |text: &str| warren_model::policy::matches(&self.address, text);
        finding.rule == self.rule && finding.sides.iter().any(|side| is(&side.name) || is(&side.site.path))
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({})", self.rule, self.address, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_day_counts() {
        let exception = Exception {
            rule: Rule::Overlap,
            address: "*".to_owned(),
            until: Some((2026, 3, 31)),
            reason: None,
            place: "--ignore".to_owned(),
        };
        assert!(!exception.is_expired((2026, 3, 31)));
        assert!(!exception.is_expired((2025, 12, 31)));
        assert!(exception.is_expired((2026, 4, 1)));
        assert!(!Exception { until: None, ..exception }.is_expired((9999, 1, 1)));
    }
}
