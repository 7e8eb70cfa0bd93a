//! The lifecycle that all objects share; the specifics of an object type are in its [`Object`].
//!
//! ```text
//! plan     marks, what no create may adopt -> the object's plan
//! create   prepare -> adopt or create -> save -> reconcile -> save
//! read     record -> read
//! update   prepare -> reconcile -> save; without an ID in the state, a cancelled create continues
//! delete   unless a resource of this run has adopted it -> delete
//! ```

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tf_provider_rs::{
    Attr, Change, Context, Diagnostics, IdentitySchema, ImportRequest, Planned, Progress, Resource, Value,
    async_trait,
};
use tokio::time::Instant;

use crate::adopt;
use crate::cloud::{Cloud, Imported};
use crate::common::{self, Common, Operation};
use crate::elsewhere::{self, placed};
use crate::memory::Objects;
use crate::references;
use crate::retry;
use crate::session::Session;
use crate::work::Work;

/// The error of a failed call to the cloud of the object.
type Error<O> = <<O as Common>::Cloud as Cloud>::Error;

/// An object type, by its model: `self` is a configuration, a plan or a state.
#[async_trait]
pub trait Object: Common {
    /// Attributes that may refer to objects at other sites (regions, projects).
    const ELSEWHERE: &'static [&'static str] = &[];

    /// Validates the configuration beyond the validators of its attributes; unknown values are skipped.
    fn validate(&self, _session: &Session<Self::Cloud>, _diagnostics: &mut Diagnostics) {}

    /// Plans the specifics of the object type, after the marks.
    async fn plan(
        _session: &Session<Self::Cloud>,
        _change: &mut Change<Self>,
        _diagnostics: &mut Diagnostics,
    ) {
    }

    /// Records the objects in the state, so that no create adopts them.
    fn record(&self, objects: &Objects) {
        if let (Some(name), Some(id)) = (self.name().known(), self.id().known()) {
            objects.record(Self::KIND, &self.local(name), id);
        }
    }

    /// A model with only the ID of an import, to be read next.
    ///
    /// # Errors
    /// No object of this type can have this ID.
    fn import(_session: &Session<Self::Cloud>, id: &str) -> Result<Self, Diagnostics> {
        let mut model = Self::default();
        model.set_id(id);
        Ok(model)
    }

    /// Runs before the first call of a create, or of an update of `prior`.
    async fn prepare(
        &mut self,
        _work: &Work<'_, Self::Cloud>,
        _prior: Option<&Self>,
        _config: &Self,
    ) -> Result<(), Diagnostics> {
        Ok(())
    }

    /// IDs of living objects with the name's marks and the planned unchangeable settings.
    async fn find(&self, cloud: &Self::Cloud) -> Result<Vec<String>, Error<Self>>;

    /// Creates the object, with its marks in the same call, and returns its ID; must not repeat itself.
    async fn create(
        &self,
        cloud: &Self::Cloud,
        marks: &<Self::Cloud as Cloud>::Marks,
    ) -> Result<String, Error<Self>>;

    /// Ensures that the object exists, and records it at once.
    async fn ensure(&mut self, work: &Work<'_, Self::Cloud>, progress: &Progress) -> Result<(), Diagnostics> {
        ensure(self, work, progress).await
    }

    /// Reconciles the object with the plan, whatever its current state, and returns the resulting state.
    async fn reconcile(&self, work: &Work<'_, Self::Cloud>) -> Result<Self, Diagnostics>;

    /// The current state of the object; `None` if it does not exist.
    async fn read(&self, work: &Work<'_, Self::Cloud>) -> Result<Option<Self>, Diagnostics>;

    /// Deletes the object, and waits until it no longer exists.
    async fn delete(&self, work: &Work<'_, Self::Cloud>) -> Result<(), Diagnostics>;
}

/// Adopts the object that an interrupted run left behind, or creates one, and records it.
///
/// # Errors
/// As [`adopt::ensure`].
pub async fn ensure<O: Object>(
    planned: &mut O,
    work: &Work<'_, O::Cloud>,
    progress: &Progress,
) -> Result<(), Diagnostics> {
    let marks = planned.marks(&work.cloud)?;
    let find = || planned.find(&work.cloud);
    let create = || planned.create(&work.cloud, &marks);
    let id = adopt::ensure(work, &*planned, find, create).await?;
    planned.set_id(&id);
    seen(work.session.objects(), planned);
    progress.save(planned);
    Ok(())
}

/// The resource type of an object type.
pub struct Managed<O: Object> {
    session: Session<O::Cloud>,
    object: PhantomData<fn() -> O>,
}

impl<O: Object> Managed<O> {
    /// A resource type whose objects are in the account of `session`.
    pub fn new(session: &Session<O::Cloud>) -> Managed<O> {
        Managed { session: session.clone(), object: PhantomData }
    }

    /// The object of a state, with its site.
    ///
    /// # Errors
    /// It is in another account than the provider is configured for, or that account is not known.
    async fn here(&self, ctx: &Context, state: O, operation: Operation) -> Result<O, Diagnostics> {
        state.op(ctx, operation).within(elsewhere::refuse(&self.session, ctx, &state, false)).await?;
        Ok(placed(ctx, self.session.known().as_deref(), state))
    }

    async fn work<'a>(
        &'a self,
        ctx: &'a Context,
        object: &O,
        operation: Operation,
    ) -> Result<Work<'a, O::Cloud>, Diagnostics> {
        let op = object.op(ctx, operation);
        let home = self.session.get()?;
        if operation == Operation::Create {
            // The identity of the object has the place.
            op.within(home.locate()).await?;
        }
        let cloud = self.session.of(object)?;
        Ok(Work { session: &self.session, ctx, cloud, op })
    }
}

