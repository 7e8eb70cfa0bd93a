//! `warren_aws_transit_gateway_route_table_propagation`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsPart;
use crate::ids::{TransitGatewayAttachmentId, TransitGatewayRouteTableId};

/// Propagates the routes of an attachment to a route table of the transit gateway: the ranges of an attached VPC become
/// routes of the table. An attachment can propagate to several tables.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_transit_gateway_route_table_propagation", noun = "propagation")]
pub(crate) struct Propagation {
    #[attr(flatten)]
    pub(crate) part: AwsPart,
    /// ID of the route table of the transit gateway. Changing this replaces the propagation.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_route_table_id: Attr<TransitGatewayRouteTableId>,
    /// ID of the attachment. Changing this replaces the propagation.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_attachment_id: Attr<TransitGatewayAttachmentId>,
    /// ID of the attached object, such as a VPC.
    #[attr(computed, keeps)]
    pub(crate) resource_id: Attr<String>,
    /// Type of the attached object, such as `vpc`.
    #[attr(computed, keeps)]
    pub(crate) resource_type: Attr<String>,
}

impl HasShared for Propagation {
    type Shared = AwsPart;
}

impl Propagation {
    /// The propagation of this table and attachment.
    pub(super) fn of(
        table: &TransitGatewayRouteTableId,
        attachment: &TransitGatewayAttachmentId,
    ) -> Propagation {
        let part = AwsPart { id: format!("{table}_{attachment}").into(), ..AwsPart::default() };
        Propagation {
            part,
            transit_gateway_route_table_id: table.clone().into(),
            transit_gateway_attachment_id: attachment.clone().into(),
            ..Propagation::default()
        }
    }
}
