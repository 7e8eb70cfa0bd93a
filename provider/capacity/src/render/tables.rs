//! Tables as text and as Markdown.

/// A table of text.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headers.
    pub(super) fn new(headers: &[&str]) -> Self {
        Self { rows: vec![headers.iter().map(|header| (*header).to_owned()).collect()] }
    }

    /// Adds a row.
    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Aligned columns of cleaned cells; the headers are in capitals.
    pub(super) fn text(&self, clean: impl Fn(&str) -> String) -> String {
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
        let columns = rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for (index, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let cell = if index == 0 { cell.to_uppercase() } else { cell.clone() };
                line.push_str(&format!("  {cell:width$}"));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// A table of GitHub's Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut out = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
            if index == 0 {
                out.push_str(&format!("|{}\n", "---|".repeat(row.len())));
            }
        }
        out
    }
}

/// Text without a meaning in Markdown or HTML: names come from the user.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            c if c.is_control() || steers(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character has no glyph and changes the order or the end of lines: bidirectional and invisible ones.
pub(super) fn steers(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