/// Time for calls of a plan, which has no timeout.
const PLAN: Duration = Duration::from_secs(60);

/// Records what a state contains: the objects, and where they are.
fn seen<O: Object>(objects: &Objects, state: &O) {
    state.record(objects);
    if let (Some(id), Some(Attr::Known(site))) = (state.id().known(), state.site())
        // An ID that the user chooses may exist in several sites.
        && state.name() != state.id()
    {
        objects.record_site(id, site);
    }
}

async fn finish<O: Object>(
    planned: &O,
    work: &Work<'_, O::Cloud>,
    progress: &Progress,
) -> Result<O, Diagnostics> {
    let state = common::merge_planned(planned, &planned.reconcile(work).await?)?;
    progress.save(&state);
    Ok(state)
}

#[async_trait]
impl<O: Object> Resource for Managed<O> {
    type Model = O;

    fn identity(&self) -> Option<IdentitySchema> {
        Some(O::Cloud::identity())
    }

    fn identity_of(&self, state: &O) -> Option<Value> {
        let id = state.id().known()?;
        let cloud = self.session.known();
        let ours = || O::Cloud::SITE.zip(cloud.as_ref()).and_then(|(name, cloud)| cloud.place().remove(name));
        let site = state.site().and_then(|site| site.known().cloned().or_else(ours));
        Some(O::Cloud::identity_of(cloud.as_deref(), id, site.as_deref()))
    }

    async fn upgrade_identity(&self, version: i64, identity: Json) -> Result<Json, Diagnostics> {
        O::Cloud::upgrade_identity(version, identity)
    }

    async fn validate(&self, config: &O, diagnostics: &mut Diagnostics) {
        self.session.guard().validating();
        config.validate(&self.session, diagnostics);
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<O>, diagnostics: &mut Diagnostics) {
        let (objects, cloud) = (self.session.objects(), self.session.known());
        let prior = change.prior.clone().map(|prior| placed(ctx, cloud.as_deref(), prior));
        if let Some(prior) = &prior {
            let follows = change.config.site().is_some_and(Attr::is_null);
            let refuse = elsewhere::refuse(&self.session, ctx, prior, follows);
            if let Err(elsewhere) = retry::until(Instant::now() + PLAN, ctx.cancel.clone(), refuse).await {
                return diagnostics.extend(elsewhere);
            }
            seen(objects, prior);
        }
        elsewhere::plan(cloud.as_deref(), prior.as_ref(), change);
        if let Some(prior) = &prior
            && let (Some(Attr::Known(before)), Some(Attr::Known(after))) =
                (prior.site(), change.planned.site())
            && before != after
            && let Ok(key) = common::key(prior, self.session.known_of(prior).as_deref())
        {
            // It is replaced, and Terraform plans only the creation of the new one.
            self.session.guard().forget(&key, prior.id().known().map(String::as_str));
        }
        if let (Some(cloud), Some(Attr::Known(site))) = (&cloud, change.planned.site())
            && let Err(refused) = cloud.admits(site)
        {
            return diagnostics.extend(refused);
        }
        if let Some(name) = change.planned.name().known()
            && prior.is_none()
            && !O::Cloud::UNIQUE_NAMES
        {
            let recorded = objects.recorded(O::KIND, &change.planned.local(name));
            if !recorded.is_empty() {
                ctx.private.set(adopt::EXCLUDED_IDS, json!(recorded));
            }
        }
        references::check(objects, change, diagnostics);
        change.planned.plan_marks(self.session.known_of(&change.planned).as_deref());
        let plan = O::plan(&self.session, change, diagnostics);
        retry::until(Instant::now() + PLAN, ctx.cancel.clone(), plan).await;
    }

