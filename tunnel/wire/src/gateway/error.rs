//! Translates errors of the TOML parser to line, column and hint.

use std::ops::Range;

use crate::config::ParseError;

/// The error of a place in the text.
pub(crate) fn at(text: &str, span: Range<usize>, what: String, hint: String) -> ParseError {
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    ParseError { line, column, what, hint }
}

pub(crate) fn explain(text: &str, error: &toml::de::Error) -> ParseError {
    let (what, hint) = message(error.message());
    at(text, error.span().unwrap_or(0..0), what, hint)
}

/// Messages never repeat values: a value may be a misplaced secret.
fn message(message: &str) -> (String, String) {
    if let Some(field) = message.strip_prefix("unknown field ") {
        let (field, expected) = field.split_once(", ").unwrap_or((field, ""));
        let name = field.trim_matches('`');
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let near = known.iter().max_by(|a, b| similarity(name, a).total_cmp(&similarity(name, b)));
        let hint = match near {
            Some(near) if similarity(name, near) > 0.85 => format!("did you mean `{near}`?"),
            Some(_) => format!("this section has {}", known.join(", ")),
            None => "this section has no settings".to_owned(),
        };
        return (format!("unknown setting {}", crate::config::show(name)), hint);
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return (format!("{field} is missing"), format!("add a line `{} = …`", field.trim_matches('`')));
    }
    if message.starts_with("invalid type") || message.starts_with("invalid value") {
        let expected = message.rsplit_once("expected ").map_or("another value", |(_, expected)| expected);
        let expected = match expected {
            "u16" => "a number from 0 to 65535",
            "u32" => "a number from 0 to 4294967295",
            _ => expected,
        };
        return ("the value has another type".to_owned(), format!("write {expected}"));
    }
    if let Some((_, expected)) =
        message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", "))
    {
        // `a` or `b`, of which there are two, or one of `a`, `b`, `c`.
        let known = expected.replace("expected ", "");
        return ("the value is not supported".to_owned(), format!("write {known}"));
    }
    if message.starts_with("wanted exactly 1 element") {
        return (
            "only one of the alternatives may be set".to_owned(),
            "keep one of the tables, such as [store.embedded] or [store.etcd], and remove the other"
                .to_owned(),
        );
    }
    if message.contains("IP address") || message.contains("socket address") {
        let hint =
            "write a range like 10.0.0.0/16, an address like 10.0.0.1, or one with a port like 0.0.0.0:443";
        return ("the value is not an address or range".to_owned(), hint.to_owned());
    }
    // Our own types say `what; what to do`.
    match message.split_once("; ") {
        Some((what, hint)) => (what.to_owned(), hint.to_owned()),
        None => (message.to_owned(), "see docs/gateway.md for an example".to_owned()),
    }
}

fn similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}
