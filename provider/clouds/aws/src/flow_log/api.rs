//! EC2 API calls for flow logs.

use aws_sdk_ec2::types::{FlowLogsResourceType, LogDestinationType, ResourceType, TrafficType};

use super::schema::{self, FlowLog, Target};
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};

/// A flow log as returned by DescribeFlowLogs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) resource: String,
    pub(super) traffic: Option<String>,
    pub(super) destination_type: String,
    pub(super) destination: Option<String>,
    pub(super) role: Option<String>,
    pub(super) interval: Option<i32>,
    pub(super) format: Option<String>,
    /// `SUCCESS`, or `FAILED` with AWS's reason in `error`.
    pub(super) delivery: Option<String>,
    pub(super) error: Option<String>,
    pub(super) tags: Tags,
}

/// IDs of the flow logs of this fabric and owner with the planned name, target and destination.
pub(super) async fn find(aws: &Aws, planned: &FlowLog) -> Result<Vec<String>, ApiError> {
    let name = planned.name.text();
    let (Target::Vpc(target) | Target::Subnet(target) | Target::TransitGateway(target)) =
        schema::target(planned);
    let call = aws.ec2().describe_flow_logs().set_filter(Some(aws.filters(name)));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(log) = pages.next().await {
        let log = log.named("DescribeFlowLogs")?;
        let ours = aws.owns(&tags::from_sdk(log.tags.as_deref().unwrap_or_default()), name);
        let same = log.resource_id.as_ref() == Some(&target)
            && log.log_destination.as_ref() == planned.destination_arn.known();
        if ours && same {
            ids.extend(log.flow_log_id);
        }
    }
    Ok(ids)
}

/// Creates a flow log and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &FlowLog, tags: &Tags) -> Result<String, ApiError> {
    let target = schema::target(planned);
    let (kind, id) = match &target {
        Target::Vpc(id) => (FlowLogsResourceType::Vpc, id),
        Target::Subnet(id) => (FlowLogsResourceType::Subnet, id),
        Target::TransitGateway(id) => (FlowLogsResourceType::TransitGateway, id),
    };
    // Logs of transit gateways contain all traffic; AWS rejects the parameter for them.
    let traffic = (!matches!(target, Target::TransitGateway(_)))
        .then(|| TrafficType::from(planned.traffic_type.text()));
    let made = aws
        .ec2()
        .create_flow_logs()
        .resource_type(kind)
        .resource_ids(id)
        .set_traffic_type(traffic)
        .log_destination_type(LogDestinationType::from(planned.destination_type.text()))
        .log_destination(planned.destination_arn.text())
        .set_deliver_logs_permission_arn(planned.iam_role_arn.known().cloned())
        .set_max_aggregation_interval(
            planned.max_aggregation_interval.known().and_then(|seconds| i32::try_from(*seconds).ok()),
        )
        .set_log_format(planned.log_format.known().cloned())
        .tag_specifications(tags::specification(ResourceType::VpcFlowLog, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateFlowLogs")?;
    // The call succeeds even if no log was created.
    if let Some(error) = made.unsuccessful.unwrap_or_default().into_iter().find_map(|item| item.error) {
        return Err(ApiError {
            operation: "CreateFlowLogs",
            code: error.code.unwrap_or_default(),
            message: error.message.unwrap_or_default(),
            status: 400,
        });
    }
    Ok(made.flow_log_ids.unwrap_or_default().into_iter().next().unwrap_or_default())
}

/// The flow log `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let answer = aws.ec2().describe_flow_logs().flow_log_ids(id).send().await.named("DescribeFlowLogs")?;
    let log = answer.flow_logs.unwrap_or_default().into_iter().next();
    log.map(found).ok_or_else(|| ApiError::absent("DescribeFlowLogs", id))
}

fn found(log: aws_sdk_ec2::types::FlowLog) -> Found {
    Found {
        id: log.flow_log_id.unwrap_or_default(),
        resource: log.resource_id.unwrap_or_default(),
        traffic: log.traffic_type.map(|traffic| traffic.as_str().to_owned()),
        destination_type: log.log_destination_type.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        destination: log.log_destination,
        role: log.deliver_logs_permission_arn,
        interval: log.max_aggregation_interval,
        format: log.log_format,
        delivery: log.deliver_logs_status,
        error: log.deliver_logs_error_message,
        tags: tags::from_sdk(log.tags.as_deref().unwrap_or_default()),
    }
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let answer = aws.ec2().delete_flow_logs().flow_log_ids(id).send().await.named("DeleteFlowLogs");
    let refused = match answer {
        Ok(answer) => answer.unsuccessful.unwrap_or_default().into_iter().find_map(|item| item.error),
        Err(error) => return Err(error),
    };
    refused.map_or(Ok(()), |error| {
        Err(ApiError {
            operation: "DeleteFlowLogs",
            code: error.code.unwrap_or_default(),
            message: error.message.unwrap_or_default(),
            status: 400,
        })
    })
}
