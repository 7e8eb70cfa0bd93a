//! EC2's calls about addresses.

use aws_sdk_ec2::types::{Address, DomainType, ResourceType};

use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, PART_OF, Tags};

/// An address as DescribeAddresses tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) public_ip: String,
    pub(super) tags: Tags,
}

/// Allocation ids of the addresses of this fabric and owner called `name` that belong to no other resource.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let call = aws.ec2().describe_addresses().set_filters(Some(aws.filters(name)));
    let addresses = call.send().await.named("DescribeAddresses")?.addresses.unwrap_or_default();
    let own = addresses.into_iter().map(found).filter(|found| !found.tags.contains_key(PART_OF));
    Ok(own.map(|found| found.id).collect())
}

/// Allocates an address and gives its allocation id.
pub(super) async fn allocate(aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
    let made = aws
        .ec2()
        .allocate_address()
        .domain(DomainType::Vpc)
        .tag_specifications(tags::specification(ResourceType::ElasticIp, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("AllocateAddress")?;
    Ok(made.allocation_id.unwrap_or_default())
}

/// The address `id`; not found is an error.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let answer = aws.ec2().describe_addresses().allocation_ids(id).send().await.named("DescribeAddresses")?;
    let address = answer.addresses.unwrap_or_default().into_iter().next();
    address.map(found).ok_or_else(|| ApiError::absent("DescribeAddresses", id))
}

/// Gives an address back; not found is an error.
pub(super) async fn release(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().release_address().allocation_id(id).send().await.named("ReleaseAddress").map(drop)
}

fn found(address: Address) -> Found {
    Found {
        id: address.allocation_id.unwrap_or_default(),
        public_ip: address.public_ip.unwrap_or_default(),
        tags: tags::from_sdk(address.tags.as_deref().unwrap_or_default()),
    }
}
