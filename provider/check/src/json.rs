//! The report as JSON. `docs/schemas` has its schema.

use crate::listing::{Listing, Pages, no_pages};
use crate::{Finding, Report};
use serde::Serialize;
use serde_json::json as value;
use std::io;

/// The report as JSON, with the fields of [`Report`].
pub fn json(report: &Report) -> String {
    crate::written(|out| json_to(report, &no_pages, out))
}

/// Writes the report as JSON.
///
/// # Errors
/// The output cannot be written.
pub fn json_to(report: &Report, pages: Pages<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let findings = Listing { first: &report.findings, pages, form: <[Finding]>::to_vec };
    serde_json::to_writer_pretty(&mut *out, &Whole { report, findings })?;
    out.write_all(b"\n")
}

/// A report on input that cannot be read.
pub fn json_errors(errors: &[(String, String)]) -> String {
    let messages: Vec<&str> = errors.iter().map(|(_, message)| message.as_str()).collect();
    format!("{:#}\n", value!({ "version": 1, "error": { "messages": messages } }))
}

#[derive(Serialize)]
struct Whole<'a, L> {
    #[serde(flatten)]
    report: &'a Report,
    findings: L,
}
