//! IAM policies of objects: who may do what with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};

use super::account;
use super::collections::text;
use super::error::Refusal;
use super::key::Key;
use super::world::{Body, World};

/// The member of a stored object that holds its policy.
pub(crate) const POLICY: &str = "iamPolicy";

/// The policy of an object; not one of its fields.
pub(crate) fn get(world: &World, key: &Key) -> Result<Value, Refusal> {
    let stored = world.shown(key)?.body.get(POLICY).cloned();
    Ok(stored.unwrap_or_else(|| json!({"etag": "ACAB", "version": 1})))
}

/// Replaces the policy of an object: what was read must be what is there, and the accounts that it names must exist.
pub(crate) fn set(world: &mut World, key: &Key, sent: &Body) -> Result<Value, Refusal> {
    let old = get(world, key)?;
    let Some(mut new) = sent.get("policy").and_then(Value::as_object).cloned() else {
        return Err(Refusal::bad("invalid", "Request contains no policy."));
    };
    let etag = text(&new, "etag");
    if !etag.is_empty() && old["etag"] != etag {
        let message = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.";
        return Err(Refusal::new(http::StatusCode::CONFLICT, "aborted", message));
    }
    for binding in new.get("bindings").and_then(Value::as_array).into_iter().flatten() {
        for member in binding["members"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !member.contains(':') && !member.starts_with("all") {
                return Err(Refusal::bad("invalid", format!("Invalid member: {member}")));
            }
            if let Some(email) = member.strip_prefix("serviceAccount:") {
                account::known(world, email)?;
            }
        }
    }
    // The same text in both alphabets of base64: clients write the one or the other.
    let etag = URL_SAFE.encode(format!("{:09}", world.next()));
    new.insert("etag".to_owned(), json!(etag));
    new.entry("version").or_insert_with(|| json!(1));
    let mut body = world.shown(key)?.body.clone();
    body.insert(POLICY.to_owned(), Value::Object(new.clone()));
    world.put(key.clone(), body);
    Ok(Value::Object(new))
}

/// Whether a binding without a condition gives `role` to `member`.
pub(crate) fn lets(world: &World, key: &Key, role: &str, member: &str) -> bool {
    let policy = get(world, key).unwrap_or_default();
    policy["bindings"].as_array().into_iter().flatten().any(|binding| {
        let members = binding["members"].as_array().into_iter().flatten();
        binding["role"] == role
            && binding["condition"].is_null()
            && members.into_iter().any(|other| other == member)
    })
}
