//! The report as text.

use crate::{Finding, Report, Severity, Side};
use std::fmt::Write as _;

/// The text with control and bidirectional characters escaped, truncated to 200 characters.
pub fn clean(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == 200 {
            out.push('…');
            break;
        }
        let steers = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if steers {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The report as text; `colour` adds ANSI colours, `quiet` leaves out notes and the summary.
pub fn human(report: &Report, colour: bool, quiet: bool) -> String {
    let paint = Paint { colour };
    let mut out = String::new();
    for group in report.findings.chunk_by(together) {
        // A few findings are listed individually.
        if group.len() > GROUPED_FROM {
            several(&mut out, group, paint);
        } else {
            group.iter().for_each(|finding| one(&mut out, finding, paint));
        }
    }
    // Printed with `quiet` too, because it is about the findings.
    if let Some(text) = report.left_out() {
        let _ = writeln!(out, "note: {text}");
    }
    if !quiet {
        for note in &report.notes {
            let _ = writeln!(out, "note: {}", clean(note));
        }
        let count =
            |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
        let _ = writeln!(
            out,
            "{}, {} in {} ({})",
            count(report.errors, "error"),
            count(report.warnings, "warning"),
            count(report.files, "file"),
            count(report.ranges, "range"),
        );
    }
    out
}

/// Up to this many conflicts of one network are listed individually; more share one paragraph.
const GROUPED_FROM: usize = 3;

/// Whether two findings are conflicts of the same range with another one.
fn together(a: &Finding, b: &Finding) -> bool {
    let pair = |finding: &Finding| finding.sides.len() == 2;
    (a.severity, a.rule, &a.detail) == (b.severity, b.rule, &b.detail)
        && pair(a)
        && pair(b)
        && a.sides.first() == b.sides.first()
}

fn one(out: &mut String, finding: &Finding, paint: Paint) {
    let _ = writeln!(out, "{}: {}", paint.head(finding), words(&finding.message));
    for side in &finding.sides {
        let _ = writeln!(out, "  {} {}", paint.with("34", "-->"), place(side));
    }
    explanation(out, finding, paint);
}

/// The conflicts of one range, as a list.
fn several(out: &mut String, group: &[Finding], paint: Paint) {
    let Some((first, side)) = group.first().and_then(|first| Some((first, first.sides.first()?))) else {
        return;
    };
    let net = side.net.map_or_else(String::new, |net| format!(" ({net})"));
    let name = format!("{}{net}", side.name);
    let _ = writeln!(out, "{}: {} conflicts with {} ranges", paint.head(first), words(&name), group.len());
    let arrow = paint.with("34", "-->");
    let _ = writeln!(out, "  {arrow} {}", place(side));
    for finding in group {
        let rest = finding.message.strip_prefix(&name).unwrap_or(&finding.message);
        let other = finding.sides.get(1).map(place).unwrap_or_default();
        let _ = writeln!(out, "   - {} {arrow} {other}", words(rest.trim_start()));
    }
    explanation(out, first, paint);
}

fn explanation(out: &mut String, finding: &Finding, paint: Paint) {
    for line in finding.detail.lines() {
        let _ = writeln!(out, "   = {}", words(line));
    }
    if let Some(hint) = &finding.hint {
        let _ = writeln!(out, "   = {}: {}", paint.with("32", "hint"), words(hint));
    }
    out.push('\n');
}

/// A text with several names, each of which is truncated if it is long.
fn words(text: &str) -> String {
    text.split(' ').map(clean).collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn head(self, finding: &Finding) -> String {
        let (word, code) = match finding.severity {
            Severity::Error => ("error", "1;31"),
            Severity::Warning => ("warning", "1;33"),
        };
        self.with(code, &format!("{word}[{}]", finding.rule))
    }
}

/// `file:line:column: path (owner)`.
fn place(side: &Side) -> String {
    let mut out = clean(&side.site.file);
    if let Some(at) = side.site.at {
        let _ = write!(out, ":{}:{}", at.line, at.column);
    }
    if !side.site.path.is_empty() {
        let _ = write!(out, ": {}", clean(&side.site.path));
    }
    if !side.owner.is_empty() && side.owner != side.site.file {
        let _ = write!(out, " (owner {})", clean(&side.owner));
    }
    out
}
