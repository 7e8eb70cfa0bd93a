//! `warren_aws_nat_gateway`: a NAT gateway, with the public address that it owns.
//!
//! Two objects may exist: the gateway (`nat-..`) and, for a public gateway without `allocation_id`, an
//! address (`eipalloc-..`). They are created and removed in this order, and each can be found by its tags:
//!
//! ```text
//! allocate address -> create gateway -> available -> delete gateway -> deleted -> release address
//! ```
//!
//! If the gateway no longer exists but its address does, the gateway stays in the state as `deleted`, and
//! the plan replaces it.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, Progress, Schema, async_trait};

use crate::address;
use crate::common::Common;
use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::NatGateway;
use warren_managed::{Failure, Object, Objects, Poll, adopt};

#[async_trait]
impl Object for NatGateway {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if self.connectivity_type == Attr::from("private") && self.allocation_id.is_known() {
            diagnostics.error_at(
                Path::of("allocation_id"),
                "Private NAT gateway with a public address",
                "A gateway with `connectivity_type = \"private\"` has no public address. Remove \
                 `allocation_id`.",
            );
        }
    }

    async fn plan(_session: &Session, change: &mut Change<NatGateway>, _diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        let private = planned.connectivity_type == Attr::from("private");
        if private {
            planned.public_ip = Attr::Null;
        }
        match &change.prior {
            // Replaces a gateway that AWS will not recover.
            Some(prior)
                if prior.state.known().is_some_and(|state| state != "available" && state != "pending") =>
            {
                planned.state = Attr::Unknown;
                change.requires_replace.push(Path::of("state"));
            }
            None if private || planned.allocation_id.is_known() => planned.owned_allocation_id = Attr::Null,
            _ => {}
        }
    }

    /// Remembers both IDs, so that a replacement that is created first adopts neither.
    fn record(&self, objects: &Objects) {
        for id in [&self.id, &self.owned_allocation_id] {
            objects.record(NatGateway::KIND, self.name.text(), id.text());
        }
    }

    /// An update keeps the address in the state, even if there is none.
    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        prior: Option<&NatGateway>,
        _config: &NatGateway,
    ) -> Result<(), Diagnostics> {
        if let Some(prior) = prior {
            self.owned_allocation_id = prior.owned_allocation_id.clone();
        }
        Ok(())
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    /// Creates the address before the gateway. A gateway of an interrupted run already has one.
    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        if let Some(id) = adopt::leftover(work, &*self, || api::find(aws, self)).await? {
            let found = op.call(|| api::get(aws, &id)).await?;
            let owned = api::owned(aws, found.allocation_id.as_deref()).await?;
            self.owned_allocation_id = found.allocation_id.filter(|_| owned).into();
            self.set_id(&id);
            progress.save(self);
            return Ok(());
        }
        if self.connectivity_type.text() == "public" && !self.allocation_id.is_known() {
            let tags = aws.tags(self.name.text(), &self.tags);
            let find = || api::find_address(aws, self.name.text());
            let create = || api::allocate(aws, &tags);
            let address = adopt::ensure(work, &*self, find, create).await?;
            self.owned_allocation_id = address.into();
            progress.save(self);
        }
        warren_managed::ensure(self, work, progress).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<NatGateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let found = op
            .until("available", || async {
                let found = api::get(aws, id).await?;
                Ok(match found.state.as_str() {
                    "pending" => Poll::Pending("pending".into()),
                    _ => Poll::Ready(found),
                })
            })
            .await?;
        if found.state != "available" {
            return Err(failed(&self.label(), &found).into());
        }
        retag(work, self, &found.tags).await?;
        if let Some(own) = self.owned_allocation_id.known() {
            let have = op.call(|| address::get(aws, own)).await?.tags;
            let tags = api::address_tags(&aws.tags(self.name.text(), &self.tags));
            op.call(|| aws.retag(own, &have, &tags)).await?;
        }
        let found = op.call(|| api::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<NatGateway>, Diagnostics> {
        look(&work.cloud, self).await
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let mut gateway = self.id.known().cloned();
        if gateway.is_none() {
            // The response of the create was lost: the address identifies the gateway.
            for id in api::find(aws, self).await? {
                let found = op.call(|| api::get(aws, &id)).await?;
                if found.allocation_id.as_ref() == self.owned_allocation_id.known() {
                    gateway = Some(id);
                }
            }
        }
        if let Some(id) = &gateway {
            op.release(|| api::delete(aws, id)).await?;
            // A failed gateway counts as existing until it is deleted: it still holds its address.
            op.until("deleted", || async {
                Ok(match ApiError::if_found(api::get(aws, id).await)? {
                    Some(found) if found.state != "deleted" => Poll::Pending(found.state),
                    _ => Poll::Ready(()),
                })
            })
            .await?;
        }
        if let Some(address) = self.owned_allocation_id.known() {
            op.release(|| api::release(aws, address)).await?;
        }
        Ok(())
    }
}

/// The remains of the gateway; `None` if neither it nor its address exists.
async fn look(aws: &Aws, state: &NatGateway) -> Result<Option<NatGateway>, Diagnostics> {
    let found = match state.id.known() {
        Some(id) => ApiError::if_found(api::get(aws, id).await)?,
        None => None,
    };
    match found {
        Some(mut found) if found.is_living() => {
            if !state.owned_allocation_id.is_known() {
                found.owned = api::owned(aws, found.allocation_id.as_deref()).await?;
            }
            Ok(Some(schema::state(aws, found, state)))
        }
        found => match state.owned_allocation_id.known() {
            Some(address) if api::look_address(aws, address).await?.is_some() => {
                let gone = found.map_or_else(|| "deleted".to_owned(), |found| found.state);
                Ok(Some(NatGateway { state: gone.into(), ..state.clone() }))
            }
            _ => Ok(None),
        },
    }
}

fn failed(label: &str, found: &api::Found) -> Diagnostic {
    Diagnostic::error(
        "NAT gateway failed",
        format!(
            "{label} is in the state {}. AWS reports: {}. Apply again to replace the gateway.",
            found.state,
            found.failure.as_deref().unwrap_or("no reason")
        ),
    )
}
