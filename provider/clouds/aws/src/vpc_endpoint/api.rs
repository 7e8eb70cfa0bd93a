//! EC2 API calls for endpoints, and for the objects that the completeness check reads.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{IpPermission, ResourceType, VpcEndpoint, VpcEndpointType};
use ipnet::IpNet;

use super::schema::{self, Endpoint};
use super::service;
use crate::client;
use crate::error::{ApiError, Named};
use crate::memory::{PlannedEndpoint, PlannedSecurityGroup};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::sets;

/// An endpoint as AWS reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) vpc_id: String,
    pub(super) service_name: String,
    /// `Gateway` or `Interface`.
    pub(super) kind: String,
    /// In lower case, because AWS uses both upper and lower case.
    pub(super) state: String,
    /// Why it failed.
    pub(super) failure: Option<String>,
    pub(super) route_table_ids: BTreeSet<String>,
    pub(super) subnet_ids: BTreeSet<String>,
    pub(super) security_group_ids: BTreeSet<String>,
    pub(super) private_dns: bool,
    pub(super) policy: Option<String>,
    /// Names with their hosted zones.
    pub(super) dns_entries: Vec<(Option<String>, Option<String>)>,
    pub(super) network_interface_ids: BTreeSet<String>,
    /// Set only by [`read`].
    pub(super) prefix_list_id: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) tags: Tags,
}

impl Found {
    fn is_gone(&self) -> bool {
        matches!(self.state.as_str(), "deleted" | "deleting" | "failed" | "rejected" | "expired")
    }
}

/// IDs of the live endpoints of this fabric and owner with the planned name, VPC, service and type. An
/// endpoint that differs there is the one that is being replaced.
pub(super) async fn find(aws: &Aws, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let mut found = list(aws, aws.filters(planned.name.text())).await?;
    found.retain(|endpoint| {
        endpoint.vpc_id == planned.vpc_id.text()
            && endpoint.service_name == planned.service_name.text()
            && endpoint.kind == planned.r#type.text()
    });
    Ok(found.into_iter().map(|endpoint| endpoint.id).collect())
}

/// The live endpoints of a VPC for the completeness check.
pub(super) async fn of_vpc(aws: &Aws, vpc_id: &str) -> Result<Vec<PlannedEndpoint>, ApiError> {
    let found = list(aws, vec![filter("vpc-id", vpc_id)]).await?;
    Ok(found
        .into_iter()
        .map(|endpoint| PlannedEndpoint {
            vpc_id: endpoint.vpc_id.into(),
            service: service::short(&endpoint.service_name, &aws.region),
            private_dns: endpoint.private_dns.into(),
            policy: endpoint.policy.into(),
        })
        .collect())
}

async fn list(aws: &Aws, filters: Vec<aws_sdk_ec2::types::Filter>) -> Result<Vec<Found>, ApiError> {
    let mut pages =
        aws.ec2().describe_vpc_endpoints().set_filters(Some(filters)).into_paginator().items().send();
    let mut living = Vec::new();
    while let Some(endpoint) = pages.next().await {
        living.push(described(endpoint.named("DescribeVpcEndpoints")?));
    }
    living.retain(|endpoint| !endpoint.is_gone());
    Ok(living)
}

/// Creates an endpoint and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Endpoint, tags: &Tags) -> Result<String, ApiError> {
    let set = |items: &sets::Texts| Some(sets::known(items).into_iter().collect::<Vec<_>>());
    let mut call = aws
        .ec2()
        .create_vpc_endpoint()
        .vpc_id(planned.vpc_id.text())
        .service_name(planned.service_name.text())
        .set_policy_document(planned.wanted_policy(&aws.region).into_known())
        .tag_specifications(tags::specification(ResourceType::VpcEndpoint, tags));
    call = if planned.is_gateway() {
        call.vpc_endpoint_type(VpcEndpointType::Gateway).set_route_table_ids(set(&planned.route_table_ids))
    } else {
        call.vpc_endpoint_type(VpcEndpointType::Interface)
            .set_subnet_ids(set(&planned.subnet_ids))
            .set_security_group_ids(set(&planned.security_group_ids))
            .private_dns_enabled(planned.private_dns_enabled.is_true())
    };
    let made = call.customize().config_override(client::once()).send().await.named("CreateVpcEndpoint")?;
    Ok(made.vpc_endpoint.and_then(|endpoint| endpoint.vpc_endpoint_id).unwrap_or_default())
}

