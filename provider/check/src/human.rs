//! The report as text.

use crate::listing::{Pages, no_pages};
use crate::{Finding, Lines, Report, Severity, Side};
use std::fmt::Write as _;
use std::io;

/// The text with control and bidirectional characters escaped, truncated to 400 characters.
pub fn clean(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == 400 {
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

/// How the report looks as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Whether to add ANSI colours.
    pub colour: bool,
    /// Whether to omit notes and the summary.
    pub quiet: bool,
    /// Columns of the terminal, at which lines are wrapped. `None` wraps no line.
    pub width: Option<usize>,
}

/// The report as text; `colour` adds ANSI colours, `quiet` leaves out notes and the summary.
pub fn human(report: &Report, colour: bool, quiet: bool) -> String {
    crate::written(|out| human_to(report, &no_pages, Style { colour, quiet, width: None }, out))
}

/// Writes the report as text.
///
/// # Errors
/// The output cannot be written.
pub fn human_to(report: &Report, pages: Pages<'_>, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    let paint = Paint { colour: style.colour };
    let mut write = |page: &[Finding]| {
        for group in page.chunk_by(together) {
            let mut text = String::new();
            // A few findings are listed individually.
            if group.len() > GROUPED_FROM {
                several(&mut text, group, &report.lines, paint);
            } else {
                group.iter().for_each(|finding| one(&mut text, finding, &report.lines, paint));
            }
            out.write_all(wrap(&text, style.width).as_bytes())?;
        }
        Ok(())
    };
    write(&report.findings)?;
    pages(&mut write)?;
    out.write_all(wrap(&tail(report, style.quiet), style.width).as_bytes())
}

/// The notes and the summary.
fn tail(report: &Report, quiet: bool) -> String {
    let mut out = String::new();
    // Printed with `quiet` too, because it is about the findings.
    if let Some(text) = report.left_out() {
        let _ = writeln!(out, "note: {text}");
    }
    if !quiet {
        for note in &report.notes {
            let _ = writeln!(out, "note: {}", words(note));
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

/// The lines of a text, wrapped between words at a width in columns. A name or range is never cut, so it may be wider.
/// Continued lines are indented below the text of the first.
pub fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width > 0) else { return text.to_owned() };
    let mut out = String::new();
    for line in text.lines() {
        let start = line.len() - line.trim_start_matches([' ', '=', '-', '>']).len();
        let indent = " ".repeat(start.min(width / 4).max(2));
        let options = textwrap::Options::new(width)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
            .subsequent_indent(&indent);
        for part in textwrap::wrap(line, options) {
            out.push_str(&part);
            out.push('\n');
        }
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

fn one(out: &mut String, finding: &Finding, lines: &Lines, paint: Paint) {
    let _ = writeln!(out, "{}: {}", paint.head(finding), words(&finding.message));
    for side in &finding.sides {
        let _ = writeln!(out, "  {} {}", paint.with("34", "-->"), place(side, lines));
    }
    explanation(out, finding, paint);
}

/// The conflicts of one range, as a list.
fn several(out: &mut String, group: &[Finding], lines: &Lines, paint: Paint) {
    let Some((first, side)) = group.first().and_then(|first| Some((first, first.sides.first()?))) else {
        return;
    };
    let net = side.net.map_or_else(String::new, |net| format!(" ({net})"));
    let name = format!("{}{net}", side.name);
    let _ = writeln!(out, "{}: {} conflicts with {} ranges", paint.head(first), words(&name), group.len());
    let arrow = paint.with("34", "-->");
    let _ = writeln!(out, "  {arrow} {}", place(side, lines));
    for finding in group {
        let rest = finding.message.strip_prefix(&name).unwrap_or(&finding.message);
        let other = finding.sides.get(1).map(|side| place(side, lines)).unwrap_or_default();
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
fn place(side: &Side, lines: &Lines) -> String {
    let (file, at) = lines.place(&side.site);
    let mut out = clean(file);
    if let Some(at) = at {
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
