//! `warren.toml` and the options that it has, too: accepted findings, fabrics, and the severity of overlaps.

use crate::args::{Check, Level};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::value::{Date, Datetime};
use warren_check::{Day, Exception, Fabric, Fabrics, Rule, Severity};
use warren_model::Position;

/// Name of the settings file.
const NAME: &str = "warren.toml";

/// The settings file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    ignore: Vec<Ignore>,
    #[serde(default)]
    overlap: Overlap,
    #[serde(default)]
    fabric: Vec<Declared>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ignore {
    rule: Spanned<String>,
    address: Spanned<String>,
    reason: Spanned<String>,
    until: Option<Spanned<Datetime>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Overlap {
    connected: Option<Level>,
    unconnected: Option<Level>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    name: Spanned<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    connected_to: Vec<String>,
}

/// What the settings file and the command line set.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) exceptions: Vec<Exception>,
    pub(crate) fabrics: Fabrics,
}

/// The settings of the file, and those of the command line, which count more.
pub(crate) fn load(check: &Check, errors: &mut Vec<String>) -> Settings {
    let mut settings = of_file(check.config.as_deref(), errors);
    settings.exceptions.splice(0..0, check.ignore.iter().cloned());
    set(&mut settings.fabrics, check.connected, check.unconnected);
    settings
}

/// The settings of a file, or of the one that applies in the working directory.
pub(crate) fn of_file(config: Option<&str>, errors: &mut Vec<String>) -> Settings {
    let Some(file) = config.map(PathBuf::from).or_else(search) else { return Settings::default() };
    let name = file.display().to_string();
    let text = std::fs::read(&file)
        .map_err(|error| crate::unreadable(&name, &error))
        .and_then(|bytes| warren_planfile::decode(&name, bytes).map_err(|error| error.to_string()));
    text.and_then(|text| read(&name, &text)).unwrap_or_else(|error| {
        errors.push(error);
        Settings::default()
    })
}

/// Sets the severities that the command line names.
pub(crate) fn set(fabrics: &mut Fabrics, connected: Option<Level>, unconnected: Option<Level>) {
    let severity = |level: Level| match level {
        Level::Error => Some(Severity::Error),
        Level::Warning => Some(Severity::Warning),
        Level::Ignore => None,
    };
    fabrics.connected = connected.map_or(fabrics.connected, severity);
    fabrics.unconnected = unconnected.map_or(fabrics.unconnected, severity);
}

/// The value of `--ignore`: `RULE:ADDRESS`, then `,until=DAY` and `,reason=TEXT` in any order.
pub(crate) fn ignored(text: &str) -> Result<Exception, String> {
    const FORM: &str = "expected RULE:ADDRESS, such as overlap:aws_vpc.old";
    let (rule, rest) = text.split_once(':').ok_or(FORM)?;
    let rule = rule.parse().map_err(|_| unknown(rule))?;
    let (rest, reason) = match rest.split_once(",reason=") {
        Some((rest, reason)) => (rest.to_owned(), Some(reason)),
        None => (rest.to_owned(), None),
    };
    // The day may follow the reason, which may have commas itself.
    let (reason, later) = match reason.and_then(|reason| reason.rsplit_once(",until=")) {
        Some((reason, day)) => (Some(reason), Some(day)),
        None => (reason, None),
    };
    let (address, until) = match rest.split_once(",until=") {
        Some((_, day)) if later.is_some() => {
            return Err(format!("`until` is set twice, as {day}; set it once"));
        }
        Some((address, day)) => (address, Some(day)),
        None => (rest.as_str(), later),
    };
    if address.is_empty() {
        return Err(FORM.to_owned());
    }
    // Keys of instances are quoted, and may contain anything.
    let bare: String = address.split('"').step_by(2).collect();
    if let Some((key, _)) = bare.split_once(',').and_then(|(_, rest)| rest.split_once('=')) {
        return Err(format!("unknown key `{key}`; {}", suggestion(key, &["until", "reason"])));
    }
    if reason.is_some_and(|reason| reason.trim().is_empty()) {
        return Err(format!("`reason` is empty; {}", meaning("reason")));
    }
    let until = until.map(|day| {
        let parsed = day.parse::<Datetime>().ok().and_then(|parsed| day_of(&parsed));
        parsed.ok_or_else(|| format!("`until` is not a day: {day:?}; write one like 2027-01-31"))
    });
    Ok(Exception {
        rule,
        address: address.to_owned(),
        until: until.transpose()?,
        reason: reason.map(str::to_owned),
        place: "--ignore".to_owned(),
    })
}

/// A value that is a day and nothing else.
fn day_of(value: &Datetime) -> Option<Day> {
    match value {
        Datetime { date: Some(Date { year, month, day }), time: None, offset: None } => {
            Some((*year, *month, *day))
        }
        _ => None,
    }
}

