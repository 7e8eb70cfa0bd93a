//! EC2 API calls for security groups.

use std::str::FromStr;

use aws_sdk_ec2::types::{
    self, IpPermission, IpRange, Ipv6Range, PrefixListId, ResourceType, UserIdGroupPair,
};
use tf_provider_rs::Attr;

use super::model::{Protocol, SecurityGroup};
use super::rules::{self, Grant, Grants, Peer};
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::SecurityGroupId;
use crate::session::Aws;
use crate::tags::{self, Tags, filter};

const DESCRIBE: &str = "DescribeSecurityGroups";

/// A security group with its rules as AWS stores them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    pub(super) state: SecurityGroup,
    pub(super) ingress: Grants,
    pub(super) egress: Grants,
}

/// The direction of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Ingress,
    Egress,
}

/// IDs of the groups of this fabric and owner with the planned name and the planned immutable settings.
pub(super) async fn find(aws: &Aws, planned: &SecurityGroup) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.object.name()?);
    filters.push(filter("vpc-id", planned.vpc_id.value()?));
    let call = aws.ec2().describe_security_groups().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(group) = pages.next().await {
        let group = group.named(DESCRIBE)?;
        if group.description.as_ref() == planned.description.known() {
            ids.extend(group.group_id);
        }
    }
    Ok(ids)
}

/// Creates a group and returns its ID. Names are unique in a VPC: if another group has the name, such as
/// the one that this group replaces, a suffix is added.
pub(super) async fn create(aws: &Aws, planned: &SecurityGroup, tags: &Tags) -> Result<String, ApiError> {
    let name = planned.object.name()?;
    // AWS reserves names with this prefix.
    let name = if name.starts_with("sg-") { format!("g-{name}") } else { name.to_owned() };
    match create_as(aws, &name, planned, tags).await {
        Err(error) if error.code == "InvalidGroup.Duplicate" => {
            let short: String = name.chars().take(240).collect();
            let name = format!("{short}-{:08x}", rand::random::<u32>());
            create_as(aws, &name, planned, tags).await
        }
        other => other,
    }
}

