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
    /// A text or a list is longer or shorter than the model allows.
    Length,
    /// A value that the enumeration lacks.
    Value(&'static str),
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
        waiver: Waiver::Length,
        reason: "the model counts the ID of a zone; AWS answers with `/hostedzone/` before it",
    },
    Exception {
        service: Service::Route53,
        member: "HostedZoneId",
        waiver: Waiver::Length,
        reason: "as for Id",
    },
    Exception {
        service: Service::Ec2,
        member: "Attachments.State",
        waiver: Waiver::Value("available"),
        reason: "the model's prose: for an internet gateway, the state is available when attached to a VPC",
    },
    Exception {
        service: Service::Ssm,
        member: "Parameters.Labels",
        waiver: Waiver::Length,
        reason: "AWS answers with an empty list where a version has no labels, as the example of GetParameterHistory shows",
    },
    Exception {
        service: Service::Route53Resolver,
        member: "TargetIps",
        waiver: Waiver::Length,
        reason: "moto writes an empty list for a rule without targets; clients read it as absent",
    },
    Exception {
        service: Service::Route53,
        member: "ResourceTagSet.Tags",
        waiver: Waiver::Length,
        reason: "an object without tags; clients read an empty list as absent",
    },
    Exception {
        service: Service::Route53,
        member: "VPCs",
        waiver: Waiver::Length,
        reason: "moto writes an empty list for a public zone; clients read it as absent",
    },
    Exception {
        service: Service::Route53,
        member: "Marker",
        waiver: Waiver::Absent,
        reason: "the model's prose: Marker repeats that of the request, and the first request has none",
    },
    Exception {
        service: Service::S3,
        member: "(document)",
        waiver: Waiver::Value("True"),
        reason: "moto answers PutBucketPolicy with a text, where AWS has no body; clients read none",
    },
];

/// Whether a problem of an answer is one of the deviations.
pub(super) fn covers(service: Service, problem: &Problem) -> bool {
    let plain: Vec<&str> = problem.name().split('.').filter(|part| part.parse::<usize>().is_err()).collect();
    let plain = plain.join(".");
    let is = |member: &str| plain == member || plain.ends_with(&format!(".{member}"));
    EXCEPTIONS.iter().any(|exception| {
        exception.service == service
            && is(exception.member)
            && match (exception.waiver, problem) {
                (Waiver::Absent, Problem::Missing(_)) => true,
                (Waiver::Length, Problem::Value { expected, .. }) => expected.starts_with("length"),
                (Waiver::Value(known), Problem::Value { value, .. }) => value == known,
                (Waiver::LowerCase, Problem::Value { value, expected, .. }) => {
                    let known = expected.strip_prefix("one of ").unwrap_or_default();
                    known.split(", ").any(|known| known.to_lowercase() == value.to_lowercase())
                }
                _ => false,
            }
    })
}
