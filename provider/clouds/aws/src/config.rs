//! The `aws` attribute of the provider block.

use std::collections::{BTreeMap, BTreeSet};

use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, Type, model};

use crate::tags;

model! {
    /// The `aws` attribute of the provider block.
    pub struct AwsConfig {
        /// Such as `us-east-1`; else as the AWS CLI finds it.
        pub region: Attr<String>,
        /// Profile of the shared configuration files.
        pub profile: Attr<String>,
        /// One URL for every service, for emulators.
        pub endpoint_url: Attr<String>,
        /// A role to assume.
        pub assume_role: Attr<AssumeRole>,
        /// Tags of every object.
        pub default_tags: Attr<BTreeMap<String, Attr<String>>>,
        /// Attempts of one API call, the first included.
        pub max_attempts: Attr<i64>,
        /// Accounts that may be changed.
        pub allowed_account_ids: Attr<BTreeSet<Attr<String>>>,
        /// VPC ids that the check against live networks leaves out.
        pub ignore_live: Attr<BTreeSet<Attr<String>>>,
    }

    /// A role to assume with the credentials found.
    pub struct AssumeRole {
        /// ARN of the role.
        pub role_arn: Attr<String>,
        /// What the role's trust policy asks for.
        pub external_id: Attr<String>,
        /// Name of the session in CloudTrail.
        pub session_name: Attr<String>,
    }
}

/// The attribute `aws` of the provider block.
///
/// It takes no keys and tokens: credentials are found as the AWS CLI finds them (environment,
/// shared files, SSO, web identity, container and instance roles).
pub fn provider_attribute() -> Attribute {
    Attribute::nested(
        "aws",
        Nesting::Single,
        [
            Attribute::string("region")
                .optional()
                .describe("Region, such as `us-east-1`. Default: `AWS_REGION` or the profile's region."),
            Attribute::string("profile")
                .optional()
                .describe("Profile of the shared AWS configuration files. Default: `AWS_PROFILE`."),
            Attribute::string("endpoint_url")
                .optional()
                .describe("One URL that answers for every AWS service, for emulators such as moto."),
            Attribute::nested(
                "assume_role",
                Nesting::Single,
                [
                    Attribute::string("role_arn").required().describe("ARN of the role."),
                    Attribute::string("external_id")
                        .optional()
                        .describe("External id that the role's trust policy asks for."),
                    Attribute::string("session_name")
                        .optional()
                        .describe("Name of the session in CloudTrail. Default: `terraform-provider-warren`."),
                ],
            )
            .optional()
            .describe("A role to assume with the credentials found."),
            Attribute::of("default_tags", Type::map(Type::String))
                .optional()
                .validate(tags::check)
                .describe("Tags of every object; a resource's own `tags` win."),
            Attribute::number("max_attempts")
                .optional()
                .validate(|value, path, diagnostics| {
                    let attempts = match value {
                        tf_provider_rs::Value::Number(number) => number.to_i64(),
                        _ => None,
                    };
                    if !attempts.is_some_and(|attempts| (1..=100).contains(&attempts)) {
                        diagnostics.error_at(
                            path.clone(),
                            "Attempts out of range",
                            "`max_attempts` is a whole number from 1 to 100.",
                        );
                    }
                })
                .describe("Attempts of one API call, the first included: 1 to 100. Default: 10."),
            Attribute::of("allowed_account_ids", Type::set(Type::String)).optional().describe(
                "Accounts that may be changed; any other account is refused before the first call.",
            ),
            Attribute::of("ignore_live", Type::set(Type::String))
                .optional()
                .describe("Ids of VPCs that the check of planned ranges against live networks leaves out."),
        ],
    )
    .optional()
    .describe(
        "The AWS account. Credentials are found as the AWS CLI finds them: environment, shared files, \
         SSO, web identity, container and instance roles.",
    )
}
