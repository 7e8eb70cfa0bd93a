//! `warren_gcp_dns_zone`: a private zone of Cloud DNS.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Path, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::memory::PlannedZone;
use crate::operation::carry_out;
use crate::session::{Session, Work};
pub(crate) use model::{Type, Zone};

#[async_trait]
impl Object for Zone {
    const ELSEWHERE: &'static [&'static str] = &["networks", "peering_network"];

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if self.forwarding_targets.is_known() && self.peering_network.is_known() {
            diagnostics.error_at(
                Path::of("peering_network"),
                "Zone with forwarding and peering",
                "A zone either forwards queries to `forwarding_targets`, or has `peering_network` resolve them. \
                 Remove one of the two.",
            );
        }
        if self.forwarding_targets.known().is_some_and(|targets| targets.is_empty()) {
            diagnostics.error_at(
                Path::of("forwarding_targets"),
                "Forwarding zone without a name server",
                "The set is empty. Add a name server, or omit the attribute for a zone with records.",
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<Zone>, _diagnostics: &mut Diagnostics) {
        let planned = &change.planned;
        if let (Some(id), Some(dns_name)) = (planned.object.id.as_deref(), planned.dns_name.known()) {
            let zone = PlannedZone { dns_name: dns_name.clone(), r#type: planned.r#type() };
            session.run().zones.put(id, Some(id), zone);
        }
        if let Some(prior) = &change.prior
            && let (Some(before), Some(now)) = (prior.r#type(), planned.r#type())
            && before != now
        {
            let from = |changes| [before, now].contains(&changes);
            if from(Type::Forwarding) {
                change.requires_replace.push(Path::of("forwarding_targets"));
            }
            if from(Type::Peering) {
                change.requires_replace.push(Path::of("peering_network"));
            }
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Zone, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        carry_out(work, || api::update(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Zone>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.object.id()?;
        op.delete(|| api::delete(gcp, id), || api::get(gcp, self)).await
    }
}
