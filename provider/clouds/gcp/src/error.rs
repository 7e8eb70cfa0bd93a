//! Google's errors as diagnostics: one hint each, secrets redacted.

use std::str::FromStr;

use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::{Code, StatusDetails};
use serde_json::Value;
use tf_provider_rs::{Diagnostic, Diagnostics, NotKnown};
pub(crate) use warren_managed::{Failure, Remedy};

/// The reason of an API that never answered. Nothing was done.
pub(crate) const UNREACHABLE: &str = "unreachable";

/// The reason of an answer that lacks a member.
const INCOMPLETE: &str = "incompleteResponse";

/// The reason of an answer with a value that has no type here.
const UNEXPECTED: &str = "unexpectedValue";

/// The reason of a perimeter that is a bridge.
const BRIDGE: &str = "perimeterBridge";

/// The reason of an object with settings that the resource does not have.
const UNKNOWN_SETTINGS: &str = "unknownSettings";

/// The reason of a zone that is public.
const PUBLIC_ZONE: &str = "publicZone";

/// The reason of a call without a value that it needs.
const MISSING_VALUE: &str = "missingValue";

/// The reason of a payload that is not the stored one.
const CHECKSUM_MISMATCH: &str = "checksumMismatch";

/// The reason of a call for which there are no credentials.
const NO_CREDENTIALS: &str = "noCredentials";

/// A failed API call, or an operation that failed after it began.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {reason}: {message}")]
pub struct ApiError {
    /// Such as `networks.insert`.
    pub(crate) operation: &'static str,
    /// Google's reason, such as `resourceInUseByAnotherResource`; operations that fail late use capitals. Empty without a
    /// response.
    pub(crate) reason: String,
    /// Google's message, redacted.
    pub(crate) message: String,
    /// HTTP status; 0 without a response.
    pub(crate) status: u16,
}

/// Adds the operation's name to the result of a call.
pub(crate) trait Named<T> {
    /// The result with the operation's name in its error.
    fn named(self, operation: &'static str) -> Result<T, ApiError>;
}

impl<T> Named<T> for Result<T, Error> {
    fn named(self, operation: &'static str) -> Result<T, ApiError> {
        let called = self.map_err(|error| ApiError::new(operation, &error));
        let (status, failure) = match &called {
            Ok(_) => (200, None),
            Err(error) => (error.status, Some(error.reason.as_str())),
        };
        // Attempts before the last one are logged by the retry policy.
        tracing::debug!(service = "google", operation, status, failure, "called the Google API");
        called
    }
}

/// A member of an answer that the API always sends.
pub(crate) trait OrMissing {
    /// The member.
    type Value;

    /// The member, or an error that names the operation and the member.
    fn or_missing(self, operation: &'static str, member: &str) -> Result<Self::Value, ApiError>;
}

impl<T> OrMissing for Option<T> {
    type Value = T;

    fn or_missing(self, operation: &'static str, member: &str) -> Result<T, ApiError> {
        self.ok_or_else(|| ApiError::incomplete(operation, member))
    }
}

/// A text of a protobuf message is never absent: an empty one was not sent.
impl OrMissing for String {
    type Value = String;

