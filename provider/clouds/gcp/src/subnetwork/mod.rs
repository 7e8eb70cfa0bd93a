//! `warren_gcp_subnetwork`: IPv4 ranges of a network in one region.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Path, Schema, async_trait};
use warren_guard::ClaimRole;
use warren_managed::{Object, key};

use crate::common;
use crate::error::{ApiError, Failure};
use crate::memory::PlannedSubnetwork;
use crate::operation::{carry_out, landed, remove};
use crate::session::{Gcp, Session, Work};
pub(crate) use schema::Subnetwork;

#[async_trait]
impl Object for Subnetwork {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        schema::check(self, diagnostics);
    }

    async fn plan(session: &Session, change: &mut Change<Subnetwork>, diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            // A range can grow in place; any other change replaces the subnetwork.
            if !schema::grows(prior, &change.planned) {
                change.requires_replace.push(Path::of("ip_cidr_range"));
            }
            // Google's client omits an empty list from a patch, which then changes nothing.
            if schema::loses_secondary(prior, &change.planned) {
                change.requires_replace.push(Path::of("secondary_ip_ranges"));
            }
        }
        let planned = &change.planned;
        if planned.name.is_unknown() {
            return;
        }
        let id = planned.id.known().map(String::as_str);
        if let Some(network) = planned.network.known() {
            let planned_ranges =
                PlannedSubnetwork { network: crate::link::id(network), ranges: schema::nets(planned) };
            session.run().subnetworks.put(id.unwrap_or(planned.name.text()), id, planned_ranges);
        }
        if let Ok(part) = schema::occupied(planned) {
            diagnostics.extend(session.guard().plan(part).await);
        }
    }

    /// Claims the ranges.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        _prior: Option<&Subnetwork>,
        _config: &Subnetwork,
    ) -> Result<(), Diagnostics> {
        common::has_region(&self.region)?;
        work.session.guard().claim(&key(self)?, ClaimRole::Occupy, &schema::nets(self)).await
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Subnetwork, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        carry_out(work, || api::expand(gcp, id, self)).await?;
        carry_out(work, || api::patch(gcp, id, self)).await?;
        carry_out(work, || api::set_private_access(gcp, id, self)).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Subnetwork>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        // Addresses of VMs and forwarding rules linger for a while after their deletion.
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await?;
        work.session.guard().release(&key(self)?).await
    }
}
