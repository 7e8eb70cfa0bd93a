//! `warren_aws_elastic_ip`: a public address that outlives the instance that uses it.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};

use crate::address;
use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use schema::ElasticIp;
use warren_managed::{Failure, Object};

#[async_trait]
impl Object for ElasticIp {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.name.text()).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        address::allocate(aws, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<ElasticIp, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = op.call(|| address::get(aws, id)).await?;
        retag(work, self, &have.tags).await?;
        let found = op.call(|| address::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<ElasticIp>, Diagnostics> {
        let found = ApiError::if_found(address::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        op.delete(|| address::release(aws, id), || address::get(aws, id)).await
    }
}
