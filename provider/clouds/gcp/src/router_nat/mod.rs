//! `warren_gcp_router_nat`: a Cloud Router with one Cloud NAT gateway, for VMs without an external IP address.
//!
//! In Google's API a NAT gateway is part of its router, so the resource creates, changes and deletes one object.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Path, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::common;
use crate::error::{ApiError, Failure as _};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::RouterNat;

#[async_trait]
impl Object for RouterNat {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&RouterNat>,
        _config: &RouterNat,
    ) -> Result<(), Diagnostics> {
        common::has_region("region", &self.region)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RouterNat, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        landed(work, self).await?;
        carry_out(work, || api::patch(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RouterNat>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}

/// Reports values that Google rejects.
fn check(nat: &RouterNat, diagnostics: &mut Diagnostics) {
    let power = |ports: &i32| u32::try_from(*ports).is_ok_and(u32::is_power_of_two);
    let Some(most) = nat.max_ports_per_vm.known() else { return };
    if !power(most) {
        diagnostics.error_at(
            Path::of("max_ports_per_vm"),
            "Port count not a power of 2",
            format!("`max_ports_per_vm` must be a power of 2, but is {most}."),
        );
    }
    let least = nat.min_ports_per_vm.known().copied().unwrap_or(64);
    if !nat.min_ports_per_vm.is_unknown() && (least >= *most || least < 32 || !power(&least)) {
        diagnostics.error_at(
            Path::of("min_ports_per_vm"),
            "Invalid minimum number of ports",
            format!(
                "With `max_ports_per_vm` set, `min_ports_per_vm` must be a power of 2, at least 32 and less than \
                 {most}, but is {least}."
            ),
        );
    }
}
