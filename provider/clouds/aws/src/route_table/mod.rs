//! `warren_aws_route_table`: a route table with all its routes and the subnets that use it.

mod api;
mod routes;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Context, Diagnostics, ImportRequest, Planned, Progress, Resource, async_trait};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::sets;
use crate::timeouts::Operation;
use crate::wait::Op;
use schema::RouteTable;

/// The resource type.
pub(crate) struct RouteTableResource {
    session: Session,
}

impl RouteTableResource {
    pub(crate) fn new(session: &Session) -> RouteTableResource {
        RouteTableResource { session: session.clone() }
    }

    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: RouteTable,
        progress: &Progress,
    ) -> Result<RouteTable, Diagnostics> {
        let id = planned.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;
        reconcile_routes(aws, op, &have, &planned).await?;
        reconcile_subnets(aws, op, &have, &planned).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, aws, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

/// What is missing or leads elsewhere comes before what goes: traffic is not cut while a destination changes from
/// one notation to another.
async fn reconcile_routes(
    aws: &Aws,
    op: &Op,
    have: &api::Found,
    want: &RouteTable,
) -> Result<(), Diagnostics> {
    let id = have.id.as_str();
    let want = routes::by_destination(want.routes.known().into_iter().flatten());
    for (destination, target) in &want {
        op.go_on()?;
        match have.routes.get(destination) {
            Some(route) if route.target.as_ref() == Some(target) && !route.blackhole => {}
            Some(_) => op.call(|| api::replace_route(aws, id, destination, target)).await?,
            None => op.call(|| api::create_route(aws, id, destination, target)).await?,
        }
    }
    for destination in have.routes.keys().filter(|destination| !want.contains_key(*destination)) {
        op.go_on()?;
        op.call(|| api::delete_route(aws, id, destination)).await?;
    }
    Ok(())
}

async fn reconcile_subnets(
    aws: &Aws,
    op: &Op,
    have: &api::Found,
    want: &RouteTable,
) -> Result<(), Diagnostics> {
    let id = have.id.as_str();
    let want = sets::known(&want.subnet_ids);
    for subnet in want.iter().filter(|subnet| !have.subnets.contains_key(*subnet)) {
        op.go_on()?;
        op.call(|| api::associate(aws, id, subnet)).await?;
    }
    for (subnet, association) in &have.subnets {
        if !want.contains(subnet) {
            op.go_on()?;
            op.call(|| api::disassociate(aws, association)).await?;
        }
    }
    Ok(())
}

#[async_trait]
impl Resource for RouteTableResource {
    type Model = RouteTable;

    basics!(RouteTable);

    async fn validate(&self, config: &RouteTable, diagnostics: &mut Diagnostics) {
        routes::check(config.routes.known().into_iter().flatten(), diagnostics);
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<RouteTable>, _diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &RouteTable, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<RouteTable>,
        progress: &Progress,
    ) -> Result<RouteTable, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let name = planned.name.text().to_owned();
        let tags = aws.tags(&name, &planned.tags);
        let find = || api::find(&aws, &name, planned.vpc_id.text());
        let create = || api::create(&aws, planned.vpc_id.text(), &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, ctx: &Context, state: RouteTable) -> Result<Option<RouteTable>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(RouteTable::KIND, state.name.text(), state.id.text());
        let op = state.op(ctx, Operation::Read);
        let found = op.within(async { Ok(api::look(&aws, state.id.text()).await?) }).await?;
        Ok(found.map(|found| schema::state(&self.session, &aws, found, &state)))
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: RouteTable,
        plan: Planned<RouteTable>,
        progress: &Progress,
    ) -> Result<RouteTable, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: RouteTable) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        let Some(found) = api::look(&aws, id).await? else { return Ok(()) };
        for association in found.subnets.values() {
            op.go_on()?;
            op.release(|| api::disassociate(&aws, association)).await?;
        }
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<RouteTable, Diagnostics> {
        common::import(&self.session, &request)
    }
}
