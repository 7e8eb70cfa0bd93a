//! `warren_aws_nat_gateway`: a NAT gateway, with the public address that it owns.
//!
//! Two objects may exist: the gateway (`nat-..`) and, for a public gateway without `allocation_id`, an
//! address (`eipalloc-..`). They are created and removed in this order, and each can be found by its tags:
//!
//! ```text
//! allocate address -> create gateway -> available -> delete gateway -> deleted -> release address
//! ```
//!
//! AWS accepts a public gateway in a VPC without an internet gateway, and it fails a little later. If the internet gateway
//! is attached by then, such as by another resource of the run, the gateway is created once more.
//!
//! If the gateway no longer exists but its address does, the gateway stays in the state as `deleted`, and
//! the plan replaces it.

mod api;
mod model;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Model, Path, Progress, async_trait};
use warren_managed::{Common as _, Failure, Object, Objects, Op, Poll, adopt};

use crate::address;
use crate::error::{ApiError, Parsed};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::NatGateway;
use model::{Connectivity, State};

#[async_trait]
impl Object for NatGateway {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if self.connectivity_type == Attr::Known(Connectivity::Private) && self.allocation_id.is_known() {
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
        let private = planned.connectivity_type == Attr::Known(Connectivity::Private);
        if private {
            planned.public_ip = Attr::Null;
        }
        match &change.prior {
            // Replaces a gateway that AWS will not recover.
            Some(prior) if prior.state.known().is_some_and(|state| !state.is_living()) => {
                planned.state = Attr::Unknown;
                change.requires_replace.push(Path::of("state"));
            }
            None if private || planned.allocation_id.is_known() => planned.owned_allocation_id = Attr::Null,
            _ => {}
        }
    }

    /// Remembers both IDs, so that a replacement that is created first adopts neither.
    fn record(&self, objects: &Objects) {
        let Ok(name) = self.object.name() else { return };
        for id in [self.id().as_deref(), self.owned_allocation_id.as_deref()].into_iter().flatten() {
            objects.record(NatGateway::TYPE_NAME, &self.local(name), id);
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
            let found = op.call(|| api::get(aws, &id, self)).await?.state.allocation_id;
            let owned = api::owned(aws, found.known()).await?;
            self.owned_allocation_id = if owned { found } else { Attr::Null };
            self.set_id(&id);
            progress.save(self);
            return Ok(());
        }
        if *self.connectivity_type.value()? == Connectivity::Public && !self.allocation_id.is_known() {
            let (name, tags) = (self.object.name()?, self.marks(aws)?);
            let find = || api::find_address(aws, name);
            let create = || api::allocate(aws, &tags);
            let address = adopt::ensure(work, &*self, find, create).await?;
            self.owned_allocation_id = Attr::Known(Some(address).parsed("AllocateAddress", "AllocationId")?);
            progress.save(self);
        }
        loop {
            warren_managed::ensure(self, work, progress).await?;
            let id = self.object.id()?.to_owned();
            let found = self.settled(work, &id).await?;
            if !found.unattached || !attached_since(work, &found).await? {
                return Ok(());
            }
            end(work, &id, self).await?;
        }
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<NatGateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let found = self.settled(work, id).await?;
        if found.state.state != Attr::Known(State::Available) {
            return Err(failed(&self.label(), &found).into());
        }
        self.object.retag(work, &found.state.object).await?;
        if let Some(own) = self.owned_allocation_id.known() {
            let have = op.call(|| address::get(aws, own)).await?.tags;
            let tags = api::address_tags(&self.marks(aws)?);
            op.call(|| aws.retag(own, &have, &tags)).await?;
        }
        Ok(api::with_owner(op.call(|| api::get(aws, id, self)).await?.state, false))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<NatGateway>, Diagnostics> {
        let aws = &work.cloud;
        let found = match self.object.id() {
            Ok(id) => ApiError::if_found(api::get(aws, id, self).await)?.map(|found| found.state),
            Err(_) => None,
        };
        match found {
            // AWS shows a failed gateway for about an hour, and until it is deleted it holds its address.
            Some(found) if found.state.value()?.is_living() || found.state == Attr::Known(State::Failed) => {
                let owned = !self.owned_allocation_id.is_known()
                    && api::owned(aws, found.allocation_id.known()).await?;
                Ok(Some(api::with_owner(found, owned)))
            }
            found => self.remains(aws, found).await,
        }
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let mut gateway = self.id().known().cloned();
        if gateway.is_none() {
            // The response of the create was lost: the address identifies the gateway.
            for id in api::find(aws, self).await? {
                let found = op.call(|| api::get(aws, &id, self)).await?;
                if found.state.allocation_id == self.owned_allocation_id {
                    gateway = Some(id);
                }
            }
        }
        if let Some(id) = &gateway {
            end(work, id, self).await?;
        }
        if let Some(address) = self.owned_allocation_id.known() {
            op.release(|| api::release(aws, address)).await?;
        }
        Ok(())
    }
}

impl NatGateway {
    /// The gateway once it is no longer pending.
    async fn settled(&self, work: &Work<'_>, id: &str) -> Result<api::Live, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.until("available", || async {
            let found = api::get(aws, id, self).await?;
            Ok(match found.state.state.value()? {
                State::Pending => Poll::Pending("pending".into()),
                _ => Poll::Ready(found),
            })
        })
        .await
    }

    /// The gateway that ended, while its address still exists; `None` if neither exists. Without an ID, a cancelled
    /// create has not come to the gateway.
    async fn remains(&self, aws: &Aws, found: Option<NatGateway>) -> Result<Option<NatGateway>, Diagnostics> {
        match self.owned_allocation_id.known() {
            Some(address) if api::address_tags_of(aws, address).await?.is_some() => {
                let state = match found {
                    Some(found) => found.state,
                    None if self.id().is_known() => Attr::Known(State::Deleted),
                    None => self.state.clone(),
                };
                Ok(Some(NatGateway { state, ..self.clone() }))
            }
            _ => Ok(None),
        }
    }
}

