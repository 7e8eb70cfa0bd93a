//! EC2 API calls for associations of attachments with route tables of transit gateways.

use aws_sdk_ec2::types::{self, TransitGatewayAssociationState as State};

use super::model::Association;
use crate::client;
use crate::error::{ApiError, Named, OrMissing};
use crate::session::Aws;
use crate::tags::filter;

const GET: &str = "GetTransitGatewayRouteTableAssociations";

/// An association as it is now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Association,
    pub(super) status: State,
}

impl Found {
    /// Whether it exists or begins to.
    pub(super) fn is_living(&self) -> bool {
        matches!(self.status, State::Associating | State::Associated)
    }
}

/// Associates; an error if the attachment has an association.
pub(super) async fn create(aws: &Aws, planned: &Association) -> Result<(), ApiError> {
    aws.ec2()
        .associate_transit_gateway_route_table()
        .transit_gateway_route_table_id(planned.transit_gateway_route_table_id.value()?.as_str())
        .transit_gateway_attachment_id(planned.transit_gateway_attachment_id.value()?.as_str())
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("AssociateTransitGatewayRouteTable")
        .map(drop)
}

/// The association of `before` as it is now; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Association) -> Result<Found, ApiError> {
    let table = before.transit_gateway_route_table_id.value()?;
    let attachment = before.transit_gateway_attachment_id.value()?;
    let call = aws
        .ec2()
        .get_transit_gateway_route_table_associations()
        .transit_gateway_route_table_id(table.as_str())
        .filters(filter("transit-gateway-attachment-id", attachment));
    let answer = call.send().await.named(GET)?;
    let mut found = answer.associations.into_iter().flatten();
    let found =
        found.find(|found| found.transit_gateway_attachment_id.as_deref() == Some(attachment.as_str()));
    let living = found.filter(|found| found.state != Some(State::Disassociated));
    state(living.ok_or_else(|| ApiError::absent(GET, before.part.id().unwrap_or_default()))?, before)
}

/// The state of the association that was found, based on `before`.
pub(super) fn state(
    found: types::TransitGatewayRouteTableAssociation,
    before: &Association,
) -> Result<Found, ApiError> {
    let status = found.state.or_missing(GET, "State")?;
    let state = Association {
        resource_id: found.resource_id.or_missing(GET, "ResourceId")?.into(),
        resource_type: found.resource_type.or_missing(GET, "ResourceType")?.as_str().into(),
        ..before.clone()
    };
    Ok(Found { state, status })
}

/// Ends the association; an error if it does not exist.
pub(super) async fn delete(aws: &Aws, association: &Association) -> Result<(), ApiError> {
    aws.ec2()
        .disassociate_transit_gateway_route_table()
        .transit_gateway_route_table_id(association.transit_gateway_route_table_id.value()?.as_str())
        .transit_gateway_attachment_id(association.transit_gateway_attachment_id.value()?.as_str())
        .send()
        .await
        .named("DisassociateTransitGatewayRouteTable")
        .map(drop)
}
