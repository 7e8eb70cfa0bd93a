//! `warren_aws_route_table`: a route table with all its routes and the subnets that use it.

mod api;
mod routes;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Op, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::RouteTable;
use warren_managed::{Failure, Object, sets};

#[async_trait]
impl Object for RouteTable {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        routes::check(self.routes.known().into_iter().flatten(), diagnostics);
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self.name.text(), self.vpc_id.text()).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self.vpc_id.text(), tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<RouteTable, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        retag(work, self, &have.tags).await?;
        reconcile_routes(aws, op, &have, self).await?;
        reconcile_subnets(aws, op, &have, self).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<RouteTable>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let Some(found) = ApiError::if_found(api::get(aws, id).await)? else { return Ok(()) };
        for association in found.subnets.values() {
            op.check_cancelled()?;
            op.release(|| api::disassociate(aws, association)).await?;
        }
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}

/// Adds and updates routes before it removes any, so that traffic is not interrupted while a destination
/// changes from one notation to another.
async fn reconcile_routes(
    aws: &Aws,
    op: &Op,
    have: &api::Found,
    want: &RouteTable,
) -> Result<(), Diagnostics> {
    let id = have.id.as_str();
    let want = routes::by_destination(want.routes.known().into_iter().flatten());
    for (destination, target) in &want {
        op.check_cancelled()?;
        match have.routes.get(destination) {
            Some(route) if route.target.as_ref() == Some(target) && !route.blackhole => {}
            Some(_) => op.call(|| api::replace_route(aws, id, destination, target)).await?,
            None => op.call(|| api::create_route(aws, id, destination, target)).await?,
        }
    }
    for destination in have.routes.keys().filter(|destination| !want.contains_key(*destination)) {
        op.check_cancelled()?;
        op.call(|| api::delete_route(aws, id, destination)).await?;
    }
    Ok(())
}

async fn reconcile_subnets(
    aws: &Aws,
    op: &Op,
    have: &api::Found,
    want: &RouteTable,
) -> Result<(), Diagnostics> {
    let id = have.id.as_str();
    let want = sets::known(&want.subnet_ids);
    for subnet in want.iter().filter(|subnet| !have.subnets.contains_key(*subnet)) {
        op.check_cancelled()?;
        op.call(|| api::associate(aws, id, subnet)).await?;
    }
    for (subnet, association) in &have.subnets {
        if !want.contains(subnet) {
            op.check_cancelled()?;
            op.call(|| api::disassociate(aws, association)).await?;
        }
    }
    Ok(())
}
