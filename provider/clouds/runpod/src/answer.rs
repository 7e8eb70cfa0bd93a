//! Members of RunPod's answers, which are JSON.

use std::str::FromStr;

use serde_json::Value;

use crate::error::{ApiError, OrMissing as _};

/// An object in an answer.
pub(crate) trait Answer {
    /// A text that may be absent. RunPod sends null or an empty text for none.
    fn text(&self, member: &str) -> Option<&str>;

    /// A text that RunPod always sends.
    fn member(&self, operation: &'static str, member: &str) -> Result<&str, ApiError>;

    /// A text that RunPod always sends, and that has a type here.
    fn parsed<T: FromStr>(&self, operation: &'static str, member: &str) -> Result<T, ApiError>;

    /// A number that RunPod always sends.
    fn number(&self, operation: &'static str, member: &str) -> Result<i64, ApiError>;

    /// The objects of a list that RunPod always sends.
    fn list(&self, operation: &'static str, member: &str) -> Result<&[Value], ApiError>;
}

impl Answer for Value {
    fn text(&self, member: &str) -> Option<&str> {
        self[member].as_str().filter(|text| !text.is_empty())
    }

    fn member(&self, operation: &'static str, member: &str) -> Result<&str, ApiError> {
        self.text(member).or_missing(operation, member)
    }

    fn parsed<T: FromStr>(&self, operation: &'static str, member: &str) -> Result<T, ApiError> {
        let text = self.member(operation, member)?;
        text.parse().map_err(|_| ApiError::unexpected(operation, member, text))
    }

    fn number(&self, operation: &'static str, member: &str) -> Result<i64, ApiError> {
        self[member].as_i64().or_missing(operation, member)
    }

    fn list(&self, operation: &'static str, member: &str) -> Result<&[Value], ApiError> {
        self[member].as_array().map(Vec::as_slice).or_missing(operation, member)
    }
}
