//! `warren_gcp_network`: a VPC network whose subnetworks are made one by one.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};
use warren_managed::Object;

use crate::error::{ApiError, Failure};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Gcp, Work};
pub(crate) use schema::Network;

#[async_trait]
impl Object for Network {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Network, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        let have = op.call(|| api::get(gcp, id)).await?;
        if have.routing_mode != self.routing_mode.text() {
            carry_out(work, || async {
                api::set_routing_mode(gcp, id, self.routing_mode.text()).await.map(Some)
            })
            .await?;
        }
        if self.delete_default_routes.is_true() {
            for route in op.call(|| api::default_routes(gcp, id)).await? {
                carry_out(work, || async { ApiError::if_found(api::delete_route(gcp, id, &route).await) })
                    .await?;
            }
        }
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Network>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await
    }
}
