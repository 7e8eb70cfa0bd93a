//! The attribute `timeouts` of every resource.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tf_provider_rs::{Attr, Object, text};

/// Timeouts of operations.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct Timeouts {
    /// Timeout for creating the resource, such as `90s`, `10m` or `1h30m`. Defaults to `20m`.
    #[attr(optional)]
    pub create: Attr<Timeout>,
    /// Timeout for reading the resource, such as `90s`, `10m` or `1h30m`. Defaults to `20m`.
    #[attr(optional)]
    pub read: Attr<Timeout>,
    /// Timeout for updating the resource, such as `90s`, `10m` or `1h30m`. Defaults to `20m`.
    #[attr(optional)]
    pub update: Attr<Timeout>,
    /// Timeout for deleting the resource, such as `90s`, `10m` or `1h30m`. Defaults to `20m`.
    #[attr(optional)]
    pub delete: Attr<Timeout>,
}

/// The default timeout.
const DEFAULT: Duration = Duration::from_secs(20 * 60);

/// A duration such as `1h30m`. It keeps its notation, because the state contains what the configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeout {
    text: String,
    duration: Duration,
}

impl Timeout {
    /// The duration.
    pub fn duration(&self) -> Duration {
        self.duration
    }
}

/// A text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADuration;

impl FromStr for Timeout {
    type Err = NotADuration;

    /// Parses hours, minutes and seconds in this order: `1h30m`, `10m`, `45s`. Rejects anything else, including
    /// zero.
    fn from_str(text: &str) -> Result<Timeout, NotADuration> {
        let duration = parse(text).ok_or(NotADuration)?;
        Ok(Timeout { text: text.to_owned(), duration })
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

text!(
    Timeout,
    "a duration of hours, minutes and seconds in this order, such as `90s`, `10m` or `1h30m`, from one second to 31 \
     days"
);

/// The operation of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A create.
    Create,
    /// A read.
    Read,
    /// An update.
    Update,
    /// A delete.
    Delete,
}

/// The configured timeout of an operation, or the default.
pub fn of(timeouts: &Attr<Timeouts>, operation: Operation) -> Duration {
    timeouts
        .known()
        .map(|timeouts| match operation {
            Operation::Create => &timeouts.create,
            Operation::Read => &timeouts.read,
            Operation::Update => &timeouts.update,
            Operation::Delete => &timeouts.delete,
        })
        .and_then(Attr::known)
        .map_or(DEFAULT, |timeout| timeout.duration)
}

fn parse(text: &str) -> Option<Duration> {
    let mut seconds = 0_u64;
    let mut rest = text;
    for (unit, size) in [('h', 3600), ('m', 60), ('s', 1)] {
        let Some((number, tail)) = rest.split_once(unit) else { continue };
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        seconds = seconds.checked_add(number.parse::<u64>().ok()?.checked_mul(size)?)?;
        rest = tail;
    }
    // Limited to a month, so that a deadline is always a valid time.
    (rest.is_empty() && (1..=31 * 24 * 3600).contains(&seconds)).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tf_provider_rs::model::FromValue;
    use tf_provider_rs::{Diagnostic, Path, Value};

    #[test]
    fn durations_are_read_strictly() {
        let seconds = |text| parse(text).map(|d| d.as_secs());
        assert_eq!(seconds("10m"), Some(600));
        assert_eq!(seconds("1h30m"), Some(5400));
        assert_eq!(seconds("1h0m5s"), Some(3605));
        for wrong in ["", "10", "m", "5m1h", "0s", "-1s", "1.5h", "10m ", "99999999999999999999h", "800h"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_duration_keeps_its_notation() {
        assert_eq!("90s".parse::<Timeout>().map(|timeout| timeout.to_string()), Ok("90s".to_owned()));
    }

    #[test]
    fn a_wrong_duration_is_told() {
        let timeouts = Value::object([("create", "ten".into())]);
        let error = Timeouts::from_value(&timeouts, &Path::of("timeouts")).unwrap_err();
        let diagnostic = Diagnostic::from(error);
        insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
    }

    #[test]
    fn what_is_not_said_takes_the_default() {
        let delete = Attr::Known("5s".parse().unwrap());
        let timeouts = Attr::Known(Timeouts { delete, ..Timeouts::default() });
        assert_eq!(of(&timeouts, Operation::Delete), Duration::from_secs(5));
        assert_eq!(of(&timeouts, Operation::Create), DEFAULT);
        assert_eq!(of(&Attr::Null, Operation::Update), DEFAULT);
    }
}
