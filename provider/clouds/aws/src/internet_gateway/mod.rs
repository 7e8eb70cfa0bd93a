//! `warren_aws_internet_gateway`: connects the public subnets of a VPC to the internet.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use schema::InternetGateway;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for InternetGateway {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.name.text()).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<InternetGateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        retag(work, self, &have.tags).await?;
        let vpc = self.vpc_id.text();
        if have.vpc_id.as_deref() != Some(vpc) {
            if let Some(other) = &have.vpc_id {
                op.release(|| api::detach(aws, id, other)).await?;
            }
            op.check_cancelled()?;
            // The gateway that this one replaces may still be attached.
            op.release(|| api::attach(aws, id, vpc)).await?;
        }
        let found = op
            .until("attached", || async {
                let found = api::get(aws, id).await?;
                let attached = found.vpc_id.as_deref() == Some(vpc) && !found.changing;
                Ok(if attached { Poll::Ready(found) } else { Poll::Pending("attaching".into()) })
            })
            .await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<InternetGateway>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let Some(found) = ApiError::if_found(api::get(aws, id).await)? else { return Ok(()) };
        if let Some(vpc) = &found.vpc_id {
            // Rejected while public addresses are mapped through the gateway.
            op.release(|| api::detach(aws, id, vpc)).await?;
        }
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}