/// The endpoint `id`, even if it failed; an error if it does not exist or is deleted.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_vpc_endpoints().vpc_endpoint_ids(id);
    let answer = call.send().await.named("DescribeVpcEndpoints")?;
    let found = answer.vpc_endpoints.unwrap_or_default().into_iter().next().map(described);
    found
        .filter(|endpoint| endpoint.state != "deleted")
        .ok_or_else(|| ApiError::absent("DescribeVpcEndpoints", id))
}

/// The endpoint `id` with its prefix list; an error if it does not exist or is being deleted.
pub(super) async fn read(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let mut found = get(aws, id).await?;
    if found.is_gone() {
        return Err(ApiError::absent("DescribeVpcEndpoints", id));
    }
    if found.kind == "Gateway" {
        let call = aws.ec2().describe_prefix_lists();
        let call = call.filters(filter("prefix-list-name", &found.service_name));
        let lists = call.send().await.named("DescribePrefixLists")?;
        found.prefix_list_id = lists.prefix_lists().first().and_then(|list| list.prefix_list_id.clone());
    }
    Ok(found)
}

fn described(endpoint: VpcEndpoint) -> Found {
    let set = |ids: Option<Vec<String>>| ids.unwrap_or_default().into_iter().collect();
    let failure = endpoint.failure_reason.or(endpoint.last_error.and_then(|error| error.message));
    Found {
        id: endpoint.vpc_endpoint_id.unwrap_or_default(),
        vpc_id: endpoint.vpc_id.unwrap_or_default(),
        service_name: endpoint.service_name.unwrap_or_default(),
        kind: endpoint.vpc_endpoint_type.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        state: endpoint.state.map(|state| state.as_str().to_ascii_lowercase()).unwrap_or_default(),
        failure,
        route_table_ids: set(endpoint.route_table_ids),
        subnet_ids: set(endpoint.subnet_ids),
        security_group_ids: endpoint
            .groups
            .into_iter()
            .flatten()
            .filter_map(|group| group.group_id)
            .collect(),
        private_dns: endpoint.private_dns_enabled.unwrap_or_default(),
        policy: endpoint.policy_document,
        dns_entries: endpoint
            .dns_entries
            .into_iter()
            .flatten()
            .map(|entry| (entry.dns_name, entry.hosted_zone_id))
            .collect(),
        network_interface_ids: set(endpoint.network_interface_ids),
        prefix_list_id: None,
        owner_id: endpoint.owner_id,
        tags: tags::from_sdk(endpoint.tags.as_deref().unwrap_or_default()),
    }
}

/// Updates the settings of `have` to those of `want` in one call. Without differences it calls nothing.
pub(super) async fn modify(aws: &Aws, have: &Found, want: &Endpoint) -> Result<(), ApiError> {
    let mut call = aws.ec2().modify_vpc_endpoint().vpc_endpoint_id(&have.id);
    let mut changed = false;
    let mut apart = |have: &BTreeSet<String>, want: &sets::Texts| {
        let (add, remove) = sets::difference(have, &sets::known(want));
        changed |= add.is_some() || remove.is_some();
        (add, remove)
    };
    if want.is_gateway() {
        let (add, remove) = apart(&have.route_table_ids, &want.route_table_ids);
        call = call.set_add_route_table_ids(add).set_remove_route_table_ids(remove);
    } else {
        let (add, remove) = apart(&have.subnet_ids, &want.subnet_ids);
        call = call.set_add_subnet_ids(add).set_remove_subnet_ids(remove);
        if want.security_group_ids.is_known() {
            let (add, remove) = apart(&have.security_group_ids, &want.security_group_ids);
            call = call.set_add_security_group_ids(add).set_remove_security_group_ids(remove);
        }
        let private_dns = want.private_dns_enabled.is_true();
        if have.private_dns != private_dns {
            call = call.private_dns_enabled(private_dns);
            changed = true;
        }
    }
    match (want.wanted_policy(&aws.region).into_known(), &have.policy) {
        (Some(want), Some(have)) if crate::policy::equivalent(&want, have) => {}
        (Some(want), _) => {
            call = call.policy_document(want);
            changed = true;
        }
        (None, Some(have)) if !schema::is_open(have) => {
            call = call.reset_policy(true);
            changed = true;
        }
        (None, _) => {}
    }
    if changed { call.send().await.named("ModifyVpcEndpoint").map(drop) } else { Ok(()) }
}

