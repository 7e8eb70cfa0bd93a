//! `warren_aws_vpc`: a VPC with its further ranges, DNS attributes and default security group.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{
    Attr, Change, Context, Diagnostics, ImportRequest, Path, Planned, Progress, Resource, async_trait,
};
use warren_cidr::Cloud;
use warren_guard::ClaimRole;

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::error::ApiError;
use crate::memory::PlannedVpc;
use crate::ranges;
use crate::session::{Aws, Session};
use crate::sets;
use crate::timeouts::Operation;
use crate::wait::{Look, Op};
use schema::Vpc;

/// A live VPC as other resources see a planned one.
pub(crate) async fn live(aws: &Aws, id: &str) -> Result<PlannedVpc, ApiError> {
    let (vpc, dns_support, dns_hostnames) = api::live(aws, id).await?;
    let ranges = std::iter::once(&vpc.cidr_block).chain(vpc.secondary.keys());
    Ok(PlannedVpc {
        ranges: ranges.filter_map(|range| range.parse().ok()).collect(),
        dns_support: dns_support.into(),
        dns_hostnames: dns_hostnames.into(),
    })
}

/// The resource type.
pub(crate) struct VpcResource {
    session: Session,
}

impl VpcResource {
    pub(crate) fn new(session: &Session) -> VpcResource {
        VpcResource { session: session.clone() }
    }

    /// Brings every setting of the VPC `id` to what `want` says; what is right already is left alone.
    async fn reconcile(&self, aws: &Aws, op: &Op, id: &str, want: &Vpc) -> Result<(), Diagnostics> {
        let have = op.call(|| api::get(aws, id)).await?;
        let tags = aws.tags(want.name.text(), &want.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;

        let secondary = sets::known(&want.secondary_cidr_blocks);
        for (range, association) in &have.secondary {
            if !secondary.contains(range) {
                op.go_on()?;
                op.release(|| api::disassociate(aws, association)).await?;
            }
        }
        for range in secondary.iter().filter(|range| !have.secondary.contains_key(*range)) {
            op.go_on()?;
            op.call(|| api::associate(aws, id, range)).await?;
        }
        match (want.assign_generated_ipv6.is_true(), &have.ipv6) {
            (true, None) => op.call(|| api::associate_ipv6(aws, id)).await?,
            (false, Some((_, association))) => op.release(|| api::disassociate(aws, association)).await?,
            _ => {}
        }
        let ipv6 = want.assign_generated_ipv6.is_true();
        op.until("associated with its ranges", || async {
            let have = api::get(aws, id).await?;
            let wrong = have.refused.clone().or_else(|| {
                let same = have.secondary.len() == secondary.len()
                    && secondary.iter().all(|range| have.secondary.contains_key(range))
                    && have.ipv6.is_some() == ipv6
                    && !have.changing;
                (!same).then(|| "associating".to_owned())
            });
            Ok(wrong.map_or(Look::Done(()), Look::Pending))
        })
        .await?;

        // Hostnames need support: switched on after it, off before it.
        let (support, hostnames) = (want.enable_dns_support.is_true(), want.enable_dns_hostnames.is_true());
        if !hostnames {
            op.call(|| api::set_dns_hostnames(aws, id, false)).await?;
        }
        op.call(|| api::set_dns_support(aws, id, support)).await?;
        if hostnames {
            op.call(|| api::set_dns_hostnames(aws, id, true)).await?;
        }
        if want.lock_default_security_group.is_true() {
            op.call(|| api::lock_default_group(aws, id)).await?;
        }
        Ok(())
    }

    async fn look(&self, aws: &Aws, state: &Vpc) -> Result<Option<Vpc>, Diagnostics> {
        match api::read(aws, state.id.text()).await {
            Ok(found) => Ok(Some(schema::state(&self.session, found, state))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: Vpc,
        progress: &Progress,
    ) -> Result<Vpc, Diagnostics> {
        let id = planned.id.text().to_owned();
        self.reconcile(aws, op, &id, &planned).await?;
        let found = op.call(|| api::read(aws, &id)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

#[async_trait]
impl Resource for VpcResource {
    type Model = Vpc;

    basics!(Vpc);

    async fn validate(&self, config: &Vpc, diagnostics: &mut Diagnostics) {
        let path = Path::of("secondary_cidr_blocks");
        if let Some(primary) = ranges::known(&config.cidr_block) {
            for secondary in config.secondary_cidr_blocks.known().into_iter().flatten() {
                if let Some(secondary) = ranges::known(secondary) {
                    ranges::tell(Cloud::Aws.check_secondary(&primary, &secondary), &path, diagnostics);
                }
            }
        }
        let off = |attribute: &Attr<bool>| attribute == &Attr::Known(false);
        if off(&config.enable_dns_support) && !off(&config.enable_dns_hostnames) {
            diagnostics.error_at(
                Path::of("enable_dns_hostnames"),
                "DNS hostnames without DNS support",
                "`enable_dns_support = false` switches DNS off, so set `enable_dns_hostnames = false` too \
                 (it is true when not set).",
            );
        }
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<Vpc>, diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
        let planned = &mut change.planned;
        planned.ipv6_cidr_block = match (&change.prior, planned.assign_generated_ipv6.known()) {
            (_, Some(false)) => Attr::Null,
            (Some(prior), Some(true)) if prior.ipv6_cidr_block.is_known() => prior.ipv6_cidr_block.clone(),
            _ => Attr::Unknown,
        };
        if planned.name.is_unknown() {
            return;
        }
        let id = planned.id.known().map(String::as_str);
        let memory = PlannedVpc {
            ranges: schema::nets(planned),
            dns_support: planned.enable_dns_support,
            dns_hostnames: planned.enable_dns_hostnames,
        };
        self.session.run().vpcs.put(planned.name.text(), id, memory);
        diagnostics.extend(self.session.guard().plan(schema::occupied(planned)).await);
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &Vpc, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Vpc>,
        progress: &Progress,
    ) -> Result<Vpc, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let tags = aws.tags(planned.name.text(), &planned.tags);
        let guard = self.session.guard();
        guard.claim(&common::key(&planned), ClaimRole::Occupy, &schema::nets(&planned)).await?;
        let find = || api::find(&aws, &planned);
        let create = || api::create(&aws, &planned, &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        // From here on subnets name it by its id. What it conflicts with was told when it was planned.
        let _told = self.session.guard().plan(schema::occupied(&planned)).await;
        op.until("available", || async {
            let vpc = api::get(&aws, &id).await?;
            Ok(if vpc.available { Look::Done(()) } else { Look::Pending("pending".into()) })
        })
        .await?;
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, ctx: &Context, state: Vpc) -> Result<Option<Vpc>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(Vpc::KIND, state.name.text(), state.id.text());
        state.op(ctx, Operation::Read).within(self.look(&aws, &state)).await
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: Vpc,
        plan: Planned<Vpc>,
        progress: &Progress,
    ) -> Result<Vpc, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        let guard = self.session.guard();
        guard.claim(&common::key(&planned), ClaimRole::Occupy, &schema::nets(&planned)).await?;
        if prior.name != planned.name {
            guard.release(&common::key(&prior)).await?;
        }
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: Vpc) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await?;
        self.session.guard().release(&common::key(&state)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<Vpc, Diagnostics> {
        common::import(&self.session, &request)
    }
}
