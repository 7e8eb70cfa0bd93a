//! `warren_aws_subnet`: a subnet with its IPv6 range and the settings of new interfaces.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Path, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::Subnet;
use warren_managed::{Failure, Object, Poll};

#[async_trait]
impl Object for Subnet {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if self.assign_ipv6_on_creation.is_true() && self.ipv6_cidr_block.is_null() {
            diagnostics.error_at(
                Path::of("assign_ipv6_on_creation"),
                "IPv6 addresses without an IPv6 range",
                "New network interfaces can only get IPv6 addresses from an IPv6 range of the subnet. Set \
                 `ipv6_cidr_block` to a part of the IPv6 range of the VPC, or remove \
                 `assign_ipv6_on_creation`.",
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<Subnet>, diagnostics: &mut Diagnostics) {
        let planned = &change.planned;
        if !planned.name.is_unknown() {
            if let Ok(part) = schema::part(planned) {
                diagnostics.extend(session.guard().plan(part).await);
            }
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Subnet, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let found = op
            .until("available", || async {
                let subnet = api::get(aws, id).await?;
                Ok(if subnet.available { Poll::Ready(subnet) } else { Poll::Pending("pending".into()) })
            })
            .await?;
        bring(work, &found, self).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Subnet>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        // Network interfaces of deleted endpoints and load balancers linger for minutes.
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}

/// Reconciles every setting with `want`.
async fn bring(work: &Work<'_>, have: &api::Found, want: &Subnet) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let id = have.id.as_str();
    retag(work, want, &have.tags).await?;

    let public = want.map_public_ip_on_launch.is_true();
    if have.map_public_ip != public {
        op.call(|| api::set_map_public_ip(aws, id, public)).await?;
    }
    // Addresses can be assigned only while there is an IPv6 range: disabled before the range is removed,
    // enabled after it is added.
    let assign = want.assign_ipv6_on_creation.is_true();
    if have.assign_ipv6 && !assign {
        op.call(|| api::set_assign_ipv6(aws, id, false)).await?;
    }
    let range = want.ipv6_cidr_block.known();
    if have.ipv6.as_ref().map(|(range, _)| range) != range {
        if let Some((_, association)) = &have.ipv6 {
            op.release(|| api::disassociate(aws, association)).await?;
        }
        if let Some(range) = range {
            op.call(|| api::associate(aws, id, range)).await?;
        }
        op.until("associated with its IPv6 range", || async {
            let have = api::get(aws, id).await?;
            let same = have.ipv6.as_ref().map(|(range, _)| range) == range && !have.changing;
            Ok(if same { Poll::Ready(()) } else { Poll::Pending("associating".into()) })
        })
        .await?;
    }
    if assign && !have.assign_ipv6 {
        op.call(|| api::set_assign_ipv6(aws, id, true)).await?;
    }
    Ok(())
}
