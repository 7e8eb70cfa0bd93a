//! `warren_aws_vpc_peering`: a connection between two VPCs, accepted automatically if both are in the same
//! account and region.
//!
//! ```text
//! initiating-request --> pending-acceptance --accept--> provisioning --> active --> deleting --> deleted
//!          \--> failed          \--> rejected, expired                 (all but active and pending are "gone")
//! ```

mod api;
mod model;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, async_trait};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Peering;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for Peering {
    const ELSEWHERE: &'static [&'static str] = &["peer_vpc_id"];

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
            if accept && !prior.is("active") {
                change.planned.state = Attr::Unknown;
            }
            return;
        }
        let (planned, config) = (&mut change.planned, &change.config);
        let aws = session.known_of(planned);
        let region = aws.as_ref().map(|aws| aws.region.clone());
        if let (Attr::Null, Some(region)) = (&config.peer_region, &region) {
            planned.peer_region = region.clone().into();
        }
        let elsewhere = config.peer_region.is_known() && config.peer_region.known() != region.as_ref();
        if elsewhere || !config.peer_owner_id.is_null() {
            return;
        }
        let (Some(vpc), Some(peer)) = (planned.vpc_id.known(), planned.peer_vpc_id.known()) else { return };
        let ranges = async {
            Ok::<_, Diagnostics>((
                ranges(session, aws.as_deref(), vpc).await?,
                ranges(session, aws.as_deref(), peer).await?,
            ))
        };
        match ranges.await {
            Ok((ours, theirs)) => diagnostics.0.extend(overlap([vpc, peer], &ours, &theirs)),
            Err(Diagnostics(errors)) => {
                let why = errors.into_iter().map(|d| d.summary).collect::<Vec<_>>().join("; ");
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
        let mut found = settled(work, self, true).await?;
        self.object.retag(work, &found.state.object).await?;
        if !found.state.is("active") && accepts(self, &found)? {
            op.check_cancelled()?;
            op.call(|| api::accept(aws, &found)).await?;
            found = settled(work, self, false).await?;
        }
        if found.state.is("active") {
            op.call(|| api::set_dns(aws, &found, self.allow_remote_dns_resolution.is_true())).await?;
        } else {
            tracing::warn!(
                peering = found.state.object.id()?,
                owner = found.state.peer_owner_id.as_deref(),
                "peering connection pending acceptance by the other owner"
            );
        }
        Ok(op.call(|| api::get(aws, self)).await?.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Peering>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state).filter(|peering| !peering.is_gone()))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let living = || async {
            let found = api::get(aws, self).await?.state;
            // AWS lists a connection for hours after its deletion.
            if !found.is("deleting") && found.is_gone() {
                return Err(ApiError::absent("DescribeVpcPeeringConnections", self.object.id()?));
            }
            Ok(found)
        };
        op.delete(|| api::delete(aws, self), living).await
    }
}

/// Waits until the connection is active or, if `pending`, until it can be accepted.
async fn settled(work: &Work<'_>, planned: &Peering, pending: bool) -> Result<api::Found, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("active", || async {
        let found = api::get(aws, planned).await?;
        if found.state.is("active") || (pending && found.state.is("pending-acceptance")) {
            return Ok(Poll::Ready(found));
        }
        if found.state.is_gone() {
            return Err(api::failed(&found)?);
        }
        Ok(Poll::Pending(found.state.state.value()?.clone()))
    })
    .await
}

/// Whether the provider has to accept the connection.
fn accepts(planned: &Peering, found: &api::Found) -> Result<bool, Diagnostics> {
    match planned.auto_accept {
        Attr::Known(true) if !found.same_account => {
            let Peering { object, peer_vpc_id, peer_owner_id, .. } = &found.state;
            let (id, vpc, owner) = (object.id()?, peer_vpc_id.value()?, peer_owner_id.value()?);
            Err(Diagnostic::error(
                "Peering connection of another account",
                format!(
                    "{vpc} belongs to account {owner}, and only that account can accept the connection \
                     {id}. Set `auto_accept = false` and accept it there."
                ),
            )
            .at(Path::of("auto_accept"))
            .into())
        }
        Attr::Known(accept) => Ok(accept),
        _ => Ok(found.same_account && found.same_region),
    }
}

/// The ranges of a VPC of this account and region, planned or live.
async fn ranges(session: &Session, aws: Option<&Aws>, id: &str) -> Result<Vec<IpNet>, Diagnostics> {
    if let Some(vpc) = session.run().vpcs.by_id(id) {
        return Ok(vpc.ranges);
    }
    match aws {
        Some(aws) => Ok(crate::vpc::live(aws, id).await?.ranges),
        None => Ok(Vec::new()),
    }
}

/// An error if ranges of the two VPCs overlap: AWS would create the connection and then fail it.
fn overlap(vpcs: [&str; 2], ours: &[IpNet], theirs: &[IpNet]) -> Option<Diagnostic> {
    let mut pairs: Vec<String> = Vec::new();
    for our in ours {
        for their in theirs {
            if our.contains(their) || their.contains(our) {
                pairs.push(format!("{our} and {their}"));
            }
        }
    }
    if pairs.is_empty() {
        return None;
    }
    pairs.sort();
    let [our, their] = vpcs;
    Some(
        Diagnostic::error(
            "Peering of overlapping VPCs",
            format!(
                "AWS cannot peer VPCs whose ranges overlap, even in part: {our} and {their} overlap in {}. Choose \
                 ranges that do not overlap, or use a VPC endpoint to reach a single service.",
                pairs.join("; "),
            ),
        )
        .at(Path::of("peer_vpc_id")),
    )
}
