//! Errors of RunPod's APIs, reported with one hint and without secrets.

use std::time::Duration;

use tf_provider_rs::{Diagnostic, Diagnostics, NotKnown};
pub(crate) use warren_managed::{Failure, Remedy};

/// A failed API call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {title}: {message}")]
pub struct ApiError {
    /// Such as `createPod`.
    pub(crate) operation: &'static str,
    /// HTTP status: 0 without a response, 200 for a response that cannot be read.
    pub(crate) status: u16,
    /// Such as `Bad Request`.
    pub(crate) title: String,
    /// RunPod's message, redacted.
    pub(crate) message: String,
    /// The delay that RunPod requests.
    pub(crate) retry_after: Option<Duration>,
}

/// A longer delay is that of an hourly or daily quota.
const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// The title of a call to an endpoint that never answered. Nothing was done.
const UNREACHABLE: &str = "RunPod cannot be reached";

/// The title of an answer that lacks a member.
const INCOMPLETE: &str = "Incomplete response";

/// The title of an answer with a value that has no type here.
const UNEXPECTED: &str = "Unexpected value";

/// The title of a call without a value that it needs.
const MISSING_VALUE: &str = "Missing value";

/// Phrases in RunPod's messages about missing capacity. There is no error code for it, according to the description of
/// `createPod`. REST v2 answers 400; messages with status 500 come from REST v1 and may be passed through.
// prose: verbatim
const NO_CAPACITY: [&str; 5] = [
    "no longer any instances",
    "no instances currently available",
    "no instances available",
    "not enough free gpus",
    "does not have the resources to deploy",
];

/// What RunPod says about a container disk that a CPU flavor does not allow; REST v1 answers it with status 500.
// prose: verbatim
const DISK_LIMIT: &str = "container disk must be less than or equal to";

/// A member of an answer that the API always sends.
pub(crate) trait OrMissing<T> {
    /// The member, or an error that names the operation and the member.
    fn or_missing(self, operation: &'static str, member: &str) -> Result<T, ApiError>;
}

impl<T> OrMissing<T> for Option<T> {
    fn or_missing(self, operation: &'static str, member: &str) -> Result<T, ApiError> {
        let message = format!("the response does not contain `{member}`");
        self.ok_or_else(|| ApiError::answered(operation, 200, INCOMPLETE, message))
    }
}

impl From<NotKnown> for ApiError {
    fn from(error: NotKnown) -> ApiError {
        ApiError::answered("request", 400, MISSING_VALUE, error.to_string())
    }
}

impl ApiError {
    /// An error response.
    pub(crate) fn answered(operation: &'static str, status: u16, title: &str, message: String) -> ApiError {
        ApiError { operation, status, title: title.to_owned(), message, retry_after: None }
    }

    /// A call without a response.
    pub(crate) fn unanswered(operation: &'static str, message: String) -> ApiError {
        ApiError::answered(operation, 0, "No response", message)
    }

    /// A call to an endpoint that never answered.
    pub(crate) fn unreachable(operation: &'static str, reason: String) -> ApiError {
        ApiError::answered(operation, 0, UNREACHABLE, reason)
    }

    /// An object that does not exist.
    pub(crate) fn absent(operation: &'static str, what: &str) -> ApiError {
        ApiError::answered(operation, 404, "Not Found", format!("{what} does not exist"))
    }

    /// An answer with a value that has no type here.
    pub(crate) fn unexpected(operation: &'static str, member: &str, text: &str) -> ApiError {
        let message = format!("{text:?} as `{member}`, a value that this version of Warren does not support");
        ApiError::answered(operation, 200, UNEXPECTED, message)
    }

    /// Whether RunPod has no machine for the request.
    pub(crate) fn is_no_capacity(&self) -> bool {
        matches!(self.status, 400 | 500..) && self.says(&NO_CAPACITY)
            || self.status == 400 && self.says(&["capacity"])
    }

    /// Whether another GPU type or data center may succeed where this one was refused: by the description of `createPod`,
    /// 400 is also missing capacity, and 403 a pool that the account cannot access.
    pub(crate) fn is_refused_placement(&self) -> bool {
        self.is_no_capacity()
            || self.is_disk_limit()
            || matches!(self.status, 400 | 403) && !self.is_conflict()
    }

