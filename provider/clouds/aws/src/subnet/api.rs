//! EC2 API calls for subnets.

use aws_sdk_ec2::types::{AttributeBooleanValue, ResourceType, SubnetCidrBlockStateCode, SubnetState};
use ipnet::Ipv6Net;
use tf_provider_rs::Attr;

use super::model::Subnet;
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::Failure;

/// A subnet with what no attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    pub(super) state: Subnet,
    /// The association of the IPv6 range.
    pub(super) ipv6_association: Option<String>,
    /// Whether an association is in progress.
    pub(super) changing: bool,
    pub(super) available: bool,
}

/// IDs of the subnets of this fabric and owner with the planned name, VPC, range and zone.
pub(super) async fn find(aws: &Aws, planned: &Subnet) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.object.name()?);
    filters.push(filter("vpc-id", planned.vpc_id.value()?));
    filters.push(filter("cidr-block", &planned.cidr_block.value()?.to_string()));
    filters.extend(planned.availability_zone.known().map(|zone| filter("availability-zone", zone)));
    let mut pages = aws.ec2().describe_subnets().set_filters(Some(filters)).into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(subnet) = pages.next().await {
        ids.extend(subnet.named(DESCRIBE)?.subnet_id);
    }
    Ok(ids)
}

/// Creates a subnet and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Subnet, tags: &Tags) -> Result<String, ApiError> {
    let made = aws
        .ec2()
        .create_subnet()
        .vpc_id(planned.vpc_id.value()?.as_str())
        .cidr_block(planned.cidr_block.value()?.to_string())
        .set_ipv6_cidr_block(planned.ipv6_cidr_block.known().map(ToString::to_string))
        .set_availability_zone(planned.availability_zone.known().cloned())
        .tag_specifications(tags::specification(ResourceType::Subnet, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateSubnet")?;
    made.subnet.and_then(|subnet| subnet.subnet_id).or_missing("CreateSubnet", "SubnetId")
}

/// The subnet of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Subnet) -> Result<Live, ApiError> {
    let id = before.object.id()?;
    let answer = aws.ec2().describe_subnets().subnet_ids(id).send().await.named(DESCRIBE)?;
    let subnet = answer.subnets.and_then(|subnets| subnets.into_iter().next());
    live(aws, subnet.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

const DESCRIBE: &str = "DescribeSubnets";

pub(super) fn live(aws: &Aws, subnet: aws_sdk_ec2::types::Subnet, before: &Subnet) -> Result<Live, ApiError> {
    use SubnetCidrBlockStateCode as Code;
    let tags = tags::from_sdk(subnet.tags());
    let id = subnet.subnet_id.or_missing(DESCRIBE, "SubnetId")?;
    let (mut ipv6, mut changing) = (None, false);
    for association in subnet.ipv6_cidr_block_association_set.unwrap_or_default() {
        let state = association.ipv6_cidr_block_state.and_then(|state| state.state);
        changing |= matches!(state, Some(Code::Associating | Code::Disassociating));
        if matches!(state, None | Some(Code::Associated | Code::Associating)) {
            let range: Ipv6Net = association.ipv6_cidr_block.parsed(DESCRIBE, "Ipv6CidrBlock")?;
            ipv6 = Some((range, association.association_id.or_missing(DESCRIBE, "AssociationId")?));
        }
    }
    let (ipv6, ipv6_association) = ipv6.unzip();
    let state = Subnet {
        object: before.object.found(aws, &id, &tags),
        vpc_id: Attr::Known(subnet.vpc_id.parsed(DESCRIBE, "VpcId")?),
        vpc_cidr_block: before.vpc_cidr_block,
        cidr_block: Attr::Known(subnet.cidr_block.parsed(DESCRIBE, "CidrBlock")?),
        ipv6_cidr_block: ipv6.into(),
        availability_zone: subnet.availability_zone.or_missing(DESCRIBE, "AvailabilityZone")?.into(),
        availability_zone_id: subnet.availability_zone_id.or_missing(DESCRIBE, "AvailabilityZoneId")?.into(),
        map_public_ip_on_launch: subnet.map_public_ip_on_launch.unwrap_or(false).into(),
        assign_ipv6_on_creation: subnet.assign_ipv6_address_on_creation.unwrap_or(false).into(),
        owner_id: subnet.owner_id.or_missing(DESCRIBE, "OwnerId")?.into(),
        arn: subnet.subnet_arn.or_missing(DESCRIBE, "SubnetArn")?.into(),
    };
    let available = subnet.state != Some(SubnetState::Pending);
    Ok(Live { state, ipv6_association, changing, available })
}

pub(super) async fn set_map_public_ip(aws: &Aws, id: &str, on: bool) -> Result<(), ApiError> {
    let value = AttributeBooleanValue::builder().value(on).build();
    let call = aws.ec2().modify_subnet_attribute().subnet_id(id).map_public_ip_on_launch(value);
    call.send().await.named("ModifySubnetAttribute").map(drop)
}

pub(super) async fn set_assign_ipv6(aws: &Aws, id: &str, on: bool) -> Result<(), ApiError> {
    let value = AttributeBooleanValue::builder().value(on).build();
    let call = aws.ec2().modify_subnet_attribute().subnet_id(id).assign_ipv6_address_on_creation(value);
    call.send().await.named("ModifySubnetAttribute").map(drop)
}

pub(super) async fn associate(aws: &Aws, id: &str, range: Ipv6Net) -> Result<(), ApiError> {
    let call = aws.ec2().associate_subnet_cidr_block().subnet_id(id).ipv6_cidr_block(range.to_string());
    call.send().await.named("AssociateSubnetCidrBlock").map(drop)
}

pub(super) async fn disassociate(aws: &Aws, association: &str) -> Result<(), ApiError> {
    let call = aws.ec2().disassociate_subnet_cidr_block().association_id(association);
    ApiError::unless_gone(call.send().await.named("DisassociateSubnetCidrBlock").map(drop))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().delete_subnet().subnet_id(id).send().await.named("DeleteSubnet").map(drop)
}
