//! Requests with XML as the value that their input shape describes.

use http::HeaderMap;
use serde_json::{Map, Value};

use super::model::{Model, Shape};
use crate::query::Params;
use crate::xml::Element;

/// A request as it was sent, besides its path.
pub(crate) struct Sent<'a> {
    pub(crate) query: &'a Params,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

/// Parts of a URL that belong to the signature or to the client, not to the operation.
fn is_envelope(name: &str) -> bool {
    name.starts_with("X-Amz-") || name == "x-id"
}

/// Reads path, query, headers and document. What the shape does not know keeps its name, so that the check finds it;
/// headers belong to the protocol as well, so that only those of the shape are read.
pub(super) fn read(model: &Model, action: &str, in_path: &[(String, String)], sent: &Sent<'_>) -> Value {
    let mut members = Map::new();
    let Some(Some(shape)) = model.input(action) else { return Value::Object(members) };
    let demanded = model.demanded(action);
    let in_query: Vec<(String, String)> = sent
        .query
        .iter()
        .filter(|(name, _)| !is_envelope(name) && !demanded.has_name(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (location, given) in [("uri", in_path), ("querystring", in_query.as_slice())] {
        for (wire, value) in given {
            let known = shape.members.iter().find(|(name, member)| {
                member.location.as_deref() == Some(location) && model.wire_name(name, member) == *wire
            });
            let of = known.and_then(|(_, member)| model.shape(member));
            let name = known.map_or(wire, |(name, _)| name);
            members.insert(name.clone(), of.map_or_else(|| value.clone().into(), |of| scalar(value, of)));
        }
    }
    for (name, member) in
        shape.members.iter().filter(|(_, member)| member.location.as_deref() == Some("header"))
    {
        let value = sent.headers.get(model.wire_name(name, member)).and_then(|value| value.to_str().ok());
        if let (Some(value), Some(of)) = (value, model.shape(member)) {
            members.insert(name.clone(), scalar(value, of));
        }
    }
    let payload =
        shape.payload.as_ref().and_then(|name| Some((name, model.shape(shape.members.get(name)?)?)));
    let of = match payload {
        // Bytes of an object.
        Some((_, of)) if of.kind != "structure" => return Value::Object(members),
        Some((_, of)) => of,
        None => shape,
    };
    if !sent.body.is_empty() {
        let body = String::from_utf8_lossy(sent.body);
        match (Element::parse(&body).map(|root| document(model, &root, of)), payload) {
            (Ok(found), Some((name, _))) => drop(members.insert(name.clone(), found)),
            (Ok(Value::Object(found)), None) => members.extend(found),
            _ => drop(members.insert("(document)".to_owned(), body.into_owned().into())),
        }
    }
    Value::Object(members)
}

fn document(model: &Model, element: &Element, shape: &Shape) -> Value {
    match shape.kind.as_str() {
        "structure" => {
            let mut members = Map::new();
            for child in &element.children {
                let known = shape.members.iter().find(|(name, member)| {
                    member.location.is_none() && model.wire_name(name, member) == child.name
                });
                let of = known.and_then(|(_, member)| model.shape(member));
                let name = known.map_or(&child.name, |(name, _)| name);
                let value = of.map_or_else(|| child.text.clone().into(), |of| document(model, child, of));
                members.insert(name.clone(), value);
            }
            Value::Object(members)
        }
        "list" => {
            let of = shape.member.as_ref().and_then(|member| model.shape(member));
            let item = |child| of.map_or(Value::Null, |of| document(model, child, of));
            element.children.iter().map(item).collect()
        }
        _ => scalar(&element.text, shape),
    }
}

/// A value that is not of the type of its shape stays text.
fn scalar(text: &str, shape: &Shape) -> Value {
    match shape.kind.as_str() {
        "boolean" => text.parse::<bool>().map_or_else(|_| text.into(), Value::Bool),
        "integer" | "long" => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        _ => text.into(),
    }
}
