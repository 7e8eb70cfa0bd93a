//! EC2 API calls for addresses that are separate resources.

use crate::address::Elastic;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::PART_OF;

/// Allocation IDs of the addresses of this fabric and owner called `name` that belong to no other resource.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let call = aws.ec2().describe_addresses().set_filters(Some(aws.filters(name)));
    let addresses = call.send().await.named("DescribeAddresses")?.addresses.unwrap_or_default();
    let own = addresses.into_iter().map(Elastic::from).filter(|found| !found.tags.contains_key(PART_OF));
    Ok(own.map(|found| found.id).collect())
}
