//! Labels and how they are set.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};

/// Judges labels ("Requirements for labels"): at most 64, lower case, no more than 63 characters.
pub(crate) fn judge(labels: &Value) -> Result<(), Refusal> {
    let Some(labels) = labels.as_object() else { return Ok(()) };
    if labels.len() > 64 {
        return Err(Refusal::invalid("resource.labels", &labels.len().to_string(), "At most 64 labels."));
    }
    let allowed = |text: &str| {
        text.chars().count() <= 63
            && text.chars().all(|letter| {
                letter.is_lowercase() || letter.is_ascii_digit() || letter == '-' || letter == '_'
            })
    };
    for (name, value) in labels {
        let value = value.as_str().unwrap_or_default();
        let starts = name.chars().next().is_some_and(char::is_lowercase);
        if !starts || !allowed(name) || !allowed(value) {
            let why =
                "Labels have lower case letters, digits, - and _, at most 63; names begin with a letter.";
            return Err(Refusal::invalid("resource.labels", &format!("{name}={value}"), why));
        }
    }
    Ok(())
}

/// Refuses labels in an insert, where the field's prose leaves them to `setLabels`.
pub(crate) fn none_at_insert(body: &Body) -> Result<(), Refusal> {
    match body.get("labels") {
        Some(labels) if labels.as_object().is_some_and(|labels| !labels.is_empty()) => {
            Err(Refusal::invalid("resource.labels", &labels.to_string(), "Labels are set by setLabels only."))
        }
        _ => Ok(()),
    }
}

/// `setLabels`: the labels are replaced, and the fingerprint must be the current one.
pub(crate) fn set(world: &mut World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut body = world.idle(key)?.clone();
    match sent.get("labelFingerprint") {
        None => return Err(Refusal::bad("required", "Required field 'labelFingerprint' not specified")),
        given if given != body.get("labelFingerprint") => return Err(Refusal::stale("Labels")),
        Some(_) => {}
    }
    let labels = sent.get("labels").cloned().unwrap_or_else(|| json!({}));
    judge(&labels)?;
    if labels.as_object().is_some_and(serde_json::Map::is_empty) {
        body.remove("labels");
    } else {
        body.insert("labels".to_owned(), labels);
    }
    body.insert("labelFingerprint".to_owned(), json!(world.fingerprint()));
    Ok(body)
}
