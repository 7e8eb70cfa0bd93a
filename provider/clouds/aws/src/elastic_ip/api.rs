//! EC2 API calls for addresses that are separate resources.

use super::model::ElasticIp;
use crate::address;
use crate::error::ApiError;
use crate::session::Aws;
use crate::tags::PART_OF;

/// Allocation IDs of the addresses of this fabric and owner called `name` that belong to no other resource.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let addresses = address::list(aws, aws.filters(name)).await?;
    let separate = addresses.into_iter().filter(|found| !found.tags.contains_key(PART_OF));
    Ok(separate.map(|found| found.id.into()).collect())
}

/// The address of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &ElasticIp) -> Result<ElasticIp, ApiError> {
    let found = address::get(aws, before.object.id()?).await?;
    Ok(ElasticIp {
        object: before.object.found(aws, &found.id, &found.tags),
        public_ip: found.public_ip.into(),
    })
}
