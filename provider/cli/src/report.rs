//! Writes the report of `warren check` in the requested format, also if the input cannot be read.

use crate::args::{Check, Format};
use crate::output::Output;
use crate::{Outcome, Streams};
use std::num::NonZeroUsize;
use warren_check::{Fabrics, Pages, Report, Screen, Style, no_pages};
use warren_model::Model;
use warren_planfile::Input;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Number of overlaps in memory if all are listed. The others are computed while they are written.
const HELD: NonZeroUsize = NonZeroUsize::new(20_000).unwrap();

/// Checks the inputs, with all findings or as many as requested, and passes the report to `then`.
pub(crate) fn checked<T>(
    check: &Check,
    inputs: &[Input],
    claims: Model,
    (fabrics, screen): (&Fabrics, &Screen),
    then: impl FnOnce(Report, Pages<'_>) -> T,
) -> T {
    match NonZeroUsize::new(check.max_findings) {
        Some(limit) => then(warren_check::check(inputs, claims, Some(limit), fabrics, screen), &no_pages),
        None => warren_check::check_all(inputs, claims, HELD, fabrics, screen, then),
    }
}

/// Writes the report. The overlaps that it does not hold are computed meanwhile.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn write(
    check: &Check,
    report: &Report,
    pages: Pages<'_>,
    streams: &mut Streams<'_>,
    width: Option<usize>,
) -> Result<(), Vec<String>> {
    let on_terminal = check.output.is_none();
    let style = Style {
        colour: streams.colour && on_terminal,
        quiet: check.quiet,
        width: width.filter(|_| on_terminal),
    };
    let out = &mut Output::open(check.output.as_deref(), streams)?;
    let written = match check.format {
        Format::Human => warren_check::human_to(report, pages, style, out),
        Format::Json => warren_check::json_to(report, pages, out),
        Format::Sarif => warren_check::sarif_to(report, pages, VERSION, out),
        Format::Gitlab => warren_check::gitlab_to(report, pages, out),
    };
    out.done(written)
}

/// Writes a report for programs if the input cannot be read. Standard error has the errors as well.
pub(crate) fn refused(check: &Check, errors: Vec<String>, streams: &mut Streams<'_>) -> Outcome {
    let located: Vec<(String, String)> =
        errors.iter().map(|error| (file_of(check, error), error.clone())).collect();
    let text = match check.format {
        Format::Human => return Err(errors),
        Format::Json => warren_check::json_errors(&located),
        Format::Sarif => warren_check::sarif_errors(&located, VERSION),
        Format::Gitlab => warren_check::gitlab_errors(&located),
    };
    let written = crate::emit(&text, check.output.as_deref(), streams);
    Err(errors.into_iter().chain(written.err().into_iter().flatten()).collect())
}

/// The file that a message names, or else the first one.
fn file_of(check: &Check, error: &str) -> String {
    let owned = check.owners.iter().map(|(_, file)| file);
    let mut files: Vec<&String> = check
        .inputs
        .iter()
        .chain(owned)
        .chain(&check.claims)
        .chain(&check.policy)
        .chain(&check.baseline)
        .chain(&check.config)
        .collect();
    let first = files.first().copied().cloned().unwrap_or_default();
    // The name of one file may be in that of another.
    files.sort_by_key(|file| std::cmp::Reverse(file.len()));
    files.into_iter().find(|file| error.contains(file.as_str())).cloned().unwrap_or(first)
}
