//! Quantities with their units: bits and bytes cannot be confused, and decimal and binary prefixes are both read.

use serde::{Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct Bytes(pub(crate) u64);

/// A data rate in bit/s, as links are sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct BitRate(pub(crate) u64);

/// The rate of a link in bit/s: never zero, so that every transfer over it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LinkRate(pub(crate) NonZeroU64);

/// A data rate in byte/s, as programs report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct ByteRate(pub(crate) u64);

/// A duration in seconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Seconds(pub(crate) f64);

/// An amount of money in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Usd(pub(crate) f64);

/// A part of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Share(pub(crate) f64);

impl Bytes {
    /// The time that the amount needs at a rate: size × 8 / rate.
    pub fn time_at(self, rate: LinkRate) -> Seconds {
        Seconds(self.0 as f64 * 8.0 / rate.0.get() as f64)
    }

    /// The rate that moves the amount within a time, rounded up to whole bit/s: size × 8 / time. None above 10¹⁸ bit/s.
    pub fn rate_within(self, time: Seconds) -> Option<BitRate> {
        whole((self.0 as f64 * 8.0 / time.0).ceil()).map(BitRate)
    }

    /// The amount times a factor. None above 10¹⁸ bytes.
    pub fn times(self, factor: f64) -> Option<Self> {
        whole((self.0 as f64 * factor).round()).map(Self)
    }

    /// The number of bytes.
    pub fn count(self) -> u64 {
        self.0
    }

    /// This many GiB (2³⁰ bytes).
    pub fn from_gib(gib: u64) -> Self {
        Self(gib.saturating_mul(1 << 30))
    }

    /// The amount in GiB (2³⁰ bytes), in which clouds bill traffic.
    pub fn gib(self) -> f64 {
        self.0 as f64 / (1_u64 << 30) as f64
    }
}

impl BitRate {
    /// The same rate in bytes: one byte is eight bits.
    pub fn bytes(self) -> ByteRate {
        ByteRate(self.0 / 8)
    }

    /// The rate times a factor, rounded up.
    pub fn times(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).ceil() as u64)
    }

    /// The part of `link` that the rate uses.
    pub fn of(self, link: LinkRate) -> Share {
        Share(self.0 as f64 / link.0.get() as f64)
    }

    /// The number of bit/s.
    pub fn bits_per_second(self) -> u64 {
        self.0
    }
}

impl LinkRate {
    /// The same rate, to compare it with what is demanded.
    pub fn rate(self) -> BitRate {
        BitRate(self.0.get())
    }
}

impl Seconds {
    /// The number of seconds.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Usd {
    /// The number of US dollars.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Share {
    /// The part, where 1 is the whole.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// A whole amount, unless it is above the largest.
fn whole(value: f64) -> Option<u64> {
    (0.0..=LARGEST).contains(&value).then_some(value as u64)
}

impl ByteRate {
    /// The same rate in bits.
    pub fn bits(self) -> BitRate {
        BitRate(self.0.saturating_mul(8))
    }
}

/// The reason why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong.
    pub message: String,
    /// One thing to do.
    pub hint: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for UnitError {}

const BYTES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("PB", 1e15),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
];

const BITS: &[(&str, f64)] =
    &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)];

const TIMES: &[(&str, f64)] =
    &[("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0), ("days", 86_400.0)];

const COUNTS: &[(&str, f64)] = &[("", 1.0), ("M", 1e6), ("B", 1e9), ("T", 1e12)];

/// Amounts above this many bytes or bit/s are mistakes: 10¹⁸.
pub(crate) const LARGEST: f64 = 1e18;
/// The shortest duration: a step or an interval below it is a mistake.
const SHORTEST: f64 = 1e-3;

/// The number and the unit of a text.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let number: f64 = number.parse().ok()?;
    Some((number, unit.trim_start()))
}

fn parse(text: &str, units: &[(&str, f64)], what: &str, example: &str) -> Result<f64, UnitError> {
    let shown: String = text.chars().take(60).collect();
    let wrong = |hint: String| UnitError { message: format!("{shown:?} is not {what}"), hint };
    let general = || format!("write a number and a unit, such as `{example}`");
    let (number, unit) = split(text).ok_or_else(|| wrong(general()))?;
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let lower = unit.to_ascii_lowercase();
        if lower.ends_with("ps") && what == RATE {
            let hint = "write `Gbit/s` or `Mbit/s` for bits, and `GB/s` or `MB/s` for bytes";
            return Err(wrong(hint.to_owned()));
        }
        let near = units.iter().find(|(name, _)| name.to_ascii_lowercase() == lower && !unit.is_empty());
        return Err(wrong(near.map_or_else(general, |(name, _)| format!("did you mean `{name}`?"))));
    };
    let value = number * factor;
    if value <= 0.0 || value > LARGEST {
        return Err(too_large(text, example));
    }
    Ok(value)
}

fn too_large(text: &str, example: &str) -> UnitError {
    let shown: String = text.chars().take(60).collect();
    UnitError {
        message: format!("{shown:?} is zero or too large"),
        hint: format!("write a value such as `{example}`"),
    }
}

const RATE: &str = "a data rate";

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let value = parse(text, BYTES, "an amount of data", "280 GB")?.round() as u64;
        Ok(Self(value.max(1)))
    }
}

impl FromStr for BitRate {
    type Err = UnitError;

