//! Tokens: of the metadata service, of the Security Token Service with an access boundary, and of a test's own.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::{Asked, refused};
use crate::front::reply::{Rejection, Reply};
use crate::query::Params;

/// What the metadata service issues, and what a token of somebody else is exchanged for.
const TOKEN: &str = "ya29.double";
/// What a token with a boundary begins with.
const NARROWED: &str = "ya29.narrowed-";
const VIEWER: &str = "inRole:roles/storage.objectViewer";
const USER: &str = "inRole:roles/storage.objectUser";

/// Whether a token is valid.
type Accepts = Box<dyn Fn(&str) -> bool + Send>;

/// The tokens that are valid.
#[derive(Default)]
pub(super) struct Tokens {
    /// Access boundaries of the narrowed ones.
    boundaries: Vec<Value>,
    own: Option<Accepts>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("boundaries", &self.boundaries).finish_non_exhaustive()
    }
}

impl Tokens {
    pub(super) fn trust(&mut self, accepts: Accepts) {
        self.own = Some(accepts);
    }

    /// The Security Token Service.
    pub(super) fn exchange(&mut self, body: &[u8]) -> Reply {
        let form = Params::from_form(body);
        let token = match serde_json::from_str::<Value>(form.get("options")) {
            Ok(boundary) if form.get("subject_token") == TOKEN => {
                self.boundaries.push(boundary);
                format!("{NARROWED}{}", self.boundaries.len() - 1)
            }
            _ => TOKEN.to_owned(),
        };
        issued(&token)
    }

    /// Refuses a request whose token is not valid, or whose boundary does not allow it.
    pub(super) fn check(&self, asked: &Asked) -> Result<(), Rejection> {
        let token = asked.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let token = token.unwrap_or_default();
        if token == TOKEN || self.own.as_ref().is_some_and(|accepts| accepts(token)) {
            return Ok(());
        }
        let number = token.strip_prefix(NARROWED).and_then(|number| number.parse::<usize>().ok());
        let Some(boundary) = number.and_then(|number| self.boundaries.get(number)) else {
            let message = "Authentication required.";
            return Err(refused(StatusCode::UNAUTHORIZED, "AuthenticationRequired", message));
        };
        let rules = boundary["accessBoundary"]["accessBoundaryRules"].as_array();
        if rules.is_some_and(|rules| rules.iter().any(|rule| allows(rule, asked))) {
            return Ok(());
        }
        Err(refused(StatusCode::FORBIDDEN, "AccessDenied", "Access denied."))
    }
}

/// Whether a rule of a boundary allows a request. Knows the roles and the condition of Warren's gateways, and no others.
fn allows(rule: &Value, asked: &Asked) -> bool {
    let reads = matches!(asked.action, "listObjects" | "getObject" | "headObject");
    let roles = rule["availablePermissions"].as_array().into_iter().flatten();
    let permitted = roles.filter_map(Value::as_str).any(|role| role == USER || (role == VIEWER && reads));
    let bucket = format!("//storage.googleapis.com/projects/_/buckets/{}", asked.bucket);
    if !permitted || rule["availableResource"] != bucket {
        return false;
    }
    let Some(condition) = rule["availabilityCondition"]["expression"].as_str() else { return true };
    let Some((name, prefix)) = prefixes(condition) else { return false };
    let object = format!("projects/_/buckets/{}/objects/{}", asked.bucket, asked.key);
    if asked.action == "listObjects" {
        return asked.query.get("prefix").starts_with(prefix);
    }
    object.starts_with(name)
}

/// The two prefixes of the condition: of the resource's name, and of a list.
fn prefixes(condition: &str) -> Option<(&str, &str)> {
    let rest = condition.strip_prefix("resource.name.startsWith('")?;
    let (name, rest) = rest.split_once("') || ")?;
    let list = "api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('";
    Some((name, rest.strip_prefix(list)?.strip_suffix("')")?))
}

/// The metadata service, which wants its header.
pub(super) fn of_instance(asked: &Asked) -> Result<Reply, Rejection> {
    match asked.header("metadata-flavor") {
        Some("Google") => Ok(issued(TOKEN)),
        _ => Err(refused(StatusCode::FORBIDDEN, "Forbidden", "Missing Metadata-Flavor:Google header.")),
    }
}

fn issued(token: &str) -> Reply {
    let kind = "urn:ietf:params:oauth:token-type:access_token";
    let body = json!({
        "access_token": token, "token_type": "Bearer", "expires_in": 3599, "issued_token_type": kind,
    });
    let mut reply = Response::new(Bytes::from(body.to_string()));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
