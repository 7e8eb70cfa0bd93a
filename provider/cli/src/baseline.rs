//! `--baseline` and `--write-baseline`: reports only what a team does not know yet.

use crate::Streams;
use crate::args::Check;
use warren_check::{Baseline, Report, Screen};

/// What the report hides.
pub(crate) fn screen(check: &Check, errors: &mut Vec<String>) -> Screen {
    if check.write_baseline.is_some() {
        return Screen::record();
    }
    let Some(file) = &check.baseline else { return Screen::default() };
    read(file).map(Screen::compare).unwrap_or_else(|error| {
        errors.push(error);
        Screen::default()
    })
}

/// Reads a baseline.
///
/// # Errors
/// It cannot be read, or is not a baseline.
pub(crate) fn read(file: &str) -> Result<Baseline, String> {
    let bytes = std::fs::read(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("cannot read {file}: {error}; create it with `--write-baseline {file}`")
        }
        _ => crate::unreadable(file, &error),
    })?;
    let text = warren_planfile::decode(file, bytes).map_err(|error| error.to_string())?;
    Baseline::read(&text).map_err(|error| format!("{file}: {error}"))
}

/// Writes the recorded findings.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(check: &Check, screen: &Screen, streams: &mut Streams<'_>) -> Result<(), Vec<String>> {
    match &check.write_baseline {
        Some(file) => crate::emit(&screen.baseline().json(), Some(file), streams),
        None => Ok(()),
    }
}

/// Adds notes on known and fixed findings to the report.
pub(crate) fn note(check: &Check, report: &mut Report) {
    const NAMED: usize = 20;
    let count = if report.known == 1 { "1 finding".to_owned() } else { format!("{} findings", report.known) };
    if let Some(file) = &check.write_baseline {
        report.notes.push(format!("{count} written to the baseline {file}"));
    }
    let Some(file) = &check.baseline else { return };
    if report.known > 0 {
        report.notes.push(format!("{count} of the baseline {file} hidden"));
    }
    for known in report.fixed.iter().take(NAMED) {
        report.notes.push(format!("fixed: {} of {}", known.rule, known.addresses.join(" and ")));
    }
    if report.fixed.len() > NAMED {
        report.notes.push(format!("fixed: {} more", report.fixed.len() - NAMED));
    }
    if !report.fixed.is_empty() {
        report.notes.push(format!("{file} lists fixed findings; remove them with `--write-baseline {file}`"));
    }
}
