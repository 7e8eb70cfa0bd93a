//! Deferral: the provider postpones a change that it cannot plan yet to a later run.

use std::sync::{Arc, Mutex, PoisonError};

/// The reason for a deferral (`Deferred.Reason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferReason {
    /// Too much of the resource's configuration is unknown.
    ResourceConfigUnknown,
    /// Too much of the provider's configuration is unknown.
    ProviderConfigUnknown,
    /// A prerequisite does not exist.
    AbsentPrerequisite,
}

/// Whether an operation is deferred; see [`crate::Context::defer`].
#[derive(Clone, Debug, Default)]
pub struct Deferral(Arc<Mutex<Option<DeferReason>>>);

impl Deferral {
    /// Sets or clears the reason.
    pub fn set(&self, reason: Option<DeferReason>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// The reason, if the operation is deferred.
    pub fn reason(&self) -> Option<DeferReason> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
