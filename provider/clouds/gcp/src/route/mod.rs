//! `warren_gcp_route`: a static route of a network.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Path, Progress, async_trait};
use warren_managed::Object;

use crate::account::{Gcp, Turn};
use crate::error::{ApiError, Failure as _};
use crate::operation::{landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::Route;

#[async_trait]
impl Object for Route {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    /// A create has its turn until it is done.
    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let _turn = self.turn(work).await?;
        warren_managed::ensure(self, work, progress).await?;
        landed(work, self).await
    }

    /// A route cannot be changed.
    async fn reconcile(&self, work: &Work<'_>) -> Result<Route, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Route>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        let _turn = self.turn(work).await?;
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}

impl Route {
    /// The turn to change the routes of the network, which peers exchange.
    async fn turn(&self, work: &Work<'_>) -> Result<Turn, Diagnostics> {
        let network = self.network.value()?.id();
        work.op.turn(work.cloud.turn([network])).await
    }
}

/// Reports a route without exactly one next hop.
fn check(route: &Route, diagnostics: &mut Diagnostics) {
    let Route {
        next_hop_gateway: gateway, next_hop_ip: ip, next_hop_instance: vm, next_hop_ilb: ilb, ..
    } = route;
    let known = [gateway.is_known(), ip.is_known(), vm.is_known(), ilb.is_known()];
    let unknown = [gateway.is_unknown(), ip.is_unknown(), vm.is_unknown(), ilb.is_unknown()];
    let known = known.into_iter().filter(|known| *known).count();
    if known > 1 || (known == 0 && !unknown.contains(&true)) {
        diagnostics.error_at(
            Path::of("next_hop_gateway"),
            "Exactly one next hop required",
            "Set exactly one of `next_hop_gateway`, `next_hop_ip`, `next_hop_instance` and `next_hop_ilb`.",
        );
    }
}
