//! What a client asked, as it is recorded.

use std::fmt;

use crate::query::Params;

/// The service a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the cloud's own")]
pub enum Service {
    AutoScaling,
    Ec2,
    Ecr,
    Sts,
    S3,
    Iam,
    Ssm,
    Logs,
    Route53,
    Route53Resolver,
    /// Any service of Google with JSON.
    Google,
    /// The XML API of Google Cloud Storage.
    GoogleStorage,
    /// RunPod.
    RunPod,
    /// Any other; passed through.
    Other,
}

impl Service {
    /// The service of AWS with this name in a credential scope.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "autoscaling" => Self::AutoScaling,
            "ec2" => Self::Ec2,
            "ecr" => Self::Ecr,
            "sts" => Self::Sts,
            "s3" => Self::S3,
            "iam" => Self::Iam,
            "ssm" => Self::Ssm,
            "logs" => Self::Logs,
            "route53" => Self::Route53,
            "route53resolver" => Self::Route53Resolver,
            _ => Self::Other,
        }
    }
}

/// One recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Counts calls from 1 over the life of the front.
    pub sequence: u64,
    /// The service.
    pub service: Service,
    /// The operation: `CreateSubnet` on AWS, also where it follows from method and path; on Google the
    /// method's id in the discovery document, such as `compute.subnetworks.insert`; on RunPod the operation's id, such
    /// as `createPod`.
    pub action: String,
    /// Its parameters as the client sent them. S3 calls have `bucket`, `key`, the URL's query and any `If-…` header.
    /// Google's have those of path and query, and the body flattened under `resource`; RunPod's those of the path, and
    /// the body.
    pub params: Params,
    /// The status of the answer; `None` while under way, and where the connection was cut instead.
    pub status: Option<u16>,
    /// The error code of the answer, where it was an error that names one; Google's is the first error's `reason`.
    pub error: Option<String>,
    /// Whether the cloud has handled it.
    pub forwarded: bool,
}

impl Call {
    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        is_read(&self.action)
    }
}

/// Whether an action only reads, by its verb.
pub(crate) fn is_read(action: &str) -> bool {
    let verb = action.rsplit('.').next().unwrap_or(action);
    [
        "Describe",
        "Get",
        "List",
        "Head",
        "Search",
        "BatchGet",
        "BatchCheck",
        "get",
        "list",
        "aggregatedList",
        "wait",
    ]
    .iter()
    .any(|read| verb.starts_with(read))
}

/// A request that the real service would not understand, or that the emulated cloud does not implement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The call's sequence number.
    pub sequence: u64,
    /// The operation.
    pub action: String,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} {}: {}", self.sequence, self.action, self.problem)
    }
}