async fn create_as(aws: &Aws, name: &str, planned: &SecurityGroup, tags: &Tags) -> Result<String, ApiError> {
    let made = aws
        .ec2()
        .create_security_group()
        .vpc_id(planned.vpc_id.value()?.as_str())
        .group_name(name)
        .description(planned.description.value()?)
        .tag_specifications(tags::specification(ResourceType::SecurityGroup, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateSecurityGroup")?;
    made.group_id.or_missing("CreateSecurityGroup", "GroupId")
}

/// The group of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &SecurityGroup) -> Result<Live, ApiError> {
    let id = before.object.id()?;
    let answer = aws.ec2().describe_security_groups().group_ids(id).send().await.named(DESCRIBE)?;
    let group = answer.security_groups.and_then(|groups| groups.into_iter().next());
    live(aws, group.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

fn live(aws: &Aws, group: types::SecurityGroup, before: &SecurityGroup) -> Result<Live, ApiError> {
    let tags = tags::from_sdk(group.tags());
    let id: SecurityGroupId = group.group_id.parsed(DESCRIBE, "GroupId")?;
    let owner = group.owner_id.or_missing(DESCRIBE, "OwnerId")?;
    let ingress = grants(group.ip_permissions.unwrap_or_default())?;
    let egress = grants(group.ip_permissions_egress.unwrap_or_default())?;
    let state = SecurityGroup {
        object: before.object.found(aws, &id, &tags),
        vpc_id: Attr::Known(group.vpc_id.parsed(DESCRIBE, "VpcId")?),
        description: group.description.or_missing(DESCRIBE, "Description")?.into(),
        group_name: group.group_name.or_missing(DESCRIBE, "GroupName")?.into(),
        ingress: rules::state(ingress.clone(), &before.ingress, &id),
        egress: rules::state(egress.clone(), &before.egress, &id),
        allow_public_ingress: before.allow_public_ingress.is_true().into(),
        arn: aws.arn(&owner, &format!("security-group/{id}")).into(),
        owner_id: owner.into(),
    };
    Ok(Live { state, ingress, egress })
}

fn grants(permissions: Vec<IpPermission>) -> Result<Grants, ApiError> {
    let mut grants = Grants::new();
    for permission in permissions {
        let protocol: Protocol = permission.ip_protocol.parsed(DESCRIBE, "IpProtocol")?;
        let ports = match protocol {
            Protocol::Tcp | Protocol::Udp | Protocol::Icmp | Protocol::Icmpv6 => {
                permission.from_port.zip(permission.to_port)
            }
            Protocol::All | Protocol::Number(_) => None,
        };
        let mut add = |peer: Peer, description: Option<String>| {
            grants.insert(Grant { protocol, ports, peer }, description.non_empty());
        };
        for range in permission.ip_ranges.unwrap_or_default() {
            add(peer(range.cidr_ip, "CidrIp", Peer::Ipv4)?, range.description);
        }
        for range in permission.ipv6_ranges.unwrap_or_default() {
            add(peer(range.cidr_ipv6, "CidrIpv6", Peer::Ipv6)?, range.description);
        }
        for list in permission.prefix_list_ids.unwrap_or_default() {
            add(peer(list.prefix_list_id, "PrefixListId", Peer::PrefixList)?, list.description);
        }
        for pair in permission.user_id_group_pairs.unwrap_or_default() {
            add(peer(pair.group_id, "GroupId", Peer::Group)?, pair.description);
        }
    }
    Ok(grants)
}

fn peer<T: FromStr>(
    text: Option<String>,
    member: &'static str,
    peer: fn(T) -> Peer,
) -> Result<Peer, ApiError> {
    text.parsed(DESCRIBE, member).map(peer)
}

/// One permission per grant: AWS accepts them in one call and merges them.
fn permissions(grants: &Grants, described: bool) -> Vec<IpPermission> {
    grants
        .iter()
        .map(|(grant, description)| {
            let description = description.clone().filter(|_| described);
            let permission = IpPermission::builder()
                .ip_protocol(grant.protocol.to_string())
                .set_from_port(grant.ports.map(|(from, _)| from))
                .set_to_port(grant.ports.map(|(_, to)| to));
            match &grant.peer {
                Peer::Ipv4(range) => permission.ip_ranges(
                    IpRange::builder().cidr_ip(range.to_string()).set_description(description).build(),
                ),
                Peer::Ipv6(range) => permission.ipv6_ranges(
                    Ipv6Range::builder().cidr_ipv6(range.to_string()).set_description(description).build(),
                ),
                Peer::PrefixList(list) => permission.prefix_list_ids(
                    PrefixListId::builder()
                        .prefix_list_id(list.as_str())
                        .set_description(description)
                        .build(),
                ),
                Peer::Group(group) => permission.user_id_group_pairs(
                    UserIdGroupPair::builder().group_id(group.as_str()).set_description(description).build(),
                ),
            }
            .build()
        })
        .collect()
}

/// Adds rules. A rule that exists already (from an earlier attempt or from somebody else) is no failure,
/// but AWS rejects the whole call: the remaining rules are then added one by one.
pub(super) async fn authorize(
    aws: &Aws,
    id: &str,
    direction: Direction,
    grants: &Grants,
) -> Result<(), ApiError> {
    match authorize_all(aws, id, direction, permissions(grants, true)).await {
        Err(error) if error.code == "InvalidPermission.Duplicate" => {}
        other => return other,
    }
    for permission in permissions(grants, true) {
        match authorize_all(aws, id, direction, vec![permission]).await {
            Err(error) if error.code == "InvalidPermission.Duplicate" => {}
            other => other?,
        }
    }
    Ok(())
}

async fn authorize_all(
    aws: &Aws,
    id: &str,
    direction: Direction,
    permissions: Vec<IpPermission>,
) -> Result<(), ApiError> {
    match direction {
        Direction::Ingress => {
            let call = aws.ec2().authorize_security_group_ingress().group_id(id);
            let call = call.set_ip_permissions(Some(permissions));
            call.send().await.named("AuthorizeSecurityGroupIngress").map(drop)
        }
        Direction::Egress => {
            let call = aws.ec2().authorize_security_group_egress().group_id(id);
            let call = call.set_ip_permissions(Some(permissions));
            call.send().await.named("AuthorizeSecurityGroupEgress").map(drop)
        }
    }
}

/// Updates the descriptions of existing rules.
pub(super) async fn describe(
    aws: &Aws,
    id: &str,
    direction: Direction,
    grants: &Grants,
) -> Result<(), ApiError> {
    let permissions = Some(permissions(grants, true));
    match direction {
        Direction::Ingress => {
            let call = aws.ec2().update_security_group_rule_descriptions_ingress().group_id(id);
            let call = call.set_ip_permissions(permissions);
            call.send().await.named("UpdateSecurityGroupRuleDescriptionsIngress").map(drop)
        }
        Direction::Egress => {
            let call = aws.ec2().update_security_group_rule_descriptions_egress().group_id(id);
            let call = call.set_ip_permissions(permissions);
            call.send().await.named("UpdateSecurityGroupRuleDescriptionsEgress").map(drop)
        }
    }
}

/// Removes rules. Rules that do not exist are no failure.
pub(super) async fn revoke(
    aws: &Aws,
    id: &str,
    direction: Direction,
    grants: &Grants,
) -> Result<(), ApiError> {
    for permission in permissions(grants, false) {
        let permission = Some(vec![permission]);
        let result = match direction {
            Direction::Ingress => {
                let call = aws.ec2().revoke_security_group_ingress().group_id(id);
                let call = call.set_ip_permissions(permission);
                call.send().await.named("RevokeSecurityGroupIngress").map(drop)
            }
            Direction::Egress => {
                let call = aws.ec2().revoke_security_group_egress().group_id(id);
                let call = call.set_ip_permissions(permission);
                call.send().await.named("RevokeSecurityGroupEgress").map(drop)
            }
        };
        match result {
            Err(error) if error.code == "InvalidPermission.NotFound" => {}
            other => other?,
        }
    }
    Ok(())
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_security_group().group_id(id);
    call.send().await.named("DeleteSecurityGroup").map(drop)
}
