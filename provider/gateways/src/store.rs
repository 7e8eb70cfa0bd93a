//! The lifecycle of a key or configuration file in the secret store of a cloud, which keeps versions of it.
//!
//! ```text
//! create      the object, with its first version where the store has no objects without versions
//! reconcile   the current version holds what is planned? no: another version, old ones destroyed
//!             -> tags or labels -> read
//! ```

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::{Cloud, Common, Failure, Object, Work};

/// The error of a failed call to the store.
type Error<S> = <<S as Common>::Cloud as Cloud>::Error;

/// A model of something in a secret store.
#[async_trait]
pub trait Stored: Object {
    /// The state that another version brings about, in messages: `rotated`.
    const WANTED: &'static str;

    /// Whether the current version, as it was `found`, holds what this plan wants.
    fn is_stored(&self, found: &Self) -> bool;

    /// Adds a version with what this plan wants. It must not retry.
    async fn add(&self, cloud: &Self::Cloud) -> Result<(), Error<Self>>;

    /// Destroys the versions that are no longer needed, unless the store does it.
    async fn prune(&self, _cloud: &Self::Cloud) -> Result<(), Error<Self>> {
        Ok(())
    }

    /// Reconciles tags or labels with this plan.
    async fn mark(&self, work: &Work<'_, Self::Cloud>) -> Result<(), Diagnostics>;

    /// The object as it is now; an error if it does not exist.
    async fn get(&self, cloud: &Self::Cloud) -> Result<Self, Error<Self>>;

    /// Deletes it with all its versions; an error if it does not exist.
    async fn remove(&self, cloud: &Self::Cloud) -> Result<(), Error<Self>>;
}

/// [`Object::reconcile`] of something in a secret store.
///
/// # Errors
/// The last error of the cloud, a timeout, or a cancelled run.
pub async fn reconcile<S: Stored>(planned: &S, work: &Work<'_, S::Cloud>) -> Result<S, Diagnostics> {
    let Work { cloud, op, .. } = work;
    let stored = || async { Ok(planned.is_stored(&planned.get(cloud).await?)) };
    if op.settle(S::WANTED, stored, || planned.add(cloud)).await? {
        op.call(|| planned.prune(cloud)).await?;
    }
    planned.mark(work).await?;
    op.call(|| planned.get(cloud)).await
}

/// [`Object::read`] of something in a secret store.
///
/// # Errors
/// The error of the cloud.
pub async fn read<S: Stored>(state: &S, work: &Work<'_, S::Cloud>) -> Result<Option<S>, Diagnostics> {
    Error::<S>::if_found(state.get(&work.cloud).await).map_err(|error| error.into().into())
}

/// [`Object::delete`] of something in a secret store.
///
/// # Errors
/// The last error of the cloud, a timeout, or a cancelled run.
pub async fn delete<S: Stored>(state: &S, work: &Work<'_, S::Cloud>) -> Result<(), Diagnostics> {
    let Work { cloud, op, .. } = work;
    op.delete(|| state.remove(cloud), || state.get(cloud)).await
}
