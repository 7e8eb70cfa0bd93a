//! The life that all objects share; what is particular to a kind of object is its [`Object`].
//!
//! ```text
//! plan     tags, what no create may adopt -> the object's plan
//! create   prepare -> adopt or create -> save -> reconcile -> save
//! read     hold -> look
//! update   prepare -> reconcile -> save
//! delete   unless a resource of this run has adopted it -> delete
//! ```

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::json;
use tf_provider_rs::{
    Change, Context, Diagnostics, IdentitySchema, ImportRequest, Planned, Progress, Resource, Schema, Value,
    async_trait,
};

use crate::adopt;
use crate::common::{self, Common};
use crate::error::ApiError;
use crate::memory::RunMemory;
use crate::session::{Aws, Session};
use crate::tags::{self, Tags};
use crate::timeouts::Operation;
use crate::wait::Op;

/// A kind of object, by its model: `self` is a configuration, a plan or a state.
#[async_trait]
pub(crate) trait Object: Common {
    /// The schema; its attributes are the model's fields.
    fn schema() -> Schema;

    /// Checks the configuration beyond what its attributes' validators do; silent on unknowns.
    fn validate(&self, _session: &Session, _diagnostics: &mut Diagnostics) {}

    /// Plans what is particular, after tags.
    async fn plan(_session: &Session, _change: &mut Change<Self>, _diagnostics: &mut Diagnostics) {}

    /// Remembers what the state holds, so that no create adopts it.
    fn hold(&self, run: &RunMemory) {
        run.hold(Self::KIND, self.name().text(), self.id().text());
    }

    /// What comes before the first call of a create, or of an update of `prior`.
    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&Self>,
        _config: &Self,
    ) -> Result<(), Diagnostics> {
        Ok(())
    }

    /// Ids of living objects with the name's tags and the planned unchangeable settings.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError>;

    /// Makes the object, with its tags in the same call, and gives its id; must not repeat itself.
    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError>;

    /// Sees to it that the object exists, and records it at once.
    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        ensure(self, work, progress).await
    }

    /// Brings the object to what is planned, whatever it is now, and gives the state that it is in then.
    async fn reconcile(&self, work: &Work<'_>) -> Result<Self, Diagnostics>;

    /// The state that the object is in; `None` when it is gone.
    async fn look(&self, work: &Work<'_>) -> Result<Option<Self>, Diagnostics>;

    /// Removes the object, and waits until it is gone.
    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics>;
}

/// An operation on one object, and where it works.
pub(crate) struct Work<'a> {
    pub(crate) session: &'a Session,
    pub(crate) ctx: &'a Context,
    pub(crate) aws: Arc<Aws>,
    pub(crate) op: Op,
}

impl Work<'_> {
    /// Makes the tags of the object, which are `have`, what is planned.
    pub(crate) async fn retag(&self, planned: &impl Common, have: &Tags) -> Result<(), Diagnostics> {
        let want = self.aws.tags(planned.name().text(), planned.tags());
        self.op.call(|| self.aws.retag(planned.id().text(), have, &want)).await
    }
}

/// Takes over the object that an interrupted run left behind, or makes one; records it.
pub(crate) async fn ensure<O: Object>(
    planned: &mut O,
    work: &Work<'_>,
    progress: &Progress,
) -> Result<(), Diagnostics> {
    let tags = work.aws.tags(planned.name().text(), planned.tags());
    let find = || planned.find(&work.aws);
    let create = || planned.create(&work.aws, &tags);
    let id = adopt::ensure(work, &*planned, find, create).await?;
    planned.set_id(&id);
    progress.save(planned);
    Ok(())
}

/// The resource type of a kind of object.
pub(crate) struct Managed<O> {
    session: Session,
    object: PhantomData<fn() -> O>,
}

impl<O: Object> Managed<O> {
    pub(crate) fn new(session: &Session) -> Managed<O> {
        Managed { session: session.clone(), object: PhantomData }
    }

    fn work<'a>(
        &'a self,
        ctx: &'a Context,
        object: &O,
        operation: Operation,
    ) -> Result<Work<'a>, Diagnostics> {
        let aws = self.session.get()?;
        Ok(Work { session: &self.session, ctx, aws, op: object.op(ctx, operation) })
    }
}

async fn finish<O: Object>(planned: &O, work: &Work<'_>, progress: &Progress) -> Result<O, Diagnostics> {
    let state = common::settle(planned, &planned.reconcile(work).await?)?;
    progress.save(&state);
    Ok(state)
}

#[async_trait]
impl<O: Object> Resource for Managed<O> {
    type Model = O;

    fn type_name(&self) -> &'static str {
        O::KIND
    }

    fn schema(&self) -> Schema {
        O::schema()
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(common::identity())
    }

    fn identity_of(&self, state: &O) -> Option<Value> {
        common::identity_of(&self.session, state)
    }

    async fn validate(&self, config: &O, diagnostics: &mut Diagnostics) {
        config.validate(&self.session, diagnostics);
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<O>, diagnostics: &mut Diagnostics) {
        let run = self.session.run();
        if let Some(prior) = &change.prior {
            prior.hold(run);
        } else if let Some(name) = change.planned.name().known() {
            let held = run.held(O::KIND, name);
            if !held.is_empty() {
                ctx.private.set(adopt::NOT, json!(held));
            }
        }
        let aws = self.session.known();
        let tags = tags::planned(aws.as_deref(), change.planned.name(), change.planned.tags());
        change.planned.set_tags_all(tags);
        O::plan(&self.session, change, diagnostics).await;
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &O, _diagnostics: &mut Diagnostics) {
        prior.hold(self.session.run());
        self.session.guard().forget(&common::key(prior), prior.id().known().map(String::as_str));
    }

    async fn create(&self, ctx: &Context, plan: Planned<O>, progress: &Progress) -> Result<O, Diagnostics> {
        let mut planned = plan.state;
        let work = self.work(ctx, &planned, Operation::Create)?;
        planned.prepare(&work, None, &plan.config).await?;
        planned.ensure(&work, progress).await?;
        finish(&planned, &work, progress).await
    }

    async fn read(&self, ctx: &Context, state: O) -> Result<Option<O>, Diagnostics> {
        let work = self.work(ctx, &state, Operation::Read)?;
        state.hold(self.session.run());
        work.op.within(state.look(&work)).await
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: O,
        plan: Planned<O>,
        progress: &Progress,
    ) -> Result<O, Diagnostics> {
        let mut planned = plan.state;
        planned.set_id(prior.id().text());
        let work = self.work(ctx, &planned, Operation::Update)?;
        planned.prepare(&work, Some(&prior), &plan.config).await?;
        finish(&planned, &work, progress).await
    }

    async fn delete(&self, ctx: &Context, state: O) -> Result<(), Diagnostics> {
        let work = self.work(ctx, &state, Operation::Delete)?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        state.delete(&work).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<O, Diagnostics> {
        common::import(&self.session, &request)
    }
}
