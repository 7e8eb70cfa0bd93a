//! `warren_aws_transit_gateway_route`: a static route of a transit gateway.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, async_trait};
use warren_managed::{Failure, Object, Poll};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::TransitRoute;

#[async_trait]
impl Object for TransitRoute {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<TransitRoute>, _diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if let (None, Some(table), Some(destination)) = (
            &change.prior,
            planned.transit_gateway_route_table_id.known(),
            planned.destination_cidr_block.known(),
        ) {
            planned.part.id = TransitRoute::of(table, *destination).part.id;
        }
    }

    fn import(_session: &Session, id: &str) -> Result<TransitRoute, Diagnostics> {
        let parts = id
            .split_once('_')
            .and_then(|(table, destination)| Some((table.parse().ok()?, destination.parse().ok()?)));
        let (table, destination) = parts.ok_or_else(|| malformed(id))?;
        Ok(TransitRoute::of(&table, destination))
    }

    /// A route with another target is not a leftover of this resource.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        let found = ApiError::if_found(api::get(aws, self).await)?.and_then(Result::ok);
        let same = found.is_some_and(|found| {
            found.blackhole == self.blackhole
                && found.transit_gateway_attachment_id == self.transit_gateway_attachment_id
        });
        Ok(if same { vec![self.part.id()?.to_owned()] } else { Vec::new() })
    }

    async fn create(&self, aws: &Aws, _tags: &Tags) -> Result<String, ApiError> {
        let id = self.part.id()?.to_owned();
        api::create(aws, self).await.map(|()| id)
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<TransitRoute, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.until("active", || async {
            Ok(match api::get(aws, self).await? {
                Ok(found) => Poll::Ready(found),
                Err(state) => Poll::Pending(state.as_str().to_owned()),
            })
        })
        .await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<TransitRoute>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?.and_then(Result::ok))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await
    }
}

/// Checks that the route has one target, and that the destination is a network; unknown values are skipped.
fn check(route: &TransitRoute, diagnostics: &mut Diagnostics) {
    let drops = route.blackhole == Attr::Known(true);
    if drops && route.transit_gateway_attachment_id.is_known() {
        diagnostics.error_at(
            Path::of("transit_gateway_attachment_id"),
            "Route with two targets",
            "A route with `blackhole = true` drops traffic, so it has no attachment. Remove one of the two.",
        );
    }
    if !drops && !route.blackhole.is_unknown() && route.transit_gateway_attachment_id.is_null() {
        diagnostics.error_at(
            Path::of("transit_gateway_attachment_id"),
            "Route without a target",
            "Set `transit_gateway_attachment_id`, or drop the traffic with `blackhole = true`.",
        );
    }
    if let Some(destination) = route.destination_cidr_block.known()
        && destination.trunc() != *destination
    {
        diagnostics.error_at(
            Path::of("destination_cidr_block"),
            "Not a network address",
            format!("{destination} has host bits set. Use {}.", destination.trunc()),
        );
    }
}

fn malformed(id: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid import ID",
        format!(
            "{id:?} is not the ID of a route. Use the ID of the route table and the destination, separated by an \
             underscore: `tgw-rtb-0123_10.0.0.0/8`."
        ),
    )
}