    fn or_missing(self, operation: &'static str, member: &str) -> Result<String, ApiError> {
        non_empty(self).or_missing(operation, member)
    }
}

/// A text of an answer that has a type here.
pub(crate) trait Parsed {
    /// The parsed member; an error if it is missing or does not parse.
    fn parsed<T: FromStr>(self, operation: &'static str, member: &str) -> Result<T, ApiError>;

    /// The parsed member, if there is one; an error if it does not parse.
    fn parsed_if_set<T: FromStr>(self, operation: &'static str, member: &str) -> Result<Option<T>, ApiError>;
}

impl Parsed for Option<&str> {
    fn parsed<T: FromStr>(self, operation: &'static str, member: &str) -> Result<T, ApiError> {
        self.parsed_if_set(operation, member)?.or_missing(operation, member)
    }

    fn parsed_if_set<T: FromStr>(self, operation: &'static str, member: &str) -> Result<Option<T>, ApiError> {
        let unexpected = |text| ApiError {
            operation,
            reason: UNEXPECTED.to_owned(),
            message: format!("{text:?} as `{member}`, a value that this version of Warren does not support"),
            status: 0,
        };
        self.map(|text| text.parse().map_err(|_| unexpected(text))).transpose()
    }
}

/// The text of a protobuf message, where an empty text means none.
pub(crate) fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl ApiError {
    /// A sentence for a call that the run can do without.
    pub(crate) fn reason(&self) -> String {
        let ApiError { operation, reason, message, .. } = self;
        let message = message.trim().trim_end_matches('.');
        match reason.as_str() {
            "" => format!("Google did not respond to {operation}: {message}."),
            reason => format!("{operation} failed: {reason}: {message}."),
        }
    }

    pub(crate) fn new(operation: &'static str, error: &Error) -> ApiError {
        let http = error.http_status_code().unwrap_or_default();
        if error.is_authentication() && !error.is_transient_and_before_rpc() {
            return ApiError {
                operation,
                reason: NO_CREDENTIALS.to_owned(),
                message: redact(&in_prose(&chain(error))),
                status: 401,
            };
        }
        let Some(told) = error.status() else {
            return ApiError {
                operation,
                reason: if http == 0 { String::new() } else { format!("HTTP {http}") },
                message: redact(&chain(error)),
                status: http,
            };
        };
        if let Some(why) = told.message.strip_prefix(UNREACHABLE).and_then(|rest| rest.strip_prefix(": ")) {
            return ApiError {
                operation,
                reason: UNREACHABLE.to_owned(),
                message: why.to_owned(),
                status: 0,
            };
        }
        let reason = told.details.iter().find_map(|detail| match detail {
            StatusDetails::ErrorInfo(info) if !info.reason.is_empty() => Some(info.reason.clone()),
            _ => None,
        });
        ApiError {
            operation,
            reason: reason.unwrap_or_else(|| told.code.name().to_owned()),
            message: redact(&told.message),
            status: if http == 0 { status_of(told.code) } else { http },
        }
    }

    /// A call that could not be sent.
    pub(crate) fn unsent(operation: &'static str, why: &dyn std::fmt::Display) -> ApiError {
        ApiError { operation, reason: "unsent".to_owned(), message: why.to_string(), status: 400 }
    }

    /// A response without the requested object.
    pub(crate) fn absent(operation: &'static str, id: &str) -> ApiError {
        ApiError {
            operation,
            reason: "notFound".to_owned(),
            message: format!("{id} does not exist"),
            status: 404,
        }
    }

    /// An answer without a member that the API always sends.
    fn incomplete(operation: &'static str, member: &str) -> ApiError {
        ApiError {
            operation,
            reason: INCOMPLETE.to_owned(),
            message: format!("the response does not contain `{member}`"),
            status: 0,
        }
    }

    /// A perimeter that connects other perimeters, and has no rules of its own.
    pub(crate) fn bridge(operation: &'static str, id: &str) -> ApiError {
        ApiError {
            operation,
            reason: BRIDGE.to_owned(),
            message: format!("{id} is a perimeter bridge, not a regular perimeter"),
            status: 400,
        }
    }

    /// A change that would erase settings that the resource does not have.
    pub(crate) fn would_erase(operation: &'static str, settings: &[String]) -> ApiError {
        ApiError {
            operation,
            reason: UNKNOWN_SETTINGS.to_owned(),
            message: format!("the object has settings that this change would erase: {}", settings.join(", ")),
            status: 400,
        }
    }

    /// A zone that the internet resolves.
    pub(crate) fn public(operation: &'static str, id: &str) -> ApiError {
        ApiError {
            operation,
            reason: PUBLIC_ZONE.to_owned(),
            message: format!("{id} is a public zone, not a private one"),
            status: 400,
        }
    }

    /// A payload that differs from its stored checksum.
    pub(crate) fn garbled(operation: &'static str, what: &str) -> ApiError {
        ApiError {
            operation,
            reason: CHECKSUM_MISMATCH.to_owned(),
            message: format!("the checksum of {what} does not match the one that Google stores"),
            status: 0,
        }
    }

    /// An object with this name that another owner or another tool created.
    pub(crate) fn taken(operation: &'static str, message: String) -> ApiError {
        ApiError { operation, reason: "alreadyExists".to_owned(), message, status: 409 }
    }

    /// Whether the reason is one of these; early failures use `resourceNotReady`, late ones `RESOURCE_NOT_READY`.
    fn is(&self, reasons: &[&str]) -> bool {
        let plain = |text: &str| text.replace('_', "").to_ascii_lowercase();
        let mine = plain(&self.reason);
        reasons.iter().any(|reason| plain(reason) == mine)
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            _ if self.reason == CHECKSUM_MISMATCH => {
                "Apply again. If the error persists, something between this machine and Google modifies responses."
            }
            _ if self.reason == INCOMPLETE => {
                "Google always sends this member. Check that `gcp.endpoint_url` and the proxy settings lead to \
                 Google, then apply again."
            }
            _ if self.reason == UNEXPECTED => {
                "Update Warren, or change the object to a value that the documentation lists."
            }
            _ if self.reason == MISSING_VALUE => "This is a bug in the provider. Please report it.",
            _ if self.reason == BRIDGE => {
                "This resource manages regular perimeters only. Choose another name or ID, and manage the bridge \
                 with `gcloud access-context-manager perimeters`."
            }
            _ if self.reason == UNKNOWN_SETTINGS => {
                "Nothing was changed. Remove these settings from the object, or manage it with a tool that supports them."
            }
            _ if self.reason == PUBLIC_ZONE => {
                "This resource manages private zones only. Choose another name or ID, and manage the public zone with \
                 `gcloud dns managed-zones`."
            }
            _ if self.is(&["IP_SPACE_EXHAUSTED", "IP_SPACE_EXHAUSTED_WITH_DETAILS"]) => {
                "The subnetwork has no address left for another machine. Expand its range, delete unused machines, or \
                 use another subnetwork."
            }
            _ if self.is(&["containerNotEmpty"]) => {
                "The zone has records that this configuration does not manage. Delete them, such as with `gcloud dns \
                 record-sets`, then apply again."
            }
            _ if self.is(&["accessNotConfigured", "SERVICE_DISABLED"]) => {
                "The API is disabled in this project. Enable it with `gcloud services enable compute.googleapis.com \
                 dns.googleapis.com servicedirectory.googleapis.com artifactregistry.googleapis.com \
                 secretmanager.googleapis.com iam.googleapis.com accesscontextmanager.googleapis.com`, wait a \
                 minute, then apply again."
            }
            _ if self.reason == NO_CREDENTIALS && self.message.contains("invalid_grant") => {
                "The sign-in has expired or was revoked. Run `gcloud auth application-default login`, then re-run the \
                 command."
            }
            _ if self.reason == NO_CREDENTIALS && self.message.contains("getAccessToken") => {
                "Check the address of the service account, and grant a role on it: `roles/iam.workloadIdentityUser` to \
                 an identity of a workload identity pool, or `roles/iam.serviceAccountTokenCreator` to any other \
                 principal."
            }
            _ if self.reason == NO_CREDENTIALS && self.message.contains("exchange token") => {
                "Check the audience in the credentials file, and the attribute mapping and condition of the provider in \
                 the workload identity pool."
            }
            _ if self.reason == NO_CREDENTIALS => {
                "Check the credentials file in `gcp.credentials` or GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth \
                 application-default login`."
            }
            _ if self.status == 401 || self.is(&["authError", "UNAUTHENTICATED"]) => {
                "Google rejected the credentials. Run `gcloud auth application-default login`, or check \
                 GOOGLE_APPLICATION_CREDENTIALS."
            }
            _ if self.status == 403 && !self.is_throttle() && !self.is(&["quotaExceeded"]) => {
                "Grant the principal that runs Terraform a role that permits this call. `roles/compute.networkAdmin` \
                 covers networks, `roles/compute.securityAdmin` firewalls, `roles/dns.admin` zones, and \
                 `roles/secretmanager.admin` keys. Gateways need `roles/compute.instanceAdmin.v1`, \
                 `roles/iam.serviceAccountAdmin` and `roles/iam.serviceAccountUser`. Perimeters need the organisation's \
                 `roles/accesscontextmanager.policyEditor`. If the message names an organisation \
                 policy, that policy denies the call."
            }
            _ if self.is(&["quotaExceeded", "limitExceeded"]) => {
                "A quota of the project is exhausted. Raise it in IAM & Admin > Quotas, or delete resources that are \
                 no longer needed."
            }
            _ if self.reason.starts_with("ZONE_RESOURCE_POOL_EXHAUSTED") => {
                "The zone has no capacity for this machine type. Choose another zone or machine type, or apply again \
                 later."
            }
            _ if self.is_throttle() => {
                "Google throttles the API calls of the project. Apply again later, or lower `terraform apply \
                 -parallelism`."
            }
            _ if self.is_conflict() => {
                "The name is already in use. Import the existing object, or choose another name."
            }
            _ if self.is_in_use() => {
                "An object that this configuration does not manage still uses it. Remove the object that the message \
                 names, then apply again."
            }
            _ if self.is_not_found() => {
                "The object was deleted outside Terraform, or belongs to another project. Run `terraform apply \
                 -refresh-only`."
            }
            _ if self.is_not_ready() => "Another change to the object was still in progress. Apply again.",
            _ if self.is(&[
                "invalid",
                "badRequest",
                "required",
                "invalidUsage",
                "invalidFieldValue",
                "invalidValue",
                "invalidZoneApex",
                "invalidRecordCount",
                "cnameResourceRecordSetConflict",
                "recordTypeDisallowedAtZoneApex",
                "wildcardNotAllowed",
                "INVALID_ARGUMENT",
            ]) =>
            {
                "Google rejected a value of this resource. Correct the value that the message names."
            }
            _ if self.reason == UNREACHABLE && self.message.contains("credential") => {
                "No access token was issued. Check the network and the proxy settings, and run `gcloud auth \
                 application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS."
            }
            _ if self.reason == UNREACHABLE => {
                "Google cannot be reached. Check the network, the proxy in HTTPS_PROXY, `gcp.endpoint_url` and \
                 `gcp.universe_domain`, then re-run the command."
            }
            _ if self.reason.is_empty() && self.message.contains("credential") => {
                "The provider uses Application Default Credentials. Run `gcloud auth application-default login`, or \
                 set GOOGLE_APPLICATION_CREDENTIALS."
            }
            _ if self.reason.is_empty() => {
                "Google did not respond. Check the network, the proxy settings and `gcp.endpoint_url`, then apply \
                 again."
            }
            _ => return None,
        })
    }
}

impl Failure for ApiError {
    fn remedy(&self) -> Remedy {
        match self {
            _ if self.is_limited() => Remedy::Throttled,
            _ if self.status == 412 || self.is(&BUSY) || is_under_way(&self.message) => Remedy::Busy,
            _ if (self.reason.is_empty() && self.status == 0) || self.status >= 500 => Remedy::Lost,
            _ if self.is(&["FAILED_PRECONDITION"]) && is_under_change(&self.message) => Remedy::Busy,
            _ if self.is(&["INVALID_ARGUMENT"]) && is_unknown_account(&self.message) => Remedy::Unpropagated,
            _ if self.is_hidden_account() => Remedy::Unpropagated,
            _ if self.is(&["resourceInUseByAnotherResource", "resourceInUse"]) => Remedy::InUse,
            _ if self.status == 404 || self.is(&["notFound", "RESOURCE_NOT_FOUND"]) => Remedy::NotFound,
            _ if self.is(&["alreadyExists", "duplicate", "RESOURCE_ALREADY_EXISTS"]) => Remedy::Conflict,
            _ => Remedy::Final,
        }
    }
}

/// Reasons of a failure that ends with another change: one in progress, or one that made a fingerprint or etag stale.
const BUSY: [&str; 5] =
    ["resourceNotReady", "conditionNotMet", "resourceOperationInProgress", "operationInProgress", "ABORTED"];

/// Reasons of throttling. Compute answers with status 403 (hashicorp/google issues 8360, 8955, and 9207 for concurrent
/// operations) and in failed operations, others with 429.
const LIMITED: [&str; 6] = [
    "rateLimitExceeded",
    "userRateLimitExceeded",
    "RESOURCE_EXHAUSTED",
    "tooManyRequests",
    "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED",
    "RESOURCE_OPERATION_RATE_EXCEEDED",
];

impl ApiError {
    /// Whether Google limits the rate of calls. The reason `quotaExceeded` is that of rates and of objects, and there is no
    /// reason if the answer has other details: the client then drops `errors[]`. The message tells.
    fn is_limited(&self) -> bool {
        self.status == 429
            || self.is(&LIMITED)
            || (self.status == 403 && self.message.to_ascii_lowercase().contains("rate limit exceeded"))
            || (self.status == 403 && is_rate(&self.message))
    }

