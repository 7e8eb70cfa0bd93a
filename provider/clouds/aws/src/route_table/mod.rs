//! `warren_aws_route_table`: a route table with all its routes and the subnets that use it.

mod api;
mod model;
mod routes;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};
use warren_managed::{Failure, Object, sets};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::RouteTable;
use routes::Target;

#[async_trait]
impl Object for RouteTable {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        routes::check(self.routes.known().into_iter().flatten(), diagnostics);
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.object.name()?, self.vpc_id.value()?).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self.vpc_id.value()?, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RouteTable, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = op.call(|| api::get(aws, self)).await?;
        self.object.retag(work, &have.state.object).await?;
        self.reconcile_routes(work, &have).await?;
        self.reconcile_subnets(work, &have).await?;
        Ok(op.call(|| api::get(aws, self)).await?.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RouteTable>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let Some(found) = ApiError::if_found(api::get(aws, self).await)? else { return Ok(()) };
        for association in found.associations.values() {
            op.check_cancelled()?;
            op.release(|| api::disassociate(aws, association)).await?;
        }
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

impl RouteTable {
    /// Adds and updates routes before it removes any, so that traffic is not interrupted while a destination
    /// changes from one notation to another.
    async fn reconcile_routes(&self, work: &Work<'_>, have: &api::Live) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let want = routes::by_destination(self.routes.known().into_iter().flatten());
        for (destination, target) in &want {
            op.check_cancelled()?;
            match have.routes.get(destination) {
                Some(route) if route.target.as_ref() == Some(target) && !route.blackhole => {}
                Some(_) => {
                    let replace = || api::replace_route(aws, id, destination, target);
                    op.call_while(replace, || self.comes(aws, target)).await?;
                }
                None => {
                    let create = || api::create_route(aws, id, destination, target);
                    op.call_while(create, || self.comes(aws, target)).await?;
                }
            }
        }
        for destination in have.routes.keys().filter(|destination| !want.contains_key(*destination)) {
            op.check_cancelled()?;
            op.call(|| api::delete_route(aws, id, destination)).await?;
        }
        Ok(())
    }

    /// Whether the target of a route, which AWS does not find, is being attached to the VPC.
    async fn comes(&self, aws: &Aws, target: &Target) -> bool {
        match (target, self.vpc_id.known()) {
            (Target::TransitGateway(id), Some(vpc)) => api::attaching(aws, id, vpc).await.unwrap_or(false),
            _ => false,
        }
    }

    async fn reconcile_subnets(&self, work: &Work<'_>, have: &api::Live) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let want = sets::known(&self.subnet_ids);
        for subnet in want.iter().filter(|subnet| !have.associations.contains_key(*subnet)) {
            op.check_cancelled()?;
            op.call(|| api::associate(aws, id, subnet)).await?;
        }
        for (subnet, association) in &have.associations {
            if !want.contains(subnet) {
                op.check_cancelled()?;
                op.call(|| api::disassociate(aws, association)).await?;
            }
        }
        Ok(())
    }
}
