//! `warren_aws_resolver_endpoint`: an inbound or outbound endpoint of the Route 53 Resolver.

mod api;
mod model;
#[cfg(test)]
mod tests;

use aws_sdk_route53resolver::types::ResolverEndpointStatus as Status;
use tf_provider_rs::{Attr, Change, Diagnostics, async_trait};
use warren_managed::retry::{Patience, Purpose};
use warren_managed::{Failure, Object, Poll};

use crate::error::ApiError;
use crate::resolver::{retag, shown};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Endpoint;
use model::pair;

#[async_trait]
impl Object for Endpoint {
    async fn plan(_session: &Session, change: &mut Change<Endpoint>, _diagnostics: &mut Diagnostics) {
        if let (Some(Attr::Known(before)), Attr::Known(planned)) =
            (change.prior.as_ref().map(|prior| &prior.ip_addresses), &mut change.planned.ip_addresses)
            && change.requires_replace.is_empty()
        {
            // An address that AWS has chosen stays.
            for (index, pair) in pair(planned, before).into_iter().enumerate() {
                if let Some(kept) = pair.and_then(|pair| before.get(pair)) {
                    planned[index].ip = kept.ip;
                }
            }
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Endpoint, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let (id, name) = (self.object.id()?, self.object.name()?);
        let have = ready(work, self).await?;
        retag(work, self, &have.state.arn, &have.state.object.tags_all).await?;
        if have.shown.as_deref() != Some(shown(name).as_str()) {
            op.call(|| api::rename(aws, id, name)).await?;
            ready(work, self).await?;
        }
        // An endpoint keeps at least two addresses, so new ones come first.
        let (have, pairs) = with_all(work, self).await?;
        for (index, address) in have.addresses.iter().enumerate() {
            if !pairs.contains(&Some(index)) {
                op.check_cancelled()?;
                op.call(|| api::remove(aws, id, address)).await?;
                ready(work, self).await?;
            }
        }
        ready(work, self).await.map(|found| found.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Endpoint>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(|found| found.status != Status::Deleting).map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

/// Adds addresses until the endpoint has all that are planned. Returns it with the position of each planned address.
async fn with_all(
    work: &Work<'_>,
    planned: &Endpoint,
) -> Result<(api::Found, Vec<Option<usize>>), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let mut patience = Patience::new(op, Purpose::Call);
    let wanted = planned.ip_addresses.known().map(Vec::as_slice).unwrap_or_default();
    loop {
        op.check_cancelled()?;
        let have = ready(work, planned).await?;
        let live: Vec<_> = have.addresses.iter().map(|(_, address)| address.clone()).collect();
        let pairs = pair(wanted, &live);
        let missing = wanted.iter().zip(&pairs).find(|(_, pair)| pair.is_none());
        let Some((address, _)) = missing else { return Ok((have, pairs)) };
        match api::add(aws, planned.object.id()?, address).await {
            Ok(()) => {}
            // The next look at the endpoint shows whether the address was added.
            Err(error) => patience.after(error).await?,
        }
    }
}

/// Waits until the endpoint answers queries.
async fn ready(work: &Work<'_>, planned: &Endpoint) -> Result<api::Found, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("operational", || async {
        let found = api::get(aws, planned).await?;
        match found.status {
            Status::Operational => Ok(Poll::Ready(found)),
            Status::ActionNeeded => Err(unhealthy(&found)),
            Status::Deleting => Err(ApiError::absent("GetResolverEndpoint", planned.object.id()?)),
            status => Ok(Poll::Pending(status.as_str().to_owned())),
        }
    })
    .await
}

/// `ACTION_NEEDED`: the Resolver cannot repair the endpoint, such as after its network interfaces were deleted.
fn unhealthy(found: &api::Found) -> ApiError {
    ApiError {
        operation: "GetResolverEndpoint",
        code: "ActionNeeded".to_owned(),
        message: format!("the endpoint is in the state ACTION_NEEDED: {}", found.message),
        status: 400,
    }
}
