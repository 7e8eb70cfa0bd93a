//! EC2 API calls for NAT gateways and their addresses.

use aws_sdk_ec2::types::{ConnectivityType, ResourceType};

use super::schema::NatGateway;
use crate::address;
use crate::client;
use crate::common::Common;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, PART_OF, Tags, filter};
use warren_managed::Failure;

/// A NAT gateway as returned by DescribeNatGateways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) subnet_id: String,
    pub(super) vpc_id: String,
    pub(super) connectivity: String,
    pub(super) allocation_id: Option<String>,
    /// Whether the address is one that this resource allocates and releases.
    pub(super) owned: bool,
    pub(super) public_ip: Option<String>,
    pub(super) private_ip: Option<String>,
    pub(super) network_interface_id: Option<String>,
    pub(super) state: String,
    pub(super) failure: Option<String>,
    pub(super) tags: Tags,
}

impl Found {
    /// Whether it works or is being created.
    pub(super) fn is_living(&self) -> bool {
        matches!(self.state.as_str(), "pending" | "available")
    }
}

/// The tags of an address that belongs to a gateway with these tags.
pub(super) fn address_tags(tags: &Tags) -> Tags {
    let mut tags = tags.clone();
    tags.insert(PART_OF.to_owned(), NatGateway::KIND.to_owned());
    tags
}

/// IDs of the live gateways of this fabric and owner with the planned name, subnet and type, and with the
/// user's address if the plan names one.
pub(super) async fn find(aws: &Aws, planned: &NatGateway) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.name.text());
    filters.push(filter("subnet-id", planned.subnet_id.text()));
    let call = aws.ec2().describe_nat_gateways().set_filter(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(gateway) = pages.next().await {
        let gateway = found(gateway.named("DescribeNatGateways")?);
        let address = planned.allocation_id.known();
        let same = gateway.connectivity == planned.connectivity_type.text()
            && (address.is_none() || address == gateway.allocation_id.as_ref());
        if gateway.is_living() && same {
            ids.push(gateway.id);
        }
    }
    Ok(ids)
}

/// Creates a gateway and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &NatGateway, tags: &Tags) -> Result<String, ApiError> {
    let kind = ConnectivityType::from(planned.connectivity_type.text());
    let address = planned.allocation_id.known().or(planned.owned_allocation_id.known());
    let made = aws
        .ec2()
        .create_nat_gateway()
        .subnet_id(planned.subnet_id.text())
        .connectivity_type(kind)
        .set_allocation_id(address.cloned())
        .tag_specifications(tags::specification(ResourceType::Natgateway, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateNatGateway")?;
    Ok(made.nat_gateway.and_then(|gateway| gateway.nat_gateway_id).unwrap_or_default())
}

/// The gateway `id`, even if it is deleted; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_nat_gateways().nat_gateway_ids(id);
    let answer = call.send().await.named("DescribeNatGateways")?;
    let gateway = answer.nat_gateways.unwrap_or_default().into_iter().next();
    gateway.map(found).ok_or_else(|| ApiError::absent("DescribeNatGateways", id))
}

fn found(gateway: aws_sdk_ec2::types::NatGateway) -> Found {
    let address = gateway
        .nat_gateway_addresses
        .unwrap_or_default()
        .into_iter()
        .next()
        .unwrap_or_else(|| aws_sdk_ec2::types::NatGatewayAddress::builder().build());
    Found {
        id: gateway.nat_gateway_id.unwrap_or_default(),
        subnet_id: gateway.subnet_id.unwrap_or_default(),
        vpc_id: gateway.vpc_id.unwrap_or_default(),
        connectivity: gateway.connectivity_type.map_or("public".into(), |kind| kind.as_str().to_owned()),
        allocation_id: address.allocation_id,
        owned: false,
        public_ip: address.public_ip,
        private_ip: address.private_ip,
        network_interface_id: address.network_interface_id,
        state: gateway.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        failure: gateway.failure_message,
        tags: tags::from_sdk(gateway.tags.as_deref().unwrap_or_default()),
    }
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_nat_gateway().nat_gateway_id(id);
    ApiError::unless_gone(call.send().await.named("DeleteNatGateway").map(drop))
}

/// Allocation IDs of the unused addresses that belong to the gateway named `name`. An address in use
/// belongs to a gateway that exists.
pub(super) async fn find_address(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(name);
    filters.push(filter(&format!("tag:{PART_OF}"), NatGateway::KIND));
    let answer =
        aws.ec2().describe_addresses().set_filters(Some(filters)).send().await.named("DescribeAddresses")?;
    let unused = answer
        .addresses
        .unwrap_or_default()
        .into_iter()
        .filter(|address| address.association_id.as_deref().unwrap_or_default().is_empty());
    Ok(unused.filter_map(|address| address.allocation_id).collect())
}

/// Allocates an address that the gateway owns and returns its allocation ID.
pub(super) async fn allocate(aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
    address::allocate(aws, &address_tags(tags)).await
}

/// The tags of an address, if there is one.
pub(super) async fn look_address(aws: &Aws, id: &str) -> Result<Option<Tags>, ApiError> {
    Ok(ApiError::if_found(address::get(aws, id).await)?.map(|address| address.tags))
}

/// Whether a resource of this type allocated the address in this fabric for this owner.
pub(super) async fn owned(aws: &Aws, id: Option<&str>) -> Result<bool, ApiError> {
    let Some(id) = id else { return Ok(false) };
    let Some(tags) = look_address(aws, id).await? else { return Ok(false) };
    let ours = (Some(aws.scope.fabric.clone()), Some(aws.scope.owner.clone()));
    Ok(tags.get(PART_OF).is_some_and(|kind| kind == NatGateway::KIND) && tags::scope(&tags) == ours)
}

/// Releases an address, if it exists.
pub(super) async fn release(aws: &Aws, id: &str) -> Result<(), ApiError> {
    ApiError::unless_gone(address::release(aws, id).await)
}
