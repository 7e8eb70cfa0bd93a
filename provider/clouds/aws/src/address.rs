//! Elastic IP addresses, as resources (`warren_aws_elastic_ip`) and as parts of NAT gateways.

use std::net::Ipv4Addr;

use aws_sdk_ec2::types::{Address, DomainType, Filter, ResourceType};

use crate::client;
use crate::error::{ApiError, Named, Parsed};
use crate::ids::AllocationId;
use crate::session::Aws;
use crate::tags::{self, Tags};

/// An address as returned by DescribeAddresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elastic {
    pub(crate) id: AllocationId,
    pub(crate) public_ip: Ipv4Addr,
    /// Whether something uses it.
    pub(crate) associated: bool,
    pub(crate) tags: Tags,
}

const DESCRIBE: &str = "DescribeAddresses";

/// Allocates an address.
pub(crate) async fn allocate(aws: &Aws, tags: &Tags) -> Result<AllocationId, ApiError> {
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
    made.allocation_id.parsed("AllocateAddress", "AllocationId")
}

/// The addresses that match the filters.
pub(crate) async fn list(aws: &Aws, filters: Vec<Filter>) -> Result<Vec<Elastic>, ApiError> {
    let answer = aws.ec2().describe_addresses().set_filters(Some(filters)).send().await.named(DESCRIBE)?;
    answer.addresses.unwrap_or_default().into_iter().map(elastic).collect()
}

/// The address `id`; an error if it does not exist.
pub(crate) async fn get(aws: &Aws, id: &str) -> Result<Elastic, ApiError> {
    let answer = aws.ec2().describe_addresses().allocation_ids(id).send().await.named(DESCRIBE)?;
    let address = answer.addresses.and_then(|addresses| addresses.into_iter().next());
    elastic(address.ok_or_else(|| ApiError::absent(DESCRIBE, id))?)
}

/// Releases an address; an error if it does not exist.
pub(crate) async fn release(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().release_address().allocation_id(id).send().await.named("ReleaseAddress").map(drop)
}

fn elastic(address: Address) -> Result<Elastic, ApiError> {
    Ok(Elastic {
        tags: tags::from_sdk(address.tags()),
        id: address.allocation_id.parsed(DESCRIBE, "AllocationId")?,
        public_ip: address.public_ip.parsed(DESCRIBE, "PublicIp")?,
        associated: address.association_id.non_empty().is_some(),
    })
}
