//! `warren_aws_resolver_endpoint`: schema and state.

use std::net::IpAddr;

use tf_provider_rs::validators::size_at_least;
use tf_provider_rs::{Attr, Choice, Object, Resource};
use warren_managed::HasShared;
use warren_managed::sets::Set;

use crate::common::AwsObject;
use crate::ids::{AccountId, SecurityGroupId, SubnetId, VpcId};

/// Manages an endpoint of the Route 53 Resolver. Through an inbound endpoint, other networks query the names of a VPC;
/// through an outbound endpoint, the resolver of a VPC queries DNS servers of other networks.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_resolver_endpoint", noun = "resolver endpoint")]
pub(crate) struct Endpoint {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// Direction of the queries: `INBOUND` (to the VPC) or `OUTBOUND` (from the VPC). Changing this replaces the resolver
    /// endpoint.
    #[attr(required, replaces)]
    pub(crate) direction: Attr<Direction>,
    /// IDs of the security groups, at least one. They must allow TCP and UDP port 53: inbound traffic for an `INBOUND`
    /// endpoint, outbound traffic for an `OUTBOUND` endpoint. Changing this replaces the resolver endpoint.
    #[attr(required, replaces, validate = size_at_least(1))]
    pub(crate) security_group_ids: Set<SecurityGroupId>,
    /// Addresses of the endpoint, at least two, in subnets of one VPC. Use subnets in different Availability Zones.
    /// Updated in place.
    #[attr(required, validate = size_at_least(2))]
    pub(crate) ip_addresses: Attr<Vec<IpAddress>>,
    /// ID of the VPC of the subnets.
    #[attr(computed, keeps)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// ID of the AWS account that owns the endpoint.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<AccountId>,
    /// Amazon Resource Name (ARN) of the endpoint.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

/// An address of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct IpAddress {
    /// ID of the subnet.
    #[attr(required)]
    pub(crate) subnet_id: Attr<SubnetId>,
    /// IPv4 address in the subnet. Defaults to an address that AWS chooses.
    #[attr(optional, computed)]
    pub(crate) ip: Attr<IpAddr>,
}

/// Direction of the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Direction {
    #[choice("INBOUND")]
    Inbound,
    #[choice("OUTBOUND")]
    Outbound,
}

impl HasShared for Endpoint {
    type Shared = AwsObject;
}

/// For each of `wanted`, the position of the address in `have` that serves it: the same address, else one of the same
/// subnet where `wanted` names none. No address serves two.
pub(super) fn pair(wanted: &[IpAddress], have: &[IpAddress]) -> Vec<Option<usize>> {
    let mut free: Vec<bool> = vec![true; have.len()];
    let mut pairs = vec![None; wanted.len()];
    for named in [true, false] {
        for (want, pair) in wanted.iter().zip(&mut pairs) {
            if pair.is_some() || want.ip.is_known() != named {
                continue;
            }
            let same = |one: &IpAddress| one.subnet_id == want.subnet_id && (!named || one.ip == want.ip);
            let found = have.iter().enumerate().find(|(index, one)| free[*index] && same(one));
            *pair = found.map(|(index, _)| index);
            if let Some(index) = *pair {
                free[index] = false;
            }
        }
    }
    pairs
}

/// The live addresses in the order of `before`, followed by those that it does not list.
pub(super) fn ordered(before: &[IpAddress], live: &[IpAddress]) -> Vec<IpAddress> {
    let pairs: Vec<usize> = pair(before, live).into_iter().flatten().collect();
    let rest = (0..live.len()).filter(|index| !pairs.contains(index));
    pairs.iter().copied().chain(rest).filter_map(|index| live.get(index).cloned()).collect()
}
