//! `warren_aws_ecr_repository`: a repository of container images.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, Path, Schema, async_trait};

use crate::common::Common;
use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::{self, Tags};
pub(crate) use schema::Repository;
use warren_managed::{Failure, Object, Objects};

#[async_trait]
impl Object for Repository {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        schema::check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<Repository>, _diagnostics: &mut Diagnostics) {
        if change.planned.encryption_type.known().is_some_and(|kind| kind == "AES256") {
            change.planned.kms_key = change.config.kms_key.clone();
        }
    }

    fn record(&self, objects: &Objects) {
        objects.record(Repository::KIND, called(self), self.id.text());
    }

    /// The repository with the planned name if this owner manages it; an error if another one does.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        let ours = (Some(aws.scope.fabric.clone()), Some(aws.scope.owner.clone()));
        match ApiError::if_found(api::get(aws, self.name.text()).await)? {
            Some(found) if tags::scope(&found.tags) == ours => Ok(vec![found.name]),
            Some(found) => {
                let what = format!("the repository {}", self.name.text());
                Err(tags::taken("CreateRepository", "RepositoryAlreadyExistsException", &what, &found.tags))
            }
            None => Ok(Vec::new()),
        }
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await.map(|()| self.name.text().to_owned())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Repository, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.name.text();
        let have = op.call(|| api::get(aws, name)).await?;
        let tags = aws.tags(name, &self.tags);
        op.call(|| api::retag(aws, &have.arn, &have.tags, &tags)).await?;
        if have.mutability != self.image_tag_mutability.text() {
            op.call(|| api::set_mutability(aws, name, self.image_tag_mutability.text())).await?;
        }
        if have.scan != self.scan_on_push.is_true() {
            op.call(|| api::set_scan(aws, name, !have.scan)).await?;
        }
        let lifecycle = schema::lifecycle(self);
        if !schema::same_lifecycle(have.lifecycle.as_deref(), lifecycle.as_deref()) {
            op.check_cancelled()?;
            op.call(|| api::set_lifecycle(aws, name, lifecycle.as_deref())).await?;
        }
        let policy = self.repository_policy.known().map(String::as_str);
        if !schema::same_policy(have.policy.as_deref(), policy) {
            op.check_cancelled()?;
            op.call(|| api::set_policy(aws, name, policy)).await?;
        }
        let found = op.call(|| api::get(aws, name)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Repository>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, called(self)).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.name.text();
        match api::delete(aws, name, self.force_delete.is_true()).await {
            Err(error) if error.code == "RepositoryNotEmptyException" => Err(not_empty(name).into()),
            Err(error) => Err(op.explain(error)),
            Ok(()) => op.until_gone(|| api::get(aws, name)).await,
        }
    }
}

/// The name of a repository in a state. It is also its ID, the only attribute after an import.
fn called(state: &Repository) -> &str {
    state.name.known().map_or_else(|| state.id.text(), String::as_str)
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
