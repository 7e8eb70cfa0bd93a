//! EC2 API calls for route tables.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use aws_sdk_ec2::types::{
    self, ResourceType, RouteOrigin, RouteState, RouteTableAssociationStateCode,
    TransitGatewayAttachmentState,
};
use tf_provider_rs::Attr;
use warren_managed::{Failure, sets};

use super::model::{Route, RouteTable};
use super::routes::{Destination, Target};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{SubnetId, TransitGatewayId, VpcId};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};

const DESCRIBE: &str = "DescribeRouteTables";

/// A route table with what no attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    pub(super) state: RouteTable,
    /// Routes other than those of AWS, by destination.
    pub(super) routes: BTreeMap<Destination, LiveRoute>,
    /// Association IDs by subnet.
    pub(super) associations: BTreeMap<SubnetId, String>,
}

/// A route other than those of AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LiveRoute {
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
        ids.extend(table.named(DESCRIBE)?.route_table_id);
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
        .send()
        .await
        .named("CreateRouteTable")?;
    made.route_table.and_then(|table| table.route_table_id).or_missing("CreateRouteTable", "RouteTableId")
}

/// The table of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &RouteTable) -> Result<Live, ApiError> {
    let id = before.object.id()?;
    let answer = aws.ec2().describe_route_tables().route_table_ids(id).send().await.named(DESCRIBE)?;
    let table = answer.route_tables.and_then(|tables| tables.into_iter().next());
    live(aws, table.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

pub(super) fn live(aws: &Aws, table: types::RouteTable, before: &RouteTable) -> Result<Live, ApiError> {
    let tags = tags::from_sdk(table.tags());
    let associations = associations(&table)?;
    let id = table.route_table_id.or_missing(DESCRIBE, "RouteTableId")?;
    let owner = table.owner_id.or_missing(DESCRIBE, "OwnerId")?;
    let routes = table.routes.unwrap_or_default().into_iter().filter_map(|found| route(found).transpose());
    let routes: BTreeMap<Destination, LiveRoute> = routes.collect::<Result<_, _>>()?;
    // A blackhole counts as a missing route: it is left out, so that the plan shows it and the apply
    // replaces it.
    let living = routes.iter().filter(|(_, route)| !route.blackhole);
    let living: BTreeSet<Route> = living.map(|(to, route)| Route::of(to, route.target.as_ref())).collect();
    let state = RouteTable {
        object: before.object.found(aws, &id, &tags),
        vpc_id: Attr::Known(table.vpc_id.parsed(DESCRIBE, "VpcId")?),
        routes: if living.is_empty() && !before.routes.is_known() { Attr::Null } else { Attr::Known(living) },
        subnet_ids: sets::found(associations.keys().cloned(), &before.subnet_ids),
        arn: aws.arn(&owner, &format!("route-table/{id}")).into(),
        owner_id: owner.into(),
    };
    Ok(Live { state, routes, associations })
}

/// Association IDs by subnet.
fn associations(table: &types::RouteTable) -> Result<BTreeMap<SubnetId, String>, ApiError> {
    use RouteTableAssociationStateCode as Code;
    let mut found = BTreeMap::new();
    for association in table.associations() {
        let state = association.association_state.as_ref().and_then(|state| state.state.as_ref());
        let ends = matches!(state, Some(Code::Disassociating | Code::Disassociated | Code::Failed));
        // The main association has no subnet.
        if let (false, Some(subnet)) =
            (ends, association.subnet_id.clone().parsed_if_set(DESCRIBE, "SubnetId")?)
        {
            let id = association.route_table_association_id.clone();
            found.insert(subnet, id.or_missing(DESCRIBE, "RouteTableAssociationId")?);
        }
    }
    Ok(found)
}

/// A route; `None` for routes that AWS added: local, propagated and gateway endpoint routes.
fn route(route: types::Route) -> Result<Option<(Destination, LiveRoute)>, ApiError> {
    let gateway = route.gateway_id.as_deref();
    let by_aws = gateway.is_some_and(|id| id == "local" || id.starts_with("vpce-"));
    let propagated = route.origin == Some(RouteOrigin::EnableVgwRoutePropagation);
    if by_aws || propagated {
        return Ok(None);
    }
    let ipv4 = route.destination_cidr_block.parsed_if_set(DESCRIBE, "DestinationCidrBlock")?;
    let ipv6 = route.destination_ipv6_cidr_block.parsed_if_set(DESCRIBE, "DestinationIpv6CidrBlock")?;
    let list = route.destination_prefix_list_id.parsed_if_set(DESCRIBE, "DestinationPrefixListId")?;
    let destination = ipv4
        .map(Destination::Ipv4)
        .or(ipv6.map(Destination::Ipv6))
        .or(list.map(Destination::PrefixList))
        .or_missing(DESCRIBE, "DestinationCidrBlock")?;
    // A gateway of another type, such as a local or carrier gateway, is a target that is not supported.
    let target = parsed(route.gateway_id, Target::Gateway)
        .or_else(|| parsed(route.nat_gateway_id, Target::NatGateway))
        .or_else(|| parsed(route.transit_gateway_id, Target::TransitGateway))
        .or_else(|| parsed(route.vpc_peering_connection_id, Target::Peering))
        .or_else(|| parsed(route.network_interface_id, Target::NetworkInterface))
        .or_else(|| parsed(route.egress_only_internet_gateway_id, Target::EgressOnlyGateway));
    let blackhole = route.state == Some(RouteState::Blackhole);
    Ok(Some((destination, LiveRoute { target, blackhole })))
}

fn parsed<T: FromStr>(id: Option<String>, target: fn(T) -> Target) -> Option<Target> {
    id?.parse().ok().map(target)
}

/// Whether the VPC is being attached to the transit gateway. Until then, AWS reports that a route's gateway does not exist.
pub(super) async fn attaching(aws: &Aws, gateway: &TransitGatewayId, vpc: &VpcId) -> Result<bool, ApiError> {
    use TransitGatewayAttachmentState as State;
    const DESCRIBE: &str = "DescribeTransitGatewayVpcAttachments";
    let call = aws
        .ec2()
        .describe_transit_gateway_vpc_attachments()
        .filters(filter("transit-gateway-id", gateway))
        .filters(filter("vpc-id", vpc));
    let mut pages = call.into_paginator().items().send();
    while let Some(attachment) = pages.next().await {
        let state = attachment.named(DESCRIBE)?.state;
        if matches!(
            state,
            Some(State::Initiating | State::InitiatingRequest | State::Pending | State::Available)
        ) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sets the destination of a route call. Every call has its own type.
macro_rules! to {
    ($call:expr, $destination:expr) => {{
        let call = $call;
        match $destination {
            Destination::Ipv4(range) => call.destination_cidr_block(range.to_string()),
            Destination::Ipv6(range) => call.destination_ipv6_cidr_block(range.to_string()),
            Destination::PrefixList(list) => call.destination_prefix_list_id(list.as_str()),
        }
    }};
}

/// Sets the target of a route call.
macro_rules! via {
    ($call:expr, $target:expr) => {{
        let call = $call;
        match $target {
            Target::Gateway(id) => call.gateway_id(id.to_string()),
            Target::NatGateway(id) => call.nat_gateway_id(id.to_string()),
            Target::TransitGateway(id) => call.transit_gateway_id(id.to_string()),
            Target::Peering(id) => call.vpc_peering_connection_id(id.to_string()),
            Target::NetworkInterface(id) => call.network_interface_id(id.to_string()),
            Target::EgressOnlyGateway(id) => call.egress_only_internet_gateway_id(id.to_string()),
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
pub(super) async fn associate(aws: &Aws, id: &str, subnet: &SubnetId) -> Result<(), ApiError> {
    match elsewhere(aws, subnet).await? {
        Some((table, _)) if table == id => Ok(()),
        Some((_, association)) => {
            let call = aws.ec2().replace_route_table_association();
            let call = call.association_id(association).route_table_id(id);
            call.send().await.named("ReplaceRouteTableAssociation").map(drop)
        }
        None => {
            let call = aws.ec2().associate_route_table().route_table_id(id).subnet_id(subnet.as_str());
            call.send().await.named("AssociateRouteTable").map(drop)
        }
    }
}

/// The table that a subnet is associated with, and the association.
async fn elsewhere(aws: &Aws, subnet: &SubnetId) -> Result<Option<(String, String)>, ApiError> {
    let call = aws.ec2().describe_route_tables().filters(filter("association.subnet-id", subnet));
    for table in call.send().await.named(DESCRIBE)?.route_tables.unwrap_or_default() {
        if let Some(association) = associations(&table)?.remove(subnet) {
            return Ok(Some((table.route_table_id.or_missing(DESCRIBE, "RouteTableId")?, association)));
        }
    }
    Ok(None)
}

pub(super) async fn disassociate(aws: &Aws, association: &str) -> Result<(), ApiError> {
    let call = aws.ec2().disassociate_route_table().association_id(association);
    ApiError::unless_gone(call.send().await.named("DisassociateRouteTable").map(drop))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_route_table().route_table_id(id);
    call.send().await.named("DeleteRouteTable").map(drop)
}
