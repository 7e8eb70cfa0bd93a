//! Attributes and state of `warren_aws_flow_log`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Value, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// A flow log.
    pub struct FlowLog {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `fl-..`.
        pub id: Attr<String>,
        /// The VPC whose traffic is logged.
        pub vpc_id: Attr<String>,
        /// The subnet whose traffic is logged.
        pub subnet_id: Attr<String>,
        /// The transit gateway whose traffic is logged.
        pub transit_gateway_id: Attr<String>,
        /// `ACCEPT`, `REJECT` or `ALL`.
        pub traffic_type: Attr<String>,
        /// `s3` or `cloud-watch-logs`.
        pub destination_type: Attr<String>,
        /// Bucket with an optional prefix, or log group.
        pub destination_arn: Attr<String>,
        /// The role that writes to a log group.
        pub iam_role_arn: Attr<String>,
        /// Seconds.
        pub max_aggregation_interval: Attr<i64>,
        /// Fields of a record.
        pub log_format: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(FlowLog, "warren_aws_flow_log");

/// The source of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Vpc(String),
    Subnet(String),
    TransitGateway(String),
}

const TARGETS: [&str; 3] = ["vpc_id", "subnet_id", "transit_gateway_id"];

/// The attributes for the source; exactly one is set.
pub(super) fn targets(log: &FlowLog) -> [&Attr<String>; 3] {
    [&log.vpc_id, &log.subnet_id, &log.transit_gateway_id]
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a flow log of a VPC, a subnet or a transit gateway. AWS delivers the log to S3 or \
         CloudWatch Logs. AWS cannot update flow logs, so changing anything but `name`, `tags` and \
         `timeouts` replaces the flow log.",
    )
    .attributes(common::head("flow log"))
    .attributes([
        Attribute::string("vpc_id").optional().replaces().describe(
            "ID of the VPC to log. Set exactly one of `vpc_id`, `subnet_id` and `transit_gateway_id`. \
             Changing this replaces the flow log.",
        ),
        Attribute::string("subnet_id")
            .optional()
            .replaces()
            .describe("ID of the subnet to log. Changing this replaces the flow log."),
        Attribute::string("transit_gateway_id").optional().replaces().describe(
            "ID of the transit gateway to log. AWS always logs all of its traffic. Changing this replaces \
             the flow log.",
        ),
        Attribute::string("traffic_type")
            .default("ALL")
            .replaces()
            .validate(one_of(&["ACCEPT", "REJECT", "ALL"]))
            .describe(
                "Traffic to log: `ACCEPT`, `REJECT` or `ALL`. Ignored for transit gateways. Changing this \
                 replaces the flow log. Defaults to `ALL`.",
            ),
        Attribute::string("destination_type")
            .default("s3")
            .replaces()
            .validate(one_of(&["s3", "cloud-watch-logs"]))
            .describe(
                "Type of the destination: `s3` or `cloud-watch-logs`. Changing this replaces the flow \
                 log. Defaults to `s3`.",
            ),
        Attribute::string("destination_arn").required().replaces().describe(
            "ARN of the S3 bucket, with an optional prefix (`arn:aws:s3:::bucket/prefix/`), or of the \
             CloudWatch Logs log group. Changing this replaces the flow log.",
        ),
        Attribute::string("iam_role_arn").optional().replaces().describe(
            "ARN of the IAM role that AWS assumes to write to the log group. Required for \
             `cloud-watch-logs`, and not used for `s3`. Changing this replaces the flow log.",
        ),
        Attribute::number("max_aggregation_interval")
            .default(600_i64)
            .replaces()
            .validate(|value, path, diagnostics| {
                if ![Value::from(60_i64), Value::from(600_i64)].contains(value) {
                    diagnostics.error_at(
                        path.clone(),
                        "Invalid interval",
                        "AWS offers two intervals. Set `max_aggregation_interval` to 60 or 600 seconds.",
                    );
                }
            })
            .describe(
                "Maximum time in seconds over which a flow is aggregated into one record: 60 or 600. AWS \
                 requires 60 for transit gateways. Changing this replaces the flow log. Defaults to \
                 `600`.",
            ),
        Attribute::string("log_format").optional().computed().keeps().replaces().describe(
            "Fields of each record, such as `${srcaddr} ${dstaddr} ${bytes}`. Changing this replaces the \
             flow log. Defaults to version 2 of the AWS format.",
        ),
    ])
    .attributes(common::tail())
}

fn one_of(allowed: &'static [&'static str]) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        if !allowed.contains(&value.as_str().unwrap_or_default()) {
            diagnostics.error_at(
                path.clone(),
                "Invalid value",
                format!("The value of `{path}` is not supported. Use one of {}.", allowed.join(", ")),
            );
        }
    }
}

/// Checks attributes that depend on each other; unknown values are skipped.
pub(super) fn check(log: &FlowLog, diagnostics: &mut Diagnostics) {
    let set = targets(log).iter().filter(|target| target.is_known()).count();
    let open = targets(log).iter().any(|target| target.is_unknown());
    if set > 1 || (set == 0 && !open) {
        diagnostics.push(Diagnostic::error(
            "Flow log needs exactly one source",
            format!("{set} of {} are set. Set exactly one of them.", TARGETS.join(", ")),
        ));
    }
    let logs = log.destination_type.known().is_some_and(|kind| kind == "cloud-watch-logs");
    if logs && log.iam_role_arn.is_null() {
        diagnostics.error_at(
            Path::of("iam_role_arn"),
            "No IAM role for CloudWatch Logs",
            "AWS needs an IAM role to write flow logs to a log group. Set `iam_role_arn`, or use an S3 \
             bucket as the destination.",
        );
    }
}

/// The source in a wholly known plan.
pub(super) fn target(log: &FlowLog) -> Target {
    match targets(log).map(Attr::known) {
        [Some(vpc), _, _] => Target::Vpc(vpc.clone()),
        [_, Some(subnet), _] => Target::Subnet(subnet.clone()),
        [_, _, gateway] => Target::TransitGateway(gateway.cloned().unwrap_or_default()),
    }
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &FlowLog) -> FlowLog {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    let id: Attr<String> = found.resource.clone().into();
    (state.vpc_id, state.subnet_id, state.transit_gateway_id) = match found.resource.split('-').next() {
        Some("subnet") => (Attr::Null, id, Attr::Null),
        Some("tgw") => (Attr::Null, Attr::Null, id),
        _ => (id, Attr::Null, Attr::Null),
    };
    // AWS reports none for transit gateways.
    state.traffic_type = found.traffic.map_or_else(|| before.traffic_type.clone(), Attr::Known);
    state.destination_type = found.destination_type.into();
    state.destination_arn = found.destination.map_or_else(|| before.destination_arn.clone(), Attr::Known);
    state.iam_role_arn = found.role.into();
    state.max_aggregation_interval = found.interval.map(i64::from).into();
    state.log_format = found.format.into();
    state
}
