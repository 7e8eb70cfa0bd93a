//! EC2 API calls for associations and propagations, and what their responses mean.

use super::model::Link;
use super::relation::{Answer, Relation};
use crate::error::{ApiError, OrMissing};
use crate::session::Aws;

/// A link as it is now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found<R: Relation> {
    pub(super) state: Link<R>,
    pub(super) status: String,
}

impl<R: Relation> Found<R> {
    /// Whether it exists or begins to.
    pub(super) fn is_living(&self) -> bool {
        self.status == R::STATES.beginning || self.is_begun()
    }

    /// Whether it has its effect.
    pub(super) fn is_begun(&self) -> bool {
        self.status == R::STATES.begun
    }
}

/// Begins the link; an error if it exists, or if the attachment has another association.
pub(super) async fn create<R: Relation>(aws: &Aws, planned: &Link<R>) -> Result<(), ApiError> {
    let (table, attachment) = planned.ends()?;
    R::begin(aws, table, attachment).await
}

/// The link of `before` as it is now; an error if it does not exist.
pub(super) async fn get<R: Relation>(aws: &Aws, before: &Link<R>) -> Result<Found<R>, ApiError> {
    let (table, attachment) = before.ends()?;
    let mut found = R::list(aws, table, attachment).await?.into_iter();
    let found = found.find(|found| found.attachment.as_deref() == Some(attachment));
    let lasting = found.filter(|found| !found.is_ended::<R>());
    state(lasting.ok_or_else(|| ApiError::absent(R::LIST, before.part.id().unwrap_or_default()))?, before)
}

/// The state of the link that was found, based on `before`.
pub(super) fn state<R: Relation>(found: Answer, before: &Link<R>) -> Result<Found<R>, ApiError> {
    let status = found.state.or_missing(R::LIST, "State")?;
    let state = Link {
        resource_id: found.resource_id.or_missing(R::LIST, "ResourceId")?.into(),
        resource_type: found.resource_type.or_missing(R::LIST, "ResourceType")?.into(),
        ..before.clone()
    };
    Ok(Found { state, status })
}

/// Ends the link; an error if it does not exist.
pub(super) async fn delete<R: Relation>(aws: &Aws, link: &Link<R>) -> Result<(), ApiError> {
    let (table, attachment) = link.ends()?;
    R::end(aws, table, attachment).await
}
