//! `warren_aws_route53_zone`: a private hosted zone.

pub(crate) mod api;
mod model;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, Progress, async_trait};
use warren_managed::{Common as _, Failure, Object};

use crate::error::ApiError;
use crate::ids::VpcId;
use crate::memory::PlannedZone;
use crate::route53::{Place, adopt_or_begin, conclude, covers, in_sync, same_name};
use crate::session::{Aws, Session, Work};
use crate::tags::{self, Tags};
pub(crate) use model::Zone;
use model::{Leaving, places};

#[async_trait]
impl Object for Zone {
    async fn plan(session: &Session, change: &mut Change<Zone>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior
            && let (Some(before), Some(after)) =
                (prior.domain_name.known(), change.planned.domain_name.known())
            && same_name(before, after)
        {
            change.requires_replace.retain(|path| path != &Path::of("domain_name"));
        }
        let planned = &change.planned;
        if let (Ok(name), Some(domain)) = (planned.object.name(), planned.domain_name.known()) {
            let vpcs = planned.vpcs.known().into_iter().flatten().map(|vpc| vpc.vpc_id.clone()).collect();
            let memory = PlannedZone { domain: domain.clone(), vpcs };
            session.run().zones.put(name, planned.object.id().ok(), memory);
        }
    }

    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&Zone>,
        _config: &Zone,
    ) -> Result<(), Diagnostics> {
        let aws = &work.cloud;
        if places(aws, &self.vpcs).is_empty() {
            return Err(Diagnostic::error(
                "No VPC for the zone",
                "A private zone needs at least one VPC. Add one to `vpcs`.",
            )
            .at(Path::of("vpcs"))
            .into());
        }
        if let Some(prior) = prior {
            let (vpcs, authorized) = (places(aws, &self.vpcs), places(aws, &self.authorized_vpcs));
            self.leaving = Leaving {
                vpcs: places(aws, &prior.vpcs).difference(&vpcs).cloned().collect(),
                authorized: places(aws, &prior.authorized_vpcs).difference(&authorized).cloned().collect(),
            };
        }
        Ok(())
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, _tags: &Tags) -> Result<String, ApiError> {
        create(self, aws).await.map(|(id, _)| id)
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let begun = adopt_or_begin(work, self, || create(self, &work.cloud)).await?;
        conclude(self, work, progress, begun).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Zone, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let have = op.call(|| api::get(aws, self)).await?;
        let (have_tags, want_tags) = (tags::known(&have.state.object.tags_all), self.marks(aws)?);
        op.call(|| api::retag(aws, id, &have_tags, &want_tags)).await?;
        if have.state.comment != self.comment {
            let comment = self.comment.value()?;
            op.call(|| api::set_comment(aws, id, comment)).await?;
        }
        // A zone keeps at least one VPC, so new ones come first.
        for vpc in places(aws, &self.vpcs).difference(&have.vpcs) {
            op.check_cancelled()?;
            join(work, id, vpc).await?;
        }
        for vpc in self.leaving.vpcs.intersection(&have.vpcs) {
            op.check_cancelled()?;
            let change = op.call(|| api::disassociate(aws, id, vpc)).await?;
            in_sync(work, change).await?;
        }
        for vpc in places(aws, &self.authorized_vpcs).difference(&have.authorized) {
            op.check_cancelled()?;
            op.call(|| api::authorize(aws, id, vpc)).await?;
        }
        for vpc in self.leaving.authorized.intersection(&have.authorized) {
            op.check_cancelled()?;
            op.call(|| api::revoke(aws, id, vpc)).await?;
        }
        op.call(|| api::get(aws, self)).await.map(|found| found.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Zone>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        if self.force_destroy.is_true() {
            let domain = self.domain_name.value()?;
            while let Some(change) = ApiError::if_found(api::clear(aws, id, domain).await)
                .map_err(|error| op.explain(error))?
                .flatten()
            {
                op.check_cancelled()?;
                in_sync(work, change).await?;
            }
        }
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

/// Associates a VPC, and waits for the change.
async fn join(work: &Work<'_>, id: &str, vpc: &Place) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let begun = Mutex::new(None);
    let done = || async { Ok(api::vpcs(aws, id).await?.contains(vpc)) };
    let put = || async {
        let change = api::associate(aws, id, vpc).await?;
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = change;
        Ok(())
    };
    op.settle("associated", done, put).await?;
    in_sync(work, begun.into_inner().unwrap_or_else(PoisonError::into_inner)).await
}

async fn create(zone: &Zone, aws: &Aws) -> Result<(String, Option<String>), ApiError> {
    let vpcs = places(aws, &zone.vpcs);
    let first = vpcs.first().ok_or_else(|| ApiError::unsent("CreateHostedZone", &NoVpc))?;
    api::create(aws, zone, first).await
}

/// A private zone needs a VPC.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the zone has no VPC: add one to `vpcs`")]
struct NoVpc;

/// Whether this run plans a zone that answers for `names` in the VPC; an unknown VPC counts as this one.
pub(crate) fn answers(zones: &[PlannedZone], vpc: &Attr<VpcId>, name: &str) -> bool {
    zones.iter().any(|zone| {
        covers(&zone.domain, name)
            && zone.vpcs.iter().any(|other| !other.is_known() || !vpc.is_known() || other == vpc)
    })
}
