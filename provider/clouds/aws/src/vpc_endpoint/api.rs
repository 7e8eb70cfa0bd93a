//! EC2 API calls for endpoints, and for the objects that the completeness check reads.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use aws_sdk_ec2::types::{self, IpPermission, ResourceType, SecurityGroup, VpcEndpoint, VpcEndpointType};
use ipnet::IpNet;
use tf_provider_rs::{Attr, NotKnown};

use super::model::{DnsEntry, DnsOptions, Endpoint, IpAddressType, Kind};
use super::{buckets, service};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{self, NetworkInterfaceId, SecurityGroupId, VpcId};
use crate::memory::{PlannedEndpoint, PlannedSecurityGroup, PlannedZone};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_managed::sets::{self, Set};

const DESCRIBE: &str = "DescribeVpcEndpoints";
const ID: &str = "VpcEndpointId";
const INTERFACES: &str = "DescribeNetworkInterfaces";

/// An endpoint as it is now, with what no attribute shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Endpoint,
    /// The policy as AWS returned it.
    policy: Option<String>,
    /// Why it failed.
    failure: Option<String>,
}

fn is_gone(state: &str) -> bool {
    matches!(state, "deleted" | "deleting" | "failed" | "rejected" | "expired")
}

/// The state in lower case, because AWS uses both upper and lower case.
fn state_of(endpoint: &VpcEndpoint) -> Result<String, ApiError> {
    Ok(endpoint.state.as_ref().or_missing(DESCRIBE, "State")?.as_str().to_ascii_lowercase())
}

/// IDs of the live endpoints of this fabric and owner with the planned name, VPC, service and type. An
/// endpoint that differs there is the one that is being replaced.
pub(super) async fn find(aws: &Aws, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let mut found = list(aws, aws.filters(planned.object.name()?)).await?;
    found.retain(|endpoint| {
        let kind = endpoint.vpc_endpoint_type().map(|kind| kind.as_str());
        endpoint.vpc_id() == planned.vpc_id.as_deref()
            && endpoint.service_name() == planned.service_name.as_deref()
            && kind == planned.r#type.known().map(Kind::as_str)
    });
    found.into_iter().map(|endpoint| endpoint.vpc_endpoint_id.or_missing(DESCRIBE, ID)).collect()
}

/// The live endpoints of a VPC for the completeness check.
pub(super) async fn of_vpc(aws: &Aws, vpc_id: &str) -> Result<Vec<PlannedEndpoint>, ApiError> {
    let found = list(aws, vec![filter("vpc-id", vpc_id)]).await?;
    let planned = |endpoint: VpcEndpoint| {
        let service = endpoint.service_name.or_missing(DESCRIBE, "ServiceName")?;
        Ok(PlannedEndpoint {
            vpc_id: endpoint.vpc_id.parsed_if_set(DESCRIBE, "VpcId")?.into(),
            service: service::short(&service, Some(&aws.region)).to_owned(),
            private_dns: endpoint.private_dns_enabled.into(),
            policy: endpoint.policy_document.into(),
        })
    };
    found.into_iter().map(planned).collect()
}

async fn list(aws: &Aws, filters: Vec<aws_sdk_ec2::types::Filter>) -> Result<Vec<VpcEndpoint>, ApiError> {
    let call = aws.ec2().describe_vpc_endpoints().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut living = Vec::new();
    while let Some(endpoint) = pages.next().await {
        let endpoint = endpoint.named(DESCRIBE)?;
        if !is_gone(&state_of(&endpoint)?) {
            living.push(endpoint);
        }
    }
    Ok(living)
}

/// Creates an endpoint and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Endpoint, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateVpcEndpoint";
    let mut call = aws
        .ec2()
        .create_vpc_endpoint()
        .vpc_id(planned.vpc_id.value()?.as_str())
        .service_name(planned.service_name.value()?)
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
    if let Some(kind) = planned.ip_address_type.known() {
        call = call.ip_address_type(types::IpAddressType::from(kind.as_str()));
    }
    call = call.set_dns_options(planned.dns_options.known().map(dns_options));
    let made = call.send().await.named(OPERATION)?;
    let made = made.vpc_endpoint.or_missing(OPERATION, "VpcEndpoint")?;
    made.vpc_endpoint_id.or_missing(OPERATION, ID)
}

/// DNS settings for a call; AWS keeps those that are absent.
fn dns_options(options: &DnsOptions) -> types::DnsOptionsSpecification {
    let kind = options.dns_record_ip_type.known();
    types::DnsOptionsSpecification::builder()
        .set_dns_record_ip_type(kind.map(|kind| types::DnsRecordIpType::from(kind.as_str())))
        .set_private_dns_only_for_inbound_resolver_endpoint(
            options.private_dns_only_for_inbound_resolver_endpoint.known().copied(),
        )
        .build()
}

