//! `warren_gcp_service_perimeter`: a perimeter of VPC Service Controls, across which Google APIs carry no data.

mod api;
mod check;
mod config;
mod model;
#[cfg(test)]
mod tests;
mod unknown;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::ServicePerimeter;

#[async_trait]
impl Object for ServicePerimeter {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check::perimeter(self, diagnostics);
    }

    fn import(_session: &Session, id: &str) -> Result<ServicePerimeter, Diagnostics> {
        model::imported(id)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<ServicePerimeter, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        landed(work, self).await?;
        carry_out(work, || api::update(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<ServicePerimeter>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}