/// Requests the deletion of the endpoint.
pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_vpc_endpoints().vpc_endpoint_ids(id);
    let answer = call.send().await.named("DeleteVpcEndpoints")?;
    // The call succeeds even if the endpoint was not deleted.
    let refused = answer.unsuccessful.unwrap_or_default().into_iter().find_map(|item| item.error);
    refused.map_or(Ok(()), |error| {
        Err(ApiError {
            operation: "DeleteVpcEndpoints",
            code: error.code.unwrap_or_default(),
            message: error.message.unwrap_or_default(),
            status: 400,
        })
    })
}

/// The network interfaces in `ids` that exist.
pub(super) async fn interfaces(aws: &Aws, ids: &BTreeSet<String>) -> Result<Vec<String>, ApiError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids = ids
        .iter()
        .fold(aws_sdk_ec2::types::Filter::builder().name("network-interface-id"), |f, id| f.values(id));
    let mut pages =
        aws.ec2().describe_network_interfaces().filters(ids.build()).into_paginator().items().send();
    let mut living = Vec::new();
    while let Some(interface) = pages.next().await {
        living.extend(interface.named("DescribeNetworkInterfaces")?.network_interface_id);
    }
    Ok(living)
}

/// The sources that live security groups allow on TCP port 443.
pub(super) async fn groups(
    aws: &Aws,
    ids: &BTreeSet<String>,
) -> Result<BTreeMap<String, PlannedSecurityGroup>, ApiError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<String> = ids.iter().cloned().collect();
    let call = aws.ec2().describe_security_groups().set_group_ids(Some(ids));
    let answer = call.send().await.named("DescribeSecurityGroups")?;
    let groups = answer.security_groups.unwrap_or_default();
    Ok(groups
        .into_iter()
        .map(|group| {
            let rules = group.ip_permissions.unwrap_or_default();
            let seen = PlannedSecurityGroup {
                vpc_id: group.vpc_id.into(),
                known: true,
                https_from: rules.iter().filter(|rule| has_https(rule)).flat_map(sources).collect(),
                https_from_group: rules
                    .iter()
                    .filter(|rule| has_https(rule))
                    .any(|rule| !rule.user_id_group_pairs().is_empty() || !rule.prefix_list_ids().is_empty()),
            };
            (group.group_id.unwrap_or_default(), seen)
        })
        .collect())
}

fn has_https(rule: &IpPermission) -> bool {
    match rule.ip_protocol.as_deref() {
        Some("-1") => true,
        Some("tcp" | "6") => rule.from_port.unwrap_or(0) <= 443 && rule.to_port.unwrap_or(65535) >= 443,
        _ => false,
    }
}

fn sources(rule: &IpPermission) -> Vec<IpNet> {
    let v4 = rule.ip_ranges().iter().filter_map(|range| range.cidr_ip.as_deref());
    let v6 = rule.ipv6_ranges().iter().filter_map(|range| range.cidr_ipv6.as_deref());
    v4.chain(v6).filter_map(|range| range.parse().ok()).collect()
}

/// The error for an endpoint that AWS could not create.
pub(super) fn failed(found: &Found) -> ApiError {
    let why = found.failure.clone().unwrap_or_else(|| "AWS gave no reason".to_owned());
    ApiError {
        operation: "CreateVpcEndpoint",
        code: "EndpointFailed".to_owned(),
        message: format!("the endpoint is in the state {}: {why}", found.state),
        status: 400,
    }
}
