//! `warren_aws_subnet`: a subnet with its IPv6 range and the settings of new interfaces.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{
    Change, Context, Diagnostics, ImportRequest, Path, Planned, Progress, Resource, async_trait,
};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::timeouts::Operation;
use crate::wait::{Look, Op};
use schema::Subnet;

/// The resource type.
pub(crate) struct SubnetResource {
    session: Session,
}

impl SubnetResource {
    pub(crate) fn new(session: &Session) -> SubnetResource {
        SubnetResource { session: session.clone() }
    }

    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: Subnet,
        progress: &Progress,
    ) -> Result<Subnet, Diagnostics> {
        let id = planned.id.text().to_owned();
        let found = op
            .until("available", || async {
                let subnet = api::get(aws, &id).await?;
                Ok(if subnet.available { Look::Done(subnet) } else { Look::Pending("pending".into()) })
            })
            .await?;
        reconcile(aws, op, &found, &planned).await?;
        let found = op.call(|| api::get(aws, &id)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

/// Brings every setting to what `want` says.
async fn reconcile(aws: &Aws, op: &Op, have: &api::Found, want: &Subnet) -> Result<(), Diagnostics> {
    let id = have.id.as_str();
    let tags = aws.tags(want.name.text(), &want.tags);
    op.call(|| aws.retag(id, &have.tags, &tags)).await?;

    let public = want.map_public_ip_on_launch.is_true();
    if have.map_public_ip != public {
        op.call(|| api::set_map_public_ip(aws, id, public)).await?;
    }
    // Addresses can be assigned only while there is a range: switched off before it goes, on after it came.
    let assign = want.assign_ipv6_on_creation.is_true();
    if have.assign_ipv6 && !assign {
        op.call(|| api::set_assign_ipv6(aws, id, false)).await?;
    }
    let range = want.ipv6_cidr_block.known();
    if have.ipv6.as_ref().map(|(range, _)| range) != range {
        if let Some((_, association)) = &have.ipv6 {
            op.release(|| api::disassociate(aws, association)).await?;
        }
        if let Some(range) = range {
            op.call(|| api::associate(aws, id, range)).await?;
        }
        op.until("associated with its IPv6 range", || async {
            let have = api::get(aws, id).await?;
            let same = have.ipv6.as_ref().map(|(range, _)| range) == range && !have.changing;
            Ok(if same { Look::Done(()) } else { Look::Pending("associating".into()) })
        })
        .await?;
    }
    if assign && !have.assign_ipv6 {
        op.call(|| api::set_assign_ipv6(aws, id, true)).await?;
    }
    Ok(())
}

#[async_trait]
impl Resource for SubnetResource {
    type Model = Subnet;

    basics!(Subnet);

    async fn validate(&self, config: &Subnet, diagnostics: &mut Diagnostics) {
        if config.assign_ipv6_on_creation.is_true() && config.ipv6_cidr_block.is_null() {
            diagnostics.error_at(
                Path::of("assign_ipv6_on_creation"),
                "IPv6 addresses without an IPv6 range",
                "`assign_ipv6_on_creation` needs `ipv6_cidr_block`, a /64 of the VPC's range.",
            );
        }
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<Subnet>, diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
        let planned = &change.planned;
        if !planned.name.is_unknown() {
            diagnostics.extend(self.session.guard().plan(schema::part(planned)).await);
        }
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &Subnet, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Subnet>,
        progress: &Progress,
    ) -> Result<Subnet, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let tags = aws.tags(planned.name.text(), &planned.tags);
        let find = || api::find(&aws, &planned);
        let create = || api::create(&aws, &planned, &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, ctx: &Context, state: Subnet) -> Result<Option<Subnet>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(Subnet::KIND, state.name.text(), state.id.text());
        let op = state.op(ctx, Operation::Read);
        let found = op.within(async { Ok(api::look(&aws, state.id.text()).await?) }).await?;
        Ok(found.map(|found| schema::state(&self.session, found, &state)))
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: Subnet,
        plan: Planned<Subnet>,
        progress: &Progress,
    ) -> Result<Subnet, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: Subnet) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        // Network interfaces of deleted endpoints and load balancers linger for minutes.
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<Subnet, Diagnostics> {
        common::import(&self.session, &request)
    }
}
