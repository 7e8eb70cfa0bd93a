//! EC2 filters that the emulator ignores or lacks, evaluated on the items of its answer.

use crate::xml::Element;

/// A filter: its name and the accepted values, which may hold `*` and `?`.
pub(super) type Filter = (String, Vec<String>);

/// Whether an item passes. Knows tags, states, and any filter whose name is an element's in kebab case
/// (`vpc-id` is `vpcId`); an item without that element does not pass.
pub(super) fn passes(item: &Element, (name, values): &Filter) -> bool {
    let any = |found: &str| values.iter().any(|pattern| matches(pattern.as_bytes(), found.as_bytes()));
    if let Some(key) = name.strip_prefix("tag:") {
        return item.tags().any(|(found, value)| found == key && any(value));
    }
    match name.as_str() {
        "tag-key" => item.tags().any(|(key, _)| any(key)),
        "status-code" => any(item.text_at("status/code")),
        "vpc-endpoint-state" => any(item.text_at("state")),
        other => item.child(&camel_case(other)).is_some_and(|child| any(&child.text)),
    }
}

/// Whether the filter is on a tag.
pub(super) fn is_tag(filter: &Filter) -> bool {
    filter.0 == "tag-key" || filter.0.starts_with("tag:")
}

/// Whether the filter is on a state that the proxy may show differently from the emulator.
pub(super) fn is_state(filter: &Filter) -> bool {
    ["state", "status-code", "vpc-endpoint-state"].contains(&filter.0.as_str())
}

fn camel_case(name: &str) -> String {
    let mut out = String::new();
    for (index, part) in name.split('-').enumerate() {
        let mut letters = part.chars();
        match letters.next() {
            Some(first) if index > 0 => out.extend(first.to_uppercase()),
            Some(first) => out.push(first),
            None => {}
        }
        out.push_str(letters.as_str());
    }
    out
}

/// `*` stands for any run of bytes, `?` for one.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some(b'*'), _) => matches(&pattern[1..], text) || (!text.is_empty() && matches(pattern, &text[1..])),
        (Some(b'?'), Some(_)) => matches(&pattern[1..], &text[1..]),
        (Some(expected), Some(found)) if expected == found => matches(&pattern[1..], &text[1..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_and_tags() {
        let item = Element::parse(
            "<item><vpcId>vpc-1</vpcId><tagSet><item><key>warren:name</key><value>hub</value></item></tagSet></item>",
        )
        .unwrap();
        let filter = |name: &str, value: &str| {
            passes(&item, &(name.to_owned(), vec!["no".to_owned(), value.to_owned()]))
        };
        assert!(filter("tag:warren:name", "hub"));
        assert!(filter("tag:warren:name", "h*"));
        assert!(filter("tag:warren:name", "?u?"));
        assert!(!filter("tag:warren:name", "hu"));
        assert!(!filter("tag:Name", "hub"));
        assert!(filter("tag-key", "warren:*"));
        assert!(filter("vpc-id", "vpc-1"));
        assert!(!filter("subnet-id", "*"));
    }
}
