//! `warren_aws_gateway_config`: the configuration file of a gateway in a parameter that the gateway polls.
//! Changes of groups, policy and token keys replace no gateway.

mod api;
mod model;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, async_trait};
use warren_gateways::store::{self, Stored};
use warren_managed::Object;

use crate::error::ApiError;
use crate::parameter;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::GatewayConfig;

#[async_trait]
impl Object for GatewayConfig {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        let granted = self.file.grants.known().is_some_and(|grants| !grants.is_empty());
        if granted && self.pod_role_arn.is_null() {
            diagnostics.error_at(
                Path::of("pod_role_arn"),
                "Grants without a role",
                "The gateway gives pods narrowed credentials of a role of AWS. Set `pod_role_arn`, or remove `grants`.",
            );
            return;
        }
        let region = self.object.reach.region.as_deref();
        self.file.check(self.identity(region), diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<GatewayConfig>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.file.plan(&prior.file);
            if change.planned.pod_role_arn != prior.pod_role_arn {
                change.planned.file.version = Attr::Unknown;
            }
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        parameter::find(aws, self.object.name()?).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::put(aws, self, Some(tags)).await?;
        Ok(self.object.name()?.to_owned())
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

    async fn add(&self, aws: &Aws) -> Result<(), ApiError> {
        api::put(aws, self, None).await
    }

    async fn mark(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        parameter::settle_tags(work, &self.object).await
    }

    async fn get(&self, aws: &Aws) -> Result<GatewayConfig, ApiError> {
        api::get(aws, self).await
    }

    async fn remove(&self, aws: &Aws) -> Result<(), ApiError> {
        parameter::delete(aws, self.object.id()?).await
    }
}
