//! `warren_aws_flow_log`: a log of the flows of a VPC, subnet or transit gateway.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostic, Diagnostics, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::FlowLog;
use warren_managed::{Failure, Object};

#[async_trait]
impl Object for FlowLog {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        schema::check(self, diagnostics);
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        prior: Option<&FlowLog>,
        _config: &FlowLog,
    ) -> Result<(), Diagnostics> {
        if prior.is_none() && !schema::targets(self).iter().any(|target| target.is_known()) {
            return Err(Diagnostic::error(
                "No source for the flow log",
                "The ID of the source is empty. Set one of `vpc_id`, `subnet_id` and `transit_gateway_id`.",
            )
            .into());
        }
        Ok(())
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<FlowLog, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        retag(work, self, &have.tags).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        if let Some(error) = &found.error {
            tracing::warn!(id, error, "flow log delivery failed");
        }
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<FlowLog>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}
