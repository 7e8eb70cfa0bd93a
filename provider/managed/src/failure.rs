//! The classification of failed calls.

use std::fmt::Display;

use tf_provider_rs::{Diagnostic, NotKnown};

use crate::retry::Remedy;

/// A failed call.
pub trait Failure: Display + Into<Diagnostic> + From<NotKnown> + Send + Sync + Sized {
    /// What helps.
    fn remedy(&self) -> Remedy;

    /// Whether the object, or one that the call names, does not exist (yet or any more).
    fn is_not_found(&self) -> bool {
        self.remedy() == Remedy::NotFound
    }

    /// Whether something still uses the object.
    fn is_in_use(&self) -> bool {
        self.remedy() == Remedy::InUse
    }

    /// Whether the cloud throttles calls.
    fn is_throttle(&self) -> bool {
        self.remedy() == Remedy::Throttled
    }

    /// Whether the cloud may have executed the call although it did not confirm it.
    fn is_ambiguous(&self) -> bool {
        self.remedy() == Remedy::Lost
    }

    /// Whether the call conflicts with another object.
    fn is_conflict(&self) -> bool {
        self.remedy() == Remedy::Conflict
    }

    /// Whether the same call, after another read of the object, works once another change is finished.
    fn is_not_ready(&self) -> bool {
        matches!(self.remedy(), Remedy::Busy | Remedy::Unpropagated)
    }

    /// Success if the object no longer exists.
    ///
    /// # Errors
    /// Any error except "not found".
    fn unless_gone(result: Result<(), Self>) -> Result<(), Self> {
        match result {
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        }
    }

    /// The object, if it exists.
    ///
    /// # Errors
    /// Any error except "not found".
    fn if_found<T>(result: Result<T, Self>) -> Result<Option<T>, Self> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
