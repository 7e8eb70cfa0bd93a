//! `warren_aws_flow_log`: a log of the flows of a VPC, subnet or transit gateway.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, async_trait};
use warren_managed::{Failure, Object};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
use model::DestinationType;
pub(crate) use model::FlowLog;

#[async_trait]
impl Object for FlowLog {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<FlowLog>, _diagnostics: &mut Diagnostics) {
        if !change.config.max_aggregation_interval.is_null() {
            return;
        }
        let interval = change.config.default_interval();
        let path = Path::of("max_aggregation_interval");
        let changed = change.prior.as_ref().is_some_and(|prior| prior.max_aggregation_interval != interval);
        if changed && !change.requires_replace.contains(&path) {
            change.requires_replace.push(path);
        }
        change.planned.max_aggregation_interval = interval;
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        prior: Option<&FlowLog>,
        _config: &FlowLog,
    ) -> Result<(), Diagnostics> {
        if prior.is_none() && self.source().is_none() {
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
        let have = op.call(|| api::get(aws, self)).await?;
        self.object.retag(work, &have.state.object).await?;
        let found = op.call(|| api::get(aws, self)).await?;
        if let Some(error) = &found.error {
            tracing::warn!(id = self.object.id()?, error, "flow log delivery failed");
        }
        Ok(found.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<FlowLog>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

/// Checks attributes that depend on each other; unknown values are skipped.
fn check(log: &FlowLog, diagnostics: &mut Diagnostics) {
    let sources = [
        (log.vpc_id.is_known(), log.vpc_id.is_unknown()),
        (log.subnet_id.is_known(), log.subnet_id.is_unknown()),
        (log.transit_gateway_id.is_known(), log.transit_gateway_id.is_unknown()),
    ];
    let set = sources.iter().filter(|(known, _)| *known).count();
    let open = sources.iter().any(|(_, unknown)| *unknown);
    if set > 1 || (set == 0 && !open) {
        diagnostics.push(Diagnostic::error(
            "Flow log needs exactly one source",
            format!("{set} of vpc_id, subnet_id, transit_gateway_id are set. Set exactly one of them."),
        ));
    }
    if log.transit_gateway_id.is_known() && log.max_aggregation_interval == Attr::Known(600) {
        diagnostics.error_at(
            Path::of("max_aggregation_interval"),
            "Interval not possible for a transit gateway",
            "AWS aggregates flows of a transit gateway over 60 seconds only. Remove `max_aggregation_interval`.",
        );
    }
    if log.destination_type == Attr::Known(DestinationType::CloudWatchLogs) && log.iam_role_arn.is_null() {
        diagnostics.error_at(
            Path::of("iam_role_arn"),
            "No IAM role for CloudWatch Logs",
            "AWS needs an IAM role to write flow logs to a log group. Set `iam_role_arn`, or use an S3 \
             bucket as the destination.",
        );
    }
}
