//! AWS errors as diagnostics, each with one hint and with secrets redacted.

use std::str::FromStr;

use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use tf_provider_rs::{Diagnostic, Diagnostics, NotKnown};
pub(crate) use warren_managed::{Failure, Remedy};

use crate::credentials::{NoCredentials, find};
use crate::http::Unreachable;
use crate::partition;
use crate::redact::redact;

/// A failed API call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {code}: {message}")]
pub struct ApiError {
    /// Such as `CreateVpc`.
    pub(crate) operation: &'static str,
    /// The error code of AWS; empty if AWS did not respond.
    pub(crate) code: String,
    /// The message of AWS, redacted.
    pub(crate) message: String,
    /// HTTP status; 0 if AWS did not respond.
    pub(crate) status: u16,
}

/// Adds the name of the operation to an SDK error.
pub(crate) trait Named<T> {
    /// The result with the operation's name in its error.
    fn named(self, operation: &'static str) -> Result<T, ApiError>;
}

impl<T, E> Named<T> for Result<T, SdkError<E, HttpResponse>>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    fn named(self, operation: &'static str) -> Result<T, ApiError> {
        self.map_err(|error| {
            if let Some(told) = find::<NoCredentials>(&error) {
                return ApiError {
                    operation,
                    code: NO_CREDENTIALS.to_owned(),
                    message: told.0.clone(),
                    status: 0,
                };
            }
            if let Some(dead) = find::<Unreachable>(&error) {
                let message = unreachable(dead);
                return ApiError { operation, code: UNREACHABLE.to_owned(), message, status: 0 };
            }
            let status = error.raw_response().map_or(0, |response| response.status().as_u16());
            let code = error.code().unwrap_or_default().to_owned();
            let message = match error.message() {
                Some(message) if !code.is_empty() => message.to_owned(),
                _ => chain(&error),
            };
            // The encoded message of a denied call is long but not secret, and administrators need it (`aws
            // sts decode-authorization-message`).
            let message = if code == "UnauthorizedOperation" { message } else { redact(&message) };
            ApiError { operation, code, message, status }
        })
    }
}

/// An error with its causes in prose. Layers of the SDK that add no information are left out.
pub(crate) fn chain(error: &(dyn std::error::Error + '_)) -> String {
    const LAYERS: [&str; 14] = [
        "dispatch failure",
        "service error",
        "response error",
        "unhandled error",
        "failed to construct request",
        "an error occurred while loading credentials",
        "the credential provider was not enabled",
        "the credentials provider was not properly configured",
        "unexpected credentials error",
        "io error",
        "user error",
        "other",
        "timeout",
        "client error (Connect)",
    ];
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default().trim().trim_end_matches('.');
        if !text.is_empty() && !LAYERS.contains(&text) && !parts.iter().any(|part| part.contains(text)) {
            parts.push(text.to_owned());
        }
        next = error.source();
    }
    if parts.is_empty() { error.to_string() } else { parts.join(": ") }
}

