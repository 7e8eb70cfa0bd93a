//! Schema and state of `warren_aws_route_table`.

use std::collections::BTreeSet;

use ipnet::{Ipv4Net, Ipv6Net};
use tf_provider_rs::{Attr, Object, Resource};
use warren_cidr::{Cloud, Family};
use warren_managed::{HasShared, ranges, sets::Set};

use crate::common::AwsObject;
use crate::ids::{
    EgressOnlyGatewayId, GatewayId, NatGatewayId, NetworkInterfaceId, PrefixListId, SubnetId,
    TransitGatewayId, VpcId, VpcPeeringId,
};

/// Manages a route table with all of its routes and subnet associations. Routes and associations that are not listed
/// are removed, except for those that AWS adds: local routes, routes of gateway endpoints, and propagated routes.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_route_table", noun = "route table")]
pub(crate) struct RouteTable {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the VPC. Changing this replaces the route table.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// Routes, each with exactly one destination and one target. A route whose target no longer exists (a blackhole)
    /// counts as missing, so the next apply replaces it. Updated in place.
    #[attr(optional)]
    pub(crate) routes: Attr<BTreeSet<Route>>,
    /// IDs of the subnets that use the route table. A subnet that uses another table is moved in one step. Subnets
    /// without an association use the main route table of the VPC. Updated in place.
    #[attr(optional)]
    pub(crate) subnet_ids: Set<SubnetId>,
    /// ID of the AWS account that owns the route table.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<String>,
    /// Amazon Resource Name (ARN) of the route table.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for RouteTable {
    type Shared = AwsObject;
}

/// A route: one destination, one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Route {
    /// IPv4 destination in CIDR notation.
    #[attr(optional, validate = ranges::any(Cloud::Aws, Family::V4))]
    pub(crate) destination_cidr_block: Attr<Ipv4Net>,
    /// IPv6 destination in CIDR notation.
    #[attr(optional, validate = ranges::any(Cloud::Aws, Family::V6))]
    pub(crate) destination_ipv6_cidr_block: Attr<Ipv6Net>,
    /// ID of a managed prefix list as the destination.
    #[attr(optional)]
    pub(crate) destination_prefix_list_id: Attr<PrefixListId>,
    /// ID of an internet gateway or virtual private gateway as the target.
    #[attr(optional)]
    pub(crate) gateway_id: Attr<GatewayId>,
    /// ID of a NAT gateway as the target.
    #[attr(optional)]
    pub(crate) nat_gateway_id: Attr<NatGatewayId>,
    /// ID of a transit gateway as the target. The VPC must be attached to it.
    #[attr(optional)]
    pub(crate) transit_gateway_id: Attr<TransitGatewayId>,
    /// ID of a VPC peering connection as the target.
    #[attr(optional)]
    pub(crate) vpc_peering_connection_id: Attr<VpcPeeringId>,
    /// ID of a network interface as the target, such as that of an instance that forwards traffic.
    #[attr(optional)]
    pub(crate) network_interface_id: Attr<NetworkInterfaceId>,
    /// ID of an egress-only internet gateway as the target, for IPv6 destinations.
    #[attr(optional)]
    pub(crate) egress_only_gateway_id: Attr<EgressOnlyGatewayId>,
}
