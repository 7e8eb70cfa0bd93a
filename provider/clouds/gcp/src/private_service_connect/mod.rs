//! `warren_gcp_private_service_connect`: an address in a network at which Google APIs are reachable.
//!
//! It consists of two objects with the same name: the address, and the forwarding rule from it to the APIs.
//!
//! ```text
//! reserve address -> create rule -> delete rule -> release address
//! ```
//!
//! An address whose rule is gone stays in state as `INCOMPLETE`; the next apply creates the rule again.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Progress, Schema, async_trait};
use warren_guard::ClaimRole;
use warren_managed::{Object, adopt, key};

use crate::error::{ApiError, Failure};
use crate::operation::{landed, remove};
use crate::session::{Gcp, Session, Work};
pub(crate) use schema::Endpoint;

#[async_trait]
impl Object for Endpoint {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn plan(session: &Session, change: &mut Change<Endpoint>, diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if let Some(prior) = &change.prior
            && prior.state.text() != schema::ACTIVE
        {
            planned.state = Attr::Unknown;
        }
        if let Some(name) = planned.name.known() {
            planned.dns_suffix = schema::dns_suffix(name, &planned.automate_dns);
        }
        if planned.id.is_known()
            && let Some(gcp) = session.known()
        {
            planned.address_id = api::address_id(&gcp, planned).into();
        }
        if !planned.name.is_unknown() {
            if let Ok(part) = schema::occupied(planned) {
                diagnostics.extend(session.guard().plan(part).await);
            }
        }
    }

    /// Claims the address.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        _prior: Option<&Endpoint>,
        _config: &Endpoint,
    ) -> Result<(), Diagnostics> {
        let nets: Vec<_> = schema::net(&self.address).into_iter().collect();
        work.session.guard().claim(&key(self)?, ClaimRole::Occupy, &nets).await
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    /// Creates the address before the rule.
    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let find = || api::find_address(gcp, self);
        let create = || api::create_address(gcp, self);
        let address = adopt::ensure(work, &*self, find, create).await?;
        landed(work, &address).await?;
        self.address_id = address.into();
        progress.save(self);
        warren_managed::ensure(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Endpoint, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        if ApiError::if_found(api::get(gcp, id).await)?.is_none() {
            use crate::common::Common as _;
            let description = self.marks(gcp)?;
            let find = || api::find(gcp, self);
            let create = || api::create(gcp, self, &description);
            adopt::ensure(work, self, find, create).await?;
        }
        landed(work, id).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Endpoint>, Diagnostics> {
        let gcp = &work.cloud;
        if let Some(found) = ApiError::if_found(api::get(gcp, self.id.text()).await)? {
            return Ok(Some(schema::state(found, self)));
        }
        let address = ApiError::if_found(api::get_address(gcp, self.address_id.text()).await)?;
        Ok(address.map(|_| Endpoint { state: schema::INCOMPLETE.into(), ..self.clone() }))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await?;
        let address = self.address_id.text();
        remove(work, || api::delete_address(gcp, address), || api::get_address(gcp, address)).await?;
        work.session.guard().release(&key(self)?).await
    }
}
