//! The identity of an object, as it was stored when the object was last read or changed.
//!
//! Terraform stores identities since version 1.12, and OpenTofu does not. Private state therefore has a copy, so that
//! every client passes the identity to the next read, update and delete ([`Context::identity`]).
//!
//! [`Context::identity`]: crate::Context::identity

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::codec;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::proto::tfplugin6 as proto;
use crate::schema::IdentitySchema;
use crate::server::panic::caught;
use crate::server::resources::Entry;
use crate::server::wire;
use crate::value::Value;

/// An identity in private state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct IdentityCopy {
    /// The version of the identity schema.
    version: i64,
    values: Json,
}

impl IdentityCopy {
    /// The copy of `identity`, if there is one.
    pub(super) fn of(entry: &Entry, identity: Option<&Value>) -> Option<IdentityCopy> {
        let (schema, identity) = (entry.identity.as_ref()?, identity?);
        let values = codec::json::to_json(identity, &schema.ty()).ok()?;
        Some(IdentityCopy { version: schema.version, values })
    }
}

/// The stored identity of an object: the one that the client sent, or else the copy.
///
/// # Errors
/// The identity cannot be decoded, or the copy cannot be upgraded.
pub(super) async fn stored(
    entry: &Entry,
    sent: Option<&proto::ResourceIdentityData>,
    copy: Option<IdentityCopy>,
) -> Result<Option<Value>, Diagnostics> {
    let Some(schema) = &entry.identity else { return Ok(None) };
    if let Some(data) = sent {
        let identity = wire::decode(data.identity_data.as_ref(), &schema.ty())?;
        if !is_empty(&identity) {
            return Ok(Some(identity));
        }
    }
    match copy {
        Some(copy) => upgrade(entry, copy.version, copy.values).await.map(Some),
        None => Ok(None),
    }
}

/// The identity `now`, with stored values where the provider does not know them at the moment.
pub(super) fn kept(stored: Option<&Value>, now: Option<Value>) -> Option<Value> {
    let Some(Value::Object(mut now)) = now else { return now };
    for (name, value) in now.iter_mut().filter(|(_, value)| value.is_null()) {
        *value = stored.and_then(|stored| stored.get(name)).cloned().unwrap_or_default();
    }
    Some(Value::Object(now))
}

/// Whether no attribute has a value: the client sends this for an object without identity.
fn is_empty(identity: &Value) -> bool {
    match identity {
        Value::Object(values) => values.values().all(|value| value.is_null() || value.is_unknown()),
        other => other.is_null() || other.is_unknown(),
    }
}

/// Converts a stored identity of `version` to the current one.
///
/// # Errors
/// The version is unknown, or the identity is not one.
pub(super) async fn upgrade(entry: &Entry, version: i64, identity: Json) -> Result<Value, Diagnostics> {
    let Some(schema) = &entry.identity else { return Err(no_identity(entry).into()) };
    if version > schema.version {
        return Err(newer(entry, version, schema).into());
    }
    let current = if version == schema.version {
        identity
    } else {
        caught("an identity upgrade", entry.resource.upgrade_identity(version, identity)).await??
    };
    codec::json::from_json(&current, &schema.ty()).map_err(|error| {
        Diagnostic::error(
            "Stored identity cannot be read",
            format!(
                "The identity of a {} in the state does not match its schema: {error}. Restore an earlier version of \
                 the state.",
                entry.resource.type_name()
            ),
        )
        .into()
    })
}

fn newer(entry: &Entry, version: i64, schema: &IdentitySchema) -> Diagnostic {
    Diagnostic::error(
        "Resource identity of a newer provider version",
        format!(
            "The state contains an identity of {} in version {version}, and this provider version knows only versions \
             up to {}. Use the provider version that wrote the state, or a newer one.",
            entry.resource.type_name(),
            schema.version
        ),
    )
}

fn no_identity(entry: &Entry) -> Diagnostic {
    Diagnostic::error(
        "Resource type without identity",
        format!(
            "The state contains an identity of {}, which has none in this provider version. Use the provider version \
             that wrote the state, or a newer one.",
            entry.resource.type_name()
        ),
    )
}
