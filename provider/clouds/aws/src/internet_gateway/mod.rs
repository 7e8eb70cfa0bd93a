//! `warren_aws_internet_gateway`: connects the public subnets of a VPC to the internet.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::{Failure, Object, Poll};

use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use model::InternetGateway;

#[async_trait]
impl Object for InternetGateway {
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.object.name()?).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<InternetGateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let (id, vpc) = (self.object.id()?, self.vpc_id.value()?);
        let have = op.call(|| api::get(aws, self)).await?.state;
        self.object.retag(work, &have.object).await?;
        if have.vpc_id != self.vpc_id {
            if let Some(other) = have.vpc_id.known() {
                op.release(|| api::detach(aws, id, other)).await?;
            }
            op.check_cancelled()?;
            // The gateway that this one replaces may still be attached.
            op.release(|| api::attach(aws, id, vpc)).await?;
        }
        op.until("attached", || async {
            let found = api::get(aws, self).await?;
            let attached = found.state.vpc_id == self.vpc_id && !found.changing;
            Ok(if attached { Poll::Ready(found.state) } else { Poll::Pending("attaching".into()) })
        })
        .await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<InternetGateway>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let Some(found) = ApiError::if_found(api::get(aws, self).await)? else { return Ok(()) };
        if let Some(vpc) = found.state.vpc_id.known() {
            // Rejected while public addresses are mapped through the gateway.
            op.release(|| api::detach(aws, id, vpc)).await?;
        }
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}
