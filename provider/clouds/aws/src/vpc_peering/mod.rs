//! `warren_aws_vpc_peering`: a connection between two VPCs, accepted automatically if both are in the same
//! account and region.
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
use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Op, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::Peering;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for Peering {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if self.vpc_id.is_known() && self.vpc_id == self.peer_vpc_id {
            diagnostics.error_at(
                Path::of("peer_vpc_id"),
                "Peering of a VPC with itself",
                "`vpc_id` and `peer_vpc_id` name the same VPC. Set `peer_vpc_id` to another VPC.",
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<Peering>, diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            let accept = prior.auto_accept != change.planned.auto_accept;
            if accept && prior.state.text() != "active" {
                change.planned.state = Attr::Unknown;
            }
            return;
        }
        let (planned, config) = (&mut change.planned, &change.config);
        let region = session.known().map(|aws| aws.region.clone());
        if let (Attr::Null, Some(region)) = (&config.peer_region, &region) {
            planned.peer_region = region.clone().into();
        }
        let elsewhere = config.peer_region.is_known() && config.peer_region.known() != region.as_ref();
        if elsewhere || !config.peer_owner_id.is_null() {
            return;
        }
        let ranges = async {
            let ours = ranges(session, &planned.vpc_id).await?;
            Ok::<_, Diagnostics>((ours, ranges(session, &planned.peer_vpc_id).await?))
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
                    "VPC ranges not compared",
                    format!(
                        "Warren could not read the ranges of both VPCs to check whether they overlap: {why}."
                    ),
                ));
            }
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Peering, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let mut found = settled(aws, op, id, true).await?;
        retag(work, self, &found.tags).await?;
        if !found.is_active() && accepts(self, &found)? {
            op.check_cancelled()?;
            op.call(|| api::accept(aws, &found)).await?;
            found = settled(aws, op, id, false).await?;
        }
        if found.is_active() {
            op.call(|| api::set_dns(aws, &found, self.allow_remote_dns_resolution.is_true())).await?;
        } else {
            tracing::warn!(
                peering = id,
                owner = found.accepter.owner_id,
                "peering connection pending acceptance by the other owner"
            );
        }
        found = op.call(|| api::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Peering>, Diagnostics> {
        let found = ApiError::if_found(api::living(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let delete = || api::delete(aws, id);
        let look = || async {
            let found = api::get(aws, id).await?;
            // AWS lists a connection for hours after its deletion.
            if found.code != "deleting" && found.is_gone() {
                return Err(ApiError::absent("DescribeVpcPeeringConnections", id));
            }
            Ok(found)
        };
        op.delete(delete, look).await
    }
}

/// Waits until the connection is active or pending acceptance.
async fn settled(aws: &Aws, op: &Op, id: &str, pending: bool) -> Result<api::Found, Diagnostics> {
    op.until("active", || async {
        let found = api::get(aws, id).await?;
        match found.code.as_str() {
            "active" => Ok(Poll::Ready(found)),
            "pending-acceptance" if pending => Ok(Poll::Ready(found)),
            _ if found.is_gone() => Err(api::failed(&found)),
            code => Ok(Poll::Pending(code.to_owned())),
        }
    })
    .await
}

/// Whether the provider has to accept the connection.
fn accepts(planned: &Peering, found: &api::Found) -> Result<bool, Diagnostics> {
    match planned.auto_accept {
        Attr::Known(true) if !found.same_account() => Err(Diagnostic::error(
            "Peering connection of another account",
            format!(
                "{} belongs to account {}, and only that account can accept the connection {}. Set \
                 `auto_accept = false` and accept it there.",
                found.accepter.vpc_id, found.accepter.owner_id, found.id
            ),
        )
        .at(Path::of("auto_accept"))
        .into()),
        Attr::Known(accept) => Ok(accept),
        _ => Ok(found.same_account() && found.same_region()),
    }
}

/// The ranges of a VPC of this account and region, planned or live.
async fn ranges(session: &Session, id: &Attr<String>) -> Result<Vec<IpNet>, Diagnostics> {
    let Some(id) = id.known() else { return Ok(Vec::new()) };
    if let Some(vpc) = session.run().vpcs.by_id(id) {
        return Ok(vpc.ranges);
    }
    match session.known() {
        Some(aws) => Ok(crate::vpc::live(&aws, id).await?.ranges),
        None => Ok(Vec::new()),
    }
}
