//! `warren_aws_gateway_role`: schema and state.

use tf_provider_rs::validators::each;
use tf_provider_rs::{Attr, Diagnostics, Object, Path, Resource, Value};
use warren_gateways::grants::check_role;
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::common::{AwsObject, Global, Naming};
use crate::parameter;
use crate::region;
use crate::tags::Tags;

/// Manages an IAM role and instance profile for a gateway. The role can read the named parameters in one region of the
/// account, and nothing else unless `session_manager`,
/// `log_group_arn`, `attach_volumes_of` or `pod_role_arn` is set.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_gateway_role")]
pub(crate) struct GatewayRole {
    #[attr(flatten)]
    pub(crate) object: AwsObject<RoleName, Global>,
    /// Names of the parameters that the role can read. Updated in place.
    #[attr(required, validate = each(parameter::check_name))]
    pub(crate) parameters: Texts,
    /// Region of the parameters, such as `eu-west-1`. Updated in place. Defaults to the region of the provider.
    #[attr(optional, validate = region::check)]
    pub(crate) parameter_region: Attr<String>,
    /// ARNs of the customer managed KMS keys that encrypt the parameters. The AWS managed key needs no entry. Updated
    /// in place.
    #[attr(optional)]
    pub(crate) kms_key_arns: Texts,
    /// Whether AWS Systems Manager Session Manager can open shells on the instance. The image needs SSM Agent, which
    /// Amazon Linux 2023 and Ubuntu contain and Debian does not. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) session_manager: Attr<bool>,
    /// ARN of the CloudWatch Logs log group that the role can write to. Updated in place.
    #[attr(optional, validate = check_log_group)]
    pub(crate) log_group_arn: Attr<String>,
    /// Name of the `warren_aws_gateway_group` whose volume the role can attach to the group's instance. Updated in place.
    #[attr(optional)]
    pub(crate) attach_volumes_of: Attr<String>,
    /// ARN of the role that the gateway can assume for its pods, `arn:aws:iam::ACCOUNT:role/NAME`. The trust policy of that role
    /// must allow it, too. Updated in place.
    #[attr(optional, validate = check_role)]
    pub(crate) pod_role_arn: Attr<String>,
    /// ARN of the managed policy that is the permissions boundary of the role. Changing this replaces the role.
    #[attr(optional, replaces)]
    pub(crate) permissions_boundary: Attr<String>,
    /// Amazon Resource Name (ARN) of the role.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
    /// Amazon Resource Name (ARN) of the instance profile, for use in `warren_aws_gateway`.
    #[attr(computed, keeps)]
    pub(crate) instance_profile_arn: Attr<String>,
}

/// The name of a role is its ID.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct RoleName {
    /// Name of the role and the instance profile, 1 to 64 characters from `a-z A-Z 0-9` and `+=,.@_-`, unique in the
    /// account. Changing this replaces the role.
    #[attr(required, replaces, validate = check_name)]
    pub(crate) name: Attr<String>,
    /// Name of the role.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
}

impl Naming for RoleName {
    fn name(&self) -> &Attr<String> {
        &self.name
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn found(id: &str, _tags: &Tags) -> RoleName {
        RoleName { name: id.into(), id: id.into() }
    }
}

impl HasShared for GatewayRole {
    type Shared = AwsObject<RoleName, Global>;
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

fn check_log_group(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let arn = value.as_str().unwrap_or_default();
    let parts: Vec<&str> = arn.splitn(7, ':').collect();
    let name = parts.get(6).map(|name| name.trim_end_matches(":*")).unwrap_or_default();
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-/.#".contains(&b));
    if !matches!(parts[..], ["arn", _, "logs", _, _, "log-group", _]) || name.is_empty() || !plain {
        diagnostics.error_at(
            path.clone(),
            "Invalid ARN of a log group",
            format!(
                "{arn:?} is not the ARN of a log group. Use `arn:aws:logs:REGION:ACCOUNT:log-group:NAME`."
            ),
        );
    }
}
