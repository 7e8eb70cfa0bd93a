//! Requests with XML as the value that their input shape describes.

use serde_json::{Map, Value};

use super::model::{Model, Shape};
use crate::query::Params;
use crate::xml::Element;

/// Reads path, query and document. What the shape does not know keeps its name, so that the check finds it.
pub(super) fn read(
    model: &Model,
    action: &str,
    in_path: &[(String, String)],
    query: &Params,
    body: &str,
) -> Value {
    let mut members = Map::new();
    let Some(Some(shape)) = model.input(action) else { return Value::Object(members) };
    let in_query: Vec<(String, String)> =
        query.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
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
    if !body.is_empty() {
        match Element::parse(body).map(|root| document(model, &root, shape)) {
            Ok(Value::Object(found)) => members.extend(found),
            _ => drop(members.insert("(document)".to_owned(), body.into())),
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
