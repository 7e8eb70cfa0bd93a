//! `warren_aws_internet_gateway`: the way from a VPC's public subnets to the internet.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Context, Diagnostics, ImportRequest, Planned, Progress, Resource, async_trait};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::timeouts::Operation;
use crate::wait::{Look, Op};
use schema::InternetGateway;

/// The resource type.
pub(crate) struct InternetGatewayResource {
    session: Session,
}

impl InternetGatewayResource {
    pub(crate) fn new(session: &Session) -> InternetGatewayResource {
        InternetGatewayResource { session: session.clone() }
    }

    /// Brings tags and attachment to what is planned.
    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: InternetGateway,
        progress: &Progress,
    ) -> Result<InternetGateway, Diagnostics> {
        let id = planned.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;
        let vpc = planned.vpc_id.text();
        if have.vpc_id.as_deref() != Some(vpc) {
            if let Some(other) = &have.vpc_id {
                op.release(|| api::detach(aws, id, other)).await?;
            }
            op.go_on()?;
            // The gateway that this one replaces may still be attached.
            op.release(|| api::attach(aws, id, vpc)).await?;
        }
        let found = op
            .until("attached", || async {
                let found = api::get(aws, id).await?;
                let attached = found.vpc_id.as_deref() == Some(vpc) && !found.changing;
                Ok(if attached { Look::Done(found) } else { Look::Pending("attaching".into()) })
            })
            .await?;
        let state = common::settle(&planned, &schema::state(&self.session, aws, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

#[async_trait]
impl Resource for InternetGatewayResource {
    type Model = InternetGateway;

    basics!(InternetGateway);

    async fn plan(
        &self,
        ctx: &Context,
        change: &mut Change<InternetGateway>,
        _diagnostics: &mut Diagnostics,
    ) {
        common::plan(&self.session, ctx, change);
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &InternetGateway, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<InternetGateway>,
        progress: &Progress,
    ) -> Result<InternetGateway, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let name = planned.name.text().to_owned();
        let tags = aws.tags(&name, &planned.tags);
        let find = || api::find(&aws, &name);
        let create = || api::create(&aws, &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(
        &self,
        ctx: &Context,
        state: InternetGateway,
    ) -> Result<Option<InternetGateway>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(InternetGateway::KIND, state.name.text(), state.id.text());
        let op = state.op(ctx, Operation::Read);
        let found = op.within(async { Ok(api::look(&aws, state.id.text()).await?) }).await?;
        Ok(found.map(|found| schema::state(&self.session, &aws, found, &state)))
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: InternetGateway,
        plan: Planned<InternetGateway>,
        progress: &Progress,
    ) -> Result<InternetGateway, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: InternetGateway) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        let Some(found) = api::look(&aws, id).await? else { return Ok(()) };
        if let Some(vpc) = &found.vpc_id {
            // Refused while public addresses are mapped through the gateway.
            op.release(|| api::detach(&aws, id, vpc)).await?;
        }
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<InternetGateway, Diagnostics> {
        common::import(&self.session, &request)
    }
}
