//! `warren_runpod_registry_auth`: the user name and password that RunPod uses to pull private images.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Progress, Schema, async_trait};
use time::OffsetDateTime;
use warren_managed::{Common as _, Object};

use crate::common::made_afresh;
use crate::error::{ApiError, Failure};
use crate::session::{RunPod, Session, Work};
pub(crate) use schema::RegistryAuth;

#[async_trait]
impl Object for RegistryAuth {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn plan(_: &Session, change: &mut Change<RegistryAuth>, diagnostics: &mut Diagnostics) {
        if let Some(warning) = schema::expired(&change.planned, OffsetDateTime::now_utc()) {
            diagnostics.push(warning);
        }
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&RegistryAuth>,
        config: &RegistryAuth,
    ) -> Result<(), Diagnostics> {
        self.password_wo = config.password_wo.clone();
        Ok(())
    }

    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, &self.marks(runpod)?).await
    }

    async fn create(&self, runpod: &RunPod, name: &String) -> Result<String, ApiError> {
        api::create(runpod, self, name).await
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        made_afresh(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RegistryAuth, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        let found = op.call(|| api::get(runpod, self.id.text())).await?;
        Ok(schema::state(&found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RegistryAuth>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.id.text());
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, id)).await
    }
}
