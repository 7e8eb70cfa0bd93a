//! Markdown as this repository writes it: one line per paragraph or list item.

/// Joins the lines of each paragraph and list item. Code, tables, headings and HTML stay as they are.
pub(crate) fn unwrap(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut code = false;
    let mut open = false;
    for line in text.trim().lines() {
        let trimmed = line.trim_start();
        let fence = trimmed.starts_with("```");
        let whole = code || fence || trimmed.is_empty() || trimmed.starts_with(['#', '|', '<']);
        if fence {
            code = !code;
        }
        match lines.last_mut() {
            Some(last) if open && !whole && !is_item(trimmed) => {
                last.push(' ');
                last.push_str(trimmed.trim_end());
            }
            _ => lines.push(line.trim_end().to_owned()),
        }
        open = !whole;
    }
    lines.join("\n")
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || (number.len() < line.len() && number.starts_with(". "))
}

/// At most one empty line in a row outside code, none at either end, and one line break at the end.
pub(crate) fn tidy(text: &str) -> String {
    let mut tidied = String::new();
    let (mut code, mut empty) = (false, true);
    for line in text.lines() {
        let line = line.trim_end();
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if line.is_empty() && empty && !code {
            continue;
        }
        empty = line.is_empty();
        tidied += line;
        tidied.push('\n');
    }
    tidied.trim_end().to_owned() + "\n"
}

/// The first sentence and the rest. A full stop in code ends none, and neither does an abbreviation's.
pub(crate) fn first_sentence(text: &str) -> (&str, &str) {
    let mut code = false;
    for (at, character) in text.char_indices() {
        code ^= character == '`';
        if character != '.' || code {
            continue;
        }
        let rest = &text[at + 1..];
        let abbreviation = ["e.g", "i.e", "etc", "vs"].iter().any(|word| text[..at].ends_with(word));
        if rest.is_empty() || (rest.starts_with(char::is_whitespace) && !abbreviation) {
            return (&text[..=at], rest.trim_start());
        }
    }
    (text, "")
}

/// Prose without marks: code, emphasis and links become their text.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain += before;
        match link.split_once("](").and_then(|(label, link)| Some((label, link.split_once(')')?.1))) {
            Some((label, after)) => {
                plain += label;
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain += rest;
    plain.replace(['`', '*'], "")
}

/// Prose in which `<`, `>` and `*` outside code are shown as they are.
pub(crate) fn escape(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| {
        if index % 2 == 0 {
            part.replace('*', "\\*").replace('<', "\\<").replace('>', "\\>")
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_items_become_one_line_each() {
        let text = "One\ntwo.\n\n- a\n  b\n- c\n\n```sh\nx\ny\n```\n# T\nlast";
        assert_eq!(unwrap(text), "One two.\n\n- a b\n- c\n\n```sh\nx\ny\n```\n# T\nlast");
    }

    #[test]
    fn a_sentence_ends_at_its_own_full_stop() {
        assert_eq!(first_sentence("A range. More."), ("A range.", "More."));
        assert_eq!(first_sentence("As `a. b`, e.g. this. More"), ("As `a. b`, e.g. this.", "More"));
        assert_eq!(first_sentence("No end"), ("No end", ""));
    }

    #[test]
    fn marks_are_removed_and_signs_escaped() {
        assert_eq!(plain("See [`x`](x.md), *now*"), "See x, now");
        assert_eq!(escape("A <B> of `<C>` *"), "A \\<B\\> of `<C>` \\*");
    }

    #[test]
    fn empty_lines_are_kept_in_code_only() {
        assert_eq!(tidy("\n\na\n\n\nb\n```\n\n\n```\n\n"), "a\n\nb\n```\n\n\n```\n");
    }
}
