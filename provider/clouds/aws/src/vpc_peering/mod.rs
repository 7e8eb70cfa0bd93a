//! `warren_aws_vpc_peering`: a connection between two VPCs, accepted too where both are ours.
//!
//! ```text
//! initiating-request --> pending-acceptance --accept--> provisioning --> active --> deleting --> deleted
//!          \--> failed          \--> rejected, expired                 (all but active and pending are "gone")
//! ```

mod api;
mod schema;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::{
    Attr, Change, Context, Diagnostic, Diagnostics, ImportRequest, Path, Planned, Progress, Resource,
    async_trait,
};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::timeouts::Operation;
use crate::wait::{Look, Op};
use schema::Peering;

/// The resource type.
pub(crate) struct PeeringResource {
    session: Session,
}

impl PeeringResource {
    pub(crate) fn new(session: &Session) -> PeeringResource {
        PeeringResource { session: session.clone() }
    }

    /// Waits until AWS has made up its mind: active, or pending an acceptance.
    async fn settled(&self, aws: &Aws, op: &Op, id: &str, pending: bool) -> Result<api::Found, Diagnostics> {
        op.until("active", || async {
            let found = api::get(aws, id).await?;
            match found.code.as_str() {
                "active" => Ok(Look::Done(found)),
                "pending-acceptance" if pending => Ok(Look::Done(found)),
                _ if found.is_gone() => Err(api::failed(&found)),
                code => Ok(Look::Pending(code.to_owned())),
            }
        })
        .await
    }

    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: Peering,
        progress: &Progress,
    ) -> Result<Peering, Diagnostics> {
        let id = planned.id.text();
        let mut found = self.settled(aws, op, id, true).await?;
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &found.tags, &tags)).await?;
        if !found.is_active() && accepts(&planned, &found)? {
            op.go_on()?;
            op.call(|| api::accept(aws, &found)).await?;
            found = self.settled(aws, op, id, false).await?;
        }
        if found.is_active() {
            op.call(|| api::set_dns(aws, &found, planned.allow_remote_dns_resolution.is_true())).await?;
        } else {
            tracing::warn!(
                peering = id,
                owner = found.accepter.owner_id,
                "waits to be accepted by its other owner"
            );
        }
        found = op.call(|| api::get(aws, id)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }

    /// The ranges of a VPC of this account and region, planned or live.
    async fn ranges(&self, id: &Attr<String>) -> Result<Vec<IpNet>, Diagnostics> {
        let Some(id) = id.known() else { return Ok(Vec::new()) };
        if let Some(vpc) = self.session.run().vpcs.by_id(id) {
            return Ok(vpc.ranges);
        }
        match self.session.known() {
            Some(aws) => Ok(crate::vpc::live(&aws, id).await?.ranges),
            None => Ok(Vec::new()),
        }
    }
}

/// Whether the provider is to accept the connection.
fn accepts(planned: &Peering, found: &api::Found) -> Result<bool, Diagnostics> {
    match planned.auto_accept {
        Attr::Known(true) if !found.same_account() => Err(Diagnostic::error(
            "Peering of another account",
            format!(
                "{} belongs to account {}, so only that account can accept the connection {}. Set `auto_accept = \
                 false` and accept it there.",
                found.accepter.vpc_id, found.accepter.owner_id, found.id
            ),
        )
        .at(Path::of("auto_accept"))
        .into()),
        Attr::Known(accept) => Ok(accept),
        _ => Ok(found.same_account() && found.same_region()),
    }
}

#[async_trait]
impl Resource for PeeringResource {
    type Model = Peering;

    basics!(Peering);

    async fn validate(&self, config: &Peering, diagnostics: &mut Diagnostics) {
        if config.vpc_id.is_known() && config.vpc_id == config.peer_vpc_id {
            diagnostics.error_at(
                Path::of("peer_vpc_id"),
                "Peering of a VPC with itself",
                "`vpc_id` and `peer_vpc_id` name the same VPC.",
            );
        }
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<Peering>, diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
        if let Some(prior) = &change.prior {
            let accept = prior.auto_accept != change.planned.auto_accept;
            if accept && prior.state.text() != "active" {
                change.planned.state = Attr::Unknown;
            }
            return;
        }
        let (planned, config) = (&mut change.planned, &change.config);
        let region = self.session.known().map(|aws| aws.region.clone());
        if let (Attr::Null, Some(region)) = (&config.peer_region, &region) {
            planned.peer_region = region.clone().into();
        }
        let elsewhere = config.peer_region.is_known() && config.peer_region.known() != region.as_ref();
        if elsewhere || !config.peer_owner_id.is_null() {
            return;
        }
        let ranges = async {
            let ours = self.ranges(&planned.vpc_id).await?;
            Ok::<_, Diagnostics>((ours, self.ranges(&planned.peer_vpc_id).await?))
        };
        match ranges.await {
            Ok((ours, theirs)) => {
                if let Some(diagnostic) = schema::overlap(planned, &ours, &theirs) {
                    diagnostics.push(diagnostic);
                }
            }
            Err(errors) => {
                let why = errors.0.into_iter().map(|d| d.summary).collect::<Vec<_>>().join("; ");
                diagnostics.push(Diagnostic::warning(
                    "Ranges not compared",
                    format!("Whether the ranges of the two VPCs overlap could not be looked up: {why}."),
                ));
            }
        }
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &Peering, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<Peering>,
        progress: &Progress,
    ) -> Result<Peering, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let tags = aws.tags(planned.name.text(), &planned.tags);
        let find = || api::find(&aws, &planned);
        let create = || api::create(&aws, &planned, &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, _ctx: &Context, state: Peering) -> Result<Option<Peering>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(Peering::KIND, state.name.text(), state.id.text());
        match api::living(&aws, state.id.text()).await {
            Ok(found) => Ok(Some(schema::state(&self.session, found, &state))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: Peering,
        plan: Planned<Peering>,
        progress: &Progress,
    ) -> Result<Peering, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: Peering) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| async {
            let found = api::get(&aws, id).await?;
            // A connection is listed for hours after it has gone.
            if found.code != "deleting" && found.is_gone() {
                return Err(crate::error::ApiError::absent("DescribeVpcPeeringConnections", id));
            }
            Ok(found)
        })
        .await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<Peering, Diagnostics> {
        common::import(&self.session, &request)
    }
}
