//! EC2 API calls for VPCs.

use std::collections::BTreeMap;
use std::fmt::Display;

use aws_sdk_ec2::types::{
    self, AttributeBooleanValue, ResourceType, VpcAttributeName, VpcCidrBlockStateCode, VpcState,
};
use ipnet::{Ipv4Net, Ipv6Net};
use tf_provider_rs::Attr;

use super::model::{Tenancy, Vpc};
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::{Failure, sets};

/// A VPC as returned by DescribeVpcs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Described {
    pub(super) id: String,
    pub(super) cidr_block: Ipv4Net,
    /// Associated additional ranges with their association IDs.
    pub(super) secondary: BTreeMap<Ipv4Net, String>,
    /// Amazon's IPv6 range with its association ID.
    pub(super) ipv6: Option<(Ipv6Net, String)>,
    /// Whether an association is in progress.
    pub(super) changing: bool,
    /// Why AWS rejected an association.
    pub(super) refused: Option<String>,
    pub(super) tenancy: Tenancy,
    pub(super) owner: String,
    pub(super) available: bool,
    pub(super) tags: Tags,
}

/// IDs of the VPCs of this fabric and owner with the planned name, primary range and tenancy.
pub(super) async fn find(aws: &Aws, planned: &Vpc) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.object.name()?);
    filters.push(filter("cidr", &planned.cidr_block.value()?.to_string()));
    let mut pages = aws.ec2().describe_vpcs().set_filters(Some(filters)).into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(vpc) = pages.next().await {
        let vpc = described(vpc.named(DESCRIBE)?)?;
        if planned.instance_tenancy == Attr::Known(vpc.tenancy) {
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
        .cidr_block(planned.cidr_block.value()?.to_string())
        .tag_specifications(tags::specification(ResourceType::Vpc, tags));
    if *planned.instance_tenancy.value()? == Tenancy::Dedicated {
        call = call.instance_tenancy(types::Tenancy::Dedicated);
    }
    if planned.assign_generated_ipv6.is_true() {
        call = call.amazon_provided_ipv6_cidr_block(true);
    }
    let made = call.customize().config_override(client::once()).send().await.named("CreateVpc")?;
    made.vpc.and_then(|vpc| vpc.vpc_id).or_missing("CreateVpc", "VpcId")
}

const DESCRIBE: &str = "DescribeVpcs";

/// The VPC `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Described, ApiError> {
    let answer = aws.ec2().describe_vpcs().vpc_ids(id).send().await.named(DESCRIBE)?;
    let vpc = answer.vpcs.and_then(|vpcs| vpcs.into_iter().next());
    described(vpc.ok_or_else(|| ApiError::absent(DESCRIBE, id))?)
}

fn described(vpc: types::Vpc) -> Result<Described, ApiError> {
    let tags = tags::from_sdk(vpc.tags());
    let tenancy = vpc.instance_tenancy.map(|tenancy| tenancy.as_str().to_owned());
    let mut found = Described {
        id: vpc.vpc_id.or_missing(DESCRIBE, "VpcId")?,
        cidr_block: vpc.cidr_block.parsed(DESCRIBE, "CidrBlock")?,
        secondary: BTreeMap::new(),
        ipv6: None,
        changing: false,
        refused: None,
        tenancy: tenancy.parsed(DESCRIBE, "InstanceTenancy")?,
        owner: vpc.owner_id.or_missing(DESCRIBE, "OwnerId")?,
        available: vpc.state != Some(VpcState::Pending),
        tags,
    };
    for association in vpc.cidr_block_association_set.unwrap_or_default() {
        let range = association.cidr_block.parsed(DESCRIBE, "CidrBlock")?;
        if range != found.cidr_block && found.counts(association.cidr_block_state, range) {
            let id = association.association_id.or_missing(DESCRIBE, "AssociationId")?;
            found.secondary.insert(range, id);
        }
    }
    for association in vpc.ipv6_cidr_block_association_set.unwrap_or_default() {
        let range = association.ipv6_cidr_block.parsed(DESCRIBE, "Ipv6CidrBlock")?;
        if found.counts(association.ipv6_cidr_block_state, range) {
            found.ipv6 = Some((range, association.association_id.or_missing(DESCRIBE, "AssociationId")?));
        }
    }
    Ok(found)
}

