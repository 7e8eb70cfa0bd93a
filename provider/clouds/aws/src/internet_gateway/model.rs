//! Schema and state of `warren_aws_internet_gateway`.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::ids::VpcId;

/// Manages an internet gateway and attaches it to a VPC. The gateway alone opens nothing: traffic also needs a route to
/// the gateway, a public IP address and a security group that allows it.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_internet_gateway", noun = "internet gateway")]
pub(crate) struct InternetGateway {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the VPC to attach the gateway to. A VPC has at most one internet gateway. Updated in place.
    #[attr(required)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// ID of the AWS account that owns the gateway.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<String>,
    /// Amazon Resource Name (ARN) of the internet gateway.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for InternetGateway {
    type Shared = AwsObject;
}
