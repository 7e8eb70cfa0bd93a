//! What an operation is given beside its values: cancellation, private state, saved progress.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::model::Model;
use crate::value::Value;

/// What the client can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// A plan or read may be deferred.
    pub deferral: bool,
    /// Write-only attributes are understood.
    pub write_only: bool,
}

/// The surroundings of one operation.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Cancelled by `StopProvider` (the user pressed Ctrl-C). Long waits must watch it; what exists
    /// by then is returned or was saved through [`Progress`].
    pub cancel: CancellationToken,
    /// What the client can do.
    pub client: ClientCapabilities,
    /// Private state of the resource: kept by Terraform, not shown to the user.
    pub private: Private,
}

impl Context {
    /// Whether the user asked to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// Private state: small JSON values by name.
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

    /// Forgets `key`.
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

/// Where create and update record what exists so far. When the operation then fails, panics or is
/// cancelled, the last record becomes the state, so that nothing is forgotten.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Option<Value>>>);

impl Progress {
    /// Records `state`: what is real at this moment. Unknown parts are stored as null.
    pub fn save<M: Model>(&self, state: &M) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(state.to_value());
    }

    /// The last record.
    pub fn saved(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