/// The endpoint of `before` as it is now, even if it failed; an error if it does not exist or is deleted.
pub(super) async fn get(aws: &Aws, before: &Endpoint) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let call = aws.ec2().describe_vpc_endpoints().vpc_endpoint_ids(id);
    let endpoint = call.send().await.named(DESCRIBE)?.vpc_endpoints.into_iter().flatten().next();
    let found = endpoint.map(|endpoint| found(aws, endpoint, before)).transpose()?;
    found.filter(|found| !found.state.is("deleted")).ok_or_else(|| ApiError::absent(DESCRIBE, id))
}

/// The endpoint of `before` with its prefix list; an error if it does not exist or is being deleted.
pub(super) async fn read(aws: &Aws, before: &Endpoint) -> Result<Endpoint, ApiError> {
    let mut endpoint = get(aws, before).await?.state;
    if is_gone(endpoint.state.value()?) {
        return Err(ApiError::absent(DESCRIBE, before.object.id()?));
    }
    (endpoint.prefix_list_id, endpoint.cidr_blocks) = (Attr::Null, Attr::Null);
    if endpoint.is_gateway() {
        const LIST: &str = "DescribePrefixLists";
        let call = aws.ec2().describe_prefix_lists();
        let call = call.filters(filter("prefix-list-name", endpoint.service_name.value()?));
        let list = call.send().await.named(LIST)?.prefix_lists.into_iter().flatten().next();
        let (id, ranges) = list.map(|list| (list.prefix_list_id, list.cidrs)).unwrap_or_default();
        endpoint.prefix_list_id = id.parsed_if_set(LIST, "PrefixListId")?.into();
        let ranges = ranges.into_iter().flatten().map(Some);
        endpoint.cidr_blocks = sets::of(ids::all(ranges, LIST, "Cidrs")?);
    } else {
        let found = described(aws, &sets::known(&endpoint.network_interface_ids)).await?;
        let addresses = found.into_iter().flat_map(|interface| {
            let v6 = interface.ipv6_addresses.into_iter().flatten().map(|address| address.ipv6_address);
            std::iter::once(interface.private_ip_address).chain(v6)
        });
        let addresses = addresses.filter(Option::is_some);
        let addresses: BTreeSet<IpAddr> = ids::all(addresses, INTERFACES, "PrivateIpAddress")?;
        endpoint.cidr_blocks = sets::of(addresses.into_iter().map(IpNet::from));
    }
    Ok(endpoint)
}

/// The state of the object that was found, based on `before`.
pub(super) fn found(aws: &Aws, found: VpcEndpoint, before: &Endpoint) -> Result<Found, ApiError> {
    let status = state_of(&found)?;
    let address_type = found.ip_address_type.as_ref().map(|kind| kind.as_str().to_owned());
    let tags = tags::from_sdk(found.tags());
    let kind = found.vpc_endpoint_type.map(|kind| kind.as_str().to_owned());
    let kind = kind.parsed(DESCRIBE, "VpcEndpointType")?;
    let service_name = found.service_name.or_missing(DESCRIBE, "ServiceName")?;
    // The spelling of the user stays while it names the same service.
    let spelled = before.service.known().filter(|name| {
        let region = Some(aws.region.as_str());
        service::short(name, region) == service::short(&service_name, region)
    });
    let short = || service::short(&service_name, Some(&aws.region)).to_owned();
    let groups = found.groups.into_iter().flatten().map(|group| group.group_id);
    let listed = |ids: Option<Vec<String>>| ids.into_iter().flatten().map(Some);
    let route_tables = ids::all(listed(found.route_table_ids), DESCRIBE, "RouteTableIds")?;
    let subnets = ids::all(listed(found.subnet_ids), DESCRIBE, "SubnetIds")?;
    let interfaces = ids::all(listed(found.network_interface_ids), DESCRIBE, "NetworkInterfaceIds")?;
    let id = found.vpc_endpoint_id.or_missing(DESCRIBE, ID)?;
    let entry = |entry: types::DnsEntry| DnsEntry {
        dns_name: entry.dns_name.into(),
        hosted_zone_id: entry.hosted_zone_id.into(),
    };
    let state = Endpoint {
        object: before.object.found(aws, &id, &tags),
        vpc_id: Attr::Known(found.vpc_id.parsed(DESCRIBE, "VpcId")?),
        service: spelled.cloned().unwrap_or_else(short).into(),
        r#type: Attr::Known(kind),
        route_table_ids: sets::found(route_tables, &before.route_table_ids),
        subnet_ids: sets::found(subnets, &before.subnet_ids),
        security_group_ids: sets::of(ids::all(groups, DESCRIBE, "Groups.GroupId")?),
        // Meaningless for a gateway endpoint.
        private_dns_enabled: (found.private_dns_enabled == Some(true) && kind != Kind::Gateway).into(),
        // Older endpoints report none.
        ip_address_type: address_type
            .parsed_if_set(DESCRIBE, "IpAddressType")?
            .unwrap_or(IpAddressType::Ipv4)
            .into(),
        dns_options: match before.dns_options.known() {
            Some(before) => Attr::Known(shown_options(found.dns_options, before)?),
            None => Attr::Null,
        },
        policy: buckets::shown(found.policy_document.clone(), before, &aws.region),
        dns_entries: found.dns_entries.into_iter().flatten().map(entry).collect::<Vec<_>>().into(),
        network_interface_ids: sets::of(interfaces),
        bucket_policy: before.bucket_policy.clone(),
        allow_incomplete: before.allow_incomplete,
        prefix_list_id: before.prefix_list_id.clone(),
        cidr_blocks: before.cidr_blocks.clone(),
        state: status.into(),
        owner_id: found.owner_id.parsed_if_set(DESCRIBE, "OwnerId")?.into(),
        service_name: service_name.into(),
    };
    let failure = found.failure_reason.or(found.last_error.and_then(|error| error.message));
    Ok(Found { state, policy: found.policy_document, failure })
}

