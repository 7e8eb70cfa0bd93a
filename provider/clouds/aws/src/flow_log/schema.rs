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
        /// Bucket, with a prefix if wanted, or log group.
        pub destination_arn: Attr<String>,
        /// The role that writes to a log group.
        pub iam_role_arn: Attr<String>,
        /// Seconds.
        pub max_aggregation_interval: Attr<i64>,
        /// Fields of a record.
        pub log_format: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(FlowLog, "warren_aws_flow_log");

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Vpc(String),
    Subnet(String),
    TransitGateway(String),
}

const TARGETS: [&str; 3] = ["vpc_id", "subnet_id", "transit_gateway_id"];

/// Where a configuration names what is logged: one of these.
pub(super) fn targets(log: &FlowLog) -> [&Attr<String>; 3] {
    [&log.vpc_id, &log.subnet_id, &log.transit_gateway_id]
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "A log of the flows of a VPC, a subnet or a transit gateway, written to S3 or CloudWatch Logs. AWS cannot \
         change a flow log: every change but that of tags replaces it.",
    )
    .attributes(common::head("flow log"))
    .attributes([
        Attribute::string("vpc_id").optional().replaces().describe(
            "Id of the VPC to log. Exactly one of `vpc_id`, `subnet_id` and `transit_gateway_id` is set.",
        ),
        Attribute::string("subnet_id").optional().replaces().describe("Id of the subnet to log."),
        Attribute::string("transit_gateway_id")
            .optional()
            .replaces()
            .describe("Id of the transit gateway to log; all its traffic is."),
        Attribute::string("traffic_type")
            .default("ALL")
            .replaces()
            .validate(one_of(&["ACCEPT", "REJECT", "ALL"]))
            .describe("`ACCEPT`, `REJECT` or `ALL`. Default: `ALL`."),
        Attribute::string("destination_type")
            .default("s3")
            .replaces()
            .validate(one_of(&["s3", "cloud-watch-logs"]))
            .describe("`s3` or `cloud-watch-logs`. Default: `s3`."),
        Attribute::string("destination_arn").required().replaces().describe(
            "ARN of the bucket, with a prefix if wanted (`arn:aws:s3:::bucket/prefix/`), or of the log group.",
        ),
        Attribute::string("iam_role_arn")
            .optional()
            .replaces()
            .describe("ARN of the role that may write to the log group; only for `cloud-watch-logs`."),
        Attribute::number("max_aggregation_interval")
            .default(600_i64)
            .replaces()
            .validate(|value, path, diagnostics| {
                if ![Value::from(60_i64), Value::from(600_i64)].contains(value) {
                    diagnostics.error_at(
                        path.clone(),
                        "Interval not possible",
                        "`max_aggregation_interval` is 60 or 600 seconds.",
                    );
                }
            })
            .describe("How long a flow is gathered into one record: 60 or 600 seconds. Default: 600."),
        Attribute::string("log_format")
            .optional()
            .computed()
            .keeps()
            .replaces()
            .describe("Fields of a record, such as `${srcaddr} ${dstaddr} ${bytes}`. Default: AWS's version 2."),
    ])
    .attributes(common::tail())
}

fn one_of(allowed: &'static [&'static str]) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        if !allowed.contains(&value.as_str().unwrap_or_default()) {
            diagnostics.error_at(
                path.clone(),
                "Value not possible",
                format!("`{path}` is one of {}.", allowed.join(", ")),
            );
        }
    }
}

/// Checks what belongs together; unknown values are passed over.
pub(super) fn check(log: &FlowLog, diagnostics: &mut Diagnostics) {
    let set = targets(log).iter().filter(|target| target.is_known()).count();
    let open = targets(log).iter().any(|target| target.is_unknown());
    if set > 1 || (set == 0 && !open) {
        diagnostics.push(Diagnostic::error(
            "Not one thing to log",
            format!("{set} of {} are set; set exactly one.", TARGETS.join(", ")),
        ));
    }
    let logs = log.destination_type.known().is_some_and(|kind| kind == "cloud-watch-logs");
    if logs && log.iam_role_arn.is_null() {
        diagnostics.error_at(
            Path::of("iam_role_arn"),
            "No role for CloudWatch Logs",
            "Flow logs reach a log group through a role: set `iam_role_arn`, or use a bucket.",
        );
    }
}

/// What a wholly known plan logs.
pub(super) fn target(log: &FlowLog) -> Target {
    match targets(log).map(Attr::known) {
        [Some(vpc), _, _] => Target::Vpc(vpc.clone()),
        [_, Some(subnet), _] => Target::Subnet(subnet.clone()),
        [_, _, gateway] => Target::TransitGateway(gateway.cloned().unwrap_or_default()),
    }
}

/// The state that what was found makes of `before`.
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
    // AWS tells none for transit gateways.
    state.traffic_type = found.traffic.map_or_else(|| before.traffic_type.clone(), Attr::Known);
    state.destination_type = found.destination_type.into();
    state.destination_arn = found.destination.map_or_else(|| before.destination_arn.clone(), Attr::Known);
    state.iam_role_arn = found.role.into();
    state.max_aggregation_interval = found.interval.map(i64::from).into();
    state.log_format = found.format.into();
    state
}
