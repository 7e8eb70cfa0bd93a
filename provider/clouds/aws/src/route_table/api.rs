//! EC2 API calls for route tables.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{ResourceType, RouteOrigin, RouteState, RouteTableAssociationStateCode};

use super::routes::{Destination, Target};
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::Failure;

/// A route table as returned by DescribeRouteTables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) vpc_id: String,
    /// Routes other than those of AWS, by destination.
    pub(super) routes: BTreeMap<Destination, FoundRoute>,
    /// Association IDs by subnet.
    pub(super) subnets: BTreeMap<String, String>,
    pub(super) owner: String,
    pub(super) tags: Tags,
}

/// A route other than those of AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundRoute {
    /// `None` for a target type that this resource does not support.
    pub(super) target: Option<Target>,
    /// Whether its target no longer exists.
    pub(super) blackhole: bool,
}

/// IDs of the tables of this fabric and owner called `name` in the VPC.
pub(super) async fn find(aws: &Aws, name: &str, vpc: &str) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(name);
    filters.push(filter("vpc-id", vpc));
    let call = aws.ec2().describe_route_tables().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(table) = pages.next().await {
        ids.extend(table.named("DescribeRouteTables")?.route_table_id);
    }
    Ok(ids)
}

/// Creates a table and returns its ID.
pub(super) async fn create(aws: &Aws, vpc: &str, tags: &Tags) -> Result<String, ApiError> {
    let made = aws
        .ec2()
        .create_route_table()
        .vpc_id(vpc)
        .tag_specifications(tags::specification(ResourceType::RouteTable, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateRouteTable")?;
    Ok(made.route_table.and_then(|table| table.route_table_id).unwrap_or_default())
}

/// The table `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_route_tables().route_table_ids(id);
    let answer = call.send().await.named("DescribeRouteTables")?;
    let table = answer.route_tables.unwrap_or_default().into_iter().next();
    table.map(found).ok_or_else(|| ApiError::absent("DescribeRouteTables", id))
}

fn found(table: aws_sdk_ec2::types::RouteTable) -> Found {
    use RouteTableAssociationStateCode as Code;
    let associations = table.associations.unwrap_or_default().into_iter().filter(|association| {
        let state = association.association_state.as_ref().and_then(|state| state.state.as_ref());
        !matches!(state, Some(Code::Disassociating | Code::Disassociated | Code::Failed))
    });
    Found {
        id: table.route_table_id.unwrap_or_default(),
        vpc_id: table.vpc_id.unwrap_or_default(),
        routes: table.routes.unwrap_or_default().into_iter().filter_map(route).collect(),
        subnets: associations
            .filter_map(|association| {
                Some((association.subnet_id?, association.route_table_association_id.unwrap_or_default()))
            })
            .collect(),
        owner: table.owner_id.unwrap_or_default(),
        tags: tags::from_sdk(table.tags.as_deref().unwrap_or_default()),
    }
}

/// A route; `None` for routes that AWS added: local, propagated and gateway endpoint routes.
fn route(route: aws_sdk_ec2::types::Route) -> Option<(Destination, FoundRoute)> {
    let gateway = route.gateway_id.as_deref();
    let by_aws = gateway.is_some_and(|id| id == "local" || id.starts_with("vpce-"));
    let propagated = route.origin == Some(RouteOrigin::EnableVgwRoutePropagation);
    if by_aws || propagated {
        return None;
    }
    let destination = route
        .destination_cidr_block
        .map(Destination::Ipv4)
        .or(route.destination_ipv6_cidr_block.map(Destination::Ipv6))
        .or(route.destination_prefix_list_id.map(Destination::PrefixList))?;
    let target = route
        .gateway_id
        .map(Target::Gateway)
        .or(route.nat_gateway_id.map(Target::NatGateway))
        .or(route.transit_gateway_id.map(Target::TransitGateway))
        .or(route.vpc_peering_connection_id.map(Target::Peering))
        .or(route.network_interface_id.map(Target::NetworkInterface))
        .or(route.egress_only_internet_gateway_id.map(Target::EgressOnlyGateway));
    Some((destination, FoundRoute { target, blackhole: route.state == Some(RouteState::Blackhole) }))
}

/// Sets the destination of a route call. Every call has its own type.
macro_rules! to {
    ($call:expr, $destination:expr) => {{
        let call = $call;
        match $destination {
            Destination::Ipv4(range) => call.destination_cidr_block(range),
            Destination::Ipv6(range) => call.destination_ipv6_cidr_block(range),
            Destination::PrefixList(list) => call.destination_prefix_list_id(list),
        }
    }};
}

/// Sets the target of a route call.
macro_rules! via {
    ($call:expr, $target:expr) => {{
        let call = $call;
        match $target {
            Target::Gateway(id) => call.gateway_id(id),
            Target::NatGateway(id) => call.nat_gateway_id(id),
            Target::TransitGateway(id) => call.transit_gateway_id(id),
            Target::Peering(id) => call.vpc_peering_connection_id(id),
            Target::NetworkInterface(id) => call.network_interface_id(id),
            Target::EgressOnlyGateway(id) => call.egress_only_internet_gateway_id(id),
        }
    }};
}

pub(super) async fn create_route(
    aws: &Aws,
    id: &str,
    destination: &Destination,
    target: &Target,
) -> Result<(), ApiError> {
    let call = via!(to!(aws.ec2().create_route(), destination), target).route_table_id(id);
    match call.send().await.named("CreateRoute") {
        // An earlier attempt whose response was lost has created it, or somebody else has.
        Err(error) if error.code == "RouteAlreadyExists" => replace_route(aws, id, destination, target).await,
        other => other.map(drop),
    }
}

pub(super) async fn replace_route(
    aws: &Aws,
    id: &str,
    destination: &Destination,
    target: &Target,
) -> Result<(), ApiError> {
    let call = via!(to!(aws.ec2().replace_route(), destination), target).route_table_id(id);
    call.send().await.named("ReplaceRoute").map(drop)
}

pub(super) async fn delete_route(aws: &Aws, id: &str, destination: &Destination) -> Result<(), ApiError> {
    let call = to!(aws.ec2().delete_route(), destination).route_table_id(id);
    ApiError::unless_gone(call.send().await.named("DeleteRoute").map(drop))
}

/// Associates the subnet with the table, even if it uses another table.
pub(super) async fn associate(aws: &Aws, id: &str, subnet: &str) -> Result<(), ApiError> {
    match elsewhere(aws, subnet).await? {
        Some((table, _)) if table == id => Ok(()),
        Some((_, association)) => {
            let call = aws.ec2().replace_route_table_association();
            let call = call.association_id(association).route_table_id(id);
            call.send().await.named("ReplaceRouteTableAssociation").map(drop)
        }
        None => {
            let call = aws.ec2().associate_route_table().route_table_id(id).subnet_id(subnet);
            call.send().await.named("AssociateRouteTable").map(drop)
        }
    }
}

/// The table that a subnet is associated with, and the association.
async fn elsewhere(aws: &Aws, subnet: &str) -> Result<Option<(String, String)>, ApiError> {
    let call = aws.ec2().describe_route_tables().filters(filter("association.subnet-id", subnet));
    let answer = call.send().await.named("DescribeRouteTables")?;
    Ok(answer.route_tables.unwrap_or_default().into_iter().map(found).find_map(|table| {
        let association = table.subnets.get(subnet)?.clone();
        Some((table.id, association))
    }))
}

pub(super) async fn disassociate(aws: &Aws, association: &str) -> Result<(), ApiError> {
    let call = aws.ec2().disassociate_route_table().association_id(association);
    ApiError::unless_gone(call.send().await.named("DisassociateRouteTable").map(drop))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_route_table().route_table_id(id);
    call.send().await.named("DeleteRouteTable").map(drop)
}
