//! `warren_aws_transit_gateway_route_table_association`: the table that decides where traffic of an attachment goes.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, Progress, async_trait};
use warren_managed::{Failure, Object, Poll};

use crate::error::ApiError;
use crate::ids::{TransitGatewayAttachmentId, TransitGatewayRouteTableId};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Association;

#[async_trait]
impl Object for Association {
    async fn plan(_session: &Session, change: &mut Change<Association>, _diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if let (None, Some(table), Some(attachment)) = (
            &change.prior,
            planned.transit_gateway_route_table_id.known(),
            planned.transit_gateway_attachment_id.known(),
        ) {
            planned.part.id = Association::of(table, attachment).part.id;
        }
    }

    fn import(_session: &Session, id: &str) -> Result<Association, Diagnostics> {
        let parts = id
            .split_once('_')
            .and_then(|(table, attachment)| Some((table.parse().ok()?, attachment.parse().ok()?)));
        let (table, attachment) = parts.ok_or_else(|| malformed(id))?;
        Ok(Association::of(&table, &attachment))
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

    async fn reconcile(&self, work: &Work<'_>) -> Result<Association, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.until("associated", || async {
            let found = api::get(aws, self).await?;
            let done = found.status.as_str() == "associated";
            Ok(if done { Poll::Ready(found.state) } else { Poll::Pending(found.status.as_str().to_owned()) })
        })
        .await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Association>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(api::Found::is_living).map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await
    }
}

/// Waits while an earlier association ends: AWS refuses another one until then.
async fn ended(work: &Work<'_>, planned: &Association) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("disassociated", || async {
        Ok(match ApiError::if_found(api::get(aws, planned).await)? {
            Some(found) if !found.is_living() => Poll::Pending(found.status.as_str().to_owned()),
            _ => Poll::Ready(()),
        })
    })
    .await
}

/// Whether the attachment is associated with the table.
pub(crate) async fn exists(
    aws: &Aws,
    table: &TransitGatewayRouteTableId,
    attachment: &TransitGatewayAttachmentId,
) -> Result<bool, ApiError> {
    let found = ApiError::if_found(api::get(aws, &Association::of(table, attachment)).await)?;
    Ok(found.is_some_and(|found| found.is_living()))
}

/// Associates the attachment with the table, or ends the association.
pub(crate) async fn set(
    work: &Work<'_>,
    table: &TransitGatewayRouteTableId,
    attachment: &TransitGatewayAttachmentId,
    wanted: bool,
) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let part = Association::of(table, attachment);
    if wanted {
        ended(work, &part).await?;
        let done = || exists(aws, table, attachment);
        op.settle("associated", done, || api::create(aws, &part)).await?;
        part.reconcile(work).await.map(drop)
    } else if op.call(|| exists(aws, table, attachment)).await? {
        part.delete(work).await
    } else {
        Ok(())
    }
}

fn malformed(id: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid import ID",
        format!(
            "{id:?} is not the ID of an association. Use the ID of the route table and the ID of the attachment, \
             separated by an underscore: `tgw-rtb-0123_tgw-attach-0123`."
        ),
    )
}
