//! `warren_aws_transit_gateway_route_table_association` and `_propagation`: schema and state.

use std::marker::PhantomData;

use tf_provider_rs::{Attr, NotKnown, Resource};
use warren_managed::HasShared;

use super::relation::Relation;
use crate::common::AwsPart;
use crate::ids::{TransitGatewayAttachmentId, TransitGatewayRouteTableId};

/// The association or propagation of an attachment and a route table.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = R::TYPE, description = R::DESCRIPTION, noun = R::NOUN)]
pub(crate) struct Link<R: Relation> {
    #[attr(flatten)]
    pub(crate) part: AwsPart,
    /// ID of the route table of the transit gateway. Changing this replaces the {noun}.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_route_table_id: Attr<TransitGatewayRouteTableId>,
    /// ID of the attachment. Changing this replaces the {noun}.
    #[attr(required, replaces)]
    pub(crate) transit_gateway_attachment_id: Attr<TransitGatewayAttachmentId>,
    /// ID of the attached object, such as a VPC.
    #[attr(computed, keeps)]
    pub(crate) resource_id: Attr<String>,
    /// Type of the attached object, such as `vpc`.
    #[attr(computed, keeps)]
    pub(crate) resource_type: Attr<String>,
    #[attr(skip)]
    pub(super) relation: PhantomData<R>,
}

impl<R: Relation> HasShared for Link<R> {
    type Shared = AwsPart;
}

impl<R: Relation> Link<R> {
    /// The link of this table and attachment.
    pub(super) fn of(table: &TransitGatewayRouteTableId, attachment: &TransitGatewayAttachmentId) -> Link<R> {
        let part = AwsPart { id: format!("{table}_{attachment}").into(), ..AwsPart::default() };
        Link {
            part,
            transit_gateway_route_table_id: table.clone().into(),
            transit_gateway_attachment_id: attachment.clone().into(),
            ..Link::default()
        }
    }

    /// The IDs of the table and the attachment.
    ///
    /// # Errors
    /// One is not known yet.
    pub(super) fn ends(&self) -> Result<(&str, &str), NotKnown> {
        let table = self.transit_gateway_route_table_id.value()?;
        Ok((table.as_str(), self.transit_gateway_attachment_id.value()?.as_str()))
    }
}
