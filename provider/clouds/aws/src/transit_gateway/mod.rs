//! `warren_aws_transit_gateway`: the hub that VPCs attach to.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};

use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use model::TransitGateway;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for TransitGateway {
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<TransitGateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = available(work, self).await?;
        self.object.retag(work, &have.object).await?;
        op.release(|| api::modify(aws, &have, self)).await?;
        available(work, self).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<TransitGateway>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(|found| found.status != "deleting").map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        // Refused while attachments are being deleted.
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await
    }
}

async fn available(work: &Work<'_>, planned: &TransitGateway) -> Result<TransitGateway, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("available", || async {
        let found = api::get(aws, planned).await?;
        let done = found.status == "available";
        Ok(if done { Poll::Ready(found.state) } else { Poll::Pending(found.status) })
    })
    .await
}
