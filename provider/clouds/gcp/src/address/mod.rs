//! `warren_gcp_address`: a static external address that outlives the VM that uses it.

mod api;
mod model;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::common;
use crate::error::{ApiError, Failure as _};
use crate::operation::{landed, remove};
use crate::session::Work;
pub(crate) use model::Address;

#[async_trait]
impl Object for Address {
    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&Address>,
        _config: &Address,
    ) -> Result<(), Diagnostics> {
        common::has_region("region", &self.region)
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
        landed(work, self).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Address>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}
