//! `warren_aws_gateway_config`: schema and state.

use tf_provider_rs::Resource;
use warren_gateways::config::FileAttributes;
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
}

impl HasShared for GatewayConfig {
    type Shared = AwsObject<ParameterName>;
}
