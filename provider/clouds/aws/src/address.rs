//! Elastic IP addresses, as resources (`warren_aws_elastic_ip`) and as parts of NAT gateways.

use aws_sdk_ec2::types::{Address, DomainType, ResourceType};

use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};

/// An address as returned by DescribeAddresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elastic {
    pub(crate) id: String,
    pub(crate) public_ip: String,
    pub(crate) tags: Tags,
}

/// Allocates an address and returns its allocation ID.
pub(crate) async fn allocate(aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
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

/// The address `id`; an error if it does not exist.
pub(crate) async fn get(aws: &Aws, id: &str) -> Result<Elastic, ApiError> {
    let answer = aws.ec2().describe_addresses().allocation_ids(id).send().await.named("DescribeAddresses")?;
    let address = answer.addresses.unwrap_or_default().into_iter().next();
    address.map(Elastic::from).ok_or_else(|| ApiError::absent("DescribeAddresses", id))
}

/// Releases an address; an error if it does not exist.
pub(crate) async fn release(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().release_address().allocation_id(id).send().await.named("ReleaseAddress").map(drop)
}

impl From<Address> for Elastic {
    fn from(address: Address) -> Elastic {
        Elastic {
            id: address.allocation_id.unwrap_or_default(),
            public_ip: address.public_ip.unwrap_or_default(),
            tags: tags::from_sdk(address.tags.as_deref().unwrap_or_default()),
        }
    }
}
