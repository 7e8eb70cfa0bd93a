//! EC2 API calls for flow logs.

use aws_sdk_ec2::types::{self, FlowLogsResourceType, LogDestinationType, ResourceType, TrafficType};
use tf_provider_rs::Attr;

use super::model::{FlowLog, Source};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags};

const DESCRIBE: &str = "DescribeFlowLogs";

/// A flow log with what no attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    pub(super) state: FlowLog,
    /// Why AWS cannot deliver the log.
    pub(super) error: Option<String>,
}

/// IDs of the flow logs of this fabric and owner with the planned name, target and destination.
pub(super) async fn find(aws: &Aws, planned: &FlowLog) -> Result<Vec<String>, ApiError> {
    let name = planned.object.name()?;
    let source = planned.source();
    let call = aws.ec2().describe_flow_logs().set_filter(Some(aws.filters(name)));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(log) = pages.next().await {
        let log = log.named(DESCRIBE)?;
        let ours = aws.owns(&tags::from_sdk(log.tags()), name);
        let same = log.resource_id.as_deref() == source.as_ref().map(Source::id)
            && log.log_destination.as_ref() == planned.destination_arn.known();
        if ours && same {
            ids.extend(log.flow_log_id);
        }
    }
    Ok(ids)
}

/// Creates a flow log and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &FlowLog, tags: &Tags) -> Result<String, ApiError> {
    let source = planned.source().ok_or_else(|| ApiError::unsent("CreateFlowLogs", &NoSource))?;
    let kind = match source {
        Source::Vpc(_) => FlowLogsResourceType::Vpc,
        Source::Subnet(_) => FlowLogsResourceType::Subnet,
        Source::TransitGateway(_) => FlowLogsResourceType::TransitGateway,
    };
    // Logs of transit gateways contain all traffic; AWS rejects the parameter for them.
    let traffic = match source {
        Source::TransitGateway(_) => None,
        _ => Some(TrafficType::from(planned.traffic_type.value()?.as_str())),
    };
    let made = aws
        .ec2()
        .create_flow_logs()
        .resource_type(kind)
        .resource_ids(source.id())
        .set_traffic_type(traffic)
        .log_destination_type(LogDestinationType::from(planned.destination_type.value()?.as_str()))
        .log_destination(planned.destination_arn.value()?)
        .set_deliver_logs_permission_arn(planned.iam_role_arn.known().cloned())
        .set_max_aggregation_interval(planned.max_aggregation_interval.known().copied())
        .set_log_format(planned.log_format.known().cloned())
        .tag_specifications(tags::specification(ResourceType::VpcFlowLog, tags))
        .send()
        .await
        .named("CreateFlowLogs")?;
    // The call succeeds even if no log was created.
    refused("CreateFlowLogs", made.unsuccessful())?;
    let ids = made.flow_log_ids.unwrap_or_default();
    ids.into_iter().next().or_missing("CreateFlowLogs", "FlowLogIds")
}

/// The error of a response that reports failures item by item.
fn refused(operation: &'static str, items: &[types::UnsuccessfulItem]) -> Result<(), ApiError> {
    let Some(error) = items.iter().find_map(|item| item.error()) else { return Ok(()) };
    Err(ApiError {
        operation,
        code: error.code.clone().or_missing(operation, "Code")?,
        message: error.message.clone().or_missing(operation, "Message")?,
        status: 400,
    })
}

/// A flow log needs a source.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the flow log has no source: set one of `vpc_id`, `subnet_id` and `transit_gateway_id`")]
struct NoSource;

/// The flow log of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &FlowLog) -> Result<Live, ApiError> {
    let id = before.object.id()?;
    let answer = aws.ec2().describe_flow_logs().flow_log_ids(id).send().await.named(DESCRIBE)?;
    let log = answer.flow_logs.and_then(|logs| logs.into_iter().next());
    live(aws, log.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

pub(super) fn live(aws: &Aws, log: types::FlowLog, before: &FlowLog) -> Result<Live, ApiError> {
    let tags = tags::from_sdk(log.tags());
    let id = log.flow_log_id.or_missing(DESCRIBE, "FlowLogId")?;
    let source = log.resource_id.or_missing(DESCRIBE, "ResourceId")?;
    let of_type = |prefix: &str| Some(source.clone()).filter(|source| source.starts_with(prefix));
    let traffic = log.traffic_type.map(|traffic| traffic.as_str().to_owned());
    let destination_type = log.log_destination_type.map(|kind| kind.as_str().to_owned());
    let state = FlowLog {
        object: before.object.found(aws, &id, &tags),
        vpc_id: of_type("vpc-").parsed_if_set(DESCRIBE, "ResourceId")?.into(),
        subnet_id: of_type("subnet-").parsed_if_set(DESCRIBE, "ResourceId")?.into(),
        transit_gateway_id: of_type("tgw-").parsed_if_set(DESCRIBE, "ResourceId")?.into(),
        // AWS reports none for transit gateways.
        traffic_type: traffic
            .parsed_if_set(DESCRIBE, "TrafficType")?
            .map_or(before.traffic_type, Attr::Known),
        destination_type: Attr::Known(destination_type.parsed(DESCRIBE, "LogDestinationType")?),
        destination_arn: log
            .log_destination
            .non_empty()
            .map_or_else(|| before.destination_arn.clone(), Attr::Known),
        iam_role_arn: log.deliver_logs_permission_arn.non_empty().into(),
        max_aggregation_interval: log.max_aggregation_interval.into(),
        log_format: log.log_format.non_empty().into(),
    };
    Ok(Live { state, error: log.deliver_logs_error_message.non_empty() })
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let answer = aws.ec2().delete_flow_logs().flow_log_ids(id).send().await.named("DeleteFlowLogs")?;
    refused("DeleteFlowLogs", answer.unsuccessful())
}