/// Whether the VPC of a gateway that failed for it has an internet gateway now, or soon.
async fn attached_since(work: &Work<'_>, found: &api::Live) -> Result<bool, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let vpc = found.state.vpc_id.value()?;
    appears(op, || api::internet_gateway(aws, vpc)).await
}

/// Whether a call finds something, now or soon. It fails with any other error than that it found nothing.
async fn appears<F>(op: &Op<ApiError>, read: impl Fn() -> F) -> Result<bool, Diagnostics>
where
    F: Future<Output = Result<(), ApiError>>,
{
    let absent = AtomicBool::new(false);
    let found = op.call(|| async {
        let found = read().await;
        absent.store(found.as_ref().is_err_and(ApiError::is_not_found), Ordering::Relaxed);
        found
    });
    match found.await {
        Err(_) if absent.load(Ordering::Relaxed) => op.check_cancelled().map(|()| false),
        found => found.map(|()| true),
    }
}

/// Deletes a gateway, and waits until it is deleted.
async fn end(work: &Work<'_>, id: &str, before: &NatGateway) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.release(|| api::delete(aws, id)).await?;
    // A failed gateway counts as existing until it is deleted: it still holds its address.
    op.until("deleted", || async {
        let found = ApiError::if_found(api::get(aws, id, before).await)?;
        Ok(match found.map(|found| found.state.state.value().cloned()).transpose()? {
            None | Some(State::Deleted) => Poll::Ready(()),
            // The delete did not find a gateway that was created a moment ago.
            Some(state) if state.is_living() || state == State::Failed => {
                api::delete(aws, id).await?;
                Poll::Pending(state.to_string())
            }
            Some(state) => Poll::Pending(state.to_string()),
        })
    })
    .await
}

fn failed(label: &str, found: &api::Live) -> Diagnostic {
    Diagnostic::error(
        "NAT gateway failed",
        format!(
            "{label} is in the state {}. AWS reports: {}. {}",
            found.state.state.known().map_or("unknown", State::as_str),
            found.failure.as_deref().unwrap_or("no reason"),
            if found.unattached {
                "Create a `warren_aws_internet_gateway` for the VPC, and name it in `depends_on` of the NAT gateway."
            } else {
                "Apply again to replace the gateway."
            }
        ),
    )
}
