//! EC2 API calls for route tables of transit gateways.

use aws_sdk_ec2::types::{self, ResourceType, TransitGatewayRouteTableState as State};
use tf_provider_rs::Attr;

use super::model::TransitTable;
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags};

const DESCRIBE: &str = "DescribeTransitGatewayRouteTables";
const ID: &str = "TransitGatewayRouteTableId";

/// A table as it is now.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) state: TransitTable,
    /// As AWS reports it: `pending`, `available`, `deleting`.
    pub(super) status: String,
}

/// IDs of the living tables of this fabric and owner with the planned name and gateway.
pub(super) async fn find(aws: &Aws, planned: &TransitTable) -> Result<Vec<String>, ApiError> {
    let name = planned.object.name()?;
    let gateway = tags::filter("transit-gateway-id", planned.transit_gateway_id.value()?);
    // The call has no filter for tags, unlike most describes.
    let call = aws.ec2().describe_transit_gateway_route_tables().filters(gateway);
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(table) = pages.next().await {
        let table = table.named(DESCRIBE)?;
        let leaving = matches!(table.state, Some(State::Deleting | State::Deleted));
        if aws.owns(&tags::from_sdk(table.tags()), name) && !leaving {
            ids.push(table.transit_gateway_route_table_id.or_missing(DESCRIBE, ID)?);
        }
    }
    Ok(ids)
}

/// Creates a table and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &TransitTable, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateTransitGatewayRouteTable";
    let made = aws
        .ec2()
        .create_transit_gateway_route_table()
        .transit_gateway_id(planned.transit_gateway_id.value()?.as_str())
        .tag_specifications(tags::specification(ResourceType::TransitGatewayRouteTable, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named(OPERATION)?;
    let made = made.transit_gateway_route_table.or_missing(OPERATION, "TransitGatewayRouteTable")?;
    made.transit_gateway_route_table_id.or_missing(OPERATION, ID)
}

/// The table of `before` as it is now; an error if it does not exist or is deleted.
pub(super) async fn get(aws: &Aws, before: &TransitTable) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let call = aws.ec2().describe_transit_gateway_route_tables().transit_gateway_route_table_ids(id);
    let answer = call.send().await.named(DESCRIBE)?;
    let found = answer.transit_gateway_route_tables.into_iter().flatten().next();
    let living = found.filter(|found| found.state != Some(State::Deleted));
    let living = living.ok_or_else(|| ApiError::absent(DESCRIBE, id))?;
    let status = living.state.as_ref().or_missing(DESCRIBE, "State")?.as_str().to_owned();
    Ok(Found { state: state(aws, living, before)?, status })
}

/// The state of the table that was found, based on `before`.
pub(super) fn state(
    aws: &Aws,
    found: types::TransitGatewayRouteTable,
    before: &TransitTable,
) -> Result<TransitTable, ApiError> {
    let tags = tags::from_sdk(found.tags());
    let id = found.transit_gateway_route_table_id.or_missing(DESCRIBE, ID)?;
    Ok(TransitTable {
        object: before.object.found(aws, &id, &tags),
        transit_gateway_id: Attr::Known(found.transit_gateway_id.parsed(DESCRIBE, "TransitGatewayId")?),
        default_association_route_table: found
            .default_association_route_table
            .or_missing(DESCRIBE, "DefaultAssociationRouteTable")?
            .into(),
        default_propagation_route_table: found
            .default_propagation_route_table
            .or_missing(DESCRIBE, "DefaultPropagationRouteTable")?
            .into(),
    })
}

/// Deletes the table; an error if it does not exist.
pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_transit_gateway_route_table().transit_gateway_route_table_id(id);
    call.send().await.named("DeleteTransitGatewayRouteTable").map(drop)
}
