//! Where answers do not follow the models to the letter, and why that proves nothing false.

use super::Problem;
use crate::front::Service;

/// One deviation from the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The service.
    pub service: Service,
    /// The end of the member's dotted name, without places in lists.
    pub member: &'static str,
    /// What is different.
    pub waiver: Waiver,
    /// Why.
    pub reason: &'static str,
}

/// What a deviation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiver {
    /// A value of the enumeration in lower case.
    LowerCase,
    /// A required member is absent.
    Absent,
    /// A text is longer than the model allows.
    Longer,
}

/// All deviations.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        service: Service::Ec2,
        member: "State",
        waiver: Waiver::LowerCase,
        reason: "AWS writes the states of endpoints so, as the example of DescribeVpcEndpoints in its API reference shows",
    },
    Exception {
        service: Service::Route53,
        member: "DelegationSet",
        waiver: Waiver::Absent,
        reason: "a private zone has no delegation set: hashicorp/aws reads its name servers from the NS record instead",
    },
    Exception {
        service: Service::Route53,
        member: "Id",
        waiver: Waiver::Longer,
        reason: "the model counts the ID of a zone; AWS answers with `/hostedzone/` before it",
    },
    Exception {
        service: Service::Route53,
        member: "HostedZoneId",
        waiver: Waiver::Longer,
        reason: "as for Id",
    },
];

/// Whether a problem of an answer is one of the deviations.
pub(super) fn covers(service: Service, problem: &Problem) -> bool {
    let last = problem.name().rsplit('.').find(|part| part.parse::<usize>().is_err());
    EXCEPTIONS.iter().any(|exception| {
        exception.service == service
            && last == Some(exception.member)
            && match (exception.waiver, problem) {
                (Waiver::Absent, Problem::Missing(_)) => true,
                (Waiver::Longer, Problem::Value { expected, .. }) => expected.starts_with("length"),
                (Waiver::LowerCase, Problem::Value { value, expected, .. }) => {
                    let known = expected.strip_prefix("one of ").unwrap_or_default();
                    known.split(", ").any(|known| known.to_lowercase() == value.to_lowercase())
                }
                _ => false,
            }
    })
}
