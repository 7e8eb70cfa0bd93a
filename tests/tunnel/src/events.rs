//! What the programs of examples print: a JSON object in each line, whose member `event` says what it is.

use serde_json::Value;

/// The events of a text.
///
/// # Panics
/// A line is not JSON.
pub fn events(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The first event of this name.
///
/// # Panics
/// There is none.
pub fn event<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name} in {events:?}"))
}