/// [`chain`] without anything that looks like a credential.
pub(crate) fn redacted_chain(error: &(dyn std::error::Error + '_)) -> String {
    redact(&chain(error))
}

/// What is wrong with a host that never answered, and with the region in its name, as sentences.
pub(crate) fn unreachable(dead: &Unreachable) -> String {
    // Services without regions, such as `iam.amazonaws.com`, have no name of a region in front of the domain.
    let mut labels = dead.host.split('.').skip(1);
    let region = labels.next().filter(|_| labels.next() == Some("amazonaws"));
    let Some(region) = region.filter(|region| !partition::is_known(region)) else {
        return format!("{dead}.");
    };
    let meant = partition::nearest(region).map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
    format!("{dead}. AWS had no region `{region}` when this version of Warren was released.{meant}")
}

/// A member that the response of an operation must have.
pub(crate) trait OrMissing<T> {
    /// The member, or an error that names it.
    fn or_missing(self, operation: &'static str, member: &'static str) -> Result<T, ApiError>;
}

impl<T> OrMissing<T> for Option<T> {
    fn or_missing(self, operation: &'static str, member: &'static str) -> Result<T, ApiError> {
        self.ok_or_else(|| ApiError::incomplete_answer(operation, format!("a response without `{member}`")))
    }
}

/// A text of a response that has a type here. An empty element of a response in XML has no value.
pub(crate) trait Parsed {
    /// The text, unless it is empty.
    fn non_empty(self) -> Option<String>;

    /// The parsed member; an error if it is missing or does not parse.
    fn parsed<T: FromStr>(self, operation: &'static str, member: &'static str) -> Result<T, ApiError>;

    /// The parsed member, if there is one; an error if it does not parse.
    fn parsed_if_set<T: FromStr>(
        self,
        operation: &'static str,
        member: &'static str,
    ) -> Result<Option<T>, ApiError>;
}

impl Parsed for Option<String> {
    fn non_empty(self) -> Option<String> {
        self.filter(|text| !text.is_empty())
    }

    fn parsed<T: FromStr>(self, operation: &'static str, member: &'static str) -> Result<T, ApiError> {
        self.parsed_if_set(operation, member)?.or_missing(operation, member)
    }

    fn parsed_if_set<T: FromStr>(
        self,
        operation: &'static str,
        member: &'static str,
    ) -> Result<Option<T>, ApiError> {
        let unexpected = |text: String| ApiError {
            operation,
            code: UNEXPECTED.to_owned(),
            message: format!("{text:?} as `{member}`, a value that this version of Warren does not support"),
            status: 200,
        };
        self.non_empty().map(|text| text.parse().map_err(|_| unexpected(text))).transpose()
    }
}

/// The code of a response that lacks a member.
const INCOMPLETE: &str = "IncompleteResponse";

/// The code of a response with a value that has no type here.
const UNEXPECTED: &str = "UnexpectedValue";

/// The code of a host that never answered. Nothing was done.
const UNREACHABLE: &str = "Unreachable";

/// The code of a call for which no credentials were found. Nothing was sent.
const NO_CREDENTIALS: &str = "NoCredentials";

/// The code of a bug: a value that a call needs is not known.
const NOT_KNOWN: &str = "MissingValue";

impl From<NotKnown> for ApiError {
    fn from(error: NotKnown) -> ApiError {
        let message = format!("{error}");
        ApiError { operation: "Warren", code: NOT_KNOWN.to_owned(), message, status: 400 }
    }
}

impl ApiError {
    /// A describe call whose response lacks the requested object.
    pub(crate) fn absent(operation: &'static str, id: &str) -> ApiError {
        ApiError {
            operation,
            code: "Absent.NotFound".to_owned(),
            message: format!("{id} does not exist"),
            status: 400,
        }
    }

    /// A response that does not contain everything.
    pub(crate) fn incomplete_answer(operation: &'static str, message: String) -> ApiError {
        ApiError { operation, code: INCOMPLETE.to_owned(), message, status: 200 }
    }

    /// A sentence for a call that the run can do without.
    pub(crate) fn reason(&self) -> String {
        let ApiError { operation, code, message, .. } = self;
        let message = message.trim().trim_end_matches('.');
        match code.as_str() {
            "" => format!("AWS did not respond to {operation}: {message}."),
            code => format!("{operation} failed: {code}: {message}."),
        }
    }

    /// A call that the SDK did not send.
    pub(crate) fn unsent(operation: &'static str, error: &dyn std::error::Error) -> ApiError {
        ApiError { operation, code: "InvalidParameter".to_owned(), message: error.to_string(), status: 400 }
    }

    /// Whether a quota of the account refuses one more object.
    fn is_quota(&self) -> bool {
        let code = self.code.as_str();
        let exceeded = code.ends_with("LimitExceeded") && !is_throttle(code, self.status);
        let named = [
            "LimitExceededException",
            "LimitsExceeded",
            "TooManyHostedZones",
            "TooManyVPCAssociationAuthorizations",
        ];
        exceeded || named.contains(&code)
    }

    fn hint(&self) -> Option<&'static str> {
        let code = self.code.as_str();
        Some(match code {
            "UnauthorizedOperation" | "AccessDenied" | "AccessDeniedException" => {
                "Allow this action for the role that runs Terraform. `aws sts \
                 decode-authorization-message` shows the policy that denies it."
            }
            "AuthFailure"
            | "InvalidClientTokenId"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException" => {
                "AWS rejects these credentials. Check AWS_PROFILE, the access keys, and the clock of this \
                 machine."
            }
            "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" => {
                "The session has expired. Sign in again (`aws sso login`), then re-run the command."
            }
            "OptInRequired" => {
                "The region is not enabled for this account. Enable it, or use another region."
            }
            _ if self.is_quota() => {
                "A quota of the account is exhausted. Request an increase in Service Quotas, or delete \
                 objects that are no longer needed."
            }
            _ if is_no_capacity(code) => {
                "AWS has no capacity for this request at present, and nothing was created. Apply again later, or choose \
                 a subnet in another Availability Zone, or another instance type."
            }
            "InvalidSubnet.Conflict" => {
                "Another subnet of the VPC uses these addresses. Choose a free range, for example with \
                 `warren_address_plan`."
            }
            "InvalidSubnet.Range" => "Choose a range of /16 to /28 inside a range of the VPC.",
            "InvalidVpc.Range" | "InvalidVpcRange" => "Choose a range of /16 to /28.",
            "CidrConflict" | "InvalidVpc.Conflict" => {
                "Choose a range that does not overlap the existing ranges of the VPC."
            }
            _ if self.remedy() == Remedy::Unpropagated && self.operation == "CreateFlowLogs" => {
                "The role does not exist, or its trust policy does not admit `vpc-flow-logs.amazonaws.com`."
            }
            _ if self.remedy() == Remedy::Unpropagated => {
                "AWS does not know the role or the instance profile. Check that it exists in this account."
            }
            "InvalidStateTransition" => {
                "Correct the other side, or delete the object and apply again: AWS does not permit this change in its \
                 present state."
            }
            "InvalidParameterValue"
            | "InvalidParameter"
            | "InvalidParameterCombination"
            | "ValidationError"
            | "MissingParameter" => {
                "AWS rejected a value of this resource. Correct the value that the message names."
            }
            UNREACHABLE => {
                "Check the region (`aws.region`, AWS_REGION), `aws.endpoint_url`, AWS_ENDPOINT_URL, the network, and the \
                 proxy in HTTPS_PROXY, then re-run the command."
            }
            INCOMPLETE => {
                "The AWS API always returns this value. Apply again; if the error persists, check which server \
                 answers at `aws.endpoint_url`."
            }
            UNEXPECTED => "Update Warren, or change the object to a value that the documentation lists.",
            "InvalidTransitGatewayID.NotFound"
                if matches!(self.operation, "CreateRoute" | "ReplaceRoute") =>
            {
                "The VPC is not attached to this transit gateway. Create a `warren_aws_transit_gateway_attachment`, \
                 and name it in `depends_on` of the route table."
            }
            "Gateway.NotAttached" => {
                "A public address needs an internet gateway in its VPC. Create a `warren_aws_internet_gateway`, and \
                 name it in `depends_on` of this resource."
            }
            "Resource.AlreadyAssociated" if self.operation == "AssociateTransitGatewayRouteTable" => {
                "An attachment has one route table. Remove the other association. If it is that of the default route \
                 table, set `transit_gateway_default_route_table_association = false` for the attachment."
            }
            "RouteAlreadyExists" => {
                "The route table already has a route to this destination that this resource does not \
                 manage. Remove it from the route table, or remove it from this resource."
            }
            "Resource.AlreadyAssociated" => {
                "The object is already attached to or associated with another object. Detach it there, or \
                 remove it from this resource."
            }
            "ConflictingDomainExists" => {
                "A VPC sees one private zone for each domain name. Use the zone that exists, or disassociate it from \
                 the VPC first."
            }
            "LastVPCAssociation" => {
                "A private zone keeps at least one VPC. Associate another VPC first, or delete the zone."
            }
            "NotAuthorizedException" => {
                "The zone belongs to another account. Add the VPC to `authorized_vpcs` of the zone there."
            }
            "HostedZoneNotEmpty" => {
                "The zone contains records that this configuration does not manage. Delete them, or set \
                 `force_destroy = true`, apply, and destroy again."
            }
            "InvalidChangeBatch" => {
                "Correct the record that the message names, or import the record that exists."
            }
            _ if self.is_throttle() => {
                "AWS throttles API calls for the whole account and region. Retry later, or lower \
                 `-parallelism`."
            }
            _ if self.is_not_ready() => "Another change to the object was still in progress. Apply again.",
            _ if self.is_in_use() => {
                "An object outside this configuration still uses it. Remove the object that the message \
                 names, or look for network interfaces in the VPC."
            }
            _ if self.is_not_found() => {
                "It was deleted outside Terraform, or it belongs to another region or account. Run \
                 `terraform apply -refresh-only`."
            }
            _ if self.code.is_empty() => {
                "AWS did not respond. Check the network, the proxy settings and `aws.endpoint_url`, then \
                 re-run the command."
            }
            _ => return None,
        })
    }
}

