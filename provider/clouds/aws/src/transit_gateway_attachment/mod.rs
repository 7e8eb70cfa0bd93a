//! `warren_aws_transit_gateway_attachment`: the attachment of a VPC to a transit gateway.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Op, Work};
use crate::tags::Tags;
pub(crate) use schema::Attachment;
use warren_managed::{Failure, Object, Poll, sets};

#[async_trait]
impl Object for Attachment {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, schema::settings(self), tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Attachment, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = settled(aws, op, id).await?;
        retag(work, self, &have.tags).await?;
        let subnets = sets::known(&self.subnet_ids);
        op.release(|| api::modify(aws, &have, schema::settings(self), &subnets)).await?;
        let found = settled(aws, op, id).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Attachment>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        let living = found.filter(|found| found.state != "deleting");
        Ok(living.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}

async fn settled(aws: &Aws, op: &Op, id: &str) -> Result<api::Found, Diagnostics> {
    op.until("available", || async {
        let found = api::get(aws, id).await?;
        // An attachment to a gateway of another account keeps this state until that account accepts it.
        let done = ["available", "pendingAcceptance"].contains(&found.state.as_str());
        Ok(if done { Poll::Ready(found) } else { Poll::Pending(found.state) })
    })
    .await
}
