//! EC2 API calls for VPCs.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{
    AttributeBooleanValue, ResourceType, Tenancy, VpcAttributeName, VpcCidrBlockStateCode, VpcState,
};

use super::schema::Vpc;
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::Failure;

/// A VPC as returned by DescribeVpcs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) id: String,
    pub(super) cidr_block: String,
    /// Associated additional ranges with their association IDs.
    pub(super) secondary: BTreeMap<String, String>,
    /// Amazon's IPv6 range with its association ID.
    pub(super) ipv6: Option<(String, String)>,
    /// Whether an association is in progress.
    pub(super) changing: bool,
    /// Why AWS rejected an association.
    pub(super) refused: Option<String>,
    pub(super) tenancy: String,
    pub(super) owner: String,
    pub(super) available: bool,
    pub(super) tags: Tags,
}

/// A VPC with the properties that need further calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) vpc: Described,
    pub(super) arn: String,
    pub(super) dns_support: bool,
    pub(super) dns_hostnames: bool,
    pub(super) default_group: Option<String>,
    pub(super) default_group_empty: bool,
    pub(super) main_route_table: Option<String>,
}

/// IDs of the VPCs of this fabric and owner with the planned name, primary range and tenancy.
pub(super) async fn find(aws: &Aws, planned: &Vpc) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.name.text());
    filters.push(filter("cidr", planned.cidr_block.text()));
    let mut pages = aws.ec2().describe_vpcs().set_filters(Some(filters)).into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(vpc) = pages.next().await {
        let vpc = described(vpc.named("DescribeVpcs")?);
        if vpc.tenancy == planned.instance_tenancy.text() {
            ids.push(vpc.id);
        }
    }
    Ok(ids)
}

/// Creates a VPC and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Vpc, tags: &Tags) -> Result<String, ApiError> {
    let mut call = aws
        .ec2()
        .create_vpc()
        .cidr_block(planned.cidr_block.text())
        .tag_specifications(tags::specification(ResourceType::Vpc, tags));
    if planned.instance_tenancy.text() == "dedicated" {
        call = call.instance_tenancy(Tenancy::Dedicated);
    }
    if planned.assign_generated_ipv6.is_true() {
        call = call.amazon_provided_ipv6_cidr_block(true);
    }
    let made = call.customize().config_override(client::once()).send().await.named("CreateVpc")?;
    Ok(made.vpc.and_then(|vpc| vpc.vpc_id).unwrap_or_default())
}

/// The VPC `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Described, ApiError> {
    let answer = aws.ec2().describe_vpcs().vpc_ids(id).send().await.named("DescribeVpcs")?;
    let vpc = answer.vpcs.unwrap_or_default().into_iter().next();
    vpc.map(described).ok_or_else(|| ApiError::absent("DescribeVpcs", id))
}

fn described(vpc: aws_sdk_ec2::types::Vpc) -> Described {
    let mut found = Described {
        id: vpc.vpc_id.unwrap_or_default(),
        tenancy: vpc.instance_tenancy.map(|tenancy| tenancy.as_str().to_owned()).unwrap_or_default(),
        owner: vpc.owner_id.unwrap_or_default(),
        available: vpc.state != Some(VpcState::Pending),
        tags: tags::from_sdk(vpc.tags.as_deref().unwrap_or_default()),
        cidr_block: vpc.cidr_block.unwrap_or_default(),
        ..Described::default()
    };
    let mut counts = |state: Option<aws_sdk_ec2::types::VpcCidrBlockState>, range: &str| {
        let message = state.as_ref().and_then(|state| state.status_message.clone()).unwrap_or_default();
        match state.and_then(|state| state.state) {
            Some(VpcCidrBlockStateCode::Associated) | None => true,
            Some(VpcCidrBlockStateCode::Associating) => {
                found.changing = true;
                true
            }
            Some(VpcCidrBlockStateCode::Disassociating) => {
                found.changing = true;
                false
            }
            Some(VpcCidrBlockStateCode::Failed | VpcCidrBlockStateCode::Failing) => {
                found.refused = Some(format!("AWS rejected {range}: {message}"));
                false
            }
            Some(_) => false,
        }
    };
    for association in vpc.cidr_block_association_set.unwrap_or_default() {
        let range = association.cidr_block.unwrap_or_default();
        if range != found.cidr_block && counts(association.cidr_block_state, &range) {
            found.secondary.insert(range, association.association_id.unwrap_or_default());
        }
    }
    for association in vpc.ipv6_cidr_block_association_set.unwrap_or_default() {
        let range = association.ipv6_cidr_block.unwrap_or_default();
        if counts(association.ipv6_cidr_block_state, &range) {
            found.ipv6 = Some((range, association.association_id.unwrap_or_default()));
        }
    }
    found
}

