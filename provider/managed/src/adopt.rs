//! Creates that leave no duplicate object behind, even if they are interrupted.
//!
//! An object has the tags of its fabric, owner and name from the create call on. A create first looks for
//! such an object, which only an interrupted run can have left, and adopts it.
//!
//! An object that is about to be replaced with `create_before_destroy` has the same tags but is not a
//! leftover. Two checks prevent its adoption: a lookup accepts only objects with the planned immutable
//! settings (one of which is the reason for most replacements), and the IDs that the plan found in a state
//! are excluded, as far as the client passes them on. If everything is the same (`-replace`), the new
//! resource adopts the object, and the deletion of the old resource keeps it.

use std::collections::BTreeSet;

use tf_provider_rs::{Context, Diagnostic, Diagnostics};
use tokio::time::Instant;

use crate::cloud::Cloud;
use crate::common::Common;
use crate::failure::Failure;
use crate::retry::{self, Patience, Purpose, Remedy, Token};
use crate::session::Session;
use crate::work::Work;

/// Key of private state: IDs that a create must not adopt because a state contains them. With
/// `create_before_destroy`, the object to be replaced has the same tags as the new one.
pub const EXCLUDED_IDS: &str = "excluded_ids";

/// Key of private state: identifies the resource that created or adopted the object in this process.
const CREATOR: &str = "creator";

type Error<M> = <<M as Common>::Cloud as Cloud>::Error;

/// Key of private state: the number of create calls of the resource that were answered.
const ANSWERED: &str = "answered";

/// Finds the object with the name of `planned` that an interrupted run left behind, or creates one.
///
/// `find` returns the IDs of live objects with the tags of the name and the planned immutable settings.
/// `create` creates one and returns its ID; it must not retry. Its calls may send [`retry::token`].
///
/// If the response of a create is lost, `find` may not show the object yet. A create that sent a token is repeated with
/// it. Any other is repeated only after `find` has not shown an object for a while.
///
/// # Errors
/// The last error of the cloud, a cancelled run, or two objects with the same name.
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
    let creator = creator(ctx);
    let mut patience = Patience::new(op, Purpose::Create { unique: M::Cloud::UNIQUE_NAMES });
    let mut lost: Option<Instant> = None;
    loop {
        op.check_cancelled()?;
        if let Some(id) = leftover(work, planned, &find).await? {
            return Ok(id);
        }
        if lost.is_some_and(|lost| lost.elapsed() < op.pace().appear) {
            patience.pause().await?;
            continue;
        }
        let token = token(work, planned, &creator, "");
        let made = retry::attempt(token.clone(), create()).await;
        let remedy = made.as_ref().map_or_else(Failure::remedy, |_| Remedy::Final);
        lost = (remedy == Remedy::Lost && !token.is_used()).then(Instant::now);
        count(ctx, remedy);
        match made {
            Ok(id) => {
                session.objects().claim(&planned.local(&id), &creator);
                return Ok(id);
            }
            Err(error) => patience.after(error).await?,
        }
    }
}

/// Creates a part of an object that exists, such as the volume of a gateway. Its call may send [`retry::token`], so that it
/// makes one part although its answer was lost, in this run or in the one before.
///
/// # Errors
/// The error of the create.
pub async fn part<M, T>(
    work: &Work<'_, M::Cloud>,
    planned: &M,
    part: &str,
    create: impl Future<Output = Result<T, Error<M>>>,
) -> Result<T, Error<M>>
where
    M: Common,
{
    let token = token(work, planned, &creator(work.ctx), part);
    let made = retry::attempt(token, create).await;
    count(work.ctx, made.as_ref().map_or_else(Failure::remedy, |_| Remedy::Final));
    made
}

/// Counts a create call that was answered, so that the next one has another token.
fn count(ctx: &Context, remedy: Remedy) {
    // A conflict can be with the object of a lost call, which another token would make twice.
    if !matches!(remedy, Remedy::Lost | Remedy::Throttled | Remedy::Conflict) {
        ctx.private.set(ANSWERED, (answered(ctx) + 1).into());
    }
}

/// The token of the next create call, of the object or of a part of it.
fn token<M: Common>(work: &Work<'_, M::Cloud>, planned: &M, creator: &str, part: &str) -> Token {
    let scope = work.cloud.scope();
    let answered = answered(work.ctx).to_string();
    let name = planned.name().known().map_or("", String::as_str);
    let mut parts: Vec<&str> = vec![&scope.fabric, &scope.owner, M::KIND, name, creator, &answered];
    parts.extend(Some(part).filter(|part| !part.is_empty()));
    Token::new(&parts)
}

fn answered(ctx: &Context) -> u64 {
    ctx.private.get(ANSWERED).and_then(|count| count.as_u64()).unwrap_or_default()
}

/// Adopts the object that an interrupted run left behind, if `find` finds one.
///
/// # Errors
/// An error of the cloud, or two objects with the same name.
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
    let excluded: BTreeSet<String> =
        ctx.private.get(EXCLUDED_IDS).and_then(|ids| serde_json::from_value(ids).ok()).unwrap_or_default();
    let creator = creator(ctx);
    let name = planned.name().value()?;
    let mut found: Vec<String> = find().await.map_err(|error| op.explain(error))?;
    found.retain(|id| !excluded.contains(id));
    found.sort();
    if let Some(twin) =
        found.iter().find(|id| session.objects().claimed_by_other(&planned.local(id), &creator))
    {
        return Err(same_name(M::KIND, name, twin).into());
    }
    let id = found.into_iter().find(|id| session.objects().claim(&planned.local(id), &creator));
    if let Some(id) = &id {
        tracing::warn!(kind = M::KIND, name, id, "adopted object left by an interrupted run");
    }
    Ok(id)
}

/// Identifies the resource, generated on first use. An object with several parts, such as a NAT gateway with
/// its address, has one.
fn creator(ctx: &Context) -> String {
    if let Some(serde_json::Value::String(creator)) = ctx.private.get(CREATOR) {
        return creator;
    }
    let creator = format!("{:016x}", rand::random::<u64>());
    ctx.private.set(CREATOR, creator.clone().into());
    creator
}

/// Whether to delete the object of `state`; false if a resource of this run has adopted it.
pub(crate) fn may_delete<M: Common>(session: &Session<M::Cloud>, ctx: &Context, state: &M) -> bool {
    let Some(id) = state.id().known() else { return true };
    let creator = ctx.private.get(CREATOR);
    let creator = creator.as_ref().and_then(|creator| creator.as_str());
    let free = session.objects().begin_delete(&state.local(id), creator);
    if !free {
        tracing::warn!(object = state.label(), "not deleted: adopted by another resource of this run");
    }
    free
}

fn same_name(kind: &str, name: &str, id: &str) -> Diagnostic {
    Diagnostic::error(
        "Duplicate object name",
        format!(
            "Another {kind} in this run is also named {name:?} ({id}). Warren uses the name to find an \
             object after an interrupted run, so names must be unique among the objects of the same \
             type, fabric and owner. Rename one of the two."
        ),
    )
    .at(tf_provider_rs::Path::of("name"))
}
