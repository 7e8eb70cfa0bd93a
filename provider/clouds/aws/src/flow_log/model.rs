//! Schema and state of `warren_aws_flow_log`.

use tf_provider_rs::{Attr, Choice, Diagnostics, Path, Resource, Value};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::ids::{SubnetId, TransitGatewayId, VpcId};

/// Manages a flow log of a VPC, a subnet or a transit gateway. AWS delivers the log to S3 or CloudWatch Logs. AWS cannot
/// update flow logs, so changing anything but `name`, `tags` and `timeouts` replaces the flow log.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_flow_log", noun = "flow log")]
pub(crate) struct FlowLog {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the VPC to log. Set exactly one of `vpc_id`, `subnet_id` and `transit_gateway_id`. Changing this replaces
    /// the flow log.
    #[attr(optional, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// ID of the subnet to log. Changing this replaces the flow log.
    #[attr(optional, replaces)]
    pub(crate) subnet_id: Attr<SubnetId>,
    /// ID of the transit gateway to log. AWS always logs all of its traffic. Changing this replaces the flow log.
    #[attr(optional, replaces)]
    pub(crate) transit_gateway_id: Attr<TransitGatewayId>,
    /// Traffic to log: `ACCEPT`, `REJECT` or `ALL`. Ignored for transit gateways. Changing this replaces the flow log.
    /// Defaults to `ALL`.
    #[attr(default = Traffic::All, replaces)]
    pub(crate) traffic_type: Attr<Traffic>,
    /// Type of the destination: `s3` or `cloud-watch-logs`. Changing this replaces the flow log. Defaults to `s3`.
    #[attr(default = DestinationType::S3, replaces)]
    pub(crate) destination_type: Attr<DestinationType>,
    /// ARN of the S3 bucket, with an optional prefix (`arn:aws:s3:::bucket/prefix/`), or of the CloudWatch Logs log
    /// group. Changing this replaces the flow log.
    #[attr(required, replaces)]
    pub(crate) destination_arn: Attr<String>,
    /// ARN of the IAM role that AWS assumes to write to the log group. Required for `cloud-watch-logs`, and not used
    /// for `s3`. Changing this replaces the flow log.
    #[attr(optional, replaces)]
    pub(crate) iam_role_arn: Attr<String>,
    /// Maximum time in seconds over which a flow is aggregated into one record: 60 or 600. AWS requires 60 for transit
    /// gateways. Changing this replaces the flow log. Defaults to `60` for transit gateways, and to `600` otherwise.
    #[attr(optional, computed, replaces, validate = check_interval)]
    pub(crate) max_aggregation_interval: Attr<i32>,
    /// Fields of each record, such as `${srcaddr} ${dstaddr} ${bytes}`. Changing this replaces the flow log. Defaults
    /// to version 2 of the AWS format.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) log_format: Attr<String>,
}

impl HasShared for FlowLog {
    type Shared = AwsObject;
}

/// Traffic to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Traffic {
    #[choice("ACCEPT")]
    Accept,
    #[choice("REJECT")]
    Reject,
    #[choice("ALL")]
    All,
}

/// Type of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum DestinationType {
    #[choice("s3")]
    S3,
    #[choice("cloud-watch-logs")]
    CloudWatchLogs,
}

/// The source of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Vpc(VpcId),
    Subnet(SubnetId),
    TransitGateway(TransitGatewayId),
}

impl Source {
    /// Its ID.
    pub(super) fn id(&self) -> &str {
        match self {
            Source::Vpc(id) => id,
            Source::Subnet(id) => id,
            Source::TransitGateway(id) => id,
        }
    }
}

impl FlowLog {
    /// The interval that AWS uses by default or, for a transit gateway, requires; unknown while the source is.
    pub(super) fn default_interval(&self) -> Attr<i32> {
        let others = [self.vpc_id.is_null(), self.subnet_id.is_null()];
        match (self.transit_gateway_id.is_null(), others) {
            (true, _) => 600.into(),
            (false, [true, true]) => 60.into(),
            (false, _) if self.transit_gateway_id.is_known() => 60.into(),
            _ => Attr::Unknown,
        }
    }

    /// The source; `None` if none is known.
    pub(super) fn source(&self) -> Option<Source> {
        let vpc = self.vpc_id.known().cloned().map(Source::Vpc);
        vpc.or_else(|| self.subnet_id.known().cloned().map(Source::Subnet))
            .or_else(|| self.transit_gateway_id.known().cloned().map(Source::TransitGateway))
    }
}

fn check_interval(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if ![Value::from(60_i64), Value::from(600_i64)].contains(value) {
        diagnostics.error_at(
            path.clone(),
            "Invalid interval",
            "AWS offers two intervals. Set `max_aggregation_interval` to 60 or 600 seconds.",
        );
    }
}
