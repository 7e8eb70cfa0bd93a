//! The report for people.

use crate::{Report, Severity, Side};
use std::fmt::Write as _;

/// A text without anything that could steer a terminal or reorder the line, cut at 200 characters.
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
    let paint = |code: &str, text: &str| {
        if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let mut out = String::new();
    for finding in &report.findings {
        let (word, code) = match finding.severity {
            Severity::Error => ("error", "1;31"),
            Severity::Warning => ("warning", "1;33"),
        };
        let head = paint(code, &format!("{word}[{}]", finding.rule));
        // A message holds several names, each cut on its own where it is long.
        let message: Vec<String> = finding.message.split(' ').map(clean).collect();
        let _ = writeln!(out, "{head}: {}", message.join(" "));
        for side in &finding.sides {
            let _ = writeln!(out, "  {} {}", paint("34", "-->"), place(side));
        }
        for line in finding.detail.lines() {
            let _ = writeln!(out, "   = {}", line.split(' ').map(clean).collect::<Vec<_>>().join(" "));
        }
        if let Some(hint) = &finding.hint {
            let hint = hint.split(' ').map(clean).collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "   = {}: {hint}", paint("32", "hint"));
        }
        out.push('\n');
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