impl Failure for ApiError {
    fn remedy(&self) -> Remedy {
        let ApiError { operation, code, message, status } = self;
        let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
        let ends = |ends: &[&str]| ends.iter().any(|end| code.ends_with(end));
        match code.as_str() {
            _ if is_throttle(code, *status) => Remedy::Throttled,
            _ if is_lost(code, *status) => Remedy::Lost,
            // EC2 changes one thing at a time of a transit gateway and its attachments.
            "IncorrectState" if operation.contains("TransitGateway") => Remedy::Busy,
            // Route 53 changes one thing at a time of a zone, and Systems Manager of a parameter. A token that named other parameters is not used again.
            "PriorRequestNotComplete"
            | "TooManyUpdates"
            | "ConcurrentModification"
            | "ResourceUnavailableException"
            | "IdempotentParameterMismatch" => Remedy::Busy,
            // RunInstances and CreateFlowLogs right after IAM made the identity. hashicorp/aws waits for the same messages
            // (`ec2_instance.go`, `vpc_flow_log.go`).
            "InvalidParameterValue"
                if says(&["Invalid IAM Instance Profile", "has no associated IAM Roles"]) =>
            {
                Remedy::Unpropagated
            }
            // As above, in the answer of Auto Scaling about a launch template (`group.go` in hashicorp/aws).
            "ValidationError" if says(&["Invalid IAM Instance Profile", "has no associated IAM Roles"]) => {
                Remedy::Unpropagated
            }
            "ValidationError" if says(&["AutoScalingGroup name not found"]) => Remedy::NotFound,
            // DeleteNetworkInterface and DeleteVolume while the instance that uses them is being terminated.
            "InvalidParameterValue" if says(&["is currently in use"]) => Remedy::InUse,
            "InvalidParameter" | "InvalidParameterValue" if says(&["Unable to assume given IAM role"]) => {
                Remedy::Unpropagated
            }
            // DeleteResolverEndpoint while a rule still names the endpoint.
            "InvalidRequestException" if says(&["related resolver rules"]) => Remedy::InUse,
            "DependencyViolation"
            | "ResourceInUse"
            | "VolumeInUse"
            | "ScalingActivityInProgress"
            | "IncorrectState"
            | "OperationNotPermitted"
            | "DeleteConflict" => Remedy::InUse,
            _ if ends(&[".InUse", "InUseException"]) => Remedy::InUse,
            "NatGatewayNotFound"
            | "Gateway.NotAttached"
            | "NoSuchEntity"
            | "ParameterNotFound"
            | "ParameterVersionNotFound"
            | "InvalidResourceId"
            | "NoSuchHostedZone"
            | "NoSuchChange"
            | "InvalidVPCId"
            | "VPCAssociationNotFound"
            | "VPCAssociationAuthorizationNotFound" => Remedy::NotFound,
            _ if ends(&[".NotFound", "NotFoundException"]) => Remedy::NotFound,
            "DuplicateTransitGatewayAttachment"
            | "EntityAlreadyExists"
            | "ConflictingDomainExists"
            | "ResourceExistsException" => Remedy::Conflict,
            _ if ends(&[
                ".Conflict",
                ".Duplicate",
                "AlreadyExists",
                "AlreadyExistsException",
                "AlreadyAssociated",
            ]) =>
            {
                Remedy::Conflict
            }
            _ => Remedy::Final,
        }
    }
}

