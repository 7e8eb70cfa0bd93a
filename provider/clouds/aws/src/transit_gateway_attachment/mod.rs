//! `warren_aws_transit_gateway_attachment`: the attachment of a VPC to a transit gateway.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostic, Diagnostics, Path, async_trait};

use crate::error::{ApiError, Parsed};
use crate::ids::TransitGatewayAttachmentId;
use crate::session::{Aws, Work};
use crate::tags::Tags;
use crate::transit_gateway_route_table_link::{Association, Propagation, exists, set};
pub(crate) use model::Attachment;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for Attachment {
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Attachment, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = settled(work, self).await?;
        self.object.retag(work, &have.object).await?;
        op.release(|| api::modify(aws, &have, self)).await?;
        let have = settled(work, self).await?;
        if have.is("available") {
            self.reconcile_tables(work, &have).await?;
        }
        Ok(have)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Attachment>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        match found.filter(|found| !found.is("deleting")) {
            Some(found) => Ok(Some(found.with_tables(&work.cloud).await?)),
            None => Ok(None),
        }
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await
    }
}

impl Attachment {
    /// Whether the configuration says something about default route tables.
    fn has_tables(&self) -> bool {
        self.transit_gateway_default_route_table_association.is_known()
            || self.transit_gateway_default_route_table_propagation.is_known()
    }

    /// Associates with the default route tables, or ends that, as far as the configuration says so.
    async fn reconcile_tables(&self, work: &Work<'_>, have: &Attachment) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        if !self.has_tables() {
            return Ok(());
        }
        let Some(tables) = op.call(|| api::default_tables(aws, have)).await? else { return Ok(()) };
        let id = id(have)?;
        let wanted = self.transit_gateway_default_route_table_association.known();
        match (wanted, &tables.association) {
            (Some(wanted), Some(table)) => set::<Association>(work, table, &id, *wanted).await?,
            (Some(true), None) => return Err(no_default("association").into()),
            _ => {}
        }
        let wanted = self.transit_gateway_default_route_table_propagation.known();
        match (wanted, &tables.propagation) {
            (Some(wanted), Some(table)) => set::<Propagation>(work, table, &id, *wanted).await,
            (Some(true), None) => Err(no_default("propagation").into()),
            _ => Ok(()),
        }
    }

    /// With what is true of the default route tables, for each setting that the configuration has.
    async fn with_tables(mut self, aws: &Aws) -> Result<Attachment, ApiError> {
        if !self.has_tables() || !self.is("available") {
            return Ok(self);
        }
        let Some(tables) = api::default_tables(aws, &self).await? else { return Ok(self) };
        let id = id(&self)?;
        if self.transit_gateway_default_route_table_association.is_known() {
            let associated = match &tables.association {
                Some(table) => exists::<Association>(aws, table, &id).await?,
                None => false,
            };
            self.transit_gateway_default_route_table_association = associated.into();
        }
        if self.transit_gateway_default_route_table_propagation.is_known() {
            let propagates = match &tables.propagation {
                Some(table) => exists::<Propagation>(aws, table, &id).await?,
                None => false,
            };
            self.transit_gateway_default_route_table_propagation = propagates.into();
        }
        Ok(self)
    }
}

fn id(attachment: &Attachment) -> Result<TransitGatewayAttachmentId, ApiError> {
    Some(attachment.object.id()?.to_owned())
        .parsed("DescribeTransitGatewayVpcAttachments", "TransitGatewayAttachmentId")
}

fn no_default(what: &str) -> Diagnostic {
    let attribute = format!("transit_gateway_default_route_table_{what}");
    Diagnostic::error(
        "No default route table",
        format!(
            "The transit gateway has no default {what} route table. Set `default_route_table_{what} = true` for the \
             transit gateway, or remove `{attribute}`."
        ),
    )
    .at(Path::of(&attribute))
}

async fn settled(work: &Work<'_>, planned: &Attachment) -> Result<Attachment, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("available", || async {
        let found = api::get(aws, planned).await?;
        // An attachment to a gateway of another account keeps this state until that account accepts it.
        let done = found.is("available") || found.is("pendingAcceptance");
        Ok(if done { Poll::Ready(found) } else { Poll::Pending(found.state.value()?.clone()) })
    })
    .await
}
