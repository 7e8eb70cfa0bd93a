//! The walk of an answer along its output shape.
//!
//! An answer in XML is first read into the value that the shape describes. What the shape does not know keeps its name,
//! so that the check finds it.

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::model::{Model, Protocol, Reference, Shape};
use super::{Problem, check, errors};
use crate::front::reply::Reply;
use crate::pattern;
use crate::xml::Element;

/// Members of every answer, besides those of its shape.
const ENVELOPE: &[&str] = &["requestId", "ResponseMetadata"];

/// Everything in which an answer differs from what the model says of the operation.
pub(super) fn check(model: &Model, action: &str, reply: &Reply) -> Vec<Problem> {
    if !reply.status().is_success() {
        return errors::check(model, action, reply);
    }
    let Some(output) = model.output(action) else { return vec![Problem::UnknownAction(action.to_owned())] };
    if output.status.is_some_and(|status| status != reply.status().as_u16()) {
        let expected = output.status.unwrap_or_default().to_string();
        return vec![Problem::value("(status)", reply.status().as_str(), &expected)];
    }
    let read = match model.protocol {
        Protocol::Json => json(reply, output.shape),
        Protocol::Ec2 | Protocol::Query => form(model, action, reply, output.wrapper, output.shape),
        Protocol::RestXml => rest(model, reply, output.shape),
    };
    match (read, output.shape) {
        (Err(problem), _) => vec![problem],
        (Ok(value), Some(shape)) => check::answer(model, &value, shape),
        (Ok(value), None) => {
            let members = value.as_object().map(Map::keys).into_iter().flatten();
            members.map(|name| Problem::UnknownParameter(name.clone())).collect()
        }
    }
}

fn json(reply: &Reply, shape: Option<&Shape>) -> Result<Value, Problem> {
    if reply.body().is_empty() && shape.is_none() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_slice(reply.body())
        .map_err(|_| Problem::value("(document)", &String::from_utf8_lossy(reply.body()), "JSON"))
}

/// `<ActionResponse>`, in the query protocol with the members in `<ActionResult>`.
fn form(
    model: &Model,
    action: &str,
    reply: &Reply,
    wrapper: Option<&str>,
    shape: Option<&Shape>,
) -> Result<Value, Problem> {
    let root = parse(reply)?;
    let expected = format!("{action}Response");
    if root.name != expected {
        return Err(Problem::value("(document)", &root.name, &expected));
    }
    let Some(wrapper) = wrapper else { return Ok(structure(model, &root, shape, ENVELOPE)) };
    let Some(inner) = root.child(wrapper) else { return Err(Problem::Missing(wrapper.to_owned())) };
    let mut value = structure(model, inner, shape, &[]);
    // What lies beside the wrapper is unknown, unless it is of the envelope.
    let beside = root
        .children
        .iter()
        .filter(|child| child.name != wrapper && !ENVELOPE.contains(&child.name.as_str()));
    if let Some(members) = value.as_object_mut() {
        members.extend(beside.map(|child| (format!("../{}", child.name), Value::Null)));
    }
    Ok(value)
}

/// Members are in the headers and in the document, or one of them is the whole body.
fn rest(model: &Model, reply: &Reply, shape: Option<&Shape>) -> Result<Value, Problem> {
    let Some(shape) = shape else {
        return if reply.body().is_empty() {
            Ok(Value::Object(Map::new()))
        } else {
            Err(unexpected_body(reply))
        };
    };
    let mut members = headers(model, reply.headers(), reply.status(), shape);
    let payload = shape.payload.as_ref().and_then(|name| Some((name, shape.members.get(name)?)));
    match payload.and_then(|(name, member)| Some((name, model.shape(member)?))) {
        Some((name, of)) if of.kind == "structure" => {
            if !reply.body().is_empty() {
                members.insert(name.clone(), structure(model, &parse(reply)?, Some(of), &[]));
            }
        }
        // Bytes of an object.
        Some(_) => {}
        None if shape.members.values().all(|member| member.location.is_some()) => {
            if !reply.body().is_empty() {
                return Err(unexpected_body(reply));
            }
        }
        None => {
            if let Value::Object(found) = structure(model, &parse(reply)?, Some(shape), &[]) {
                members.extend(found);
            }
        }
    }
    Ok(Value::Object(members))
}

fn headers(model: &Model, headers: &HeaderMap, status: StatusCode, shape: &Shape) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, member) in &shape.members {
        let Some(of) = model.shape(member) else { continue };
        let wire = model.answer_name(name, member);
        let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        match member.location.as_deref() {
            Some("header") => {
                if let Some(value) = headers.get(wire) {
                    members.insert(name.clone(), in_header(&text(value), of));
                }
            }
            Some("headers") => {
                let found =
                    headers.iter().filter(|(name, _)| name.as_str().starts_with(&wire.to_ascii_lowercase()));
                members.insert(
                    name.clone(),
                    found.map(|(name, value)| (name.to_string(), Value::from(text(value)))).collect(),
                );
            }
            Some("statusCode") => {
                members.insert(name.clone(), status.as_u16().into());
            }
            _ => {}
        }
    }
    members
}

