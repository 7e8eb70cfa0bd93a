//! Times as the service writes them.

use std::time::{Duration, UNIX_EPOCH};

/// Year, month from 1, day of the month from 1.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is a year's last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_month)
}

fn clock(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// As in lists, such as `2026-03-01T12:00:00.123Z`.
pub(super) fn listed(millis: u64) -> String {
    let seconds = millis / 1000;
    let (year, month, day) = date(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}T{}.{:03}Z", clock(seconds), millis % 1000)
}

/// As in headers, such as `Sun, 01 Mar 2026 12:00:00 GMT`.
pub(super) fn header(millis: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = millis / 1000;
    let days = seconds / 86_400;
    let (year, month, day) = date(days);
    let (weekday, month) = (DAYS[(days % 7) as usize], MONTHS[(month - 1) as usize]);
    format!("{weekday}, {day:02} {month} {year:04} {} GMT", clock(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(listed(1_772_366_400_123), "2026-03-01T12:00:00.123Z");
        assert_eq!(header(1_772_366_400_123), "Sun, 01 Mar 2026 12:00:00 GMT");
        assert_eq!(header(1_709_164_800_000), "Thu, 29 Feb 2024 00:00:00 GMT");
    }
}
