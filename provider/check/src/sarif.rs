//! SARIF 2.1.0 (OASIS), for code scanning.

use crate::{Finding, Report, Rule, Severity, Side};
use serde_json::{Value, json};

/// The report as SARIF 2.1.0. `version` is the version of the tool.
pub fn sarif(report: &Report, version: &str) -> String {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id(),
                "shortDescription": { "text": rule.short() },
                "fullDescription": { "text": rule.long() },
                "help": { "text": rule.long() },
            })
        })
        .collect();
    let results: Vec<Value> = report.findings.iter().map(result).collect();
    let left_out = report.left_out().map(|text| json!({ "level": "warning", "message": { "text": text } }));
    let notes = report.notes.iter().map(|note| json!({ "level": "note", "message": { "text": note } }));
    let notifications: Vec<Value> = left_out.into_iter().chain(notes).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "warren", "version": version, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notifications }],
            "results": results,
            "properties": { "errors": report.errors, "warnings": report.warnings, "omitted": report.omitted },
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn result(finding: &Finding) -> Value {
    let mut text = finding.message.clone();
    for part in [Some(&finding.detail), finding.hint.as_ref()].into_iter().flatten() {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(part);
        }
    }
    let related: Vec<Value> = finding.sides.iter().skip(1).map(location).collect();
    json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": Rule::ALL.iter().position(|rule| *rule == finding.rule),
        "level": match finding.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "message": { "text": text },
        "locations": finding.sides.iter().take(1).map(location).collect::<Vec<_>>(),
        "relatedLocations": related,
        "partialFingerprints": { "warren/v1": fingerprint(finding) },
    })
}

fn location(side: &Side) -> Value {
    // Terraform prints its JSON on one line, so everything in it is at line 1.
    let (line, column) = side.site.at.map_or((1, 1), |at| (at.line, at.column));
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&side.site.file) },
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
    file.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// FNV-1a hash of the rule, owners, paths and ranges. It does not change when lines move.
fn fingerprint(finding: &Finding) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut feed = |text: &str| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    feed(finding.rule.id());
    for side in &finding.sides {
        feed(&side.owner);
        feed(&side.site.path);
        feed(&side.net.map(|net| net.to_string()).unwrap_or_default());
    }
    format!("{hash:016x}")
}
