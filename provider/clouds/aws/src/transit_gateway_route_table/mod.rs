//! `warren_aws_transit_gateway_route_table`: a route table of a transit gateway.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};

use crate::error::ApiError;
use crate::session::{Aws, Work};
use crate::tags::Tags;
pub(crate) use model::TransitTable;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for TransitTable {
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<TransitTable, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = available(work, self).await?;
        self.object.retag(work, &have.object).await?;
        Ok(op.call(|| api::get(aws, self)).await?.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<TransitTable>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(|found| found.status != "deleting").map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        // Refused while an association ends.
        op.delete(|| delete(aws, id, self), || api::get(aws, self)).await
    }
}

/// AWS refuses to delete a table that is being deleted, such as after a lost response.
async fn delete(aws: &Aws, id: &str, table: &TransitTable) -> Result<(), ApiError> {
    match api::delete(aws, id).await {
        Err(error) if error.is_in_use() => match ApiError::if_found(api::get(aws, table).await)? {
            Some(found) if found.status != "deleting" => Err(error),
            _ => Ok(()),
        },
        other => other,
    }
}

async fn available(work: &Work<'_>, planned: &TransitTable) -> Result<TransitTable, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("available", || async {
        let found = api::get(aws, planned).await?;
        let done = found.status == "available";
        Ok(if done { Poll::Ready(found.state) } else { Poll::Pending(found.status) })
    })
    .await
}
