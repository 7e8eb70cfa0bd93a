//! EC2 API calls for subnets.

use aws_sdk_ec2::types::{AttributeBooleanValue, ResourceType, SubnetCidrBlockStateCode, SubnetState};

use super::schema::Subnet;
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::Failure;

/// A subnet as returned by DescribeSubnets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) vpc_id: String,
    pub(super) cidr_block: String,
    /// The IPv6 range with its association ID.
    pub(super) ipv6: Option<(String, String)>,
    /// Whether an association is in progress.
    pub(super) changing: bool,
    pub(super) zone: String,
    pub(super) zone_id: String,
    pub(super) map_public_ip: bool,
    pub(super) assign_ipv6: bool,
    pub(super) owner: String,
    pub(super) arn: String,
    pub(super) available: bool,
    pub(super) tags: Tags,
}

/// IDs of the subnets of this fabric and owner with the planned name, VPC, range and zone.
pub(super) async fn find(aws: &Aws, planned: &Subnet) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.name.text());
    filters.push(filter("vpc-id", planned.vpc_id.text()));
    filters.push(filter("cidr-block", planned.cidr_block.text()));
    filters.extend(planned.availability_zone.known().map(|zone| filter("availability-zone", zone)));
    let mut pages = aws.ec2().describe_subnets().set_filters(Some(filters)).into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(subnet) = pages.next().await {
        ids.extend(subnet.named("DescribeSubnets")?.subnet_id);
    }
    Ok(ids)
}

/// Creates a subnet and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Subnet, tags: &Tags) -> Result<String, ApiError> {
    let made = aws
        .ec2()
        .create_subnet()
        .vpc_id(planned.vpc_id.text())
        .cidr_block(planned.cidr_block.text())
        .set_ipv6_cidr_block(planned.ipv6_cidr_block.known().cloned())
        .set_availability_zone(planned.availability_zone.known().cloned())
        .tag_specifications(tags::specification(ResourceType::Subnet, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateSubnet")?;
    Ok(made.subnet.and_then(|subnet| subnet.subnet_id).unwrap_or_default())
}

/// The subnet `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let answer = aws.ec2().describe_subnets().subnet_ids(id).send().await.named("DescribeSubnets")?;
    let subnet = answer.subnets.unwrap_or_default().into_iter().next();
    subnet.map(found).ok_or_else(|| ApiError::absent("DescribeSubnets", id))
}

fn found(subnet: aws_sdk_ec2::types::Subnet) -> Found {
    let mut found = Found {
        id: subnet.subnet_id.unwrap_or_default(),
        vpc_id: subnet.vpc_id.unwrap_or_default(),
        cidr_block: subnet.cidr_block.unwrap_or_default(),
        zone: subnet.availability_zone.unwrap_or_default(),
        zone_id: subnet.availability_zone_id.unwrap_or_default(),
        map_public_ip: subnet.map_public_ip_on_launch.unwrap_or_default(),
        assign_ipv6: subnet.assign_ipv6_address_on_creation.unwrap_or_default(),
        owner: subnet.owner_id.unwrap_or_default(),
        arn: subnet.subnet_arn.unwrap_or_default(),
        available: subnet.state != Some(SubnetState::Pending),
        tags: tags::from_sdk(subnet.tags.as_deref().unwrap_or_default()),
        ..Found::default()
    };
    for association in subnet.ipv6_cidr_block_association_set.unwrap_or_default() {
        use SubnetCidrBlockStateCode as Code;
        let state = association.ipv6_cidr_block_state.and_then(|state| state.state);
        found.changing |= matches!(state, Some(Code::Associating | Code::Disassociating));
        if matches!(state, None | Some(Code::Associated | Code::Associating)) {
            let range = association.ipv6_cidr_block.unwrap_or_default();
            found.ipv6 = Some((range, association.association_id.unwrap_or_default()));
        }
    }
    found
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

pub(super) async fn associate(aws: &Aws, id: &str, range: &str) -> Result<(), ApiError> {
    let call = aws.ec2().associate_subnet_cidr_block().subnet_id(id).ipv6_cidr_block(range);
    call.send().await.named("AssociateSubnetCidrBlock").map(drop)
}

pub(super) async fn disassociate(aws: &Aws, association: &str) -> Result<(), ApiError> {
    let call = aws.ec2().disassociate_subnet_cidr_block().association_id(association);
    ApiError::unless_gone(call.send().await.named("DisassociateSubnetCidrBlock").map(drop))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().delete_subnet().subnet_id(id).send().await.named("DeleteSubnet").map(drop)
}
