//! EC2 API calls for NAT gateways and their addresses.

use aws_sdk_ec2::types::{self, ResourceType};
use tf_provider_rs::{Attr, Model};
use warren_managed::Failure;

use super::model::{Connectivity, NatGateway};
use crate::address;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{AllocationId, VpcId};
use crate::session::Aws;
use crate::tags::{self, PART_OF, Tags, filter};

const DESCRIBE: &str = "DescribeNatGateways";

/// A NAT gateway with what no attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    /// The address is in `allocation_id`, whoever allocated it.
    pub(super) state: NatGateway,
    /// Why AWS could not create it.
    pub(super) failure: Option<String>,
    /// Whether it failed because its VPC has no internet gateway.
    pub(super) unattached: bool,
}

/// The tags of an address that belongs to a gateway with these tags.
pub(super) fn address_tags(tags: &Tags) -> Tags {
    let mut tags = tags.clone();
    tags.insert(PART_OF.to_owned(), NatGateway::TYPE_NAME.to_owned());
    tags
}

/// IDs of the live gateways of this fabric and owner with the planned name, subnet and type, and with the
/// user's address if the plan names one.
pub(super) async fn find(aws: &Aws, planned: &NatGateway) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.object.name()?);
    filters.push(filter("subnet-id", planned.subnet_id.value()?));
    let call = aws.ec2().describe_nat_gateways().set_filter(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(gateway) = pages.next().await {
        let found = live(aws, gateway.named(DESCRIBE)?, planned)?.state;
        let same = found.connectivity_type == planned.connectivity_type
            && (!planned.allocation_id.is_known() || planned.allocation_id == found.allocation_id);
        if found.state.value()?.is_living() && same {
            ids.push(found.object.id()?.to_owned());
        }
    }
    Ok(ids)
}

/// Creates a gateway and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &NatGateway, tags: &Tags) -> Result<String, ApiError> {
    let connectivity = types::ConnectivityType::from(planned.connectivity_type.value()?.as_str());
    let address = planned.allocation_id.known().or(planned.owned_allocation_id.known());
    let made = aws
        .ec2()
        .create_nat_gateway()
        .subnet_id(planned.subnet_id.value()?.as_str())
        .connectivity_type(connectivity)
        .set_allocation_id(address.map(ToString::to_string))
        .tag_specifications(tags::specification(ResourceType::Natgateway, tags))
        .send()
        .await
        .named("CreateNatGateway")?;
    made.nat_gateway.and_then(|gateway| gateway.nat_gateway_id).or_missing("CreateNatGateway", "NatGatewayId")
}

