//! `warren_aws_transit_gateway_route_table_association`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsPart;
use crate::ids::{TransitGatewayAttachmentId, TransitGatewayRouteTableId};

/// Associates an attachment of a transit gateway with a route table. The table decides where traffic goes that comes
/// from the attachment. An attachment has at most one association.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_transit_gateway_route_table_association", noun = "association")]
pub(crate) struct Association {
    #[attr(flatten)]
    pub(crate) part: AwsPart,
    /// ID of the route table of the transit gateway. Changing this replaces the association.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_route_table_id: Attr<TransitGatewayRouteTableId>,
    /// ID of the attachment. Changing this replaces the association.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_attachment_id: Attr<TransitGatewayAttachmentId>,
    /// ID of the attached object, such as a VPC.
    #[attr(computed, keeps)]
    pub(crate) resource_id: Attr<String>,
    /// Type of the attached object, such as `vpc`.
    #[attr(computed, keeps)]
    pub(crate) resource_type: Attr<String>,
}

impl HasShared for Association {
    type Shared = AwsPart;
}

impl Association {
    /// The association of this table and attachment.
    pub(super) fn of(
        table: &TransitGatewayRouteTableId,
        attachment: &TransitGatewayAttachmentId,
    ) -> Association {
        let part = AwsPart { id: format!("{table}_{attachment}").into(), ..AwsPart::default() };
        Association {
            part,
            transit_gateway_route_table_id: table.clone().into(),
            transit_gateway_attachment_id: attachment.clone().into(),
            ..Association::default()
        }
    }
}
