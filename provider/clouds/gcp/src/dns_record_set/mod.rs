//! `warren_gcp_dns_record_set`: the records of one name and type in a zone.
//!
//! Cloud DNS stores neither a description nor labels for a record set. A create adopts an existing one only if it has
//! the planned contents.

mod api;
mod check;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, async_trait};
use warren_managed::Object;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::session::{Session, Work};
pub(crate) use model::RecordSet;

#[async_trait]
impl Object for RecordSet {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check::records(self, diagnostics);
    }

    async fn plan(session: &Session, change: &mut Change<RecordSet>, diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        let (Some(zone), Some(name)) = (planned.zone.known(), planned.object.name.known()) else { return };
        if let Some(planned_zone) = session.run().zones.by_id(&zone.id()) {
            check::in_zone(name, &planned_zone, diagnostics);
        }
        if planned.object.id.is_unknown()
            && let Some(r#type) = planned.r#type.known()
        {
            planned.object.id = model::id(zone, name, *r#type).into();
        }
    }

    fn import(_session: &Session, id: &str) -> Result<RecordSet, Diagnostics> {
        model::imported(id)
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RecordSet, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        op.call(|| api::update(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RecordSet>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        op.delete(|| api::delete(gcp, self), || api::get(gcp, self)).await
    }
}