    async fn plan_destroy(&self, ctx: &Context, prior: &O, diagnostics: &mut Diagnostics) {
        let prior = match self.here(ctx, prior.clone(), Operation::Delete).await {
            Ok(prior) => prior,
            Err(elsewhere) => return diagnostics.extend(elsewhere),
        };
        seen(self.session.objects(), &prior);
        if let Ok(key) = common::key(&prior, self.session.known_of(&prior).as_deref()) {
            self.session.guard().forget(&key, prior.id().known().map(String::as_str));
        }
    }

    async fn create(&self, ctx: &Context, plan: Planned<O>, progress: &Progress) -> Result<O, Diagnostics> {
        let mut planned = placed(ctx, self.session.known().as_deref(), plan.state);
        let work = self.work(ctx, &planned, Operation::Create).await?;
        let create = async {
            planned.prepare(&work, None, &plan.config).await?;
            planned.ensure(&work, progress).await?;
            finish(&planned, &work, progress).await
        };
        work.op.perform(create).await
    }

    async fn read(&self, ctx: &Context, state: O) -> Result<Option<O>, Diagnostics> {
        let state = self.here(ctx, state, Operation::Read).await?;
        let work = self.work(ctx, &state, Operation::Read).await?;
        seen(self.session.objects(), &state);
        work.op.within(state.read(&work)).await
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: O,
        plan: Planned<O>,
        progress: &Progress,
    ) -> Result<O, Diagnostics> {
        let prior = self.here(ctx, prior, Operation::Update).await?;
        let mut planned = placed(ctx, self.session.known().as_deref(), plan.state);
        let Some(id) = prior.id().known() else {
            // Parts of the object exist already, which `ensure` finds by their marks.
            return self.create(ctx, Planned { state: planned, ..plan }, progress).await;
        };
        planned.set_id(id);
        let work = self.work(ctx, &planned, Operation::Update).await?;
        let update = async {
            planned.prepare(&work, Some(&prior), &plan.config).await?;
            finish(&planned, &work, progress).await
        };
        work.op.perform(update).await
    }

    async fn delete(&self, ctx: &Context, state: O) -> Result<(), Diagnostics> {
        let state = self.here(ctx, state, Operation::Delete).await?;
        let work = self.work(ctx, &state, Operation::Delete).await?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        work.op.perform(state.delete(&work)).await?;
        if O::Cloud::UNIQUE_NAMES
            && let Some(id) = state.id().known()
        {
            self.session.objects().end_delete(&state.local(id));
        }
        Ok(())
    }

    async fn import(&self, ctx: &Context, request: ImportRequest) -> Result<O, Diagnostics> {
        if let Some(cloud) = self.session.known() {
            retry::until(Instant::now() + PLAN, ctx.cancel.clone(), cloud.locate()).await?;
        }
        let sited = O::default().site().is_some();
        let Imported { id, site } = O::Cloud::import(self.session.get(), &request, sited)?;
        let mut model = O::import(&self.session, &id)?;
        if let Some(site) = site {
            model.set_site(&site);
        }
        let (cloud, model) = (self.session.get()?, placed(ctx, self.session.known().as_deref(), model));
        if let Some(Attr::Known(site)) = model.site() {
            cloud.admits(site)?;
        }
        Ok(model)
    }
}
