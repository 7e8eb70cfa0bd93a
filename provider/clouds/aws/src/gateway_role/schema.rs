//! Attributes and state of `warren_aws_gateway_role`.

use serde_json::{Value as Json, json};
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::parameter;
use crate::policy;
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::{Timeouts, ranges, sets};

model! {
    /// A role with its instance profile.
    pub struct GatewayRole {
        /// Name of the role and the profile.
        pub name: Attr<String>,
        /// The same.
        pub id: Attr<String>,
        /// Names of the parameters that it can read.
        pub parameters: sets::Texts,
        /// ARNs of KMS keys that decrypt them.
        pub kms_key_arns: sets::Texts,
        /// ARN of a managed policy.
        pub permissions_boundary: Attr<String>,
        /// ARN of the role.
        pub arn: Attr<String>,
        /// ARN of the instance profile.
        pub instance_profile_arn: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(GatewayRole, "warren_aws_gateway_role");

/// The trust policy: EC2 instances.
pub(super) const TRUST: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages an IAM role and instance profile for a gateway. The role can read the named parameters \
         in the account and region of the provider, and nothing else.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(check_name).describe(
            "Name of the role and the instance profile, 1 to 64 characters from `a-z A-Z 0-9` and \
             `+=,.@_-`, unique in the account. Changing this replaces the role.",
        ),
        Attribute::string("id").computed().keeps().describe("Name of the role."),
        Attribute::of("parameters", Type::set(Type::String))
            .required()
            .validate(ranges::each(parameter::check_name))
            .describe("Names of the parameters that the role can read. Updated in place."),
        Attribute::of("kms_key_arns", Type::set(Type::String)).optional().describe(
            "ARNs of the customer managed KMS keys that encrypt the parameters. The AWS managed key needs \
             no entry. Updated in place.",
        ),
        Attribute::string("permissions_boundary").optional().replaces().describe(
            "ARN of the managed policy that is the permissions boundary of the role. Changing this \
             replaces the role.",
        ),
        Attribute::string("arn").computed().keeps().describe("Amazon Resource Name (ARN) of the role."),
        Attribute::string("instance_profile_arn")
            .computed()
            .keeps()
            .describe("Amazon Resource Name (ARN) of the instance profile, for use in `warren_aws_gateway`."),
    ])
    .attributes(common::tail())
}

/// The policy: read the parameters, decrypt them with the keys.
pub(super) fn policy(aws: &Aws, account: &str, role: &GatewayRole) -> String {
    let parameters = sets::known(&role.parameters);
    let names: Vec<String> = parameters.iter().map(|name| aws.parameter_arn(account, name)).collect();
    let mut statements = vec![json!({ "Effect": "Allow", "Action": "ssm:GetParameter", "Resource": names })];
    let keys = sets::known(&role.kms_key_arns);
    if !keys.is_empty() {
        statements.push(json!({ "Effect": "Allow", "Action": "kms:Decrypt", "Resource": keys }));
    }
    json!({ "Version": "2012-10-17", "Statement": statements }).to_string()
}

/// The state of the object that was found, based on `before`. A policy that allows anything besides reading
/// parameters appears as one that allows nothing, so that the next apply rewrites it.
pub(super) fn state(aws: &Aws, found: Found, before: &GatewayRole) -> GatewayRole {
    let mut state = before.clone();
    state.take_tags(aws, &found.role.tags);
    let document = found.policy.unwrap_or_default();
    let arns = resources(&document, "ssm:GetParameter").into_iter();
    let names = arns.filter_map(|arn| arn.split_once(":parameter/").map(|(_, name)| format!("/{name}")));
    state.parameters = sets::of(names);
    state.kms_key_arns = sets::found(resources(&document, "kms:Decrypt"), &before.kms_key_arns);
    let account = found.role.arn.split(':').nth(4).unwrap_or_default();
    if !policy::equivalent(&document, &policy(aws, account, &state)) {
        state.parameters = sets::of([]);
    }
    let linked = found.profile.filter(|profile| profile.roles.contains(&found.name));
    state.instance_profile_arn = linked.map(|profile| profile.arn).into();
    state.arn = found.role.arn.into();
    state.name = found.name.as_str().into();
    state.id = found.name.into();
    state
}

/// The resources of the statements whose only action is `action`.
fn resources(document: &str, action: &str) -> Vec<String> {
    let document: Json = serde_json::from_str(document).unwrap_or_default();
    let statements = document["Statement"].as_array().into_iter().flatten();
    let about = statements.filter(|statement| statement["Action"] == action);
    let named = about.flat_map(|statement| match &statement["Resource"] {
        Json::Array(items) => items.clone(),
        one => vec![one.clone()],
    });
    named.filter_map(|resource| resource.as_str().map(str::to_owned)).collect()
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-".contains(c);
    if !(1..=64).contains(&name.len()) || !name.chars().all(allowed) {
        diagnostics.error_at(
            path.clone(),
            "Invalid role name",
            "The name is empty, too long, or contains characters that IAM does not accept. Use 1 to 64 \
             characters from `a-z A-Z 0-9` and `+=,.@_-`.",
        );
    }
}
