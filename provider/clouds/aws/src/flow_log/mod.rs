//! `warren_aws_flow_log`: a log of the flows of a VPC, subnet or transit gateway.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{
    Change, Context, Diagnostic, Diagnostics, ImportRequest, Planned, Progress, Resource, async_trait,
};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::timeouts::Operation;
use crate::wait::Op;
use schema::FlowLog;

/// The resource type.
pub(crate) struct FlowLogResource {
    session: Session,
}

impl FlowLogResource {
    pub(crate) fn new(session: &Session) -> FlowLogResource {
        FlowLogResource { session: session.clone() }
    }

    /// Brings tags and settings to what is planned.
    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: FlowLog,
        progress: &Progress,
    ) -> Result<FlowLog, Diagnostics> {
        let id = planned.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        if let Some(error) = &found.error {
            tracing::warn!(id, error, "AWS cannot deliver this flow log yet");
        }
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

#[async_trait]
impl Resource for FlowLogResource {
    type Model = FlowLog;

    basics!(FlowLog);

    async fn validate(&self, config: &FlowLog, diagnostics: &mut Diagnostics) {
        schema::check(config, diagnostics);
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<FlowLog>, _diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &FlowLog, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<FlowLog>,
        progress: &Progress,
    ) -> Result<FlowLog, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let name = planned.name.text().to_owned();
        let tags = aws.tags(&name, &planned.tags);
        let Some(target) = schema::target(&planned) else {
            return Err(
                Diagnostic::error("Nothing to log", "The id of what is to be logged is empty.").into()
            );
        };
        let find = || api::find(&aws, &planned, &target);
        let create = || api::create(&aws, &planned, &target, &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, _ctx: &Context, state: FlowLog) -> Result<Option<FlowLog>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(FlowLog::KIND, state.name.text(), state.id.text());
        match api::get(&aws, state.id.text()).await {
            Ok(found) => Ok(Some(schema::state(&self.session, found, &state))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: FlowLog,
        plan: Planned<FlowLog>,
        progress: &Progress,
    ) -> Result<FlowLog, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: FlowLog) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        op.call(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<FlowLog, Diagnostics> {
        common::import(&self.session, &request)
    }
}
