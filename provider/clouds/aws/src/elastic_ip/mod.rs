//! `warren_aws_elastic_ip`: a public address that outlives the instance that uses it.

mod api;
mod model;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::{Failure, Object};

use crate::address;
use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use model::ElasticIp;

#[async_trait]
impl Object for ElasticIp {
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.object.name()?).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        Ok(address::allocate(aws, tags).await?.into())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<ElasticIp, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = op.call(|| api::get(aws, self)).await?;
        self.object.retag(work, &have.object).await?;
        op.call(|| api::get(aws, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<ElasticIp>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        op.delete(|| address::release(aws, id), || address::get(aws, id)).await
    }
}
