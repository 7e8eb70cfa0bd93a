//! The `aws` attribute of the provider block.

use std::collections::{BTreeMap, BTreeSet};

use tf_provider_rs::schema::{Attribute, Nesting};
use tf_provider_rs::{Attr, Type, model};

use crate::tags;

model! {
    /// The `aws` attribute of the provider block.
    pub struct AwsConfig {
        /// Such as `us-east-1`; by default as in the AWS CLI.
        pub region: Attr<String>,
        /// Profile of the shared configuration files.
        pub profile: Attr<String>,
        /// One URL for every service, for emulators.
        pub endpoint_url: Attr<String>,
        /// The role to assume.
        pub assume_role: Attr<AssumeRole>,
        /// Tags of every object.
        pub default_tags: Attr<BTreeMap<String, Attr<String>>>,
        /// Maximum number of attempts for an API call, including the first.
        pub max_attempts: Attr<i64>,
        /// Accounts that the provider may use.
        pub allowed_account_ids: Attr<BTreeSet<Attr<String>>>,
        /// IDs of VPCs that the check against live networks ignores.
        pub ignore_live: Attr<BTreeSet<Attr<String>>>,
    }

    /// The role to assume with the credentials that were found.
    pub struct AssumeRole {
        /// ARN of the role.
        pub role_arn: Attr<String>,
        /// The external ID that the trust policy requires.
        pub external_id: Attr<String>,
        /// Name of the session in CloudTrail.
        pub session_name: Attr<String>,
    }
}

/// The attribute `aws` of the provider block.
///
/// It accepts no keys or tokens. Credentials come from the same sources as in the AWS CLI: environment,
/// shared files, SSO, web identity, and container and instance roles.
pub fn provider_attribute() -> Attribute {
    Attribute::nested(
        "aws",
        Nesting::Single,
        [
            Attribute::string("region").optional().describe(
                "Region, such as `us-east-1`. Defaults to `AWS_REGION` or the region of the profile.",
            ),
            Attribute::string("profile")
                .optional()
                .describe("Profile in the shared AWS configuration files. Defaults to `AWS_PROFILE`."),
            Attribute::string("endpoint_url")
                .optional()
                .describe("URL of an endpoint that serves all AWS services, for emulators such as moto."),
            Attribute::nested(
                "assume_role",
                Nesting::Single,
                [
                    Attribute::string("role_arn").required().describe("ARN of the role."),
                    Attribute::string("external_id")
                        .optional()
                        .describe("External ID that the trust policy of the role requires."),
                    Attribute::string("session_name").optional().describe(
                        "Name of the role session in CloudTrail. Defaults to `terraform-provider-warren`.",
                    ),
                ],
            )
            .optional()
            .describe("IAM role to assume with the credentials that were found."),
            Attribute::of("default_tags", Type::map(Type::String))
                .optional()
                .validate(tags::check)
                .describe("Tags to set on every object. The `tags` of a resource override them."),
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
                            "Number of attempts out of range",
                            "`max_attempts` must be a whole number from 1 to 100. Choose a number in this \
                             range.",
                        );
                    }
                })
                .describe(
                    "Maximum number of attempts for an API call, including the first, 1 to 100. Defaults \
                     to `10`.",
                ),
            Attribute::of("allowed_account_ids", Type::set(Type::String)).optional().describe(
                "IDs of the AWS accounts that the provider may use. Credentials of any other account are \
                 rejected before anything is read or changed.",
            ),
            Attribute::of("ignore_live", Type::set(Type::String))
                .optional()
                .describe("IDs of VPCs to ignore when planned ranges are checked against live networks."),
        ],
    )
    .optional()
    .describe(
        "AWS account to manage. Credentials come from the same sources as in the AWS CLI: environment \
         variables, shared files, IAM Identity Center (SSO), web identity, and container and instance \
         roles.",
    )
}
