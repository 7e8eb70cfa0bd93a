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
mod model;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use tf_provider_rs::{Attr, Change, Diagnostics, NotKnown, Path, Progress, async_trait};
use warren_cidr::Family;
use warren_guard::{ClaimRole, PlannedResource, Role};
use warren_managed::{Common as _, Object, adopt, key};

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::operation::{landed, landed_by, remove};
use crate::session::{Session, Work};
pub(crate) use model::Endpoint;
use model::{State, dns_suffix};

#[async_trait]
impl Object for Endpoint {
    const ELSEWHERE: &'static [&'static str] = &["network"];

    async fn plan(session: &Session, change: &mut Change<Endpoint>, diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if let Some(prior) = &change.prior
            && prior.state != State::Active.into()
        {
            planned.state = Attr::Unknown;
        }
        if change.prior.as_ref().is_some_and(|prior| prior.automate_dns.is_null()) {
            // The value of an imported endpoint is not known, so a configured one is no reason to replace the endpoint.
            change.requires_replace.retain(|path| *path != Path::of("automate_dns"));
            if change.config.automate_dns.is_null() && change.requires_replace.is_empty() {
                planned.automate_dns = Attr::Null;
            }
        }
        let Some(name) = planned.object.name.known() else { return };
        planned.dns_suffix = dns_suffix(name, planned.automate_dns);
        if planned.address_id.is_unknown()
            && let Some(gcp) = session.known_of(&*planned)
        {
            planned.address_id = api::address_id(&gcp.project, name).into();
        }
        match occupied(planned, change.prior.is_some(), session.known_of(&*planned).as_deref()) {
            Ok(resource) => diagnostics.extend(session.guard().plan(resource).await),
            Err(error) => diagnostics.extend(error.into()),
        }
    }

    /// Claims the address.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        _prior: Option<&Endpoint>,
        _config: &Endpoint,
    ) -> Result<(), Diagnostics> {
        let nets: Vec<_> = net(self.address).into_iter().collect();
        work.session.guard().claim(&key(self, Some(&work.cloud))?, ClaimRole::Occupy, &nets).await
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
        landed_by(work, &*self, &address, find, create).await?;
        self.address_id = address.into();
        progress.save(self);
        warren_managed::ensure(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Endpoint, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        if ApiError::if_found(api::get(gcp, self).await)?.is_none() {
            let description = self.marks(gcp)?;
            let find = || api::find(gcp, self);
            let create = || api::create(gcp, self, &description);
            adopt::ensure(work, self, find, create).await?;
        }
        landed(work, self).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Endpoint>, Diagnostics> {
        let gcp = &work.cloud;
        if let Some(found) = ApiError::if_found(api::get(gcp, self).await)? {
            return Ok(Some(found));
        }
        let Some(address) = self.address_id.known() else { return Ok(None) };
        let address = ApiError::if_found(api::get_address(gcp, address).await)?;
        Ok(address.map(|_| Endpoint { state: State::Incomplete.into(), ..self.clone() }))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.object.id()?;
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await?;
        let address = self.address_id.value()?;
        remove(work, || api::delete_address(gcp, address), || api::get_address(gcp, address)).await?;
        work.session.guard().release(&key(self, Some(&work.cloud))?).await
    }
}

/// The address as a range.
fn net(address: Attr<Ipv4Addr>) -> Option<IpNet> {
    address.into_known().map(|address| IpNet::from(IpAddr::V4(address)))
}

/// The endpoint's address for the guard, which takes an ID for that of an object that exists.
fn occupied(endpoint: &Endpoint, exists: bool, gcp: Option<&Gcp>) -> Result<PlannedResource, NotKnown> {
    let id = endpoint.object.id_here().filter(|_| exists);
    let resource = PlannedResource::new(key(endpoint, gcp)?).id(id);
    Ok(match net(endpoint.address) {
        Some(net) => resource.range(net, Path::of("address"), Role::Occupy),
        None => resource.unknown(Family::V4),
    })
}
