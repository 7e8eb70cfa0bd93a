//! EC2 API calls for security groups.

use aws_sdk_ec2::types::{IpPermission, IpRange, Ipv6Range, PrefixListId, ResourceType, UserIdGroupPair};

use super::Direction;
use super::rules::{Grant, Grants, Peer};
use super::schema::SecurityGroup;
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};

/// A security group as returned by DescribeSecurityGroups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) vpc_id: String,
    pub(super) group_name: String,
    pub(super) description: String,
    pub(super) ingress: Grants,
    pub(super) egress: Grants,
    pub(super) owner: String,
    pub(super) arn: String,
    pub(super) tags: Tags,
}

/// IDs of the groups of this fabric and owner with the planned name and the planned immutable settings.
pub(super) async fn find(aws: &Aws, planned: &SecurityGroup) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.name.text());
    filters.push(filter("vpc-id", planned.vpc_id.text()));
    let call = aws.ec2().describe_security_groups().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(group) = pages.next().await {
        let group = group.named("DescribeSecurityGroups")?;
        if group.description.as_deref() == Some(planned.description.text()) {
            ids.extend(group.group_id);
        }
    }
    Ok(ids)
}

/// Creates a group and returns its ID. Names are unique in a VPC: if another group has the name, such as
/// the one that this group replaces, a suffix is added.
pub(super) async fn create(aws: &Aws, planned: &SecurityGroup, tags: &Tags) -> Result<String, ApiError> {
    let name = planned.name.text();
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
        .vpc_id(planned.vpc_id.text())
        .group_name(name)
        .description(planned.description.text())
        .tag_specifications(tags::specification(ResourceType::SecurityGroup, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateSecurityGroup")?;
    Ok(made.group_id.unwrap_or_default())
}

/// The group `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_security_groups().group_ids(id);
    let answer = call.send().await.named("DescribeSecurityGroups")?;
    let group = answer.security_groups.unwrap_or_default().into_iter().next();
    group.map(|group| found(aws, group)).ok_or_else(|| ApiError::absent("DescribeSecurityGroups", id))
}

fn found(aws: &Aws, group: aws_sdk_ec2::types::SecurityGroup) -> Found {
    let id = group.group_id.unwrap_or_default();
    let owner = group.owner_id.unwrap_or_default();
    Found {
        arn: aws.arn(&owner, &format!("security-group/{id}")),
        vpc_id: group.vpc_id.unwrap_or_default(),
        group_name: group.group_name.unwrap_or_default(),
        description: group.description.unwrap_or_default(),
        ingress: grants(group.ip_permissions.unwrap_or_default()),
        egress: grants(group.ip_permissions_egress.unwrap_or_default()),
        tags: tags::from_sdk(group.tags.as_deref().unwrap_or_default()),
        owner,
        id,
    }
}

fn grants(permissions: Vec<IpPermission>) -> Grants {
    let mut grants = Grants::new();
    for permission in permissions {
        let protocol = permission.ip_protocol.unwrap_or_default();
        let ports = match protocol.as_str() {
            "tcp" | "udp" | "icmp" | "icmpv6" => permission.from_port.zip(permission.to_port),
            _ => None,
        };
        let ports = ports.map(|(from, to)| (i64::from(from), i64::from(to)));
        let mut add = |peer: Peer, description: Option<String>| {
            let description = description.filter(|text| !text.is_empty());
            grants.insert(Grant { protocol: protocol.clone(), ports, peer }, description);
        };
        for range in permission.ip_ranges.unwrap_or_default() {
            add(Peer::Ipv4(range.cidr_ip.unwrap_or_default()), range.description);
        }
        for range in permission.ipv6_ranges.unwrap_or_default() {
            add(Peer::Ipv6(range.cidr_ipv6.unwrap_or_default()), range.description);
        }
        for list in permission.prefix_list_ids.unwrap_or_default() {
            add(Peer::PrefixList(list.prefix_list_id.unwrap_or_default()), list.description);
        }
        for pair in permission.user_id_group_pairs.unwrap_or_default() {
            add(Peer::Group(pair.group_id.unwrap_or_default()), pair.description);
        }
    }
    grants
}

/// One permission per grant: AWS accepts them in one call and merges them.
fn permissions(grants: &Grants, described: bool) -> Vec<IpPermission> {
    grants
        .iter()
        .map(|(grant, description)| {
            let description = description.clone().filter(|_| described);
            let port = |port: i64| i32::try_from(port).unwrap_or(-1);
            let permission = IpPermission::builder()
                .ip_protocol(&grant.protocol)
                .set_from_port(grant.ports.map(|(from, _)| port(from)))
                .set_to_port(grant.ports.map(|(_, to)| port(to)));
            match &grant.peer {
                Peer::Ipv4(range) => permission
                    .ip_ranges(IpRange::builder().cidr_ip(range).set_description(description).build()),
                Peer::Ipv6(range) => permission
                    .ipv6_ranges(Ipv6Range::builder().cidr_ipv6(range).set_description(description).build()),
                Peer::PrefixList(list) => permission.prefix_list_ids(
                    PrefixListId::builder().prefix_list_id(list).set_description(description).build(),
                ),
                Peer::Group(group) => permission.user_id_group_pairs(
                    UserIdGroupPair::builder().group_id(group).set_description(description).build(),
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
