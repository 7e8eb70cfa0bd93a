//! `warren_aws_ecr_repository`: a repository of container images.

mod api;
mod model;
mod policies;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, async_trait};
use warren_managed::{Common as _, Failure, Object};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::{self, Tags};
use model::Encryption;
pub(crate) use model::Repository;

#[async_trait]
impl Object for Repository {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<Repository>, _diagnostics: &mut Diagnostics) {
        if change.planned.encryption_type == Attr::Known(Encryption::Aes256) {
            change.planned.kms_key = change.config.kms_key.clone();
        }
    }

    /// The repository with the planned name if this owner manages it; an error if another one does.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        let ours = (Some(aws.scope.fabric.clone()), Some(aws.scope.owner.clone()));
        let Some(found) = ApiError::if_found(api::get(aws, self).await)? else { return Ok(Vec::new()) };
        let name = self.object.name()?.to_owned();
        let tags = tags::known(&found.object.tags_all);
        if tags::scope(&tags) == ours {
            return Ok(vec![name]);
        }
        let what = format!("the repository {name}");
        Err(tags::taken("CreateRepository", "RepositoryAlreadyExistsException", &what, &tags))
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await?;
        Ok(self.object.name()?.to_owned())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Repository, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.name()?;
        let have = op.call(|| api::get(aws, self)).await?;
        let (have_tags, tags) = (tags::known(&have.object.tags_all), self.marks(aws)?);
        let arn = have.arn.value()?;
        op.call(|| api::retag(aws, arn, &have_tags, &tags)).await?;
        let mutability = *self.image_tag_mutability.value()?;
        if have.image_tag_mutability != Attr::Known(mutability) {
            op.call(|| api::set_mutability(aws, name, mutability)).await?;
        }
        if have.scan_on_push != self.scan_on_push {
            op.call(|| api::set_scan(aws, name, self.scan_on_push.is_true())).await?;
        }
        let (lifecycle, has) = (policies::lifecycle(self), policies::lifecycle(&have));
        if !policies::same_lifecycle(has.as_deref(), lifecycle.as_deref()) {
            op.check_cancelled()?;
            op.call(|| api::set_lifecycle(aws, name, lifecycle.as_deref())).await?;
        }
        let policy = self.repository_policy.as_deref();
        if !policies::same_policy(have.repository_policy.as_deref(), policy) {
            op.check_cancelled()?;
            op.call(|| api::set_policy(aws, name, policy)).await?;
        }
        op.call(|| api::get(aws, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Repository>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.name()?;
        match api::delete(aws, name, self.force_delete.is_true()).await {
            Err(error) if error.code == "RepositoryNotEmptyException" => Err(not_empty(name).into()),
            Err(error) => Err(op.explain(error)),
            Ok(()) => op.until_gone(|| api::get(aws, self)).await,
        }
    }
}

/// Checks attributes that depend on each other; unknown values are skipped.
fn check(config: &Repository, diagnostics: &mut Diagnostics) {
    if config.lifecycle_policy.is_known() && config.keep_last_images.is_known() {
        diagnostics.error_at(
            Path::of("keep_last_images"),
            "Conflicting lifecycle policies",
            "`keep_last_images` and `lifecycle_policy` both define the lifecycle policy of the \
             repository. Remove one of them.",
        );
    }
    if config.kms_key.is_known()
        && !config.encryption_type.is_unknown()
        && config.encryption_type != Attr::Known(Encryption::Kms)
    {
        diagnostics.error_at(
            Path::of("kms_key"),
            "KMS key without KMS encryption",
            "`kms_key` is only valid with KMS encryption. Set `encryption_type = \"KMS\"`, or remove \
             `kms_key`.",
        );
    }
}

fn not_empty(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Repository contains images",
        format!(
            "{name} was not deleted because it contains images. Delete the images, or set `force_delete = \
             true`, apply, and destroy again."
        ),
    )
    .at(Path::of("force_delete"))
}
