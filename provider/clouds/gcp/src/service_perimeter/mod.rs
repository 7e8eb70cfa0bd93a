//! `warren_gcp_service_perimeter`: a perimeter of VPC Service Controls, across which Google APIs carry no data.

mod api;
mod check;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};
use warren_managed::Object;

use crate::error::{ApiError, Failure};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Gcp, Session, Work};
pub(crate) use schema::ServicePerimeter;

#[async_trait]
impl Object for ServicePerimeter {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check::check(self, diagnostics);
    }

    fn import(_session: &Session, id: &str) -> Result<ServicePerimeter, Diagnostics> {
        schema::imported(id)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<ServicePerimeter, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        carry_out(work, || api::update(gcp, id, self)).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<ServicePerimeter>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await
    }
}
