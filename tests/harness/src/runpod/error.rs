//! Refusals as RunPod words them: RFC 9457 problem details.

use http::StatusCode;
use serde_json::{Value, json};

/// A request that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
    /// The single violations of a 422.
    pub(crate) errors: Vec<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), errors: Vec::new() }
    }

    /// 400: a rule across fields, or no capacity.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 404.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("{what} not found"))
    }

    /// 409.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// 422: the body does not fit the schema.
    pub(crate) fn unprocessable(errors: Vec<String>) -> Self {
        Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Request validation failed.") }
    }

    /// The problem document.
    pub(crate) fn problem(&self) -> Value {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let mut problem = json!({"title": title, "status": self.status.as_u16(), "detail": self.detail});
        if !self.errors.is_empty() {
            problem["errors"] = json!(self.errors);
        }
        problem
    }
}
