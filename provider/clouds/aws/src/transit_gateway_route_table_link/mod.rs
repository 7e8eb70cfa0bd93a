//! `warren_aws_transit_gateway_route_table_association`: the table that decides where traffic of an attachment goes.
//! `warren_aws_transit_gateway_route_table_propagation`: a table that learns the ranges of an attachment.

mod api;
mod model;
mod relation;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, Progress, async_trait};
use warren_managed::{Failure, Object, Poll};

use crate::error::ApiError;
use crate::ids::{TransitGatewayAttachmentId, TransitGatewayRouteTableId};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Link;
pub(crate) use relation::{Association, Propagation, Relation};

#[async_trait]
impl<R: Relation> Object for Link<R> {
    async fn plan(_session: &Session, change: &mut Change<Link<R>>, _diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if let (None, Some(table), Some(attachment)) = (
            &change.prior,
            planned.transit_gateway_route_table_id.known(),
            planned.transit_gateway_attachment_id.known(),
        ) {
            planned.part.id = Link::<R>::of(table, attachment).part.id;
        }
    }

    fn import(_session: &Session, id: &str) -> Result<Link<R>, Diagnostics> {
        let parts = id
            .split_once('_')
            .and_then(|(table, attachment)| Some((table.parse().ok()?, attachment.parse().ok()?)));
        let (table, attachment) = parts.ok_or_else(|| malformed::<R>(id))?;
        Ok(Link::of(&table, &attachment))
    }

    /// One that ends cannot be kept.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        let found = ApiError::if_found(api::get(aws, self).await)?;
        Ok(found
            .filter(api::Found::is_living)
            .map(|_| self.part.id().map(str::to_owned))
            .transpose()?
            .into_iter()
            .collect())
    }

    async fn create(&self, aws: &Aws, _tags: &Tags) -> Result<String, ApiError> {
        let id = self.part.id()?.to_owned();
        api::create(aws, self).await.map(|()| id)
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        ended(work, self).await?;
        warren_managed::ensure(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Link<R>, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.until(R::STATES.begun, || async {
            let found = api::get(aws, self).await?;
            Ok(if found.is_begun() { Poll::Ready(found.state) } else { Poll::Pending(found.status) })
        })
        .await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Link<R>>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(api::Found::is_living).map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await
    }
}

/// Waits while an earlier link ends: AWS refuses another one until then.
async fn ended<R: Relation>(work: &Work<'_>, planned: &Link<R>) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until(R::STATES.ended, || async {
        Ok(match ApiError::if_found(api::get(aws, planned).await)? {
            Some(found) if !found.is_living() => Poll::Pending(found.status),
            _ => Poll::Ready(()),
        })
    })
    .await
}

/// Whether the attachment is associated with the table, or propagates to it.
pub(crate) async fn exists<R: Relation>(
    aws: &Aws,
    table: &TransitGatewayRouteTableId,
    attachment: &TransitGatewayAttachmentId,
) -> Result<bool, ApiError> {
    let found = ApiError::if_found(api::get(aws, &Link::<R>::of(table, attachment)).await)?;
    Ok(found.is_some_and(|found| found.is_living()))
}

/// Associates the attachment with the table or propagates its routes to it, or ends that.
pub(crate) async fn set<R: Relation>(
    work: &Work<'_>,
    table: &TransitGatewayRouteTableId,
    attachment: &TransitGatewayAttachmentId,
    wanted: bool,
) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let link = Link::<R>::of(table, attachment);
    if wanted {
        ended(work, &link).await?;
        let done = || exists::<R>(aws, table, attachment);
        op.settle(R::STATES.begun, done, || api::create(aws, &link)).await?;
        link.reconcile(work).await.map(drop)
    } else if op.call(|| exists::<R>(aws, table, attachment)).await? {
        link.delete(work).await
    } else {
        Ok(())
    }
}

fn malformed<R: Relation>(id: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid import ID",
        format!(
            "{id:?} is not the ID of {}. Use the ID of the route table and the ID of the attachment, \
             separated by an underscore: `tgw-rtb-0123_tgw-attach-0123`.",
            R::A_NOUN
        ),
    )
}
