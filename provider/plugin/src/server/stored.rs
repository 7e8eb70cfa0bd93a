//! What the server keeps in Terraform's private bytes beside a resource's state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::context::Private;
use crate::diagnostic::Diagnostic;

/// The private bytes, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stored {
    /// A create was interrupted: the next apply goes on with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unfinished: bool,
    /// The resource's own private state.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) resource: BTreeMap<String, Json>,
}

impl Stored {
    /// Reads private bytes; none at all is fine.
    pub(crate) fn read(bytes: &[u8]) -> Result<Stored, Diagnostic> {
        if bytes.is_empty() {
            return Ok(Stored::default());
        }
        serde_json::from_slice(bytes).map_err(|error| {
            Diagnostic::error(
                "Private state cannot be read",
                format!(
                    "{error}. It was written by something else than this provider; `terraform apply \
                     -replace=ADDRESS` makes the object anew."
                ),
            )
        })
    }

    /// The bytes for what `private` holds now.
    pub(crate) fn bytes(private: &Private, unfinished: bool) -> Vec<u8> {
        let stored = Stored { unfinished, resource: private.all() };
        if !stored.unfinished && stored.resource.is_empty() {
            return Vec::new();
        }
        serde_json::to_vec(&stored).unwrap_or_default()
    }
}
