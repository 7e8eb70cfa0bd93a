//! `warren_aws_transit_gateway_attachment`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;
use warren_managed::sets::Set;

use crate::common::AwsObject;
use crate::ids::{AccountId, SubnetId, TransitGatewayId, VpcId};

/// Manages the attachment of a VPC to a transit gateway. The route tables of the VPC decide which traffic uses the
/// attachment. A route to the transit gateway requires the attachment, so name the attachment in `depends_on` of these
/// route tables.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_transit_gateway_attachment", noun = "attachment")]
pub(crate) struct Attachment {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the transit gateway. Changing this replaces the attachment.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_id: Attr<TransitGatewayId>,
    /// ID of the VPC. Changing this replaces the attachment.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// IDs of subnets of the VPC, one for each Availability Zone that the transit gateway must reach. Updated in place.
    #[attr(required)]
    pub(crate) subnet_ids: Set<SubnetId>,
    /// Whether public DNS hostnames resolve to private IP addresses across attached VPCs. Updated in place. Defaults to
    /// `true`.
    #[attr(default = true)]
    pub(crate) dns_support: Attr<bool>,
    /// Whether the attachment routes IPv6 traffic. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) ipv6_support: Attr<bool>,
    /// Whether both directions of a flow use the same Availability Zone, which a stateful network appliance requires.
    /// Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) appliance_mode: Attr<bool>,
    /// Whether the attachment is associated with the default route table of the transit gateway. By default the option
    /// `default_route_table_association` of the transit gateway decides. Ignored if another account owns the transit
    /// gateway. Updated in place.
    #[attr(optional)]
    pub(crate) transit_gateway_default_route_table_association: Attr<bool>,
    /// Whether the attachment propagates its routes to the default route table of the transit gateway. By default the
    /// option `default_route_table_propagation` of the transit gateway decides. Ignored if another account owns the
    /// transit gateway. Updated in place.
    #[attr(optional)]
    pub(crate) transit_gateway_default_route_table_propagation: Attr<bool>,
    /// ID of the AWS account that owns the VPC.
    #[attr(computed, keeps)]
    pub(crate) vpc_owner_id: Attr<AccountId>,
    /// State of the attachment: `available`, or `pendingAcceptance` until the other account accepts the attachment.
    #[attr(computed)]
    pub(crate) state: Attr<String>,
}

impl HasShared for Attachment {
    type Shared = AwsObject;
}

impl Attachment {
    /// Whether AWS reports this state.
    pub(super) fn is(&self, state: &str) -> bool {
        self.state.as_deref() == Some(state)
    }
}
