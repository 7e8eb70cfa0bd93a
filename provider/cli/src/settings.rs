//! `warren.toml` and `--ignore`: findings that a team accepts.

use crate::args::Check;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::value::{Date, Datetime};
use warren_check::{Day, Exception, Rule};
use warren_model::Position;

/// Name of the settings file.
const NAME: &str = "warren.toml";

/// The settings file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    ignore: Vec<Ignore>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ignore {
    rule: Spanned<String>,
    address: Spanned<String>,
    reason: Spanned<String>,
    until: Option<Spanned<Datetime>>,
}

/// The exceptions of the command line and of the settings file.
pub(crate) fn exceptions(check: &Check, errors: &mut Vec<String>) -> Vec<Exception> {
    let mut found: Vec<Exception> = check
        .ignore
        .iter()
        .map(|(rule, address)| Exception {
            rule: *rule,
            address: address.clone(),
            until: None,
            place: "--ignore".to_owned(),
        })
        .collect();
    let file = check.config.as_ref().map(PathBuf::from).or_else(search);
    let Some(file) = file else { return found };
    let name = file.display().to_string();
    let text = std::fs::read(&file)
        .map_err(|error| crate::unreadable(&name, &error))
        .and_then(|bytes| warren_planfile::decode(&name, bytes).map_err(|error| error.to_string()));
    match text {
        Ok(text) => match read(&name, &text) {
            Ok(more) => found.extend(more),
            Err(error) => errors.push(error),
        },
        Err(error) => errors.push(error),
    }
    found
}

/// The value of `--ignore`.
pub(crate) fn ignored(text: &str) -> Result<(Rule, String), String> {
    let (rule, address) = text
        .split_once(':')
        .filter(|(_, address)| !address.is_empty())
        .ok_or("expected RULE:ADDRESS, such as overlap:aws_vpc.old")?;
    Ok((rule.parse().map_err(|_| unknown(rule))?, address.to_owned()))
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

fn read(name: &str, text: &str) -> Result<Vec<Exception>, String> {
    let at = |start: usize| {
        let Position { line, column } = warren_planfile::position(text, start);
        format!("{name}:{line}:{column}")
    };
    let file: File = toml::from_str(text).map_err(|error| {
        format!("{}: {}", at(error.span().unwrap_or(0..0).start), explain(error.message()))
    })?;
    file.ignore
        .into_iter()
        .map(|entry| {
            let bad = |start: usize, why: String| Err(format!("{}: {why}", at(start)));
            let Ok(rule) = entry.rule.as_ref().parse() else {
                return bad(entry.rule.span().start, unknown(entry.rule.as_ref()));
            };
            for (key, value) in [("address", &entry.address), ("reason", &entry.reason)] {
                if value.as_ref().trim().is_empty() {
                    return bad(value.span().start, format!("`{key}` is empty; {}", meaning(key)));
                }
            }
            let until = match &entry.until {
                Some(until) => match until.as_ref() {
                    Datetime { date: Some(Date { year, month, day }), time: None, offset: None } => {
                        Some((*year, *month, *day))
                    }
                    _ => {
                        return bad(
                            until.span().start,
                            "`until` is not a day; write one like 2027-01-31".to_owned(),
                        );
                    }
                },
                None => None,
            };
            let place = at(entry.rule.span().start);
            Ok(Exception { rule, address: entry.address.into_inner(), until, place })
        })
        .collect()
}

fn meaning(key: &str) -> &'static str {
    match key {
        "rule" => "name the rule, such as \"overlap\"",
        "address" => {
            "name a resource or an entry of an address plan, such as \"aws_vpc.old\"; `*` matches any text"
        }
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
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("{key} is missing; {}", meaning(key.trim_matches('`')));
    }
    if message.starts_with("invalid type") {
        return match message.rsplit_once("expected ") {
            Some((_, "a TOML datetime")) => {
                "`until` is not a day; write one like 2027-01-31, without quotes".to_owned()
            }
            Some((_, expected)) => format!("the value has another type; write {expected}"),
            None => message.to_owned(),
        };
    }
    message.lines().collect::<Vec<_>>().join("; ")
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
