//! A failed call that is what a test says.

use tf_provider_rs::{Diagnostic, NotKnown};

use crate::failure::Failure;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fake(String);

pub(crate) fn error(code: &str) -> Fake {
    Fake(code.to_owned())
}

impl From<Fake> for Diagnostic {
    fn from(fake: Fake) -> Diagnostic {
        Diagnostic::error(format!("The call failed: {}", fake.0), "The cloud says: no")
    }
}

impl From<NotKnown> for Fake {
    fn from(error: NotKnown) -> Fake {
        Fake(error.to_string())
    }
}

impl Failure for Fake {
    fn is_not_found(&self) -> bool {
        self.0 == "not found"
    }
    fn is_in_use(&self) -> bool {
        self.0 == "in use"
    }
    fn is_throttle(&self) -> bool {
        self.0 == "throttled"
    }
    fn is_ambiguous(&self) -> bool {
        self.0 == "ambiguous"
    }
    fn is_conflict(&self) -> bool {
        self.0 == "conflict"
    }
    fn is_not_ready(&self) -> bool {
        self.0 == "not ready"
    }
}