    /// Reads bit/s and byte/s: `1.25 GB/s` is 10 Gbit/s.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Some(bytes) = text.trim().strip_suffix("/s").filter(|text| text.ends_with('B')) {
            let refused =
                |error: UnitError| UnitError { message: format!("{text:?} is not {RATE}"), ..error };
            let value = parse(bytes, BYTES, RATE, "10 Gbit/s").map_err(refused)?;
            let rate = ByteRate((value.round() as u64).max(1)).bits();
            return if rate.0 as f64 <= LARGEST { Ok(rate) } else { Err(too_large(text, "10 Gbit/s")) };
        }
        Ok(Self((parse(text, BITS, RATE, "10 Gbit/s")?.round() as u64).max(1)))
    }
}

impl FromStr for LinkRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        // A rate that was read is at least 1 bit/s.
        let rate: BitRate = text.parse()?;
        Ok(Self(NonZeroU64::new(rate.0).unwrap_or(NonZeroU64::MIN)))
    }
}

impl FromStr for Seconds {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let value = parse(text, TIMES, "a duration", "30 min")?;
        if value < SHORTEST {
            let shown: String = text.chars().take(60).collect();
            return Err(UnitError {
                message: format!("{shown:?} is less than 1 ms"),
                hint: "write a value such as `30 min`".to_owned(),
            });
        }
        Ok(Self(value))
    }
}

/// Reads a number of parameters: `70B`, `350M`, or a plain number such as `7e9`.
///
/// # Errors
/// The text is not a number, or it is not positive.
pub fn parameters(text: &str) -> Result<u64, UnitError> {
    let plain = text.trim().parse::<f64>().ok().filter(|value| (1.0..=LARGEST).contains(value));
    let value = plain.map_or_else(|| parse(text, COUNTS, "a number of parameters", "70B"), Ok)?;
    Ok((value.round() as u64).max(1))
}

/// A number with three significant digits, without zeros at the end of its fraction.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The value in the largest unit in which it is at least 1.
fn scaled(value: f64, units: &[(&str, f64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let unit = units.iter().rev().find(|(_, factor)| value >= *factor).or(units.first());
    let (name, factor) = unit.copied().unwrap_or(("", 1.0));
    f.pad(&format!("{} {name}", digits(value / factor)))
}

impl fmt::Display for Bytes {
    /// Decimal units: 1 GB is 10⁹ bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(self.0 as f64, &BYTES[..6], f)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(self.0 as f64, BITS, f)
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rate().fmt(f)
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)];
        scaled(self.0 as f64, &units, f)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            seconds if seconds < 1.0 => (seconds * 1e3, "ms"),
            seconds if seconds < 120.0 => (seconds, "s"),
            seconds if seconds < 7200.0 => (seconds / 60.0, "min"),
            seconds if seconds < 172_800.0 => (seconds / 3600.0, "h"),
            seconds => (seconds / 86_400.0, "days"),
        };
        f.pad(&format!("{} {unit}", digits(value)))
    }
}

impl fmt::Display for Usd {
    /// Whole dollars with separators; cents below 100 dollars.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 99.995 {
            return f.pad(&format!("${:.2}", self.0));
        }
        let whole = format!("{:.0}", self.0);
        let mut text = String::from("$");
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", digits(self.0 * 100.0)))
    }
}

fn rounded<S: Serializer>(value: f64, places: i32, serializer: S) -> Result<S::Ok, S::Error> {
    let scale = 10_f64.powi(places);
    serializer.serialize_f64((value * scale).round() / scale)
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        rounded(self.0, 3, serializer)
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        rounded(self.0, 2, serializer)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        rounded(self.0, 4, serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_shown_with_their_units() {
        let rate = |text: &str| text.parse::<BitRate>().unwrap();
        assert_eq!(rate("10 Gbit/s"), BitRate(10_000_000_000));
        assert_eq!(rate("1.25GB/s"), rate("10 Gbit/s"), "one byte is eight bits");
        assert_eq!(rate("1 GiB/s").0, 8 * (1 << 30));
        assert_eq!(rate("10 Gbit/s").bytes().to_string(), "1.25 GB/s");
        assert_eq!("1 GB".parse(), Ok(Bytes(1_000_000_000)));
        assert_eq!("1 GiB".parse(), Ok(Bytes(1_073_741_824)));
        assert_eq!("1 GiB".parse::<Bytes>().unwrap().to_string(), "1.07 GB");
        assert_eq!("30 min".parse(), Ok(Seconds(1800.0)));
        assert_eq!(parameters("70B"), Ok(70_000_000_000));
        assert_eq!(parameters("7e9"), parameters("7000000000"));
        assert_eq!(Seconds(1600.0).to_string(), "26.7 min");
        assert_eq!(Usd(1_234_567.4).to_string(), "$1,234,567");
        assert_eq!(Usd(36.5).to_string(), "$36.50");
        assert_eq!(Share(0.142_857).to_string(), "14.3 %");
    }

    #[test]
    fn a_wrong_quantity_is_refused_with_one_hint() {
        let errors = [
            "10".parse::<Bytes>().unwrap_err(),
            "10 gb".parse::<Bytes>().unwrap_err(),
            "GB".parse::<Bytes>().unwrap_err(),
            "0 GB".parse::<Bytes>().unwrap_err(),
            "-1 GB".parse::<Bytes>().unwrap_err(),
            "9999999 PB".parse::<Bytes>().unwrap_err(),
            "900 PB/s".parse::<BitRate>().unwrap_err(),
            "0.1 ms".parse::<Seconds>().unwrap_err(),
            "10 Gbps".parse::<BitRate>().unwrap_err(),
            "10 Gbit".parse::<BitRate>().unwrap_err(),
            "1.2.3 GB/s".parse::<BitRate>().unwrap_err(),
            "5 minutes".parse::<Seconds>().unwrap_err(),
            parameters("70 billion").unwrap_err(),
            parameters("0").unwrap_err(),
        ];
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(text.join("\n"));
    }
}
