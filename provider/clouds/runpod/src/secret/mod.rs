//! `warren_runpod_secret`: a value that RunPod substitutes in the environment of pods.
//!
//! ```text
//! create   a leftover, whose value is not known, is deleted -> POST
//! update   PATCH value, if its version changed -> PATCH description, if it differs
//! ```

mod api;
mod model;
#[cfg(test)]
mod tests;

use serde_json::json;
use tf_provider_rs::{Attr, Change, Diagnostics, Progress, async_trait};
use warren_managed::{Common as _, Object};

use crate::common::made_afresh;
use crate::error::{ApiError, Failure as _};
use crate::session::{RunPod, Session, Work};
pub(crate) use model::Secret;

#[async_trait]
impl Object for Secret {
    async fn plan(_: &Session, change: &mut Change<Secret>, diagnostics: &mut Diagnostics) {
        if let Some(name) = change.planned.object.naming.name.known() {
            change.planned.reference = model::reference(name).into();
            if change.prior.is_none() || !change.requires_replace.is_empty() {
                model::check_new_name(name, diagnostics);
            }
        }
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        prior: Option<&Secret>,
        config: &Secret,
    ) -> Result<(), Diagnostics> {
        let rotated = prior.is_none_or(|prior| prior.value_wo_version != self.value_wo_version);
        self.value_wo = if rotated { config.value_wo.clone() } else { Attr::Null };
        Ok(())
    }

    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, self.object.name()?).await
    }

    async fn create(&self, runpod: &RunPod, description: &String) -> Result<String, ApiError> {
        api::create(runpod, self, description).await
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        made_afresh(self, work, progress).await?;
        // The create call has stored the value.
        self.value_wo = Attr::Null;
        Ok(())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Secret, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        let have = op.call(|| api::get(runpod, self)).await?;
        let id = have.object.id()?;
        if let Some(value) = self.value_wo.known() {
            let (change, secrets) = (json!({"value": value.0}), [value.0.as_str()]);
            op.call(|| api::update(runpod, id, &change, &secrets)).await?;
        }
        if have.description != self.description {
            let change = json!({"description": self.marks(runpod)?});
            op.call(|| api::update(runpod, id, &change, &[])).await?;
        }
        Ok(Secret { description: self.description.clone(), value_wo_version: self.value_wo_version, ..have })
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Secret>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let runpod = &work.cloud;
        work.op.delete(|| api::delete(runpod, self), || api::get(runpod, self)).await
    }
}
