//! `warren_aws_transit_gateway_attachment`: a VPC at a transit gateway.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Context, Diagnostics, ImportRequest, Planned, Progress, Resource, async_trait};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::sets;
use crate::timeouts::Operation;
use crate::wait::{Look, Op};
use schema::Attachment;

/// The resource type.
pub(crate) struct AttachmentResource {
    session: Session,
}

impl AttachmentResource {
    pub(crate) fn new(session: &Session) -> AttachmentResource {
        AttachmentResource { session: session.clone() }
    }

    /// Brings tags and settings to what is planned.
    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: Attachment,
        progress: &Progress,
    ) -> Result<Attachment, Diagnostics> {
        let id = planned.id.text();
        let have = settled(aws, op, id).await?;
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;
        let subnets = sets::known(&planned.subnet_ids);
        op.release(|| api::modify(aws, &have, schema::settings(&planned), &subnets)).await?;
        let found = settled(aws, op, id).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

async fn settled(aws: &Aws, op: &Op, id: &str) -> Result<api::Found, Diagnostics> {
    op.until("available", || async {
        let found = api::get(aws, id).await?;
        // An attachment to another account's gateway stays so until somebody there accepts it.
        let done = ["available", "pendingAcceptance"].contains(&found.state.as_str());
        Ok(if done { Look::Done(found) } else { Look::Pending(found.state) })
    })
    .await
}

#[async_trait]
impl Resource for AttachmentResource {
    type Model = Attachment;

    basics!(Attachment);

    async fn plan(&self, ctx: &Context, change: &mut Change<Attachment>, _diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &Attachment, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Attachment>,
        progress: &Progress,
    ) -> Result<Attachment, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let name = planned.name.text().to_owned();
        let tags = aws.tags(&name, &planned.tags);
        let find = || api::find(&aws, &planned);
        let create = || api::create(&aws, &planned, schema::settings(&planned), &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, _ctx: &Context, state: Attachment) -> Result<Option<Attachment>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(Attachment::KIND, state.name.text(), state.id.text());
        match api::get(&aws, state.id.text()).await {
            Ok(found) if found.state == "deleting" => Ok(None),
            Ok(found) => Ok(Some(schema::state(&self.session, found, &state))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: Attachment,
        plan: Planned<Attachment>,
        progress: &Progress,
    ) -> Result<Attachment, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: Attachment) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<Attachment, Diagnostics> {
        common::import(&self.session, &request)
    }
}