/// The current day in UTC.
pub(crate) fn today() -> Day {
    let today = time::OffsetDateTime::now_utc().date();
    (u16::try_from(today.year()).unwrap_or(u16::MAX), today.month().into(), today.day())
}

/// The settings file of the working directory, or of the nearest folder above it that has one. Its path is relative if possible.
fn search() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let file = here.ancestors().map(|folder| folder.join(NAME)).find(|file| file.is_file())?;
    Some(if file.parent() == Some(here.as_path()) { Path::new(NAME).to_owned() } else { file })
}

fn read(name: &str, text: &str) -> Result<Settings, String> {
    let at = |start: usize| {
        let Position { line, column } = warren_planfile::position(text, start);
        format!("{name}:{line}:{column}")
    };
    let bad = |start: usize, why: String| format!("{}: {why}", at(start));
    let file: File = toml::from_str(text)
        .map_err(|error| bad(error.span().unwrap_or(0..0).start, explain(error.message())))?;
    let mut settings = Settings::default();
    set(&mut settings.fabrics, file.overlap.connected, file.overlap.unconnected);
    for entry in file.ignore {
        let start = entry.rule.span().start;
        let rule = entry.rule.as_ref().parse().map_err(|_| bad(start, unknown(entry.rule.as_ref())))?;
        for (key, value) in [("address", &entry.address), ("reason", &entry.reason)] {
            if value.as_ref().trim().is_empty() {
                return Err(bad(value.span().start, format!("`{key}` is empty; {}", meaning(key))));
            }
        }
        let until = entry.until.map(|until| {
            let why = "`until` is not a day; write one like 2027-01-31".to_owned();
            day_of(until.as_ref()).ok_or_else(|| bad(until.span().start, why))
        });
        settings.exceptions.push(Exception {
            rule,
            address: entry.address.into_inner(),
            until: until.transpose()?,
            reason: Some(entry.reason.into_inner()),
            place: at(start),
        });
    }
    for fabric in file.fabric {
        let start = fabric.name.span().start;
        let Declared { name, files, tags, connected_to } = fabric;
        let name = name.into_inner();
        if name.trim().is_empty() {
            return Err(bad(start, "`name` is empty; name the fabric, such as \"production\"".to_owned()));
        }
        if settings.fabrics.declared.iter().any(|known| known.name == name) {
            return Err(bad(start, format!("the fabric `{name}` is declared twice; merge the two tables")));
        }
        let tags = tags.into_iter().collect();
        settings.fabrics.declared.push(Fabric { name, files, tags, connected_to, place: at(start) });
    }
    Ok(settings)
}

fn meaning(key: &str) -> &'static str {
    match key {
        "rule" => "name the rule, such as \"overlap\"",
        "address" => {
            "name a resource or an entry of an address plan, such as \"aws_vpc.old\"; `*` matches any text"
        }
        "name" => "name the fabric, such as \"production\"",
        "reason" => "state why the finding is accepted, such as a ticket",
        _ => "add it",
    }
}

/// The message of the parser in the terms of the file.
fn explain(message: &str) -> String {
    if let Some((key, expected)) =
        message.strip_prefix("unknown field ").map(|rest| rest.split_once(", ").unwrap_or((rest, "")))
    {
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        return format!("unknown key {key}; {}", suggestion(key.trim_matches('`'), &known));
    }
    if let Some((word, _)) =
        message.strip_prefix("unknown variant ").map(|rest| rest.split_once(", ").unwrap_or((rest, "")))
    {
        return format!("unknown severity {word}; write \"error\", \"warning\" or \"ignore\"");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("{key} is missing; {}", meaning(key.trim_matches('`')));
    }
    if message.starts_with("invalid type") {
        return match message.rsplit_once("expected ") {
            Some((_, "a TOML datetime")) => {
                "`until` is not a day; write one like 2027-01-31, without quotes".to_owned()
            }
            Some((_, expected)) => format!("the value has another type; write {}", kind(expected)),
            None => message.to_owned(),
        };
    }
    message.lines().collect::<Vec<_>>().join("; ")
}

/// The type that the parser expects, as TOML calls it.
fn kind(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list, such as [\"a\"]",
        "a map" => "a table, such as { key = \"value\" }",
        _ if expected.starts_with("struct ") => "a table",
        _ if expected.starts_with("string or table") => "\"error\", \"warning\" or \"ignore\"",
        _ => expected,
    }
}

fn unknown(rule: &str) -> String {
    let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    format!("unknown rule `{rule}`; {}", suggestion(rule, &known))
}

fn suggestion(word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(word, known), *known)).min();
    match near.filter(|(distance, _)| *distance <= 2) {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}
