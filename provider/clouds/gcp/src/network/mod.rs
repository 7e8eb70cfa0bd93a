//! `warren_gcp_network`: a VPC network whose subnetworks are made one by one.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::operation::{carry_out, landed, remove};
use crate::session::Work;
pub(crate) use model::Network;

#[async_trait]
impl Object for Network {
    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Network, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.object.id()?;
        landed(work, self).await?;
        carry_out(work, || api::set_routing_mode(gcp, self)).await?;
        if self.delete_default_routes.is_true() {
            for route in op.call(|| api::default_routes(gcp, id)).await? {
                carry_out(work, || async { ApiError::if_found(api::delete_route(gcp, id, &route).await) })
                    .await?;
            }
        }
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Network>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}
