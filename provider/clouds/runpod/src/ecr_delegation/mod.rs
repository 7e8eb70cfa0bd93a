//! `warren_runpod_ecr_delegation`: RunPod's access to a private repository of Amazon ECR, without a password.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::{Common as _, Object};

use crate::error::{ApiError, Failure as _};
use crate::session::{RunPod, Work};
pub(crate) use model::EcrDelegation;

#[async_trait]
impl Object for EcrDelegation {
    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, self, &self.marks(runpod)?).await
    }

    async fn create(&self, runpod: &RunPod, name: &String) -> Result<String, ApiError> {
        api::create(runpod, self, name).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<EcrDelegation, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        op.call(|| api::get(runpod, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<EcrDelegation>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.object.id()?);
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, self)).await
    }
}