/// Whether AWS limits the rate of calls: the codes that botocore's retry handler lists (`_retry.json`,
/// `ThrottledRetryableChecker`), without those of quotas.
fn is_throttle(code: &str, status: u16) -> bool {
    matches!(
        code,
        "RequestLimitExceeded"
            | "Throttling"
            | "ThrottlingException"
            | "ThrottledException"
            | "TooManyRequestsException"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "EC2ThrottledException"
            | "ProvisionedThroughputExceededException"
            | "BandwidthLimitExceeded"
            | "SlowDown"
    ) || status == 429
}

/// Whether there is no usable response.
fn is_lost(code: &str, status: u16) -> bool {
    (code.is_empty() && status == 0) || (status >= 500 && !is_no_capacity(code))
}

/// Whether AWS has no machine, address, or volume for the request. These are server errors, but the call was not lost: the
/// EC2 API reference lists them ("Server error codes") with the advice to change the request or to try later.
fn is_no_capacity(code: &str) -> bool {
    code.starts_with("Insufficient") && code.ends_with("Capacity")
}

/// The remedy of a failed attempt, as far as the code and the status tell it.
pub(crate) fn of_attempt(code: &str, status: u16) -> Remedy {
    if is_throttle(code, status) {
        Remedy::Throttled
    } else if is_lost(code, status) {
        Remedy::Lost
    } else {
        Remedy::Final
    }
}

impl From<ApiError> for Diagnostic {
    fn from(error: ApiError) -> Diagnostic {
        let hint = error.hint().map(|hint| format!("\n\n{hint}")).unwrap_or_default();
        let message = error.message.trim();
        let (summary, detail) = if error.code == NOT_KNOWN {
            let detail =
                format!("The provider needs a value here, but {message}. This is a bug in the provider.");
            ("Missing value".to_owned(), detail)
        } else if error.code == NO_CREDENTIALS {
            (
                "AWS credentials not available".to_owned(),
                format!("{} was not sent. {message}", error.operation),
            )
        } else if error.code == UNREACHABLE {
            (format!("{} failed: AWS cannot be reached", error.operation), format!("{message}{hint}"))
        } else if error.code.is_empty() {
            (format!("{} failed", error.operation), format!("{message}{hint}"))
        } else {
            (format!("{} failed: {}", error.operation, error.code), format!("AWS returned: {message}{hint}"))
        };
        Diagnostic::error(summary, detail)
    }
}

impl From<ApiError> for Diagnostics {
    fn from(error: ApiError) -> Diagnostics {
        Diagnostic::from(error).into()
    }
}

#[cfg(test)]
mod tests;
