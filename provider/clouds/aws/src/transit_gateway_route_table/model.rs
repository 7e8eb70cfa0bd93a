//! `warren_aws_transit_gateway_route_table`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::ids::TransitGatewayId;

/// Manages a route table of a transit gateway. An attachment sends its traffic by the routes of the one table that it
/// is associated with, and announces its VPC to each table that it propagates to.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_transit_gateway_route_table", noun = "route table")]
pub(crate) struct TransitTable {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the transit gateway. Changing this replaces the route table.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_id: Attr<TransitGatewayId>,
    /// Whether new attachments are associated with this table automatically.
    #[attr(computed, keeps)]
    pub(crate) default_association_route_table: Attr<bool>,
    /// Whether new attachments propagate to this table automatically.
    #[attr(computed, keeps)]
    pub(crate) default_propagation_route_table: Attr<bool>,
}

impl HasShared for TransitTable {
    type Shared = AwsObject;
}
