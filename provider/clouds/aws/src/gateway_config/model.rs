//! `warren_aws_gateway_config`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_gateways::config::FileAttributes;
use warren_gateways::grants::{Identity, check_role};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::parameter::ParameterName;

/// Manages the configuration file of a gateway in Systems Manager Parameter Store. The gateway fetches it every minute,
/// so groups, policy and token keys change without replacing the gateway. The file contains no secrets.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_aws_gateway_config",
    noun = "parameter",
    example = "`/warren/gw-a/config`",
    store = "parameter",
    limit = "8 KB"
)]
pub(crate) struct GatewayConfig {
    #[attr(flatten)]
    pub(crate) object: AwsObject<ParameterName>,
    #[attr(flatten)]
    pub(crate) file: FileAttributes,
    /// ARN of the role whose narrowed credentials pods get, `arn:aws:iam::ACCOUNT:role/NAME`. The gateway's own role must be
    /// able to assume it. Required with `grants`. Updated in place.
    #[attr(optional, validate = check_role)]
    pub(crate) pod_role_arn: Attr<String>,
}

impl GatewayConfig {
    /// What the gateway narrows for pods, through the endpoint of a region.
    pub(super) fn identity<'a>(&'a self, region: Option<&'a str>) -> Identity<'a> {
        Identity::Aws(&self.pod_role_arn, region)
    }
}

impl HasShared for GatewayConfig {
    type Shared = AwsObject<ParameterName>;
}