/// The VPC `id` with all properties of the state.
pub(super) async fn read(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let vpc = get(aws, id).await?;
    let group = default_group(aws, id).await?;
    let tables = aws
        .ec2()
        .describe_route_tables()
        .filters(filter("vpc-id", id))
        .filters(filter("association.main", "true"))
        .send()
        .await
        .named("DescribeRouteTables")?;
    Ok(Found {
        arn: aws.arn(&vpc.owner, &format!("vpc/{id}")),
        dns_support: attribute(aws, id, VpcAttributeName::EnableDnsSupport).await?,
        dns_hostnames: attribute(aws, id, VpcAttributeName::EnableDnsHostnames).await?,
        default_group_empty: group.as_ref().is_none_or(|group| {
            group.ip_permissions().is_empty() && group.ip_permissions_egress().is_empty()
        }),
        default_group: group.and_then(|group| group.group_id),
        main_route_table: tables.route_tables().first().and_then(|table| table.route_table_id.clone()),
        vpc,
    })
}

/// The VPC `id` with its DNS support and DNS hostnames.
pub(super) async fn live(aws: &Aws, id: &str) -> Result<(Described, bool, bool), ApiError> {
    let vpc = get(aws, id).await?;
    let support = attribute(aws, id, VpcAttributeName::EnableDnsSupport).await?;
    Ok((vpc, support, attribute(aws, id, VpcAttributeName::EnableDnsHostnames).await?))
}

async fn attribute(aws: &Aws, id: &str, name: VpcAttributeName) -> Result<bool, ApiError> {
    let answer = aws
        .ec2()
        .describe_vpc_attribute()
        .vpc_id(id)
        .attribute(name)
        .send()
        .await
        .named("DescribeVpcAttribute")?;
    let value = answer.enable_dns_support.or(answer.enable_dns_hostnames);
    Ok(value.and_then(|value| value.value).unwrap_or_default())
}

async fn default_group(aws: &Aws, id: &str) -> Result<Option<aws_sdk_ec2::types::SecurityGroup>, ApiError> {
    let groups = aws
        .ec2()
        .describe_security_groups()
        .filters(filter("vpc-id", id))
        .filters(filter("group-name", "default"))
        .send()
        .await
        .named("DescribeSecurityGroups")?;
    Ok(groups.security_groups.unwrap_or_default().into_iter().next())
}

pub(super) async fn set_dns_support(aws: &Aws, id: &str, on: bool) -> Result<(), ApiError> {
    if attribute(aws, id, VpcAttributeName::EnableDnsSupport).await? == on {
        return Ok(());
    }
    let value = AttributeBooleanValue::builder().value(on).build();
    let call = aws.ec2().modify_vpc_attribute().vpc_id(id).enable_dns_support(value);
    call.send().await.named("ModifyVpcAttribute").map(drop)
}

pub(super) async fn set_dns_hostnames(aws: &Aws, id: &str, on: bool) -> Result<(), ApiError> {
    if attribute(aws, id, VpcAttributeName::EnableDnsHostnames).await? == on {
        return Ok(());
    }
    let value = AttributeBooleanValue::builder().value(on).build();
    let call = aws.ec2().modify_vpc_attribute().vpc_id(id).enable_dns_hostnames(value);
    call.send().await.named("ModifyVpcAttribute").map(drop)
}

pub(super) async fn associate(aws: &Aws, id: &str, range: &str) -> Result<(), ApiError> {
    let call = aws.ec2().associate_vpc_cidr_block().vpc_id(id).cidr_block(range);
    call.send().await.named("AssociateVpcCidrBlock").map(drop)
}

pub(super) async fn associate_ipv6(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().associate_vpc_cidr_block().vpc_id(id).amazon_provided_ipv6_cidr_block(true);
    call.send().await.named("AssociateVpcCidrBlock").map(drop)
}

pub(super) async fn disassociate(aws: &Aws, association: &str) -> Result<(), ApiError> {
    let call = aws.ec2().disassociate_vpc_cidr_block().association_id(association);
    ApiError::unless_gone(call.send().await.named("DisassociateVpcCidrBlock").map(drop))
}

/// Removes every rule of the VPC's default security group.
pub(super) async fn lock_default_group(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let Some(group) = default_group(aws, id).await? else { return Ok(()) };
    let group_id = group.group_id.unwrap_or_default();
    let ingress = group.ip_permissions.unwrap_or_default();
    if !ingress.is_empty() {
        let call = aws.ec2().revoke_security_group_ingress().group_id(&group_id);
        call.set_ip_permissions(Some(ingress)).send().await.named("RevokeSecurityGroupIngress")?;
    }
    let egress = group.ip_permissions_egress.unwrap_or_default();
    if !egress.is_empty() {
        let call = aws.ec2().revoke_security_group_egress().group_id(&group_id);
        call.set_ip_permissions(Some(egress)).send().await.named("RevokeSecurityGroupEgress")?;
    }
    Ok(())
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().delete_vpc().vpc_id(id).send().await.named("DeleteVpc").map(drop)
}
