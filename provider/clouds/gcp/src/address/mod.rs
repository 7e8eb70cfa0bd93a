//! `warren_gcp_address`: a static external address that outlives the VM that uses it.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};
use warren_managed::Object;

use crate::common;
use crate::error::{ApiError, Failure};
use crate::operation::{landed, remove};
use crate::session::{Gcp, Work};
pub(crate) use schema::Address;

#[async_trait]
impl Object for Address {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&Address>,
        _config: &Address,
    ) -> Result<(), Diagnostics> {
        common::has_region(&self.region)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    /// Nothing of an address can be changed.
    async fn reconcile(&self, work: &Work<'_>) -> Result<Address, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Address>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await
    }
}
