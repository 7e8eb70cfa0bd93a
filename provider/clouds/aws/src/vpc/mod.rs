//! `warren_aws_vpc`: a VPC with its additional ranges, DNS attributes and default security group.

mod api;
mod model;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::{Attr, Change, Diagnostics, NotKnown, Path, Progress, async_trait};
use warren_cidr::{Cloud, Family};
use warren_guard::{ClaimRole, PlannedResource, Role};
use warren_managed::{Common as _, Failure, Object, Poll, key, ranges, sets};

use crate::error::ApiError;
use crate::memory::PlannedVpc;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
use api::Described;
pub(crate) use model::Vpc;

/// A live VPC in the form of a planned one.
pub(crate) async fn live(aws: &Aws, id: &str) -> Result<PlannedVpc, ApiError> {
    let (vpc, dns_support, dns_hostnames) = api::live(aws, id).await?;
    let ranges = std::iter::once(vpc.cidr_block).chain(vpc.secondary.into_keys());
    Ok(PlannedVpc {
        ranges: ranges.map(IpNet::V4).collect(),
        dns_support: dns_support.into(),
        dns_hostnames: dns_hostnames.into(),
    })
}

#[async_trait]
impl Object for Vpc {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        let path = Path::of("secondary_cidr_blocks");
        if let Attr::Known(primary) = self.cidr_block {
            for secondary in sets::known(&self.secondary_cidr_blocks) {
                let findings = Cloud::Aws.check_secondary(&primary.into(), &secondary.into());
                ranges::report(Cloud::Aws, findings, &path, diagnostics);
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
            (Some(prior), Some(true)) if prior.ipv6_cidr_block.is_known() => prior.ipv6_cidr_block,
            _ => Attr::Unknown,
        };
        let aws = session.located(&*planned).await;
        let (Ok(name), Ok(occupied)) = (planned.object.name(), occupied(planned, aws.as_deref())) else {
            return;
        };
        let memory = PlannedVpc {
            ranges: nets(planned),
            dns_support: planned.enable_dns_support,
            dns_hostnames: planned.enable_dns_hostnames,
        };
        session.run().vpcs.put(&planned.local(name), planned.id().as_deref(), memory);
        diagnostics.extend(session.guard().plan(occupied).await);
    }

    /// Claims the ranges. A VPC that changes its name releases the claims under its old name.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&Vpc>,
        _config: &Vpc,
    ) -> Result<(), Diagnostics> {
        let guard = work.session.guard();
        guard.claim(&key(self, Some(&work.cloud))?, ClaimRole::Occupy, &nets(self)).await?;
        match prior {
            Some(prior) if prior.name() != self.name() => {
                guard.release(&key(prior, Some(&work.cloud))?).await
            }
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
        let _told = work.session.guard().plan(occupied(self, Some(&work.cloud))?).await;
        Ok(())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Vpc, Diagnostics> {
        self.apply_settings(work).await?;
        // Reads are stale for some time after a change ("Eventual consistency" in the EC2 API reference).
        work.op
            .until("available with its settings", || async {
                let found = api::read(&work.cloud, self).await?;
                let settings = |vpc: &Vpc| {
                    (vpc.enable_dns_support, vpc.enable_dns_hostnames, vpc.lock_default_security_group)
                };
                let same = settings(&found) == settings(self);
                Ok(if same {
                    Poll::Ready(found)
                } else {
                    Poll::Pending("the settings before the change".into())
                })
            })
            .await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Vpc>, Diagnostics> {
        Ok(ApiError::if_found(api::read(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await?;
        work.session.guard().release(&key(self, Some(&work.cloud))?).await
    }
}

impl Vpc {
    /// Changes the settings that differ from the plan.
    async fn apply_settings(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let have = op
            .until("available", || async {
                let vpc = api::get(aws, id).await?;
                Ok(if vpc.available { Poll::Ready(vpc) } else { Poll::Pending("pending".into()) })
            })
            .await?;
        self.object.retag(work, &self.object.found(aws, id, &have.tags)).await?;
        if self.differs(&have).is_some() {
            self.apply_ranges(work, &have).await?;
        }

        // Hostnames need DNS support: enabled after it, disabled before it.
        let (support, hostnames) = (self.enable_dns_support.is_true(), self.enable_dns_hostnames.is_true());
        if !hostnames {
            op.call(|| api::set_dns_hostnames(aws, id, false)).await?;
        }
        op.call(|| api::set_dns_support(aws, id, support)).await?;
        if hostnames {
            op.call(|| api::set_dns_hostnames(aws, id, true)).await?;
        }
        if self.lock_default_security_group.is_true() {
            op.call(|| api::lock_default_group(aws, id)).await?;
        }
        Ok(())
    }

    /// Associates and disassociates ranges until `have` has those of the plan.
    async fn apply_ranges(&self, work: &Work<'_>, have: &Described) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let secondary = sets::known(&self.secondary_cidr_blocks);
        for (range, association) in &have.secondary {
            if !secondary.contains(range) {
                op.check_cancelled()?;
                op.release(|| api::disassociate(aws, association)).await?;
            }
        }
        for range in secondary.iter().filter(|range| !have.secondary.contains_key(*range)) {
            op.check_cancelled()?;
            op.call(|| api::associate(aws, id, *range)).await?;
        }
        match (self.assign_generated_ipv6.is_true(), &have.ipv6) {
            (true, None) => op.call(|| api::associate_ipv6(aws, id)).await?,
            (false, Some((_, association))) => op.release(|| api::disassociate(aws, association)).await?,
            _ => {}
        }
        op.until("associated with its ranges", || async {
            let have = api::get(aws, id).await?;
            Ok(self.differs(&have).map_or(Poll::Ready(()), Poll::Pending))
        })
        .await
    }

    /// What of the ranges is not as planned.
    fn differs(&self, have: &Described) -> Option<String> {
        have.refused.clone().or_else(|| {
            let same = have.secondary.keys().eq(&sets::known(&self.secondary_cidr_blocks))
                && have.ipv6.is_some() == self.assign_generated_ipv6.is_true()
                && !have.changing;
            (!same).then(|| "associating".to_owned())
        })
    }
}

/// The known IPv4 ranges.
fn nets(vpc: &Vpc) -> Vec<IpNet> {
    let secondary = sets::known(&vpc.secondary_cidr_blocks);
    vpc.cidr_block.known().copied().into_iter().chain(secondary).map(IpNet::V4).collect()
}

/// The ranges of the VPC for the guard.
fn occupied(vpc: &Vpc, aws: Option<&Aws>) -> Result<PlannedResource, NotKnown> {
    let secondary: Vec<Attr<IpNet>> = match &vpc.secondary_cidr_blocks {
        Attr::Unknown => vec![Attr::Unknown],
        secondary => secondary.known().into_iter().flatten().map(ranges::net).collect(),
    };
    let ranges = std::iter::once((ranges::net(&vpc.cidr_block), "cidr_block", Family::V4))
        .chain(secondary.into_iter().map(|range| (range, "secondary_cidr_blocks", Family::V4)))
        .chain(std::iter::once((ranges::net(&vpc.ipv6_cidr_block), "ipv6_cidr_block", Family::V6)));
    let resource = PlannedResource::new(key(vpc, aws)?).id(vpc.id().as_deref());
    Ok(ranges.fold(resource, |resource, (range, name, family)| match range {
        Attr::Unknown => resource.unknown(family),
        Attr::Known(net) => resource.range(net, Path::of(name), Role::Occupy),
        Attr::Null => resource,
    }))
}
