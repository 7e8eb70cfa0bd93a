//! `warren_gcp_network_peering`: one side of a peering, which is active once the other network has its side too.
//!
//! In Google's API, a peering is part of its network and has neither a description nor labels. A create adopts an
//! existing peering with the planned name to the planned network.

mod api;
mod model;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::{Change, Diagnostics, Path, Progress, async_trait};
use warren_cidr::Cloud;
use warren_managed::{Object, ranges};

use crate::account::{Gcp, Turn};
use crate::error::{ApiError, Failure as _};
use crate::link::{NetworkRef, Reference as _};
use crate::live::subnetworks;
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::NetworkPeering;

#[async_trait]
impl Object for NetworkPeering {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if let (Some(network), Some(peer)) = (self.network.known(), self.peer_network.known())
            && network.link() == peer.link()
        {
            diagnostics.error_at(
                Path::of("peer_network"),
                "Network peered with itself",
                format!(
                    "`network` and `peer_network` are both {}. Set `peer_network` to another network.",
                    network.id()
                ),
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<NetworkPeering>, diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if planned.object.id.is_unknown()
            && let (Some(network), Some(name)) = (planned.network.known(), planned.object.name.known())
        {
            planned.object.id = model::id(network, name).into();
        }
        if change.prior.is_none() {
            disjoint(session, planned, diagnostics).await;
        }
    }

    fn import(_session: &Session, id: &str) -> Result<NetworkPeering, Diagnostics> {
        model::imported(id)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    /// A create has its turn until it is done.
    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let _turn = self.turn(work).await?;
        warren_managed::ensure(self, work, progress).await?;
        landed(work, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<NetworkPeering, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let _turn = self.turn(work).await?;
        carry_out(work, || api::update(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<NetworkPeering>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let _turn = self.turn(work).await?;
        remove(work, || api::delete(gcp, self), || api::get(gcp, self)).await
    }
}

impl NetworkPeering {
    /// The turn to change the peerings of both networks.
    async fn turn(&self, work: &Work<'_>) -> Result<Turn, Diagnostics> {
        let networks = [self.network.value()?.id(), self.peer_network.value()?.id()];
        work.op.turn(work.cloud.turn(networks)).await
    }
}

/// Rejects networks whose planned or live subnetworks overlap.
async fn disjoint(session: &Session, planned: &NetworkPeering, diagnostics: &mut Diagnostics) {
    let (Some(network), Some(peer)) = (planned.network.known(), planned.peer_network.known()) else { return };
    let mut sides = Vec::new();
    for side in [network, peer] {
        let mut nets = in_run(session, side);
        // A network that cannot be read (in another project, or not created yet) is not compared.
        if let Some(gcp) = session.known()
            && let Ok(found) = subnetworks::list(&gcp, &side.link().project, Some(&side.id())).await
        {
            nets.extend(found.iter().flat_map(subnetworks::nets));
        }
        nets.sort_unstable();
        nets.dedup();
        sides.push(nets);
    }
    let findings = Cloud::Gcp.check_peering(&sides[0], &sides[1]);
    ranges::report(Cloud::Gcp, findings, &Path::of("peer_network"), diagnostics);
}

fn in_run(session: &Session, network: &NetworkRef) -> Vec<IpNet> {
    let all = session.run().subnetworks.all();
    let its = all.into_iter().filter(|(_, subnet)| subnet.network == network.id());
    its.flat_map(|(_, subnet)| subnet.ranges).collect()
}
