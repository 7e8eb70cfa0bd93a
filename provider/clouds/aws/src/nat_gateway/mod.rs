//! `warren_aws_nat_gateway`: a NAT gateway, with the public address that it owns.
//!
//! Two objects may exist: the gateway (`nat-..`) and, for a public gateway without `allocation_id`, an
//! address (`eipalloc-..`). They are made and removed in this order, each step findable by tags:
//!
//! ```text
//! allocate address -> create gateway -> available -> delete gateway -> deleted -> release address
//! ```
//!
//! A gateway that is gone while its address is not stays in state as `deleted`; the plan then replaces it.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{
    Attr, Change, Context, Diagnostic, Diagnostics, ImportRequest, Path, Planned, Progress, Resource,
    async_trait,
};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::timeouts::Operation;
use crate::wait::{Look, Op};
use schema::NatGateway;

/// The resource type.
pub(crate) struct NatGatewayResource {
    session: Session,
}

impl NatGatewayResource {
    pub(crate) fn new(session: &Session) -> NatGatewayResource {
        NatGatewayResource { session: session.clone() }
    }

    /// Remembers both ids, so that a replacement created before this one goes adopts neither.
    fn hold(&self, state: &NatGateway) {
        for id in [&state.id, &state.owned_allocation_id] {
            self.session.run().hold(NatGateway::KIND, state.name.text(), id.text());
        }
    }

    /// What there is of the gateway; `None` when neither it nor its address is left.
    async fn look(&self, aws: &Aws, state: &NatGateway) -> Result<Option<NatGateway>, Diagnostics> {
        let found = match state.id.known() {
            Some(id) => api::look(aws, id).await?,
            None => None,
        };
        match found {
            Some(mut found) if found.is_living() => {
                if !state.owned_allocation_id.is_known() {
                    found.owned = api::owned(aws, found.allocation_id.as_deref()).await?;
                }
                Ok(Some(schema::state(&self.session, found, state)))
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

    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: NatGateway,
        progress: &Progress,
    ) -> Result<NatGateway, Diagnostics> {
        let id = planned.id.text();
        let found = op
            .until("available", || async {
                let found = api::get(aws, id).await?;
                Ok(match found.state.as_str() {
                    "pending" => Look::Pending("pending".into()),
                    _ => Look::Done(found),
                })
            })
            .await?;
        if found.state != "available" {
            return Err(failed(&planned.label(), &found).into());
        }
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &found.tags, &tags)).await?;
        if let Some(address) = planned.owned_allocation_id.known() {
            let have = op.call(|| api::address(aws, address)).await?;
            let tags = api::address_tags(&tags);
            op.call(|| aws.retag(address, &have, &tags)).await?;
        }
        let found = op.call(|| api::get(aws, id)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

fn failed(label: &str, found: &api::Found) -> Diagnostic {
    Diagnostic::error(
        "NAT gateway failed",
        format!(
            "{label} is {}, not available. AWS says: {}. Apply again: the gateway is replaced.",
            found.state,
            found.failure.as_deref().unwrap_or("nothing more")
        ),
    )
}

#[async_trait]
impl Resource for NatGatewayResource {
    type Model = NatGateway;

    basics!(NatGateway);

    async fn validate(&self, config: &NatGateway, diagnostics: &mut Diagnostics) {
        if config.connectivity_type == Attr::from("private") && config.allocation_id.is_known() {
            diagnostics.error_at(
                Path::of("allocation_id"),
                "Private NAT gateway with a public address",
                "A gateway of `connectivity_type = \"private\"` has no public address: remove `allocation_id`.",
            );
        }
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<NatGateway>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            self.hold(prior);
            // What AWS has given up for good is replaced.
            if prior.state.known().is_some_and(|state| state != "available" && state != "pending") {
                change.planned.state = Attr::Unknown;
                change.requires_replace.push(Path::of("state"));
            }
        }
        common::plan(&self.session, ctx, change);
        let planned = &mut change.planned;
        if planned.connectivity_type == Attr::from("private") {
            planned.public_ip = Attr::Null;
        }
        if change.prior.is_none()
            && (planned.connectivity_type == Attr::from("private") || planned.allocation_id.is_known())
        {
            planned.owned_allocation_id = Attr::Null;
        }
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &NatGateway, _diagnostics: &mut Diagnostics) {
        self.hold(prior);
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<NatGateway>,
        progress: &Progress,
    ) -> Result<NatGateway, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let name = planned.name.text().to_owned();
        let tags = aws.tags(&name, &planned.tags);
        let find = || api::find(&aws, &planned);
        let mut left = adopt::leftover(&self.session, ctx, &op, &planned, find).await?;
        if let Some(id) = &left {
            let found = op.call(|| api::get(&aws, id)).await?;
            let owned = api::owned(&aws, found.allocation_id.as_deref()).await?;
            planned.owned_allocation_id = found.allocation_id.filter(|_| owned).into();
        } else if planned.connectivity_type.text() == "public" && !planned.allocation_id.is_known() {
            let find = || api::find_address(&aws, &name);
            let create = || api::allocate(&aws, &tags);
            let address = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
            planned.owned_allocation_id = address.into();
            progress.save(&planned);
        }
        if left.is_none() {
            let find = || api::find(&aws, &planned);
            let create = || api::create(&aws, &planned, &tags);
            left = Some(adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?);
        }
        planned.set_id(left.as_deref().unwrap_or_default());
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, ctx: &Context, state: NatGateway) -> Result<Option<NatGateway>, Diagnostics> {
        let aws = self.session.get()?;
        self.hold(&state);
        state.op(ctx, Operation::Read).within(self.look(&aws, &state)).await
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: NatGateway,
        plan: Planned<NatGateway>,
        progress: &Progress,
    ) -> Result<NatGateway, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        planned.owned_allocation_id = prior.owned_allocation_id;
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: NatGateway) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let mut gateway = state.id.known().cloned();
        if gateway.is_none() {
            // A create whose answer was lost: the address tells which gateway is meant.
            for id in api::find(&aws, &state).await? {
                let found = op.call(|| api::get(&aws, &id)).await?;
                if found.allocation_id.as_ref() == state.owned_allocation_id.known() {
                    gateway = Some(id);
                }
            }
        }
        if let Some(id) = &gateway {
            op.release(|| api::delete(&aws, id)).await?;
            // A failed gateway counts as there until it is deleted too: it still holds its address.
            op.until("deleted", || async {
                Ok(match api::look(&aws, id).await? {
                    Some(found) if found.state != "deleted" => Look::Pending(found.state),
                    _ => Look::Done(()),
                })
            })
            .await?;
        }
        if let Some(address) = state.owned_allocation_id.known() {
            op.release(|| api::release(&aws, address)).await?;
        }
        Ok(())
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<NatGateway, Diagnostics> {
        common::import(&self.session, &request)
    }
}