/// The DNS settings of the endpoint that the configuration sets.
fn shown_options(found: Option<types::DnsOptions>, before: &DnsOptions) -> Result<DnsOptions, ApiError> {
    let (kind, inbound) = found
        .map(|found| (found.dns_record_ip_type, found.private_dns_only_for_inbound_resolver_endpoint))
        .unwrap_or_default();
    let kind = kind.map(|kind| kind.as_str().to_owned());
    let mut shown = DnsOptions::default();
    if before.dns_record_ip_type.is_known() {
        shown.dns_record_ip_type = kind.parsed_if_set(DESCRIBE, "DnsRecordIpType")?.into();
    }
    if before.private_dns_only_for_inbound_resolver_endpoint.is_known() {
        shown.private_dns_only_for_inbound_resolver_endpoint = inbound.unwrap_or_default().into();
    }
    Ok(shown)
}

/// Updates the settings of `have` to those of `want` in one call. Without differences it calls nothing.
pub(super) async fn modify(aws: &Aws, have: &Found, want: &Endpoint) -> Result<(), ApiError> {
    let Found { state: have, policy, .. } = have;
    let mut call = aws.ec2().modify_vpc_endpoint().vpc_endpoint_id(have.object.id()?);
    let mut changed = false;
    if want.is_gateway() {
        let (add, remove) = difference(&have.route_table_ids, &want.route_table_ids);
        changed |= add.is_some() || remove.is_some();
        call = call.set_add_route_table_ids(add).set_remove_route_table_ids(remove);
    } else {
        let (add, remove) = difference(&have.subnet_ids, &want.subnet_ids);
        changed |= add.is_some() || remove.is_some();
        call = call.set_add_subnet_ids(add).set_remove_subnet_ids(remove);
        if want.security_group_ids.is_known() {
            let (add, remove) = difference(&have.security_group_ids, &want.security_group_ids);
            changed |= add.is_some() || remove.is_some();
            call = call.set_add_security_group_ids(add).set_remove_security_group_ids(remove);
        }
        let private_dns = want.private_dns_enabled.is_true();
        if have.private_dns_enabled.is_true() != private_dns {
            call = call.private_dns_enabled(private_dns);
            changed = true;
        }
    }
    if let Some(kind) = want.ip_address_type.known().filter(|_| have.ip_address_type != want.ip_address_type)
    {
        call = call.ip_address_type(types::IpAddressType::from(kind.as_str()));
        changed = true;
    }
    if let Some(options) = want.dns_options.known().filter(|_| have.dns_options != want.dns_options) {
        call = call.dns_options(dns_options(options));
        changed = true;
    }
    match (want.wanted_policy(&aws.region).into_known(), policy) {
        (Some(want), Some(have)) if crate::policy::equivalent(&want, have) => {}
        (Some(want), _) => {
            call = call.policy_document(want);
            changed = true;
        }
        (None, Some(have)) if !buckets::is_open(have) => {
            call = call.reset_policy(true);
            changed = true;
        }
        (None, _) => {}
    }
    if changed { call.send().await.named("ModifyVpcEndpoint").map(drop) } else { Ok(()) }
}

