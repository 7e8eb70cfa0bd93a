//! The data that the server stores in Terraform's private bytes, next to a resource's state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::context::Private;
use crate::diagnostic::Diagnostic;
use crate::server::identity::IdentityCopy;

/// The private bytes, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stored {
    /// Whether a create was interrupted, so that the next apply continues it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unfinished: bool,
    /// The identity, for clients that do not store it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<IdentityCopy>,
    /// The resource's own private state.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) resource: BTreeMap<String, Json>,
}

impl Stored {
    /// Parses private bytes, which may be empty.
    pub(crate) fn read(bytes: &[u8]) -> Result<Stored, Diagnostic> {
        if bytes.is_empty() {
            return Ok(Stored::default());
        }
        serde_json::from_slice(bytes).map_err(|error| {
            Diagnostic::error(
                "Private state cannot be read",
                format!(
                    "{error}. This provider did not write it. Recreate the object with `terraform apply \
                     -replace=ADDRESS`."
                ),
            )
        })
    }

    /// Encodes the current content of `private` with the rest.
    pub(super) fn bytes(private: &Private, unfinished: bool, identity: Option<IdentityCopy>) -> Vec<u8> {
        let stored = Stored { unfinished, identity, resource: private.all() };
        if !stored.unfinished && stored.identity.is_none() && stored.resource.is_empty() {
            return Vec::new();
        }
        serde_json::to_vec(&stored).unwrap_or_default()
    }
}
