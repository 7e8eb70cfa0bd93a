//! `warren_gcp_firewall`: a firewall rule of a network.

mod api;
mod check;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::Firewall;

#[async_trait]
impl Object for Firewall {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check::rule(self, diagnostics);
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Firewall, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        landed(work, self).await?;
        carry_out(work, || api::update(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Firewall>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}
