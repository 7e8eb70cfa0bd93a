//! `warren_runpod_secret`: a value that RunPod substitutes in the environment of pods.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Progress, async_trait};
use warren_managed::Object;

use crate::common::made_afresh;
use crate::error::{ApiError, Failure as _};
use crate::session::{RunPod, Session, Work};
pub(crate) use model::Secret;

#[async_trait]
impl Object for Secret {
    async fn plan(_: &Session, change: &mut Change<Secret>, _diagnostics: &mut Diagnostics) {
        if let Some(name) = change.planned.object.naming.name.known() {
            change.planned.reference = model::reference(name).into();
        }
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&Secret>,
        config: &Secret,
    ) -> Result<(), Diagnostics> {
        self.value_wo = config.value_wo.clone();
        Ok(())
    }

    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, self.object.name()?).await
    }

    async fn create(&self, runpod: &RunPod, description: &String) -> Result<String, ApiError> {
        api::create(runpod, self, description).await
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        made_afresh(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Secret, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        op.call(|| api::get(runpod, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Secret>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.object.id()?);
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, self)).await
    }
}
