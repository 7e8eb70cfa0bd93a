//! `warren_gcp_gateway_config`: a gateway's configuration file, in a secret that the gateway polls. Groups,
//! policy and token keys change without replacing the gateway.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, async_trait};
use warren_gateways::grants::Identity;
use warren_gateways::store::{self, Stored};
use warren_managed::Object;

use crate::error::ApiError;
use crate::secret;
use crate::session::{Gcp, Session, Work};
pub(crate) use model::GatewayConfig;

#[async_trait]
impl Object for GatewayConfig {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        self.file.check(Identity::Google, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<GatewayConfig>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.file.plan(&prior.file);
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        secret::find(gcp, self, &self.store()).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        secret::create(gcp, self, &self.store()).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<GatewayConfig, Diagnostics> {
        store::reconcile(self, work).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<GatewayConfig>, Diagnostics> {
        store::read(self, work).await
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        store::delete(self, work).await
    }
}

#[async_trait]
impl Stored for GatewayConfig {
    const WANTED: &'static str = "written";

    fn is_stored(&self, found: &GatewayConfig) -> bool {
        self.file.is(&found.file)
    }

    async fn add(&self, gcp: &Gcp) -> Result<(), ApiError> {
        api::add(gcp, self).await
    }

    async fn prune(&self, gcp: &Gcp) -> Result<(), ApiError> {
        secret::prune(gcp, self.object.id()?).await
    }

    async fn mark(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        secret::settle_labels(work, self).await
    }

    async fn get(&self, gcp: &Gcp) -> Result<GatewayConfig, ApiError> {
        api::get(gcp, self).await
    }

    async fn remove(&self, gcp: &Gcp) -> Result<(), ApiError> {
        secret::delete(gcp, self.object.id()?).await
    }
}
