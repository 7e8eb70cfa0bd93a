//! `warren_gcp_route`: a static route of a network.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};
use warren_managed::Object;

use crate::error::{ApiError, Failure};
use crate::operation::{landed, remove};
use crate::session::{Gcp, Session, Work};
pub(crate) use schema::Route;

#[async_trait]
impl Object for Route {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        schema::check(self, diagnostics);
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    /// A route cannot be changed.
    async fn reconcile(&self, work: &Work<'_>) -> Result<Route, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Route>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await
    }
}