fn set<T: Clone + Into<String> + Ord>(items: &Set<T>) -> Option<Vec<String>> {
    Some(ids::texts(sets::known(items)))
}

/// The IDs to add and to remove.
fn difference<T: Clone + Into<String> + Ord>(
    have: &Set<T>,
    want: &Set<T>,
) -> (Option<Vec<String>>, Option<Vec<String>>) {
    let (add, remove) = sets::difference(&sets::known(have), &sets::known(want));
    (add.map(ids::texts), remove.map(ids::texts))
}

/// Requests the deletion of the endpoint.
pub(super) async fn delete(aws: &Aws, endpoint: &Endpoint) -> Result<(), ApiError> {
    const OPERATION: &str = "DeleteVpcEndpoints";
    let call = aws.ec2().delete_vpc_endpoints().vpc_endpoint_ids(endpoint.object.id()?);
    let answer = call.send().await.named(OPERATION)?;
    // The call succeeds even if the endpoint was not deleted.
    match answer.unsuccessful.into_iter().flatten().find_map(|item| item.error) {
        None => Ok(()),
        Some(error) => Err(ApiError {
            operation: OPERATION,
            code: error.code.or_missing(OPERATION, "Unsuccessful.Error.Code")?,
            message: error.message.or_missing(OPERATION, "Unsuccessful.Error.Message")?,
            status: 400,
        }),
    }
}

/// The network interfaces in `ids` that exist.
pub(super) async fn interfaces(
    aws: &Aws,
    ids: &BTreeSet<NetworkInterfaceId>,
) -> Result<Vec<String>, ApiError> {
    let found = described(aws, ids).await?;
    Ok(found.into_iter().filter_map(|interface| interface.network_interface_id).collect())
}

async fn described(
    aws: &Aws,
    ids: &BTreeSet<NetworkInterfaceId>,
) -> Result<Vec<types::NetworkInterface>, ApiError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let filter = types::Filter::builder().name("network-interface-id");
    let filter = filter.set_values(Some(ids::texts(ids.iter().cloned()))).build();
    let mut pages = aws.ec2().describe_network_interfaces().filters(filter).into_paginator().items().send();
    let mut living = Vec::new();
    while let Some(interface) = pages.next().await {
        living.push(interface.named(INTERFACES)?);
    }
    Ok(living)
}

/// The private zones of a VPC.
pub(super) async fn zones(aws: &Aws, vpc_id: &VpcId) -> Result<Vec<PlannedZone>, ApiError> {
    let region = aws_sdk_route53::types::VpcRegion::from(aws.region.as_str());
    let route53 = aws.route53();
    let (mut zones, mut next) = (Vec::new(), None);
    loop {
        let call = route53.list_hosted_zones_by_vpc().vpc_id(&**vpc_id).vpc_region(region.clone());
        let answer = call.set_next_token(next).send().await.named("ListHostedZonesByVPC")?;
        let zone = |domain| PlannedZone { domain, vpcs: vec![Attr::Known(vpc_id.clone())] };
        zones.extend(answer.hosted_zone_summaries.into_iter().map(|found| zone(found.name)));
        next = answer.next_token;
        if next.is_none() {
            return Ok(zones);
        }
    }
}

/// The sources that live security groups allow on TCP port 443.
pub(super) async fn groups(
    aws: &Aws,
    ids: &BTreeSet<SecurityGroupId>,
) -> Result<BTreeMap<SecurityGroupId, PlannedSecurityGroup>, ApiError> {
    const OPERATION: &str = "DescribeSecurityGroups";
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let call = aws.ec2().describe_security_groups();
    let call = call.set_group_ids(Some(ids::texts(ids.iter().cloned())));
    let answer = call.send().await.named(OPERATION)?;
    let planned = |group: SecurityGroup| {
        let https = || group.ip_permissions().iter().filter(|rule| has_https(rule));
        let seen = PlannedSecurityGroup {
            known: true,
            https_from: https().flat_map(sources).collect(),
            https_from_group: https()
                .any(|rule| !rule.user_id_group_pairs().is_empty() || !rule.prefix_list_ids().is_empty()),
        };
        Ok((group.group_id.parsed(OPERATION, "GroupId")?, seen))
    };
    answer.security_groups.into_iter().flatten().map(planned).collect()
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
pub(super) fn failed(found: &Found) -> Result<ApiError, NotKnown> {
    let state = found.state.state.value()?;
    let why = found.failure.as_deref().unwrap_or("AWS gave no reason");
    Ok(ApiError {
        operation: "CreateVpcEndpoint",
        code: "EndpointFailed".to_owned(),
        message: format!("the endpoint is in the state {state}: {why}"),
        status: 400,
    })
}
