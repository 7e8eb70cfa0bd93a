//! The form of a body: its names, without its values.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

/// Dotted names of all members of a JSON or XML document, sorted; `None` where it is neither. Request IDs, which every
/// answer has or lacks by itself, and debugging data are left out.
pub fn shape(body: &str) -> Option<Vec<String>> {
    let mut names = if body.trim_start().starts_with('<') { xml(body)? } else { json(body)? };
    names.retain(|name| !name.to_lowercase().ends_with("requestid"));
    names.sort();
    names.dedup();
    Some(names)
}

fn json(body: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    walk("", &serde_json::from_str(body).ok()?, &mut names);
    Some(names)
}

fn walk(path: &str, value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                walk(&format!("{path}/{name}"), value, names);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(path, value, names)),
        _ => names.push(path.to_owned()),
    }
}

fn xml(body: &str) -> Option<Vec<String>> {
    let mut reader = Reader::from_str(body);
    let (mut open, mut names): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                open.push(String::from_utf8_lossy(start.local_name().into_inner().as_ref()).into_owned());
                names.push(open.join("/"));
            }
            Event::Empty(empty) => {
                let name = String::from_utf8_lossy(empty.local_name().into_inner().as_ref()).into_owned();
                names.push(format!("{}/{name}", open.join("/")));
            }
            Event::End(_) => drop(open.pop()),
            Event::Eof => return open.is_empty().then_some(names),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn names_without_values() {
        let one = shape(r#"{"a": {"b": 1, "c": [{"d": 2}, {"d": 3}]}}"#);
        assert_eq!(one, shape(r#"{"a": {"c": [{"d": ""}], "b": null}}"#));
        assert_ne!(one, shape(r#"{"a": {"c": [{"d": ""}]}}"#));
        let one = shape("<a><b>1</b><RequestID>x</RequestID></a>");
        assert_eq!(one, shape("<?xml version=\"1.0\"?>\n<a xmlns=\"u\"><b>2</b></a>"));
        assert_ne!(one, shape("<a><c>1</c></a>"));
        assert_eq!((shape("text"), shape("<a>")), (None, None));
    }
}