/// The gateway `id`, even if it is deleted; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str, before: &NatGateway) -> Result<Live, ApiError> {
    let call = aws.ec2().describe_nat_gateways().nat_gateway_ids(id);
    let answer = call.send().await.named(DESCRIBE)?;
    let gateway = answer.nat_gateways.and_then(|gateways| gateways.into_iter().next());
    live(aws, gateway.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

pub(super) fn live(aws: &Aws, gateway: types::NatGateway, before: &NatGateway) -> Result<Live, ApiError> {
    let tags = tags::from_sdk(gateway.tags());
    let id = gateway.nat_gateway_id.or_missing(DESCRIBE, "NatGatewayId")?;
    let connectivity = gateway.connectivity_type.map(|connectivity| connectivity.as_str().to_owned());
    let state = gateway.state.map(|state| state.as_str().to_owned());
    let address = gateway.nat_gateway_addresses.and_then(|addresses| addresses.into_iter().next());
    let address = address.unwrap_or_else(|| types::NatGatewayAddress::builder().build());
    let state = NatGateway {
        object: before.object.found(aws, &id, &tags),
        subnet_id: Attr::Known(gateway.subnet_id.parsed(DESCRIBE, "SubnetId")?),
        // `public` is the default of AWS.
        connectivity_type: connectivity
            .parsed_if_set(DESCRIBE, "ConnectivityType")?
            .unwrap_or(Connectivity::Public)
            .into(),
        allocation_id: address.allocation_id.parsed_if_set(DESCRIBE, "AllocationId")?.into(),
        owned_allocation_id: before.owned_allocation_id.clone(),
        public_ip: address.public_ip.parsed_if_set(DESCRIBE, "PublicIp")?.into(),
        private_ip: address.private_ip.parsed_if_set(DESCRIBE, "PrivateIp")?.into(),
        network_interface_id: address
            .network_interface_id
            .parsed_if_set(DESCRIBE, "NetworkInterfaceId")?
            .into(),
        vpc_id: Attr::Known(gateway.vpc_id.parsed(DESCRIBE, "VpcId")?),
        state: Attr::Known(state.parsed(DESCRIBE, "State")?),
    };
    let unattached = gateway.failure_code.as_deref() == Some("Gateway.NotAttached");
    Ok(Live { state, failure: gateway.failure_message.non_empty(), unattached })
}

/// An error unless the VPC has an internet gateway.
pub(super) async fn internet_gateway(aws: &Aws, vpc: &VpcId) -> Result<(), ApiError> {
    const DESCRIBE: &str = "DescribeInternetGateways";
    let call = aws.ec2().describe_internet_gateways().filters(filter("attachment.vpc-id", vpc));
    let found = call.send().await.named(DESCRIBE)?.internet_gateways.unwrap_or_default();
    let mut attachments = found.iter().flat_map(types::InternetGateway::attachments);
    // EC2 calls an attached gateway `available`, which the SDK does not know.
    let attached = attachments.any(|attachment| {
        let state = attachment.state.as_ref().map(types::AttachmentStatus::as_str);
        matches!(state, Some("attached" | "available"))
    });
    if attached { Ok(()) } else { Err(ApiError::absent(DESCRIBE, vpc)) }
}

/// The state with the address in the attribute of whoever allocated it; `owned` is whether this resource did.
pub(super) fn with_owner(mut state: NatGateway, owned: bool) -> NatGateway {
    if !state.owned_allocation_id.is_known() {
        state.owned_allocation_id = if owned { state.allocation_id.clone() } else { Attr::Null };
    }
    if state.owned_allocation_id.is_known() {
        state.allocation_id = Attr::Null;
    }
    state
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_nat_gateway().nat_gateway_id(id);
    ApiError::unless_gone(call.send().await.named("DeleteNatGateway").map(drop))
}

/// Allocation IDs of the unused addresses that belong to the gateway named `name`. An address in use
/// belongs to a gateway that exists.
pub(super) async fn find_address(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(name);
    filters.push(filter(&format!("tag:{PART_OF}"), NatGateway::TYPE_NAME));
    let unused = address::list(aws, filters).await?.into_iter().filter(|address| !address.associated);
    Ok(unused.map(|address| address.id.into()).collect())
}

/// Allocates an address that the gateway owns and returns its allocation ID.
pub(super) async fn allocate(aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
    Ok(address::allocate(aws, &address_tags(tags)).await?.into())
}

/// The tags of an address, if there is one.
pub(super) async fn address_tags_of(aws: &Aws, id: &str) -> Result<Option<Tags>, ApiError> {
    Ok(ApiError::if_found(address::get(aws, id).await)?.map(|address| address.tags))
}

/// Whether a resource of this type allocated the address in this fabric for this owner.
pub(super) async fn owned(aws: &Aws, id: Option<&AllocationId>) -> Result<bool, ApiError> {
    let Some(id) = id else { return Ok(false) };
    let Some(tags) = address_tags_of(aws, id).await? else { return Ok(false) };
    let ours = (Some(aws.scope.fabric.clone()), Some(aws.scope.owner.clone()));
    Ok(tags.get(PART_OF).is_some_and(|kind| kind == NatGateway::TYPE_NAME) && tags::scope(&tags) == ours)
}

/// Releases an address, if it exists.
pub(super) async fn release(aws: &Aws, id: &str) -> Result<(), ApiError> {
    ApiError::unless_gone(address::release(aws, id).await)
}
