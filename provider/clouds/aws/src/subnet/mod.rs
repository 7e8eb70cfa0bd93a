//! `warren_aws_subnet`: a subnet with its IPv6 range and the settings of new interfaces.

mod api;
mod model;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::{Attr, Change, Diagnostics, NotKnown, Path, async_trait};
use warren_cidr::Family;
use warren_guard::{Parent, PlannedResource, Role};
use warren_managed::{Common as _, Failure, Object, Poll, key, ranges};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Subnet;

#[async_trait]
impl Object for Subnet {
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
        let aws = session.located(&change.planned).await;
        if let Ok(part) = part(&change.planned, aws.as_deref()) {
            diagnostics.extend(session.guard().plan(part).await);
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
        let have = op
            .until("available", || async {
                let subnet = api::get(aws, self).await?;
                Ok(if subnet.available { Poll::Ready(subnet) } else { Poll::Pending("pending".into()) })
            })
            .await?;
        self.apply_settings(work, &have).await?;
        // Reads are stale for some time after a change ("Eventual consistency" in the EC2 API reference).
        op.until("available with its settings", || async {
            let found = api::get(aws, self).await?.state;
            let settings = |subnet: &Subnet| (subnet.map_public_ip_on_launch, subnet.assign_ipv6_on_creation);
            let same = settings(&found) == settings(self);
            Ok(if same { Poll::Ready(found) } else { Poll::Pending("the settings before the change".into()) })
        })
        .await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Subnet>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        // Network interfaces of deleted endpoints and load balancers linger for minutes.
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

impl Subnet {
    /// Changes the settings that differ from the plan.
    async fn apply_settings(&self, work: &Work<'_>, have: &api::Live) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        self.object.retag(work, &have.state.object).await?;

        let public = self.map_public_ip_on_launch.is_true();
        if have.state.map_public_ip_on_launch.is_true() != public {
            op.call(|| api::set_map_public_ip(aws, id, public)).await?;
        }
        // Addresses can be assigned only while there is an IPv6 range: disabled before the range is removed,
        // enabled after it is added.
        let assign = self.assign_ipv6_on_creation.is_true();
        let assigns = have.state.assign_ipv6_on_creation.is_true();
        if assigns && !assign {
            op.call(|| api::set_assign_ipv6(aws, id, false)).await?;
        }
        let range = self.ipv6_cidr_block.known();
        if have.state.ipv6_cidr_block.known() != range {
            if let Some(association) = &have.ipv6_association {
                op.release(|| api::disassociate(aws, association)).await?;
            }
            if let Some(range) = range {
                op.call(|| api::associate(aws, id, *range)).await?;
            }
            op.until("associated with its IPv6 range", || async {
                let have = api::get(aws, self).await?;
                let same = have.state.ipv6_cidr_block.known() == range && !have.changing;
                Ok(if same { Poll::Ready(()) } else { Poll::Pending("associating".into()) })
            })
            .await?;
        }
        if assign && !assigns {
            op.call(|| api::set_assign_ipv6(aws, id, true)).await?;
        }
        Ok(())
    }
}

/// The ranges of the subnet for the guard.
fn part(subnet: &Subnet, aws: Option<&Aws>) -> Result<PlannedResource, NotKnown> {
    let vpc = Parent::of("warren_aws_vpc", subnet.vpc_id.as_deref())
        .within(subnet.vpc_cidr_block.known().map(|net| IpNet::V4(*net)).into_iter().collect());
    let mut resource = PlannedResource::new(key(subnet, aws)?).id(subnet.id().as_deref());
    for (range, name, family) in [
        (ranges::net(&subnet.cidr_block), "cidr_block", Family::V4),
        (ranges::net(&subnet.ipv6_cidr_block), "ipv6_cidr_block", Family::V6),
    ] {
        resource = match range {
            Attr::Unknown => resource.unknown(family),
            Attr::Known(net) => resource.range(net, Path::of(name), Role::Part(vpc.clone())),
            Attr::Null => resource,
        };
    }
    Ok(resource)
}
