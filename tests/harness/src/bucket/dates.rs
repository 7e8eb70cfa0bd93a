//! Times as the service writes them.

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// As in lists, such as `2026-03-01T12:00:00.123Z`.
const LISTED: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
/// As in headers, such as `Sun, 01 Mar 2026 12:00:00 GMT`.
const HEADER: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

pub(super) fn listed(time: OffsetDateTime) -> String {
    time.format(LISTED).unwrap_or_default()
}

pub(super) fn header(time: OffsetDateTime) -> String {
    time.format(HEADER).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn times_are_those_of_the_service() {
        let noon = datetime!(2026-03-01 12:00:00.123 UTC);
        assert_eq!(listed(noon), "2026-03-01T12:00:00.123Z");
        assert_eq!(header(noon), "Sun, 01 Mar 2026 12:00:00 GMT");
    }
}
