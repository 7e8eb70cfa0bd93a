//! `warren_gcp_artifact_registry_repository`: a repository for container images or packages.

mod api;
mod cleanup;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Path, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::common;
use crate::error::{ApiError, Failure as _};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
use model::Format;
pub(crate) use model::Repository;

#[async_trait]
impl Object for Repository {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&Repository>,
        _config: &Repository,
    ) -> Result<(), Diagnostics> {
        common::has_region("location", &self.location)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Repository, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        landed(work, self).await?;
        carry_out(work, || async { api::update(gcp, self).await.map(|()| None) }).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Repository>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}

/// Reports `immutable_tags` in a repository whose format has no tags.
fn check(repository: &Repository, diagnostics: &mut Diagnostics) {
    let other = repository.format.known().is_some_and(|format| *format != Format::Docker);
    if other && repository.immutable_tags.is_true() {
        diagnostics.error_at(
            Path::of("immutable_tags"),
            "Immutable tags in a repository without tags",
            "Only repositories with `format = \"DOCKER\"` have tags. Remove `immutable_tags`.",
        );
    }
}
