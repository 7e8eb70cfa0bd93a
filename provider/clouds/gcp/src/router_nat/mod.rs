//! `warren_gcp_router_nat`: a Cloud Router with one Cloud NAT gateway, for VMs without an external IP address.
//!
//! In Google's API a NAT gateway is part of its router, so the resource creates, changes and deletes one object.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};
use warren_managed::Object;

use crate::common;
use crate::error::{ApiError, Failure};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Gcp, Session, Work};
pub(crate) use schema::RouterNat;

#[async_trait]
impl Object for RouterNat {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        schema::check(self, diagnostics);
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&RouterNat>,
        _config: &RouterNat,
    ) -> Result<(), Diagnostics> {
        common::has_region(&self.region)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RouterNat, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        carry_out(work, || api::patch(gcp, id, self)).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RouterNat>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await
    }
}
