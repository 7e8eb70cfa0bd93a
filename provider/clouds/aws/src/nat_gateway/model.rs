//! Schema and state of `warren_aws_nat_gateway`.

use std::net::Ipv4Addr;

use tf_provider_rs::{Attr, Choice, Resource};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::ids::{AllocationId, NetworkInterfaceId, SubnetId, VpcId};

/// Manages a NAT gateway, through which private subnets can open outbound connections but receive none. A public
/// gateway without `allocation_id` allocates an Elastic IP address and releases it when the gateway is destroyed.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_nat_gateway", noun = "NAT gateway")]
pub(crate) struct NatGateway {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the subnet of the gateway. A public gateway needs a subnet with a route to an internet gateway. Changing
    /// this replaces the gateway.
    #[attr(required, replaces)]
    pub(crate) subnet_id: Attr<SubnetId>,
    /// Connectivity of the gateway: `public` (to the internet) or `private` (to other private networks). Changing this
    /// replaces the gateway. Defaults to `public`.
    #[attr(default = Connectivity::Public, replaces)]
    pub(crate) connectivity_type: Attr<Connectivity>,
    /// Allocation ID of an existing Elastic IP address, which is kept when the gateway is destroyed. Changing this
    /// replaces the gateway.
    #[attr(optional, replaces)]
    pub(crate) allocation_id: Attr<AllocationId>,
    /// Allocation ID of the Elastic IP address that this resource allocated. Null if it did not allocate one.
    #[attr(computed, keeps)]
    pub(crate) owned_allocation_id: Attr<AllocationId>,
    /// Public IPv4 address. Null for a private gateway.
    #[attr(computed, keeps)]
    pub(crate) public_ip: Attr<Ipv4Addr>,
    /// Private IPv4 address in the subnet.
    #[attr(computed, keeps)]
    pub(crate) private_ip: Attr<Ipv4Addr>,
    /// ID of the network interface of the gateway.
    #[attr(computed, keeps)]
    pub(crate) network_interface_id: Attr<NetworkInterfaceId>,
    /// ID of the VPC.
    #[attr(computed, keeps)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// State of the gateway, normally `available`. A gateway in the state `failed` or `deleted` is replaced by the
    /// next apply.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<State>,
}

impl HasShared for NatGateway {
    type Shared = AwsObject;
}

/// Connectivity of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Connectivity {
    #[choice("public")]
    Public,
    #[choice("private")]
    Private,
}

/// State of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Choice)]
pub(crate) enum State {
    #[choice("pending")]
    Pending,
    #[choice("available")]
    Available,
    #[choice("failed")]
    Failed,
    #[choice("deleted")]
    Deleted,
    /// Such as `deleting`.
    #[choice(other)]
    Other(String),
}

impl State {
    /// Whether the gateway works or is being created.
    pub(super) fn is_living(&self) -> bool {
        matches!(self, State::Pending | State::Available)
    }
}
