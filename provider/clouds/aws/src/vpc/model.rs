//! Schema and state of `warren_aws_vpc`.

use ipnet::{Ipv4Net, Ipv6Net};
use tf_provider_rs::validators::each;
use tf_provider_rs::{Attr, Choice, Resource};
use warren_cidr::{Cloud, Family};
use warren_managed::{HasShared, ranges, sets::Set};

use crate::common::AwsObject;
use crate::ids::{RouteTableId, SecurityGroupId};

/// Manages a VPC. At plan time, Warren checks its ranges against the other networks in the run, live VPCs and the
/// claims of other owners. Nothing is open by default: Warren removes the rules of the default security group.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_vpc", noun = "VPC")]
pub(crate) struct Vpc {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// Primary IPv4 range in CIDR notation without host bits, `/16` to `/28`. Changing this replaces the VPC.
    #[attr(required, replaces, validate = ranges::network(Cloud::Aws, Family::V4))]
    pub(crate) cidr_block: Attr<Ipv4Net>,
    /// Additional IPv4 ranges in CIDR notation, `/16` to `/28` each. The primary range restricts which ranges AWS
    /// allows. Updated in place.
    #[attr(optional, validate = each(ranges::network(Cloud::Aws, Family::V4)))]
    pub(crate) secondary_cidr_blocks: Set<Ipv4Net>,
    /// Whether to request an Amazon-provided IPv6 `/56` range. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) assign_generated_ipv6: Attr<bool>,
    /// Amazon-provided IPv6 `/56` range.
    #[attr(computed)]
    pub(crate) ipv6_cidr_block: Attr<Ipv6Net>,
    /// Whether the Amazon DNS resolver is available in the VPC. Private DNS of interface endpoints requires it.
    /// Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) enable_dns_support: Attr<bool>,
    /// Whether instances with public IP addresses get public DNS hostnames. Private DNS of interface endpoints
    /// requires it. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) enable_dns_hostnames: Attr<bool>,
    /// Tenancy of instances in the VPC: `default` or `dedicated` (single-tenant hardware). Changing this replaces the
    /// VPC. Defaults to `default`.
    #[attr(default = Tenancy::Default, replaces)]
    pub(crate) instance_tenancy: Attr<Tenancy>,
    /// Whether to keep the default security group without rules, so that a network interface without a security group
    /// of its own has no connectivity. `false` leaves the group as it is. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) lock_default_security_group: Attr<bool>,
    /// ID of the default security group.
    #[attr(computed, keeps)]
    pub(crate) default_security_group_id: Attr<SecurityGroupId>,
    /// ID of the route table that AWS created with the VPC.
    #[attr(computed, keeps)]
    pub(crate) default_route_table_id: Attr<RouteTableId>,
    /// ID of the main route table. Subnets without an explicit association use it.
    #[attr(computed, keeps)]
    pub(crate) main_route_table_id: Attr<RouteTableId>,
    /// ID of the AWS account that owns the VPC.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<String>,
    /// Amazon Resource Name (ARN) of the VPC.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for Vpc {
    type Shared = AwsObject;
}

/// Tenancy of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Tenancy {
    #[choice("default")]
    Default,
    #[choice("dedicated")]
    Dedicated,
}
