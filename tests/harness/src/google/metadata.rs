//! The metadata service of instances, as far as programs need it that call Google: tokens of the instance's service
//! account.
//!
//! Every instance has its own, below `/metadata/` and its name. A token is good for what policies let the account do:
//! here, read secrets. Calls without a token are those of whoever owns the project.

use http::StatusCode;
use serde_json::{Value, json};

use super::error::Refusal;
use super::key::Key;
use super::policy;
use super::request::Request;
use super::world::World;

/// What a token begins with; the account's address follows.
const TOKEN: &str = "ya29.double.";

/// Answers what is asked of the metadata service; `path` is what follows `/metadata/`.
pub(crate) fn answer(world: &World, path: &str, request: &Request) -> Result<Value, Refusal> {
    if request.header("metadata-flavor") != "Google" {
        let message = "Missing Metadata-Flavor:Google header.";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    let missing = || Refusal::new(StatusCode::NOT_FOUND, "notFound", format!("nothing at {path}"));
    let (instance, asked) = path.split_once("/computeMetadata/v1/instance/").ok_or_else(missing)?;
    let key = Key::parse(instance, "").ok_or_else(missing)?;
    let body = &world.shown(&key)?.body;
    let email = body.get("serviceAccounts").and_then(|accounts| accounts[0]["email"].as_str());
    match (asked, email) {
        ("service-accounts/default/token", Some(email)) => Ok(json!({
            "access_token": format!("{TOKEN}{email}"), "expires_in": 3599, "token_type": "Bearer",
        })),
        _ => Err(missing()),
    }
}

/// Refuses to read a secret with the token of an account that its policy does not let.
pub(crate) fn may_read(world: &World, request: &Request, secret: &Key) -> Result<(), Refusal> {
    let Some(token) = request.header("authorization").strip_prefix("Bearer ") else { return Ok(()) };
    let email = token.strip_prefix(TOKEN).unwrap_or_default();
    let member = format!("serviceAccount:{email}");
    if policy::lets(world, secret, "roles/secretmanager.secretAccessor", &member) {
        return Ok(());
    }
    let message = format!(
        "Permission 'secretmanager.versions.access' denied for resource '{}/versions/latest' (or it may not exist).",
        secret.path()
    );
    Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden", message))
}
