//! The attribute `timeouts` of every resource.

use std::time::Duration;

use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, Diagnostics, Path, Value, model};

model! {
    /// Timeouts of operations, such as `10m` or `1h30m`.
    pub struct Timeouts {
        /// Of a create.
        pub create: Attr<String>,
        /// Of a read.
        pub read: Attr<String>,
        /// Of an update.
        pub update: Attr<String>,
        /// Of a delete.
        pub delete: Attr<String>,
    }
}

/// The default timeout.
const DEFAULT: Duration = Duration::from_secs(20 * 60);

/// The attribute `timeouts` of a resource of `cloud`.
pub fn attribute(cloud: &str) -> Attribute {
    let of = |name: &str, what: &str| {
        Attribute::string(name).optional().validate(check).describe(&format!(
            "Timeout for {what} the resource, such as `90s`, `10m` or `1h30m`. Defaults to `20m`."
        ))
    };
    Attribute::nested(
        "timeouts",
        Nesting::Single,
        [of("create", "creating"), of("read", "reading"), of("update", "updating"), of("delete", "deleting")],
    )
    .optional()
    .describe(&format!("Timeouts for operations that wait for {cloud}."))
}

/// The operation of a timeout.
#[derive(Clone, Copy, Debug)]
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
            Operation::Create => timeouts.create.text(),
            Operation::Read => timeouts.read.text(),
            Operation::Update => timeouts.update.text(),
            Operation::Delete => timeouts.delete.text(),
        })
        .and_then(parse)
        .unwrap_or(DEFAULT)
}

/// Parses hours, minutes and seconds in this order: `1h30m`, `10m`, `45s`. `None` for anything else,
/// including zero.
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

fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if parse(text).is_none() {
        diagnostics.error_at(
            path.clone(),
            "Invalid duration",
            format!(
                "{text:?} is not a duration. Use hours, minutes and seconds in this order, such as `90s`, \
                 `10m` or `1h30m`, from one second to 31 days."
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_wrong_duration_is_told() {
        let mut diagnostics = Diagnostics::default();
        check(&Value::from("ten"), &Path::of("timeouts").attribute("create"), &mut diagnostics);
        insta::assert_snapshot!(format!("{}\n{}", diagnostics.0[0].summary, diagnostics.0[0].detail));
    }

    #[test]
    fn what_is_not_said_takes_the_default() {
        let timeouts = Attr::Known(Timeouts { delete: "5s".into(), ..Timeouts::default() });
        assert_eq!(of(&timeouts, Operation::Delete), Duration::from_secs(5));
        assert_eq!(of(&timeouts, Operation::Create), DEFAULT);
        assert_eq!(of(&Attr::Null, Operation::Update), DEFAULT);
    }
}
