//! `warren_aws_transit_gateway_route`: schema and state.

use ipnet::IpNet;
use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsPart;
use crate::ids::{TransitGatewayAttachmentId, TransitGatewayRouteTableId};

/// Manages a static route of a transit gateway route table. It leads to an attachment, or drops traffic. A static route
/// has precedence over a propagated route to the same range.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_transit_gateway_route", noun = "route")]
pub(crate) struct TransitRoute {
    #[attr(flatten)]
    pub(crate) part: AwsPart,
    /// ID of the route table of the transit gateway. Changing this replaces the route.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_route_table_id: Attr<TransitGatewayRouteTableId>,
    /// Destination in CIDR notation, IPv4 or IPv6, such as `0.0.0.0/0`. Changing this replaces the route.
    #[attr(required, replaces)]
    pub(crate) destination_cidr_block: Attr<IpNet>,
    /// ID of the attachment that traffic is sent to. Set either this or `blackhole`. Changing this replaces the route.
    #[attr(optional, replaces)]
    pub(crate) transit_gateway_attachment_id: Attr<TransitGatewayAttachmentId>,
    /// Whether the route drops traffic. A route whose attachment no longer exists drops traffic as well, and the next
    /// apply replaces it. Changing this replaces the route. Defaults to `false`.
    #[attr(default = false, replaces)]
    pub(crate) blackhole: Attr<bool>,
}

impl HasShared for TransitRoute {
    type Shared = AwsPart;
}

impl TransitRoute {
    /// The route of this table to this destination, without its target.
    pub(super) fn of(table: &TransitGatewayRouteTableId, destination: IpNet) -> TransitRoute {
        TransitRoute {
            part: AwsPart { id: format!("{table}_{destination}").into(), ..AwsPart::default() },
            transit_gateway_route_table_id: table.clone().into(),
            destination_cidr_block: destination.into(),
            ..TransitRoute::default()
        }
    }
}
