//! The context of an operation: cancellation, private state and saved progress.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::deferral::{DeferReason, Deferral};
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::path::Path;
use crate::value::Value;

/// Capabilities of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// Whether a plan or read may be deferred.
    pub deferral: bool,
    /// Whether the client supports write-only attributes.
    pub write_only: bool,
}

/// The context of one operation.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Cancelled by `StopProvider`, when the user presses Ctrl-C. Long waits must watch it, and then return the state
    /// so far or rely on the state saved through [`Progress`].
    pub cancel: CancellationToken,
    /// Capabilities of the client.
    pub client: ClientCapabilities,
    /// Private state of the resource, which Terraform stores but does not show to the user.
    pub private: Private,
    /// The identity of the object as it was stored when the object was last read or changed, in every client. `None`
    /// if the object is to be created, or if an older version of the provider stored it without an identity.
    ///
    /// Compare it with the configured account before calling the API: in another account, the object seems to be gone,
    /// and Terraform would plan to create it again.
    pub identity: Option<Value>,
    /// Whether the operation is deferred.
    pub deferral: Deferral,
    /// The module's `provider_meta` block.
    pub meta: Meta,
}

impl Context {
    /// Defers the operation: the plan, read or import of an object, the read of a data source, the plan of an action,
    /// or, in [`crate::Provider::configure`], all of these. What the operation returns is then only a guess.
    ///
    /// If the client does not allow it ([`ClientCapabilities::deferral`]), the operation counts as if it had not been
    /// deferred; only in `configure` it is an error.
    pub fn defer(&self, reason: DeferReason) {
        self.deferral.set(Some(reason));
    }

    /// The reason to defer, if the client allows it.
    pub(crate) fn allowed_deferral(&self) -> Option<DeferReason> {
        self.deferral.reason().filter(|_| self.client.deferral)
    }

    /// Whether the user requested cancellation.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// The `provider_meta` block of the module that contains the object; see [`crate::Provider::meta_schema`].
#[derive(Clone, Debug, Default)]
pub struct Meta(pub(crate) Value);

impl Meta {
    /// The typed view. Every attribute is null if the module has no such block.
    ///
    /// # Errors
    /// `M` does not match the schema, which is a bug in the provider.
    pub fn read<M: Model>(&self) -> Result<M, Diagnostics> {
        if self.0.is_null() {
            return Ok(M::default());
        }
        Ok(M::from_value(&self.0, &Path::root())?)
    }
}

/// Private state: small JSON values by key.
#[derive(Clone, Debug, Default)]
pub struct Private(Arc<Mutex<BTreeMap<String, Json>>>);

impl Private {
    /// Wraps stored values.
    pub fn new(values: BTreeMap<String, Json>) -> Private {
        Private(Arc::new(Mutex::new(values)))
    }

    /// The value stored under `key`.
    pub fn get(&self, key: &str) -> Option<Json> {
        self.lock().get(key).cloned()
    }

    /// Stores `value` under `key`.
    pub fn set(&self, key: &str, value: Json) {
        self.lock().insert(key.to_owned(), value);
    }

    /// Removes `key`.
    pub fn remove(&self, key: &str) {
        self.lock().remove(key);
    }

    /// All values.
    pub fn all(&self) -> BTreeMap<String, Json> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Json>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records the progress of a create or update. If the operation fails, panics or is cancelled, the last saved
/// progress becomes the state, so that no object is lost.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Option<Value>>>);

impl Progress {
    /// Saves `state` as the current state of the object. Unknown parts are stored as null.
    pub fn save<M: Model>(&self, state: &M) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.to_value());
    }

    /// The last saved state.
    pub fn saved(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
