//! `warren_aws_ecr_repository`: a repository of container images.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{
    Change, Context, Diagnostic, Diagnostics, ImportRequest, Path, Planned, Progress, Resource, async_trait,
};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::error::ApiError;
use crate::session::{Aws, Session};
use crate::tags::Tags;
use crate::timeouts::Operation;
use crate::wait::Op;
use schema::Repository;

/// The resource type.
pub(crate) struct RepositoryResource {
    session: Session,
}

impl RepositoryResource {
    pub(crate) fn new(session: &Session) -> RepositoryResource {
        RepositoryResource { session: session.clone() }
    }

    /// Brings tags, settings and policies to what is planned.
    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: Repository,
        progress: &Progress,
    ) -> Result<Repository, Diagnostics> {
        let name = planned.name.text();
        let have = op.call(|| api::get(aws, name)).await?;
        let tags = aws.tags(name, &planned.tags);
        op.call(|| api::retag(aws, &have.arn, &have.tags, &tags)).await?;
        if have.mutability != planned.image_tag_mutability.text() {
            op.call(|| api::set_mutability(aws, name, planned.image_tag_mutability.text())).await?;
        }
        if have.scan != planned.scan_on_push.is_true() {
            op.call(|| api::set_scan(aws, name, !have.scan)).await?;
        }
        let lifecycle = schema::lifecycle(&planned);
        if !schema::same_lifecycle(have.lifecycle.as_deref(), lifecycle.as_deref()) {
            op.go_on()?;
            op.call(|| api::set_lifecycle(aws, name, lifecycle.as_deref())).await?;
        }
        let policy = planned.repository_policy.known().map(String::as_str);
        if !schema::same_policy(have.policy.as_deref(), policy) {
            op.go_on()?;
            op.call(|| api::set_policy(aws, name, policy)).await?;
        }
        let found = op.call(|| api::get(aws, name)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }

    /// Makes the repository; one that exists is adopted when it is ours, and not held by the state.
    async fn ensure(&self, ctx: &Context, op: &Op, planned: &Repository) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        let name = planned.name.text();
        let tags = aws.tags(name, &planned.tags);
        let find = || async {
            match api::get(&aws, name).await {
                Ok(found) if self.is_ours(&found.tags) => Ok(vec![found.name]),
                Ok(found) => Err(taken(name, &found.tags)),
                Err(error) if error.is_not_found() => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        };
        let create = || async { api::create(&aws, planned, &tags).await.map(|()| name.to_owned()) };
        adopt::ensure(&self.session, ctx, op, planned, find, create).await.map(drop)
    }

    fn is_ours(&self, tags: &Tags) -> bool {
        let scope = crate::tags::scope(tags);
        self.session
            .known()
            .is_some_and(|aws| scope == (Some(aws.scope.fabric.clone()), Some(aws.scope.owner.clone())))
    }
}

fn taken(name: &str, tags: &Tags) -> ApiError {
    let owner = match crate::tags::scope(tags) {
        (Some(fabric), Some(owner)) => format!("It belongs to owner {owner:?} of fabric {fabric:?}."),
        _ => "It has no warren tags: import it to manage it here.".to_owned(),
    };
    ApiError {
        operation: "CreateRepository",
        code: "RepositoryAlreadyExistsException".to_owned(),
        message: format!("the repository {name} exists already. {owner}"),
        status: 400,
    }
}

#[async_trait]
impl Resource for RepositoryResource {
    type Model = Repository;

    basics!(Repository);

    async fn validate(&self, config: &Repository, diagnostics: &mut Diagnostics) {
        schema::check(config, diagnostics);
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<Repository>, _diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
        if change.planned.encryption_type.known().is_some_and(|kind| kind == "AES256") {
            change.planned.kms_key = change.config.kms_key.clone();
        }
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &Repository, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Repository>,
        progress: &Progress,
    ) -> Result<Repository, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        self.ensure(ctx, &op, &planned).await?;
        let name = planned.name.text().to_owned();
        planned.set_id(&name);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, _ctx: &Context, mut state: Repository) -> Result<Option<Repository>, Diagnostics> {
        let aws = self.session.get()?;
        if !state.name.is_known() {
            state.name = state.id.clone();
        }
        self.session.run().hold(Repository::KIND, state.name.text(), state.id.text());
        match api::get(&aws, state.name.text()).await {
            Ok(found) => Ok(Some(schema::state(&self.session, found, &state))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: Repository,
        plan: Planned<Repository>,
        progress: &Progress,
    ) -> Result<Repository, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: Repository) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let name = state.name.text();
        match api::delete(&aws, name, state.force_delete.is_true()).await {
            Err(error) if error.code == "RepositoryNotEmptyException" => Err(not_empty(name).into()),
            Err(error) => Err(op.told(error)),
            Ok(()) => op.until_gone(|| api::get(&aws, name)).await,
        }
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<Repository, Diagnostics> {
        common::import(&self.session, &request)
    }
}

fn not_empty(name: &str) -> Diagnostic {
    Diagnostic::error(
        "The repository has images",
        format!(
            "{name} was not deleted, because images are in it. Delete them, or set `force_delete = true`, apply, and \
             destroy again."
        ),
    )
    .at(Path::of("force_delete"))
}