    fn is_disk_limit(&self) -> bool {
        self.says(&[DISK_LIMIT])
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self.status {
            _ if self.title == INCOMPLETE => {
                "RunPod always sends this member. Check that `runpod.endpoint_url` and the proxy settings lead to \
                 RunPod, then apply again."
            }
            _ if self.title == UNEXPECTED => {
                "Update Warren, or change the object to a value that the documentation lists."
            }
            _ if self.title == MISSING_VALUE => "This is a bug in the provider. Please report it.",
            _ if self.is_no_capacity() && self.operation == "podAction" => {
                "The machine of the stopped pod has rented its GPUs to others, and the pod's disk exists only on \
                 that machine. Apply again later, or recreate the pod on another machine with `terraform apply \
                 -replace=ADDRESS` or `when_stopped = \"replace\"`."
            }
            _ if self.is_no_capacity() => {
                "No matching machine is available, and nothing was rented. Apply again later, or widen the \
                 selection: more GPU types in `gpu.ids`, a lower `gpu.count`, another `cloud`, or more \
                 `data_center_ids` (with a network volume, only the volume's data center is possible). The data source \
                 `warren_runpod_gpu_types` lists what is in stock."
            }
            _ if self.is_disk_limit() => "Lower `disk`, or choose a machine with more vCPUs.",
            401 => {
                "RunPod rejected the API key. Check RUNPOD_API_KEY, or create a new key in the RunPod console under \
                 Settings > API Keys."
            }
            402 => "The account's balance is too low. Add credit in the RunPod console, then apply again.",
            403 if self.operation.starts_with("create") && self.operation != "createSecret" => {
                "The API key lacks permission, or the account cannot access this type of machine. Grant the key write \
                 access in the RunPod console under Settings > API Keys, or choose another GPU type or data center."
            }
            403 => {
                "The API key lacks permission. Grant it write access in the RunPod console under Settings > API Keys."
            }
            429 if self.retry_after.is_some_and(|wait| wait > LONGEST_WAIT) => {
                "The account has exhausted its hourly or daily API quota. Wait for the time that RunPod requests, \
                 then apply again."
            }
            429 => {
                "RunPod throttles the API calls of the account. Apply again in a minute, or lower `terraform apply \
                 -parallelism`."
            }
            _ if self.is_conflict() => {
                "Another object has this name. Import it, delete it in the RunPod console, or choose another name."
            }
            _ if self.is_in_use() => {
                "A pod that this configuration does not manage still uses the object. Stop using it in the pod that \
                 the message names, then apply again."
            }
            400 if self.operation == "createDelegation" => {
                "RunPod reads the repository when a delegation is created. Check the ARN, and let the repository's policy \
                 admit RunPod's roles, which https://docs.runpod.io/tutorials/pods/use-private-ecr-images lists."
            }
            404 => "The object was deleted outside Terraform. Run `terraform apply -refresh-only`.",
            409 => "The object's current status does not allow this operation. Apply again.",
            400 | 422 => {
                "RunPod rejected a value of this resource. Correct the value that the message names."
            }
            0 => {
                "RunPod did not respond. Check the network, the proxy settings and `runpod.endpoint_url`, then \
                 apply again."
            }
            500.. => "RunPod failed to process the request. Apply again later.",
            _ => return None,
        })
    }
}

impl Failure for ApiError {
    fn remedy(&self) -> Remedy {
        let deletes = self.operation.starts_with("delete");
        match self.status {
            429 => Remedy::Throttled,
            500.. if self.is_no_capacity() || self.is_disk_limit() => Remedy::Final,
            0 if self.title == UNREACHABLE => Remedy::Final,
            0 | 500.. => Remedy::Lost,
            404 => Remedy::NotFound,
            400 | 409 if deletes && self.says(&["in use", "attached"]) => Remedy::InUse,
            // Its name is taken: the only conflict that the schema knows of it.
            409 if self.operation == "createSecret" => Remedy::Conflict,
            400 | 409 if self.says(&["already exists", "must be unique"]) => Remedy::Conflict,
            _ => Remedy::Final,
        }
    }
}

