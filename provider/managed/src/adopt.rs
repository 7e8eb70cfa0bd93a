//! Creates that leave no second object behind, whenever they are killed.
//!
//! An object carries its fabric, owner and name from the create call on. A create first looks for
//! such an object, which only an interrupted run can have left, and adopts it.
//!
//! An object about to be replaced with `create_before_destroy` has the same tags and is no leftover. Two
//! things keep it from being adopted: a lookup takes only objects whose unchangeable settings are the
//! planned ones (one of them is the reason for most replacements), and what the plan saw in a state is
//! excluded by id as far as the client hands that on. When all is the same (`-replace`), the new resource
//! takes the object over, and the deletion of the old one leaves it alone.

use std::collections::BTreeSet;

use tf_provider_rs::{Context, Diagnostic, Diagnostics};

use crate::cloud::{Cloud, Failure};
use crate::common::Common;
use crate::managed::Work;
use crate::session::Session;
use crate::wait::Pause;

/// Key of private state: ids that a create must not adopt, because a state holds them. With
/// `create_before_destroy` the object to be replaced has the same tags as the new one.
pub const NOT: &str = "not";

/// Key of private state: the mark of the resource that made or adopted the object in this process.
const MARK: &str = "mark";

type Error<M> = <<M as Common>::Cloud as Cloud>::Error;

/// How often a create is tried whose answer is lost or which the cloud puts off.
const ATTEMPTS: usize = 8;

/// Finds the object of `planned`'s name that an interrupted run left behind, or makes one.
///
/// `find` gives the ids of living objects with the name's tags and the planned unchangeable settings; `create` makes one and gives its id, and
/// must not repeat itself.
///
/// # Errors
/// What the cloud answers at last, a stopped run, and two objects of one name.
pub async fn ensure<M, F, C>(
    work: &Work<'_, M::Cloud>,
    planned: &M,
    find: impl Fn() -> F,
    create: impl Fn() -> C,
) -> Result<String, Diagnostics>
where
    M: Common,
    F: Future<Output = Result<Vec<String>, Error<M>>>,
    C: Future<Output = Result<String, Error<M>>>,
{
    let Work { session, ctx, op, .. } = work;
    let mark = mark(ctx);
    let mut pause = Pause::default();
    let mut attempts = 0;
    // Whether an answer was lost: then a conflict may be with the object that the lost call made, which lists
    // do not show yet.
    let mut lost = false;
    loop {
        op.go_on()?;
        if let Some(id) = leftover(work, planned, &find).await? {
            return Ok(id);
        }
        attempts += 1;
        match create().await {
            Ok(id) => {
                session.objects().take(&id, &mark);
                return Ok(id);
            }
            Err(error)
                if attempts < ATTEMPTS
                    && !op.is_over()
                    && (error.is_throttle()
                        || error.is_ambiguous()
                        || error.is_not_found()
                        || error.is_not_ready()
                        || ((lost || M::Cloud::UNIQUE_NAMES) && error.is_conflict())) =>
            {
                lost |= error.is_ambiguous();
                tracing::debug!(kind = M::KIND, %error, "looking again before another create");
                for _ in 0..4 {
                    op.sleep(pause.grow()).await?;
                }
            }
            Err(error) => return Err(op.told(error)),
        }
    }
}

/// Takes over the object that an interrupted run left behind, if `find` finds one.
///
/// # Errors
/// What the cloud answers, and two objects of one name.
pub async fn leftover<M, F>(
    work: &Work<'_, M::Cloud>,
    planned: &M,
    find: impl Fn() -> F,
) -> Result<Option<String>, Diagnostics>
where
    M: Common,
    F: Future<Output = Result<Vec<String>, Error<M>>>,
{
    let Work { session, ctx, op, .. } = work;
    let not: BTreeSet<String> =
        ctx.private.get(NOT).and_then(|ids| serde_json::from_value(ids).ok()).unwrap_or_default();
    let mark = mark(ctx);
    let mut found: Vec<String> = find().await.map_err(|error| op.told(error))?;
    found.retain(|id| !not.contains(id));
    found.sort();
    if let Some(twin) = found.iter().find(|id| session.objects().taken_by_other(id, &mark)) {
        return Err(same_name(M::KIND, planned.name().text(), twin).into());
    }
    let id = found.into_iter().find(|id| session.objects().take(id, &mark));
    if let Some(id) = &id {
        tracing::warn!(
            kind = M::KIND,
            name = planned.name().text(),
            id,
            "adopted an object that an interrupted run had left"
        );
    }
    Ok(id)
}

/// The mark of the resource, made on its first use. An object that comes as several (a NAT gateway and
/// its address) has one.
fn mark(ctx: &Context) -> String {
    if let Some(serde_json::Value::String(mark)) = ctx.private.get(MARK) {
        return mark;
    }
    let mark = format!("{:016x}", rand::random::<u64>());
    ctx.private.set(MARK, mark.clone().into());
    mark
}

/// Whether `state`'s object is to be deleted; false when a resource of this run has adopted it.
pub(crate) fn may_delete<M: Common>(session: &Session<M::Cloud>, ctx: &Context, state: &M) -> bool {
    let mark = ctx.private.get(MARK);
    let free = session.objects().doom(state.id().text(), mark.as_ref().and_then(|mark| mark.as_str()));
    if !free {
        tracing::warn!(object = state.label(), "not deleted: another resource of this run has taken it over");
    }
    free
}

fn same_name(kind: &str, name: &str, id: &str) -> Diagnostic {
    Diagnostic::error(
        "Two objects of one name",
        format!(
            "Another {kind} of this run is called {name:?} too ({id}). Names are unique among the objects of \
             one type, fabric and owner, because they find an object again after an interrupted run. Give \
             one of the two another name."
        ),
    )
    .at(tf_provider_rs::Path::of("name"))
}
