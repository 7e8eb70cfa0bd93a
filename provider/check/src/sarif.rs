//! SARIF 2.1.0 (OASIS), for code scanning.

use crate::fingerprint::fingerprints;
use crate::listing::{Listing, Pages, no_pages};
use crate::{Finding, Lines, Report, Rule, Severity, Side};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;

/// The report as SARIF 2.1.0. `version` is the version of the tool.
pub fn sarif(report: &Report, version: &str) -> String {
    crate::written(|out| sarif_to(report, &no_pages, version, out))
}

/// Writes the report as SARIF 2.1.0.
///
/// # Errors
/// The output cannot be written.
pub fn sarif_to(report: &Report, pages: Pages<'_>, version: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let left_out = report.left_out().map(|text| json!({ "level": "warning", "message": { "text": text } }));
    let notes = report.notes.iter().map(|note| json!({ "level": "note", "message": { "text": note } }));
    let notifications: Vec<Value> = left_out.into_iter().chain(notes).collect();
    let properties =
        json!({ "errors": report.errors, "warnings": report.warnings, "omitted": report.omitted });
    let results =
        Listing { first: &report.findings, pages, form: |page: &[Finding]| results(page, &report.lines) };
    log(version, true, &notifications, &properties, results, out)
}

/// A log that says why the input cannot be read, as SARIF 2.1.0.
pub fn sarif_errors(errors: &[(String, String)], version: &str) -> String {
    let notification = |(file, message): &(String, String)| {
        let place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) } } });
        let places = if file.is_empty() { json!([]) } else { json!([place]) };
        json!({ "level": "error", "message": { "text": message }, "locations": places })
    };
    let notifications: Vec<Value> = errors.iter().map(notification).collect();
    let properties = json!({ "errors": errors.len(), "warnings": 0, "omitted": 0 });
    crate::written(|out| log(version, false, &notifications, &properties, json!([]), out))
}

fn log(
    version: &str,
    successful: bool,
    notifications: &[Value],
    properties: &Value,
    results: impl Serialize,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let rules = Rule::ALL.iter().map(|rule| {
        json!({
            "id": rule.id(),
            "shortDescription": { "text": rule.short() },
            "fullDescription": { "text": rule.long() },
            "help": { "text": rule.long() },
        })
    });
    let rules: Vec<Value> = rules.collect();
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        runs: [Run {
            columns: "unicodeCodePoints",
            invocations: json!([{ "executionSuccessful": successful, "toolExecutionNotifications": notifications }]),
            properties,
            results,
            tool: json!({ "driver": { "name": "warren", "version": version, "rules": rules } }),
        }],
        version: "2.1.0",
    };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    out.write_all(b"\n")
}

/// A SARIF log file (section 3.13).
#[derive(Serialize)]
struct Log<R> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    runs: [R; 1],
    version: &'static str,
}

/// A run (section 3.14), whose results are written while they are computed.
#[derive(Serialize)]
struct Run<'a, R> {
    #[serde(rename = "columnKind")]
    columns: &'static str,
    invocations: Value,
    properties: &'a Value,
    results: R,
    tool: Value,
}

fn results(page: &[Finding], lines: &Lines) -> Vec<Value> {
    page.iter().zip(fingerprints(page)).map(|(finding, print)| result(finding, &print, lines)).collect()
}

fn result(finding: &Finding, print: &str, lines: &Lines) -> Value {
    let mut text = finding.message.clone();
    for part in [Some(&finding.detail), finding.hint.as_ref()].into_iter().flatten() {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(part);
        }
    }
    let related: Vec<Value> = finding.sides.iter().skip(1).map(|side| location(side, lines)).collect();
    json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": Rule::ALL.iter().position(|rule| *rule == finding.rule),
        "level": match finding.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "message": { "text": text },
        "locations": finding.sides.iter().take(1).map(|side| location(side, lines)).collect::<Vec<_>>(),
        "relatedLocations": related,
        "partialFingerprints": { "warren/v1": print },
    })
}

fn location(side: &Side, lines: &Lines) -> Value {
    // Terraform prints its JSON on one line, so everything in it is at line 1.
    let (file, at) = lines.place(&side.site);
    let (line, column) = at.map_or((1, 1), |at| (at.line, at.column));
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line, "startColumn": column },
        },
        "logicalLocations": [{ "fullyQualifiedName": side.site.path, "kind": "resource" }],
        "message": { "text": format!("{} (owner {})", side.name, side.owner) },
    })
}

/// A relative reference (RFC 3986): all characters except unreserved ones and slashes are escaped.
fn uri(file: &str) -> String {
    if file == "-" {
        return "stdin".to_owned();
    }
    file.trim_start_matches("./")
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
