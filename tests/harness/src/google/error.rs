//! Refusals as Google words them.

use http::StatusCode;
use serde_json::{Value, json};

/// A request that is refused, or an operation that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// HTTP status.
    pub(crate) status: StatusCode,
    /// `errors[].reason`, such as `notFound`; in an operation it becomes the code `NOT_FOUND`.
    pub(crate) reason: String,
    /// The message.
    pub(crate) message: String,
    /// Whether Google finds it out only while the operation runs, because it concerns other objects.
    pub(crate) in_operation: bool,
    /// Whether another change may be in the way, which ends soon.
    pub(crate) for_now: bool,
    /// Whether the front servers give it, with `status` and `details`, rather than Compute itself, which leaves them out.
    pub(crate) by_front: bool,
    /// The field that a front server complains of.
    pub(crate) field: Option<String>,
}

impl Refusal {
    /// An error of Compute itself.
    pub(crate) fn new(status: StatusCode, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.to_owned(),
            message: message.into(),
            in_operation: false,
            for_now: false,
            by_front: false,
            field: None,
        }
    }

    /// A 400.
    pub(crate) fn bad(reason: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason, message)
    }

    /// A value that is not allowed; `field` is written from `resource`.
    pub(crate) fn invalid(field: &str, value: &str, why: &str) -> Self {
        Self::bad("invalid", format!("Invalid value for field '{field}': '{value}'. {why}"))
    }

    /// A value that Cloud DNS does not allow; `field` is written from `entity`.
    pub(crate) fn dns_invalid(field: &str, value: &str) -> Self {
        Self::bad("invalid", format!("Invalid value for '{field}': '{value}'"))
    }

    /// No such object; `path` begins with `projects/`.
    pub(crate) fn not_found(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "notFound", format!("The resource '{path}' was not found"))
    }

    /// The name is taken.
    pub(crate) fn exists(path: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "alreadyExists", format!("The resource '{path}' already exists"))
    }

    /// The object is being made or deleted.
    pub(crate) fn not_ready(path: &str) -> Self {
        Self::bad("resourceNotReady", format!("The resource '{path}' is not ready")).for_now()
    }

    /// Another object needs it; `what` is the kind in Google's words, such as `network`.
    pub(crate) fn in_use(what: &str, path: &str, user: &str) -> Self {
        let message = format!("The {what} resource '{path}' is already being used by '{user}'");
        Self::bad("resourceInUseByAnotherResource", message).later().for_now()
    }

    /// A stale fingerprint.
    pub(crate) fn stale(what: &str) -> Self {
        let message = format!("{what} fingerprint either invalid or resource has changed.");
        Self::new(StatusCode::PRECONDITION_FAILED, "conditionNotMet", message)
    }

    /// A limit is reached.
    pub(crate) fn quota(metric: &str, limit: u64, place: &str) -> Self {
        let message = format!("Quota '{metric}' exceeded.  Limit: {limit}.0 {place}.");
        Self::new(StatusCode::FORBIDDEN, "quotaExceeded", message).later()
    }

    /// The same, because of another change that is under way.
    pub(crate) fn for_now(mut self) -> Self {
        self.for_now = true;
        self
    }

    /// The same, found out while the operation runs.
    pub(crate) fn later(mut self) -> Self {
        self.in_operation = true;
        self
    }

    /// The same, given by the front servers.
    pub(crate) fn by_front(mut self, field: Option<&str>) -> Self {
        self.by_front = true;
        self.field = field.map(str::to_owned);
        self
    }

    /// The code in an operation's error: the reason in capitals.
    pub(crate) fn code(&self) -> String {
        let mut code = String::new();
        for letter in self.reason.chars() {
            if letter.is_ascii_uppercase() && self.reason != self.reason.to_ascii_uppercase() {
                code.push('_');
            }
            code.push(letter.to_ascii_uppercase());
        }
        code
    }

    /// The canonical code of the status, its number and name.
    pub(crate) fn canonical(&self) -> (i32, &'static str) {
        match (self.status.as_u16(), self.reason.as_str()) {
            (400, "failedPrecondition" | "resourceInUseByAnotherResource" | "resourceNotReady") => {
                (9, "FAILED_PRECONDITION")
            }
            (400, _) => (3, "INVALID_ARGUMENT"),
            (401, _) => (16, "UNAUTHENTICATED"),
            (403, _) => (7, "PERMISSION_DENIED"),
            (404, _) => (5, "NOT_FOUND"),
            (409, "aborted") => (10, "ABORTED"),
            (409, _) => (6, "ALREADY_EXISTS"),
            (412, _) => (9, "FAILED_PRECONDITION"),
            (429, _) => (8, "RESOURCE_EXHAUSTED"),
            (503, _) => (14, "UNAVAILABLE"),
            _ => (13, "INTERNAL"),
        }
    }

    /// The error document. `modern` services, all but Compute and Cloud DNS, leave out `errors` and always have `status`.
    pub(crate) fn body(&self, modern: bool) -> Value {
        let mut error = json!({"code": self.status.as_u16(), "message": self.message});
        if !modern {
            let domain = if self.reason == "quotaExceeded" { "usageLimits" } else { "global" };
            let mut first = json!({"message": self.message, "domain": domain, "reason": self.reason});
            if self.status == StatusCode::PRECONDITION_FAILED {
                first["locationType"] = json!("header");
                first["location"] = json!("If-Match");
            }
            error["errors"] = json!([first]);
        }
        if modern || self.by_front {
            error["status"] = json!(self.canonical().1);
        }
        if let Some(field) = &self.field {
            error["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": field, "description": self.message}],
            }]);
        }
        json!({ "error": error })
    }
}
