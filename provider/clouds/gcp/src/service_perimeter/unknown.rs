//! Settings of a perimeter that the resource does not know.

use serde_json::Value as Json;

/// The paths of the values in `found` that `known` does not have. Lists are sets.
pub(super) fn paths(at: &str, found: &Json, known: &Json) -> Vec<String> {
    match (found, known) {
        (Json::Object(found), _) => {
            let members = found.iter().flat_map(|(name, value)| {
                let known = known.get(name).unwrap_or(&Json::Null);
                paths(&format!("{at}.{name}"), value, known)
            });
            members.collect()
        }
        (Json::Array(found), known) => {
            let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
            let items = found.iter().enumerate().flat_map(|(index, item)| {
                let at = format!("{at}[{index}]");
                let all = known.iter().map(|known| paths(&at, item, known));
                all.min_by_key(Vec::len).unwrap_or_else(|| paths(&at, item, &Json::Null))
            });
            items.collect()
        }
        // The API returns empty values for what is not set, or leaves them out.
        _ if found == known || is_empty(found) => Vec::new(),
        _ => vec![at.to_owned()],
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::String(text) => text.is_empty() || text.ends_with("_UNSPECIFIED"),
        Json::Number(number) => number.as_f64() == Some(0.0),
        _ => false,
    }
}