impl From<ApiError> for Diagnostic {
    fn from(error: ApiError) -> Diagnostic {
        let hint = error.hint().map(|hint| format!("\n\n{hint}")).unwrap_or_default();
        let wait = match error.retry_after {
            Some(wait) => format!(" (retry after {} seconds)", wait.as_secs()),
            None => String::new(),
        };
        let message = error.message.trim();
        let detail = if error.status == 0 {
            format!("{message}{hint}")
        } else {
            format!("RunPod reported: {message}{wait}{hint}")
        };
        Diagnostic::error(format!("{} failed: {}", error.operation, error.title), detail)
    }
}

impl From<ApiError> for Diagnostics {
    fn from(error: ApiError) -> Diagnostics {
        Diagnostic::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_told_with_one_hint() {
        let told = |operation, status, message: &str| {
            let diagnostic = Diagnostic::from(ApiError::answered(operation, status, "T", message.to_owned()));
            format!("{}\n{}\n----\n", diagnostic.summary, diagnostic.detail)
        };
        let no_capacity = "There are no longer any instances available with the requested specifications.";
        let no_gpu = "There are not enough free GPUs on the host machine to start this pod.";
        let mut all = String::new();
        for (operation, status, message) in [
            ("createPod", 400, no_capacity),
            ("createPod", 500, "create pod: There are no instances currently available"),
            ("createPod", 500, "Container Disk must be less than or equal to 20"),
            ("podAction", 400, no_gpu),
            ("createPod", 400, "exactly one of gpu or cpu must be set"),
            ("createPod", 401, "invalid bearer token"),
            ("createPod", 402, "insufficient balance"),
            ("createPod", 403, "access denied"),
            ("listPods", 403, "access denied"),
            ("getPod", 404, "pod not found"),
            ("podAction", 409, "action start is not valid for status RUNNING"),
            ("createPod", 422, "Request validation failed.\n  $: missing property image"),
            ("createPod", 429, "rate limit exceeded for the minute window"),
            ("deleteRegistry", 400, "registry credential is in use by pod pod1"),
            ("createRegistry", 400, "a registry credential named \"x\" already exists"),
            ("createSecret", 409, "A secret with this name is taken."),
            ("createDelegation", 400, "the ECR repository policy does not grant access to Runpod"),
            ("createPod", 500, "boom"),
            ("createPod", 0, "connection refused"),
        ] {
            all += &told(operation, status, message);
        }
        let hour = Some(Duration::from_secs(1800));
        let used_up =
            ApiError::answered("listPods", 429, "T", "rate limit exceeded for the hour window".to_owned());
        all += &Diagnostic::from(ApiError { retry_after: hour, ..used_up }).detail;
        insta::assert_snapshot!(all);
    }

    #[test]
    fn an_incomplete_answer_names_operation_and_member() {
        let missing = None::<&str>.or_missing("getPod", "id").unwrap_err();
        assert!(!missing.is_ambiguous() && !missing.is_not_found() && !missing.is_conflict());
        let diagnostic = Diagnostic::from(missing);
        insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
    }

    #[test]
    fn what_is_to_be_done_follows_from_status_and_message() {
        let error =
            |operation, status, message: &str| ApiError::answered(operation, status, "T", message.to_owned());
        assert!(error("getPod", 404, "x").is_not_found());
        assert!(
            error("createSecret", 409, "taken").is_conflict() && !error("podAction", 409, "x").is_conflict()
        );
        for message in
            ["There are no instances currently available", "Container Disk must be less than or equal to 20"]
        {
            assert_eq!(error("createPod", 500, message).remedy(), Remedy::Final, "{message}");
            assert!(error("createPod", 500, message).is_refused_placement(), "{message}");
        }
        assert!(
            error("createPod", 403, "x").is_refused_placement()
                && !error("createPod", 402, "x").is_refused_placement()
        );
        assert!(error("deleteNetworkVolume", 400, "network volume is attached to pod p").is_in_use());
        assert!(!error("createPod", 400, "registry is in use").is_in_use());
        assert!(error("createPod", 0, "").is_ambiguous() && error("createPod", 503, "").is_ambiguous());
        assert!(!error("createPod", 400, "").is_ambiguous());
        let limited = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            ApiError { retry_after, ..error("getPod", 429, "rate limit exceeded") }.remedy()
        };
        assert_eq!((limited(30), limited(1800)), (Remedy::Throttled, Remedy::Throttled));
    }
}
