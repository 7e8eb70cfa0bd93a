//! `warren_aws_transit_gateway_attachment`: the attachment of a VPC to a transit gateway.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};

use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use model::Attachment;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for Attachment {
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Attachment, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = settled(work, self).await?;
        self.object.retag(work, &have.object).await?;
        op.release(|| api::modify(aws, &have, self)).await?;
        settled(work, self).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Attachment>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(|found| !found.is("deleting")))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await
    }
}

async fn settled(work: &Work<'_>, planned: &Attachment) -> Result<Attachment, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("available", || async {
        let found = api::get(aws, planned).await?;
        // An attachment to a gateway of another account keeps this state until that account accepts it.
        let done = found.is("available") || found.is("pendingAcceptance");
        Ok(if done { Poll::Ready(found) } else { Poll::Pending(found.state.value()?.clone()) })
    })
    .await
}
