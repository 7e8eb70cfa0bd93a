//! Errors held against those that an operation declares.

use super::Problem;
use super::model::{Model, Protocol};
use crate::front::reply::{Reply, error_code};

/// Errors of every operation, which no operation declares: AWS lists them for each service under "Common errors".
const COMMON: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InternalError",
    "InternalFailure",
    "InvalidAction",
    "InvalidClientTokenId",
    "InvalidInput",
    "InvalidParameterCombination",
    "InvalidParameterValue",
    "MissingParameter",
    "OptInRequired",
    "PriorRequestNotComplete",
    "RequestExpired",
    "ServiceUnavailable",
    "SignatureDoesNotMatch",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "UnknownParameter",
    "UnrecognizedClientException",
    "ValidationError",
    "ValidationException",
    // S3 lists its errors for all operations in its API reference, under "Error responses".
    "BucketAlreadyOwnedByYou",
    "ConditionalRequestConflict",
    "NoSuchBucket",
    "NoSuchKey",
    "PreconditionFailed",
    // The emulator's own.
    "EmulatorGone",
    "UnsupportedByEmulator",
];

/// What is wrong with an error answer.
pub(super) fn check(model: &Model, action: &str, reply: &Reply) -> Vec<Problem> {
    let status = reply.status().as_u16();
    let Some(code) = error_code(reply) else {
        // An answer to HEAD has no body, and so no code.
        return if reply.body().is_empty() { Vec::new() } else { vec![Problem::Missing("Code".to_owned())] };
    };
    let declared = model.errors(action);
    if declared.is_empty() || model.protocol == Protocol::Ec2 || COMMON.contains(&code.as_str()) {
        return Vec::new();
    }
    match declared.iter().find(|declared| declared.code == code) {
        None => {
            let known: Vec<&str> = declared.iter().map(|declared| declared.code.as_str()).collect();
            vec![Problem::value("Code", &code, &format!("one of {}", known.join(", ")))]
        }
        Some(declared) => match declared.status {
            Some(expected) if expected != status => {
                vec![Problem::value("(status)", &format!("{status} {code}"), &expected.to_string())]
            }
            _ => Vec::new(),
        },
    }
}
