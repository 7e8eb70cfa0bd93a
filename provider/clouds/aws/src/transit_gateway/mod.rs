//! `warren_aws_transit_gateway`: the hub that VPCs attach to.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Op, Work};
use crate::tags::Tags;
pub(crate) use schema::TransitGateway;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for TransitGateway {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.name.text(), self.amazon_side_asn.known().copied()).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, schema::settings(self), tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<TransitGateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = available(aws, op, id).await?;
        retag(work, self, &have.tags).await?;
        let (settings, description) = (schema::settings(self), self.description.known());
        if have.settings != settings || have.description.as_ref() != description {
            op.release(|| api::modify(aws, id, description.map(String::as_str), settings)).await?;
        }
        let found = available(aws, op, id).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<TransitGateway>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        let living = found.filter(|found| found.state != "deleting");
        Ok(living.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        // Refused while attachments are being deleted.
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}

async fn available(aws: &Aws, op: &Op, id: &str) -> Result<api::Found, Diagnostics> {
    op.until("available", || async {
        let found = api::get(aws, id).await?;
        Ok(if found.state == "available" { Poll::Ready(found) } else { Poll::Pending(found.state) })
    })
    .await
}
