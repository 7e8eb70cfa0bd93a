//! GitLab's code quality report, a subset of the Code Climate format.

use crate::fingerprint::fingerprints;
use crate::listing::{Listing, Pages};
use crate::{Finding, Lines, Report, Severity};
use serde_json::{Value, json};
use std::io;

/// Writes the findings as a code quality report. GitLab reads `description`, `check_name`, `fingerprint`, `severity`, and
/// `location` with `path` and `lines.begin`; it has no place for notes.
///
/// # Errors
/// The output cannot be written.
pub fn gitlab_to(report: &Report, pages: Pages<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let form = |page: &[Finding]| {
        let prints = fingerprints(page);
        page.iter()
            .zip(prints)
            .map(|(finding, print)| issue(finding, &print, &report.lines))
            .collect::<Vec<_>>()
    };
    serde_json::to_writer_pretty(&mut *out, &Listing { first: &report.findings, pages, form })?;
    out.write_all(b"\n")
}

/// A report on input that cannot be read: one issue for each error, with the file that it is about.
pub fn gitlab_errors(errors: &[(String, String)]) -> String {
    let issues = errors.iter().enumerate().map(|(index, (file, message))| {
        json!({
            "description": message,
            "check_name": "unreadable-input",
            "fingerprint": format!("unreadable-input-{index}"),
            "severity": "blocker",
            "location": { "path": path(file), "lines": { "begin": 1 } },
        })
    });
    format!("{:#}\n", Value::Array(issues.collect()))
}

fn issue(finding: &Finding, print: &str, lines: &Lines) -> Value {
    let place = finding.sides.first().map(|side| lines.place(&side.site));
    let mut text = finding.message.clone();
    if let Some(hint) = &finding.hint {
        text.push_str("; ");
        text.push_str(hint);
    }
    json!({
        "description": text,
        "check_name": finding.rule.id(),
        "fingerprint": print,
        "severity": match finding.severity { Severity::Error => "critical", Severity::Warning => "minor" },
        "location": {
            "path": path(place.map(|(file, _)| file).unwrap_or_default()),
            "lines": { "begin": place.and_then(|(_, at)| at).map_or(1, |at| at.line) },
        },
    })
}

/// GitLab finds files by their path in the repository, which has no leading `./`.
fn path(file: &str) -> &str {
    file.trim_start_matches("./")
}
