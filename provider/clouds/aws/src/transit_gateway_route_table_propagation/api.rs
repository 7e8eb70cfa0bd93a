//! EC2 API calls for propagations of attachments to route tables of transit gateways.

use aws_sdk_ec2::types::{self, TransitGatewayPropagationState as State};

use super::model::Propagation;
use crate::client;
use crate::error::{ApiError, Named, OrMissing};
use crate::session::Aws;
use crate::tags::filter;

const GET: &str = "GetTransitGatewayRouteTablePropagations";

/// An propagation as it is now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Propagation,
    pub(super) status: State,
}

impl Found {
    /// Whether it exists or begins to.
    pub(super) fn is_living(&self) -> bool {
        matches!(self.status, State::Enabling | State::Enabled)
    }
}

/// Enables the propagation; an error if it exists.
pub(super) async fn create(aws: &Aws, planned: &Propagation) -> Result<(), ApiError> {
    aws.ec2()
        .enable_transit_gateway_route_table_propagation()
        .transit_gateway_route_table_id(planned.transit_gateway_route_table_id.value()?.as_str())
        .transit_gateway_attachment_id(planned.transit_gateway_attachment_id.value()?.as_str())
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("EnableTransitGatewayRouteTablePropagation")
        .map(drop)
}

/// The propagation of `before` as it is now; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Propagation) -> Result<Found, ApiError> {
    let table = before.transit_gateway_route_table_id.value()?;
    let attachment = before.transit_gateway_attachment_id.value()?;
    let call = aws
        .ec2()
        .get_transit_gateway_route_table_propagations()
        .transit_gateway_route_table_id(table.as_str())
        .filters(filter("transit-gateway-attachment-id", attachment));
    let answer = call.send().await.named(GET)?;
    let mut found = answer.transit_gateway_route_table_propagations.into_iter().flatten();
    let found =
        found.find(|found| found.transit_gateway_attachment_id.as_deref() == Some(attachment.as_str()));
    let living = found.filter(|found| found.state != Some(State::Disabled));
    state(living.ok_or_else(|| ApiError::absent(GET, before.part.id().unwrap_or_default()))?, before)
}

/// The state of the propagation that was found, based on `before`.
pub(super) fn state(
    found: types::TransitGatewayRouteTablePropagation,
    before: &Propagation,
) -> Result<Found, ApiError> {
    let status = found.state.or_missing(GET, "State")?;
    let state = Propagation {
        resource_id: found.resource_id.or_missing(GET, "ResourceId")?.into(),
        resource_type: found.resource_type.or_missing(GET, "ResourceType")?.as_str().into(),
        ..before.clone()
    };
    Ok(Found { state, status })
}

/// Ends the propagation; an error if it does not exist.
pub(super) async fn delete(aws: &Aws, propagation: &Propagation) -> Result<(), ApiError> {
    aws.ec2()
        .disable_transit_gateway_route_table_propagation()
        .transit_gateway_route_table_id(propagation.transit_gateway_route_table_id.value()?.as_str())
        .transit_gateway_attachment_id(propagation.transit_gateway_attachment_id.value()?.as_str())
        .send()
        .await
        .named("DisableTransitGatewayRouteTablePropagation")
        .map(drop)
}
