//! Schema and state of `warren_aws_subnet`.

use ipnet::{Ipv4Net, Ipv6Net};
use tf_provider_rs::{Attr, Resource};
use warren_cidr::{Cloud, Family};
use warren_managed::{HasShared, ranges};

use crate::common::AwsObject;
use crate::ids::VpcId;

/// Manages a subnet of a VPC. At plan time, Warren checks that its range is inside the VPC and does not overlap the
/// other subnets of the VPC. The subnet is private by default: new network interfaces get no public IP address.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_subnet", noun = "subnet")]
pub(crate) struct Subnet {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the VPC. Changing this replaces the subnet.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// IPv4 range of the VPC that contains the subnet. Warren uses it for checks at plan time while `vpc_id` is not
    /// known yet, and never sends it to AWS.
    #[attr(optional, validate = ranges::network(Cloud::Aws, Family::V4))]
    pub(crate) vpc_cidr_block: Attr<Ipv4Net>,
    /// IPv4 range in CIDR notation without host bits, `/16` to `/28`. AWS reserves five of its addresses. Changing
    /// this replaces the subnet.
    #[attr(required, replaces, validate = ranges::subnet(Cloud::Aws, Family::V4))]
    pub(crate) cidr_block: Attr<Ipv4Net>,
    /// IPv6 range within the IPv6 range of the VPC, `/44` to `/64` in steps of 4. Updated in place.
    #[attr(optional, validate = ranges::subnet(Cloud::Aws, Family::V6))]
    pub(crate) ipv6_cidr_block: Attr<Ipv6Net>,
    /// Availability Zone, such as `us-east-1a`. AWS chooses one if not set. Changing this replaces the subnet.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) availability_zone: Attr<String>,
    /// ID of the Availability Zone, such as `use1-az1`, which identifies the same zone in every account.
    #[attr(computed, keeps)]
    pub(crate) availability_zone_id: Attr<String>,
    /// Whether new network interfaces get a public IPv4 address. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) map_public_ip_on_launch: Attr<bool>,
    /// Whether new network interfaces get an IPv6 address. Requires `ipv6_cidr_block`. Updated in place. Defaults to
    /// `false`.
    #[attr(default = false)]
    pub(crate) assign_ipv6_on_creation: Attr<bool>,
    /// ID of the AWS account that owns the subnet.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<String>,
    /// Amazon Resource Name (ARN) of the subnet.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for Subnet {
    type Shared = AwsObject;
}
