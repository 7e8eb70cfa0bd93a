//! Route 53 Resolver API calls for endpoints.

use aws_sdk_route53resolver::types::{
    IpAddressRequest, IpAddressResponse, IpAddressUpdate, ResolverEndpoint, ResolverEndpointDirection,
    ResolverEndpointStatus as Status,
};
use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::{Endpoint, IpAddress, ordered};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids;
use crate::resolver::{Listed, id_if_ours, once, read_tags, shown, to_sdk};
use crate::session::Aws;
use crate::tags::{self, Tags};

const GET: &str = "GetResolverEndpoint";
const LIST: &str = "ListResolverEndpoints";
const ADDRESSES: &str = "ListResolverEndpointIpAddresses";

/// IDs of the living endpoints of this fabric and owner with the planned name and direction.
pub(super) async fn find(aws: &Aws, planned: &Endpoint) -> Result<Vec<String>, ApiError> {
    let (name, direction) = (planned.object.name()?, planned.direction.value()?.as_str());
    let mut pages = aws.resolver().list_resolver_endpoints().into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(endpoint) = pages.next().await {
        let endpoint = endpoint.named(LIST)?;
        let same = endpoint.direction.as_ref().is_some_and(|found| found.as_str() == direction)
            && endpoint.status != Some(Status::Deleting);
        let listed = Listed { token: endpoint.creator_request_id, arn: endpoint.arn, id: endpoint.id };
        if same {
            ids.extend(id_if_ours(aws, name, LIST, listed).await?);
        }
    }
    Ok(ids)
}

/// Creates an endpoint and returns its ID. AWS refuses a second one with the same reference.
pub(super) async fn create(aws: &Aws, planned: &Endpoint, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateResolverEndpoint";
    let mut addresses = Vec::new();
    for address in planned.ip_addresses.known().into_iter().flatten() {
        let request = IpAddressRequest::builder()
            .subnet_id(&**address.subnet_id.value()?)
            .set_ip(address.ip.known().map(ToString::to_string));
        addresses.push(request.build().map_err(|error| ApiError::unsent(OPERATION, &error))?);
    }
    let made = aws
        .resolver()
        .create_resolver_endpoint()
        .creator_request_id(aws.reference(planned.object.name()?))
        .name(shown(planned.object.name()?))
        .direction(ResolverEndpointDirection::from(planned.direction.value()?.as_str()))
        .set_security_group_ids(Some(ids::texts(sets::known(&planned.security_group_ids))))
        .set_ip_addresses(Some(addresses))
        .set_tags(Some(to_sdk(tags)?))
        .customize()
        .config_override(once())
        .send()
        .await
        .named(OPERATION)?;
    made.resolver_endpoint.and_then(|endpoint| endpoint.id).or_missing(OPERATION, "ResolverEndpoint.Id")
}

/// An endpoint as it is now, with what no attribute shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Endpoint,
    pub(super) status: Status,
    /// What AWS says about the status.
    pub(super) message: String,
    /// Its name in consoles.
    pub(super) shown: Option<String>,
    /// Its addresses with their IDs.
    pub(super) addresses: Vec<(String, IpAddress)>,
}

/// The endpoint of `before`, also if it is being deleted; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Endpoint) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let resolver = aws.resolver();
    let answer = resolver.get_resolver_endpoint().resolver_endpoint_id(id).send().await.named(GET)?;
    let endpoint = answer.resolver_endpoint.or_missing(GET, "ResolverEndpoint")?;
    let call = resolver.list_resolver_endpoint_ip_addresses().resolver_endpoint_id(id);
    let mut addresses = Vec::new();
    // One that is being deleted has no list any more.
    if endpoint.status != Some(Status::Deleting) {
        let mut pages = call.into_paginator().items().send();
        while let Some(address) = pages.next().await {
            addresses.push(address.named(ADDRESSES)?);
        }
    }
    let tags = match &endpoint.status {
        Some(Status::Deleting) => tags::known(&before.object.tags_all),
        _ => read_tags(aws, endpoint.arn.as_deref().or_missing(GET, "Arn")?).await?,
    };
    found(aws, endpoint, addresses, &tags, before)
}

pub(super) fn found(
    aws: &Aws,
    found: ResolverEndpoint,
    addresses: Vec<IpAddressResponse>,
    tags: &Tags,
    before: &Endpoint,
) -> Result<Found, ApiError> {
    let id = found.id.or_missing(GET, "Id")?;
    let arn = found.arn.or_missing(GET, "Arn")?;
    let account = arn.split(':').nth(4).map(str::to_owned);
    let mut live = Vec::new();
    for address in addresses {
        let one = IpAddress {
            subnet_id: Attr::Known(address.subnet_id.parsed(ADDRESSES, "SubnetId")?),
            ip: address.ip.or(address.ipv6).parsed_if_set(ADDRESSES, "Ip")?.into(),
        };
        live.push((address.ip_id.or_missing(ADDRESSES, "IpId")?, one));
    }
    let listed = before.ip_addresses.known().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<_> = live.iter().map(|(_, address)| address.clone()).collect();
    let direction = found.direction.map(|direction| direction.as_str().to_owned());
    let groups = found.security_group_ids.into_iter().flatten().map(Some);
    let state = Endpoint {
        object: before.object.found(aws, &id, tags),
        direction: Attr::Known(direction.parsed(GET, "Direction")?),
        security_group_ids: sets::of(ids::all(groups, GET, "SecurityGroupIds")?),
        ip_addresses: ordered(listed, &shown).into(),
        vpc_id: found.host_vpc_id.parsed_if_set(GET, "HostVPCId")?.into(),
        owner_id: account.parsed_if_set(GET, "Arn")?.into(),
        arn: arn.into(),
    };
    Ok(Found {
        state,
        status: found.status.or_missing(GET, "Status")?,
        message: found.status_message.unwrap_or_default(),
        shown: found.name,
        addresses: live,
    })
}

pub(super) async fn rename(aws: &Aws, id: &str, name: &str) -> Result<(), ApiError> {
    let call = aws.resolver().update_resolver_endpoint().resolver_endpoint_id(id).name(shown(name));
    call.send().await.named("UpdateResolverEndpoint").map(drop)
}

/// Adds an address. Repeating this after a lost response would add another one, so it does not repeat itself.
pub(super) async fn add(aws: &Aws, id: &str, address: &IpAddress) -> Result<(), ApiError> {
    let update = IpAddressUpdate::builder()
        .subnet_id(&**address.subnet_id.value()?)
        .set_ip(address.ip.known().map(ToString::to_string));
    let call = aws.resolver().associate_resolver_endpoint_ip_address();
    let call = call.resolver_endpoint_id(id).ip_address(update.build()).customize();
    call.config_override(once()).send().await.named("AssociateResolverEndpointIpAddress").map(drop)
}

/// Removes an address by its ID.
pub(super) async fn remove(
    aws: &Aws,
    id: &str,
    (ip_id, address): &(String, IpAddress),
) -> Result<(), ApiError> {
    let update = IpAddressUpdate::builder().ip_id(ip_id).subnet_id(&**address.subnet_id.value()?);
    let call = aws.resolver().disassociate_resolver_endpoint_ip_address();
    let call = call.resolver_endpoint_id(id).ip_address(update.build());
    call.send().await.named("DisassociateResolverEndpointIpAddress").map(drop)
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.resolver().delete_resolver_endpoint().resolver_endpoint_id(id);
    call.send().await.named("DeleteResolverEndpoint").map(drop)
}