impl Described {
    /// Whether a range with this state belongs to the VPC. Records what is in progress, and what AWS rejected.
    fn counts(&mut self, state: Option<types::VpcCidrBlockState>, range: impl Display) -> bool {
        use VpcCidrBlockStateCode as Code;
        let message = state.as_ref().and_then(|state| state.status_message.clone());
        match state.and_then(|state| state.state) {
            Some(Code::Associated) | None => true,
            Some(Code::Associating) => {
                self.changing = true;
                true
            }
            Some(Code::Disassociating) => {
                self.changing = true;
                false
            }
            Some(Code::Failed | Code::Failing) => {
                let reason = message.map(|message| format!(": {message}")).unwrap_or_default();
                self.refused = Some(format!("AWS rejected {range}{reason}"));
                false
            }
            Some(_) => false,
        }
    }
}

/// The VPC of the state `before`; an error if it does not exist.
pub(super) async fn read(aws: &Aws, before: &Vpc) -> Result<Vpc, ApiError> {
    let id = before.object.id()?;
    let vpc = get(aws, id).await?;
    let tables = aws
        .ec2()
        .describe_route_tables()
        .filters(filter("vpc-id", id))
        .filters(filter("association.main", "true"));
    let ((dns_support, dns_hostnames), group, tables) =
        tokio::try_join!(dns(aws, id), default_group(aws, id), async {
            tables.send().await.named("DescribeRouteTables")
        })?;
    let empty = group
        .as_ref()
        .is_none_or(|group| group.ip_permissions().is_empty() && group.ip_permissions_egress().is_empty());
    let main_table = tables.route_tables().first().and_then(|table| table.route_table_id.clone());
    let main_table: Attr<_> = main_table.parsed_if_set("DescribeRouteTables", "RouteTableId")?.into();
    let group = group.and_then(|group| group.group_id);
    Ok(Vpc {
        object: before.object.found(aws, &vpc.id, &vpc.tags),
        cidr_block: vpc.cidr_block.into(),
        secondary_cidr_blocks: sets::found(vpc.secondary.into_keys(), &before.secondary_cidr_blocks),
        assign_generated_ipv6: vpc.ipv6.is_some().into(),
        ipv6_cidr_block: vpc.ipv6.map(|(range, _)| range).into(),
        enable_dns_support: dns_support.into(),
        enable_dns_hostnames: dns_hostnames.into(),
        instance_tenancy: vpc.tenancy.into(),
        lock_default_security_group: locked(before, empty),
        default_security_group_id: group.parsed_if_set("DescribeSecurityGroups", "GroupId")?.into(),
        default_route_table_id: match &before.default_route_table_id {
            Attr::Known(table) => Attr::Known(table.clone()),
            _ => main_table.clone(),
        },
        main_route_table_id: main_table,
        arn: aws.arn(&vpc.owner, &format!("vpc/{}", vpc.id)).into(),
        owner_id: vpc.owner.into(),
    })
}

/// Whether the default group is locked. A locked group that got rules appears as drift.
pub(super) fn locked(before: &Vpc, empty: bool) -> Attr<bool> {
    match before.lock_default_security_group {
        Attr::Known(false) => false.into(),
        _ => empty.into(),
    }
}

/// The VPC `id` with its DNS support and DNS hostnames.
pub(super) async fn live(aws: &Aws, id: &str) -> Result<(Described, bool, bool), ApiError> {
    let vpc = get(aws, id).await?;
    let (support, hostnames) = dns(aws, id).await?;
    Ok((vpc, support, hostnames))
}

/// DNS support and DNS hostnames of the VPC `id`.
async fn dns(aws: &Aws, id: &str) -> Result<(bool, bool), ApiError> {
    tokio::try_join!(
        attribute(aws, id, VpcAttributeName::EnableDnsSupport),
        attribute(aws, id, VpcAttributeName::EnableDnsHostnames)
    )
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
    value.and_then(|value| value.value).or_missing("DescribeVpcAttribute", "Value")
}

async fn default_group(aws: &Aws, id: &str) -> Result<Option<types::SecurityGroup>, ApiError> {
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

pub(super) async fn associate(aws: &Aws, id: &str, range: Ipv4Net) -> Result<(), ApiError> {
    let call = aws.ec2().associate_vpc_cidr_block().vpc_id(id).cidr_block(range.to_string());
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
    let group_id = group.group_id.or_missing("DescribeSecurityGroups", "GroupId")?;
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