    /// Whether a service account may exist: IAM answers 403 for one that does not, also for some time after its creation
    /// (hashicorp/google issues 10227, 15042 and 19624).
    pub(crate) fn is_hidden_account(&self) -> bool {
        self.status == 403
            && self.operation.starts_with("serviceAccounts.")
            && self.message.contains("iam.serviceAccounts.")
    }
}

/// Whether a quota is one of calls per time, such as "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'
/// of service", as hashicorp/google tells it (`error_retry_predicates.go`).
fn is_rate(message: &str) -> bool {
    message.contains("Quota exceeded for quota metric") && message.contains(" per ")
}

/// Whether another change of a network or its peer is in progress (hashicorp/google issues 3026, 3034 and 6361).
fn is_under_way(message: &str) -> bool {
    ["peering operation in progress", "route operation in progress"]
        .iter()
        .any(|words| message.contains(words))
}

impl From<ApiError> for Diagnostic {
    fn from(error: ApiError) -> Diagnostic {
        let hint = error.hint().map(|hint| format!("\n\n{hint}")).unwrap_or_default();
        let message = error.message.trim();
        if error.reason == NO_CREDENTIALS {
            let detail = format!("{} was not sent: {message}{hint}", error.operation);
            return Diagnostic::error("Google Cloud credentials not available", detail);
        }
        let summary = if error.reason.is_empty() {
            format!("{} failed", error.operation)
        } else {
            format!("{} failed: {}", error.operation, error.reason)
        };
        Diagnostic::error(summary, format!("{message}{hint}"))
    }
}

impl From<ApiError> for Diagnostics {
    fn from(error: ApiError) -> Diagnostics {
        Diagnostic::from(error).into()
    }
}

impl From<NotKnown> for ApiError {
    fn from(error: NotKnown) -> ApiError {
        ApiError {
            operation: "request",
            reason: MISSING_VALUE.to_owned(),
            message: error.to_string(),
            status: 400,
        }
    }
}

/// Whether a failed precondition is another change of the object, which is transient; `google.rpc.Code` has no reason for it.
fn is_under_change(message: &str) -> bool {
    ["not ready", "being created", "being deleted", "in progress", "etag"]
        .iter()
        .any(|words| message.contains(words))
}

/// Whether a policy names a service account that was created a moment ago.
fn is_unknown_account(message: &str) -> bool {
    message.contains("Service account") && message.contains("does not exist")
}

/// The HTTP status of a failure without one, such as that of a long-running operation.
fn status_of(code: Code) -> u16 {
    match code {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::AlreadyExists | Code::Aborted => 409,
        Code::ResourceExhausted => 429,
        Code::Unavailable => 503,
        _ => 500,
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &(dyn std::error::Error + '_)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text += ": ";
            text += &cause_text;
        }
        source = cause.source();
    }
    text
}

/// The text of an error of google-cloud-auth without its layers, and with the reason in the response that it quotes instead
/// of the response.
fn in_prose(text: &str) -> String {
    const LAYERS: [&str; 5] = [
        "cannot create the authentication headers",
        "Request to fetch the token failed. Subsequent calls with this credential will also fail.",
        "and future attempts will not succeed",
        "but future attempts may succeed",
        ", body=<",
    ];
    let quoted = text.find('{').zip(text.rfind('}')).filter(|(from, to)| from < to);
    let reason = quoted.and_then(|(from, to)| reason_in(&text[from..=to]));
    let before = if reason.is_some() { text.split('{').next().unwrap_or_default() } else { text };
    let before = LAYERS.iter().fold(before.to_owned(), |text, layer| text.replace(layer, ""));
    let parts = before.split(": ").map(|part| part.trim_matches([' ', ':']));
    let parts = parts.filter(|part| !part.is_empty() && !part.starts_with("the HTTP transport reports"));
    parts.chain(reason.as_deref()).collect::<Vec<_>>().join(": ")
}

/// The reason in a response: that of RFC 6749, section 5.2, or of an API.
fn reason_in(response: &str) -> Option<String> {
    let json: Value = serde_json::from_str(response).ok()?;
    let member = |path: &str| json.pointer(path).and_then(Value::as_str);
    match (member("/error/message"), member("/error"), member("/error_description")) {
        (Some(message), ..) => Some(message.to_owned()),
        (None, Some(code), Some(description)) => {
            Some(format!("{} ({code})", description.trim_end_matches('.')))
        }
        (None, code, _) => code.map(str::to_owned),
    }
}

/// Removes everything from `text` that looks like an OAuth token, a signed token or a private key.
pub(crate) fn redact(text: &str) -> String {
    let secret = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        word.starts_with("ya29.")
            || word.starts_with("1//")
            || (word.starts_with("eyJ") && word.contains('.'))
            || word.contains("PRIVATE KEY")
            || word.starts_with("MII")
    };
    let words: Vec<&str> = text
        .split(' ')
        .map(|word| if word.split(['"', '\'', ':', '=']).any(secret) { "(redacted)" } else { word })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
