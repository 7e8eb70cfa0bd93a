//! EC2 API calls for static routes of transit gateways.

use aws_sdk_ec2::types::{self, TransitGatewayRouteState as State};
use ipnet::IpNet;
use tf_provider_rs::Attr;

use super::model::TransitRoute;
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::filter;

const SEARCH: &str = "SearchTransitGatewayRoutes";

/// Creates a route; an error if the table has a static route to the destination.
pub(super) async fn create(aws: &Aws, planned: &TransitRoute) -> Result<(), ApiError> {
    aws.ec2()
        .create_transit_gateway_route()
        .transit_gateway_route_table_id(planned.transit_gateway_route_table_id.value()?.as_str())
        .destination_cidr_block(planned.destination_cidr_block.value()?.to_string())
        .set_transit_gateway_attachment_id(
            planned.transit_gateway_attachment_id.known().map(ToString::to_string),
        )
        .set_blackhole(planned.blackhole.is_true().then_some(true))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateTransitGatewayRoute")
        .map(drop)
}

/// The route of `before` as it is now; an error if it does not exist. While it is being changed, its state is `Err`.
pub(super) async fn get(aws: &Aws, before: &TransitRoute) -> Result<Result<TransitRoute, State>, ApiError> {
    let destination = *before.destination_cidr_block.value()?;
    let call = aws
        .ec2()
        .search_transit_gateway_routes()
        .transit_gateway_route_table_id(before.transit_gateway_route_table_id.value()?.as_str())
        .filters(filter("type", "static"))
        .filters(filter("route-search.exact-match", &destination.to_string()));
    let answer = call.send().await.named(SEARCH)?;
    let mut found = answer.routes.into_iter().flatten().filter(|found| found.state != Some(State::Deleted));
    let same = |found: &types::TransitGatewayRoute| {
        let to = found.destination_cidr_block.as_deref().and_then(|text| text.parse::<IpNet>().ok());
        to == Some(destination)
    };
    let found = found.find(same);
    state(found.ok_or_else(|| ApiError::absent(SEARCH, before.part.id().unwrap_or_default()))?, before)
}

/// The state of the route that was found, based on `before`.
pub(super) fn state(
    found: types::TransitGatewayRoute,
    before: &TransitRoute,
) -> Result<Result<TransitRoute, State>, ApiError> {
    let blackhole = match found.state.or_missing(SEARCH, "State")? {
        State::Active => false,
        State::Blackhole => true,
        other => return Ok(Err(other)),
    };
    let attachment = found.transit_gateway_attachments.into_iter().flatten().next();
    let attachment = attachment.and_then(|found| found.transit_gateway_attachment_id);
    Ok(Ok(TransitRoute {
        // A blackhole may be the remains of a route to an attachment.
        transit_gateway_attachment_id: if blackhole {
            Attr::Null
        } else {
            attachment.parsed_if_set(SEARCH, "TransitGatewayAttachmentId")?.into()
        },
        blackhole: blackhole.into(),
        ..before.clone()
    }))
}

/// Deletes the route; an error if it does not exist.
pub(super) async fn delete(aws: &Aws, route: &TransitRoute) -> Result<(), ApiError> {
    aws.ec2()
        .delete_transit_gateway_route()
        .transit_gateway_route_table_id(route.transit_gateway_route_table_id.value()?.as_str())
        .destination_cidr_block(route.destination_cidr_block.value()?.to_string())
        .send()
        .await
        .named("DeleteTransitGatewayRoute")
        .map(drop)
}
