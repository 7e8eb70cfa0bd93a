//! One answer of a real cloud.

use serde::Deserialize;

/// What a cloud answered, and who says so.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// A short name, unique in its file.
    pub id: String,
    /// Where it was published.
    pub source: String,
    /// More sources of the same answer.
    #[serde(default)]
    pub also: Vec<String>,
    /// The API.
    pub service: Service,
    /// The operation that was answered, such as `DeleteVpc`.
    pub operation: String,
    /// HTTP status.
    pub status: u16,
    /// The error code: AWS' `Code` or `__type`, Google's `reason` (or `status`), RunPod's `title`.
    pub code: String,
    /// The message as it was published; account IDs and names of people are replaced.
    pub message: String,
    /// The whole body, where it was published.
    pub body: Option<String>,
    /// What a client should make of it, by the source.
    pub client: Class,
    /// The calls after which the emulator gives this answer to the last of them; see [`crate::Step`].
    #[serde(default)]
    pub play: Vec<String>,
    /// Why the emulator's message differs, where it does.
    pub differs: Option<String>,
    /// Why the client makes something else of it, where it does.
    pub open: Option<String>,
}

/// An API with a form of errors of its own.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the clouds' own")]
pub enum Service {
    Ec2,
    Iam,
    Sts,
    AutoScaling,
    Ecr,
    Ssm,
    Route53,
    Resolver,
    Compute,
    /// An operation of Compute Engine that failed after it had begun.
    Operation,
    Dns,
    Artifacts,
    Secrets,
    Accounts,
    Perimeters,
    RunPod,
}

/// What a client should make of an answer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Repeat it later: too many calls.
    Throttled,
    /// Repeat it later: another change is in progress, or something made before is not known everywhere yet.
    Busy,
    /// Find out what became of it: the cloud failed, and may have acted.
    Lost,
    /// The object does not exist.
    NotFound,
    /// Repeat it later: something still uses the object.
    InUse,
    /// Another object is in the way.
    Conflict,
    /// A permission is missing.
    Denied,
    /// The credentials are wrong or have expired.
    Credentials,
    /// A value is wrong.
    Invalid,
    /// A quota of the account is exhausted.
    Quota,
    /// The cloud has no machine.
    Capacity,
    /// The object holds what others made, which the client must not delete.
    NotEmpty,
}

impl Class {
    /// Whether a client ends with this answer instead of acting on it.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Denied | Self::Credentials | Self::Invalid | Self::Quota | Self::Capacity | Self::NotEmpty
        )
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Throttled => "throttled",
            Self::Busy => "busy",
            Self::Lost => "lost",
            Self::NotFound => "not found",
            Self::InUse => "in use",
            Self::Conflict => "conflict",
            Self::Denied => "denied",
            Self::Credentials => "credentials",
            Self::Invalid => "invalid",
            Self::Quota => "quota",
            Self::Capacity => "capacity",
            Self::NotEmpty => "not empty",
        })
    }
}
