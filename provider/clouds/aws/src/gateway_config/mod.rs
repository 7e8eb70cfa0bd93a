//! `warren_aws_gateway_config`: the configuration file of a gateway in a parameter that the gateway polls.
//! Changes of groups, policy and token keys replace no gateway.

mod api;
mod model;

use tf_provider_rs::{Change, Diagnostics, async_trait};
use warren_gateways::store::{self, Stored};
use warren_managed::Object;

use crate::error::ApiError;
use crate::parameter;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::GatewayConfig;

#[async_trait]
impl Object for GatewayConfig {
    async fn plan(_session: &Session, change: &mut Change<GatewayConfig>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.file.plan(&prior.file);
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
        self.file.content == found.file.content
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
