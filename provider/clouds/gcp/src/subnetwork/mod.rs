//! `warren_gcp_subnetwork`: IPv4 ranges of a network in one region.

mod api;
mod model;
mod ranges;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Path, async_trait};
use warren_guard::ClaimRole;
use warren_managed::{Object, key};

use crate::account::Gcp;
use crate::common;
use crate::error::{ApiError, Failure as _};
use crate::memory::PlannedSubnetwork;
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::Subnetwork;

#[async_trait]
impl Object for Subnetwork {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        ranges::check(self, diagnostics);
    }

    async fn plan(session: &Session, change: &mut Change<Subnetwork>, diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            // A range can grow in place; any other change replaces the subnetwork.
            if !ranges::grows(prior, &change.planned) {
                change.requires_replace.push(Path::of("ip_cidr_range"));
            }
            // Google's client omits an empty list from a patch, which then changes nothing.
            if ranges::loses_secondary(prior, &change.planned) {
                change.requires_replace.push(Path::of("secondary_ip_ranges"));
            }
        }
        let planned = &change.planned;
        let Some(name) = planned.object.name.known() else { return };
        let id = planned.object.id.as_deref();
        if let Some(network) = planned.network.known() {
            let subnetwork = PlannedSubnetwork { network: network.id(), ranges: ranges::nets(planned) };
            session.run().subnetworks.put(id.unwrap_or(name), id, subnetwork);
        }
        match ranges::occupied(planned, change.prior.is_some(), session.known_of(planned).as_deref()) {
            Ok(resource) => diagnostics.extend(session.guard().plan(resource).await),
            Err(error) => diagnostics.extend(error.into()),
        }
    }

    /// Claims the ranges.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        _prior: Option<&Subnetwork>,
        _config: &Subnetwork,
    ) -> Result<(), Diagnostics> {
        common::has_region("region", &self.region)?;
        work.session
            .guard()
            .claim(&key(self, Some(&work.cloud))?, ClaimRole::Occupy, &ranges::nets(self))
            .await
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Subnetwork, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        landed(work, self).await?;
        carry_out(work, || api::expand(gcp, self)).await?;
        carry_out(work, || api::patch(gcp, self)).await?;
        carry_out(work, || api::set_private_access(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Subnetwork>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        // Addresses of VMs and forwarding rules linger for a while after their deletion.
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await?;
        work.session.guard().release(&key(self, Some(&work.cloud))?).await
    }
}
