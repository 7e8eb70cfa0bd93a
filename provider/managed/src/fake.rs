//! A failed call that is what a test says.

use tf_provider_rs::{Diagnostic, NotKnown};

use crate::failure::Failure;
use crate::retry::Remedy;

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
    fn remedy(&self) -> Remedy {
        match self.0.as_str() {
            "not found" => Remedy::NotFound,
            "in use" => Remedy::InUse,
            "throttled" => Remedy::Throttled,
            "ambiguous" => Remedy::Lost,
            "conflict" => Remedy::Conflict,
            "not ready" => Remedy::Busy,
            "unpropagated" => Remedy::Unpropagated,
            _ => Remedy::Final,
        }
    }
}
