//! `warren_aws_vpc`: a VPC with its additional ranges, DNS attributes and default security group.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, Progress, Schema, async_trait};
use warren_cidr::Cloud;
use warren_guard::ClaimRole;

use crate::common::retag;
use crate::error::ApiError;
use crate::memory::PlannedVpc;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::Vpc;
use warren_managed::{Failure, Object, Poll, key, ranges, sets};

/// A live VPC in the form of a planned one.
pub(crate) async fn live(aws: &Aws, id: &str) -> Result<PlannedVpc, ApiError> {
    let (vpc, dns_support, dns_hostnames) = api::live(aws, id).await?;
    let ranges = std::iter::once(&vpc.cidr_block).chain(vpc.secondary.keys());
    Ok(PlannedVpc {
        ranges: ranges.filter_map(|range| range.parse().ok()).collect(),
        dns_support: dns_support.into(),
        dns_hostnames: dns_hostnames.into(),
    })
}

#[async_trait]
impl Object for Vpc {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        let path = Path::of("secondary_cidr_blocks");
        if let Some(primary) = ranges::known(&self.cidr_block) {
            for secondary in self.secondary_cidr_blocks.known().into_iter().flatten() {
                if let Some(secondary) = ranges::known(secondary) {
                    ranges::report(
                        Cloud::Aws,
                        Cloud::Aws.check_secondary(&primary, &secondary),
                        &path,
                        diagnostics,
                    );
                }
            }
        }
        let off = |attribute: &Attr<bool>| attribute == &Attr::Known(false);
        if off(&self.enable_dns_support) && !off(&self.enable_dns_hostnames) {
            diagnostics.error_at(
                Path::of("enable_dns_hostnames"),
                "DNS hostnames without DNS support",
                "DNS hostnames need DNS support, and `enable_dns_hostnames` defaults to `true`. With \
                 `enable_dns_support = false`, also set `enable_dns_hostnames = false`.",
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<Vpc>, diagnostics: &mut Diagnostics) {
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
        session.run().vpcs.put(planned.name.text(), id, memory);
        if let Ok(part) = schema::occupied(planned) {
            diagnostics.extend(session.guard().plan(part).await);
        }
    }

    /// Claims the ranges. A VPC that changes its name releases the claims under its old name.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&Vpc>,
        _config: &Vpc,
    ) -> Result<(), Diagnostics> {
        let guard = work.session.guard();
        guard.claim(&key(self)?, ClaimRole::Occupy, &schema::nets(self)).await?;
        match prior {
            Some(prior) if prior.name != self.name => guard.release(&key(prior)?).await,
            _ => Ok(()),
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        warren_managed::ensure(self, work, progress).await?;
        // From now on subnets refer to it by ID. Conflicts were reported when it was planned.
        let _told = work.session.guard().plan(schema::occupied(self)?).await;
        work.op
            .until("available", || async {
                let vpc = api::get(&work.cloud, self.id.text()).await?;
                Ok(if vpc.available { Poll::Ready(()) } else { Poll::Pending("pending".into()) })
            })
            .await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Vpc, Diagnostics> {
        bring(work, self).await?;
        let found = work.op.call(|| api::read(&work.cloud, self.id.text())).await?;
        Ok(schema::state(&work.cloud, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Vpc>, Diagnostics> {
        let found = ApiError::if_found(api::read(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await?;
        work.session.guard().release(&key(self)?).await
    }
}

/// Reconciles every setting with `want`. Settings that already match are not changed.
async fn bring(work: &Work<'_>, want: &Vpc) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let id = want.id.text();
    let have = op.call(|| api::get(aws, id)).await?;
    retag(work, want, &have.tags).await?;

    let secondary = sets::known(&want.secondary_cidr_blocks);
    for (range, association) in &have.secondary {
        if !secondary.contains(range) {
            op.check_cancelled()?;
            op.release(|| api::disassociate(aws, association)).await?;
        }
    }
    for range in secondary.iter().filter(|range| !have.secondary.contains_key(*range)) {
        op.check_cancelled()?;
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
        Ok(wrong.map_or(Poll::Ready(()), Poll::Pending))
    })
    .await?;

    // Hostnames need DNS support: enabled after it, disabled before it.
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