fn parse(reply: &Reply) -> Result<Element, Problem> {
    let text = String::from_utf8_lossy(reply.body());
    Element::parse(&text).map_err(|_| Problem::value("(document)", &text, "XML"))
}

fn unexpected_body(reply: &Reply) -> Problem {
    Problem::value("(document)", &String::from_utf8_lossy(reply.body()), "an empty body")
}

fn structure(model: &Model, element: &Element, shape: Option<&Shape>, envelope: &[&str]) -> Value {
    let mut members = Map::new();
    let known = |name: &str| {
        let shape = shape?;
        shape.members.iter().find(|(member_name, member)| {
            member.location.is_none() && model.answer_name(member_name, member) == name
        })
    };
    for child in element.children.iter().filter(|child| !envelope.contains(&child.name.as_str())) {
        let Some((name, member)) = known(&child.name) else {
            members.insert(child.name.clone(), child.text.clone().into());
            continue;
        };
        let Some(of) = model.shape(member) else { continue };
        if of.kind == "list" && is_flat(member, of) {
            let entry = members.entry(name.clone()).or_insert_with(|| Value::Array(Vec::new()));
            if let (Value::Array(entries), Some(of)) = (entry, item(model, of)) {
                entries.push(value(model, child, of));
            }
        } else {
            members.insert(name.clone(), value(model, child, of));
        }
    }
    for (name, member) in
        shape.map(|shape| &shape.members).into_iter().flatten().filter(|(_, member)| member.xml_attribute)
    {
        let wire = model.answer_name(name, member);
        if let Some((_, text)) = element.attributes.iter().find(|(attribute, _)| attribute == wire) {
            members.insert(name.clone(), text.clone().into());
        }
    }
    Value::Object(members)
}

fn is_flat(member: &Reference, of: &Shape) -> bool {
    of.flattened || member.is_flat()
}

fn item<'m>(model: &'m Model, list: &Shape) -> Option<&'m Shape> {
    list.member.as_ref().and_then(|member| model.shape(member))
}

fn value(model: &Model, element: &Element, shape: &Shape) -> Value {
    match shape.kind.as_str() {
        "structure" if !element.text.trim().is_empty() && element.children.is_empty() => {
            element.text.clone().into()
        }
        "structure" => structure(model, element, Some(shape), &[]),
        "list" => list(model, element, shape),
        "map" => map(model, element, shape),
        _ if !element.children.is_empty() => Value::Object(Map::new()),
        _ => scalar(&element.text, shape),
    }
}

fn list(model: &Model, element: &Element, shape: &Shape) -> Value {
    let name = shape.member.as_ref().map_or("member", |member| model.answer_name("member", member));
    if !element.text.trim().is_empty() || element.children.iter().any(|child| child.name != name) {
        // Not a list: the check says so, with the element's own name.
        let wrong = element.children.iter().find(|child| child.name != name);
        return wrong.map_or_else(|| element.text.clone(), |child| format!("<{}>", child.name)).into();
    }
    let of = item(model, shape);
    element.children.iter().map(|child| of.map_or(Value::Null, |of| value(model, child, of))).collect()
}

fn map(model: &Model, element: &Element, shape: &Shape) -> Value {
    let name = |reference: &Option<Reference>, default: &'static str| -> String {
        reference.as_ref().map_or(default, |reference| model.answer_name(default, reference)).to_owned()
    };
    let (key, content) = (name(&shape.key, "key"), name(&shape.value, "value"));
    let of = shape.value.as_ref().and_then(|reference| model.shape(reference));
    let mut members = Map::new();
    for entry in &element.children {
        let found = entry.child(&content).and_then(|child| Some(value(model, child, of?)));
        members.insert(entry.text_at(&key).to_owned(), found.unwrap_or(Value::Null));
    }
    Value::Object(members)
}

/// Times in headers are written as `Mon, 02 Jan 2006 15:04:05 GMT`.
fn in_header(text: &str, shape: &Shape) -> Value {
    const TIME: &str = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT";
    if shape.kind == "timestamp" && pattern::fits(TIME, text) == Some(true) {
        return 0.into();
    }
    scalar(text, shape)
}

/// A value that is not of the type of its shape stays text.
fn scalar(text: &str, shape: &Shape) -> Value {
    match shape.kind.as_str() {
        "boolean" => text.parse::<bool>().map_or_else(|_| text.into(), Value::Bool),
        "integer" | "long" => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        "float" | "double" => text.parse::<f64>().map_or_else(|_| text.into(), Value::from),
        _ => text.into(),
    }
}
