//! `warren_runpod_registry_auth`: the user name and password that RunPod uses to pull private images.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, Path, Progress, async_trait};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use warren_managed::{Common, Object};

use crate::common::made_afresh;
use crate::error::{ApiError, Failure as _};
use crate::session::{RunPod, Session, Work};
pub(crate) use model::RegistryAuth;

#[async_trait]
impl Object for RegistryAuth {
    async fn plan(_: &Session, change: &mut Change<RegistryAuth>, diagnostics: &mut Diagnostics) {
        if let Some(warning) = expired(&change.planned, OffsetDateTime::now_utc()) {
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
        api::find(runpod, &Common::marks(self, runpod)?).await
    }

    async fn create(&self, runpod: &RunPod, name: &String) -> Result<String, ApiError> {
        api::create(runpod, self, name).await
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        made_afresh(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RegistryAuth, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        op.call(|| api::get(runpod, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RegistryAuth>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.object.id()?);
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, self)).await
    }
}

/// A warning if the planned credential has expired at `now`.
fn expired(planned: &RegistryAuth, now: OffsetDateTime) -> Option<Diagnostic> {
    let text = planned.expires_at.known()?;
    let expires = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    (expires <= now).then(|| {
        Diagnostic::warning(
            "The registry credential has expired",
            format!(
                "{} expired at {text}. Running pods are not affected, but a pod that starts or moves cannot pull its \
                 image and stays in PROVISIONING or ends in ERROR. Set a new token in `password_wo`, and raise \
                 `password_wo_version` and `expires_at`.",
                planned.label()
            ),
        )
        .at(Path::of("expires_at"))
    })
}
