//! Attributes and state of `warren_aws_vpc_endpoint`.

use serde_json::json;
use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Type, model};

use super::api::Found;
use super::service;
use crate::common::{self, Tagged, common};
use crate::policy;
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::{
    Timeouts,
    sets::{self, Texts},
};

model! {
    /// A VPC endpoint.
    pub struct Endpoint {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `vpce-..`.
        pub id: Attr<String>,
        /// `vpc-..`.
        pub vpc_id: Attr<String>,
        /// The name in the configuration.
        pub service: Attr<String>,
        /// The full name in AWS.
        pub service_name: Attr<String>,
        /// `Gateway` or `Interface`.
        pub r#type: Attr<String>,
        /// Route tables of a gateway.
        pub route_table_ids: Texts,
        /// Subnets of an interface.
        pub subnet_ids: Texts,
        /// Security groups of an interface.
        pub security_group_ids: Texts,
        /// Whether the service's public name resolves to the interface.
        pub private_dns_enabled: Attr<bool>,
        /// JSON; null allows everything.
        pub policy: Attr<String>,
        /// A policy as a list of buckets.
        pub bucket_policy: Attr<BucketPolicy>,
        /// Skips the completeness check.
        pub allow_incomplete: Attr<bool>,
        /// Names of an interface.
        pub dns_entries: Attr<Vec<DnsEntry>>,
        /// Destination of a gateway's routes.
        pub prefix_list_id: Attr<String>,
        /// One per subnet.
        pub network_interface_ids: Texts,
        /// As AWS calls it, in lower case.
        pub state: Attr<String>,
        /// Account ID.
        pub owner_id: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }

    /// A policy as a list of buckets.
    pub struct BucketPolicy {
        /// Names of buckets.
        pub buckets: Texts,
        /// Actions that are allowed on their objects.
        pub object_actions: Texts,
        /// Whether image layers may be read.
        pub ecr_layers: Attr<bool>,
    }

    /// A DNS name.
    pub struct DnsEntry {
        /// The name.
        pub dns_name: Attr<String>,
        /// Hosted zone of the name.
        pub hosted_zone_id: Attr<String>,
    }
}

common!(Endpoint, "warren_aws_vpc_endpoint");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a VPC endpoint, through which a VPC reaches an AWS service without the internet. Pulling \
         an image from ECR requires three endpoints: `ecr.api`, `ecr.dkr` and `s3`. The plan of an \
         `ecr.*` endpoint fails while something that it needs is missing.",
    )
    .attributes(common::head("endpoint"))
    .attributes([
        Attribute::string("vpc_id")
            .required()
            .replaces()
            .describe("ID of the VPC. Changing this replaces the endpoint."),
        Attribute::string("service").required().replaces().validate(service::check).describe(
            "Name of the service: the short form, such as `s3`, `ecr.api`, `ecr.dkr`, `sts` or `logs`, or \
             the full form, such as `com.amazonaws.us-east-1.s3`. Changing this to another service \
             replaces the endpoint.",
        ),
        Attribute::string("service_name").computed().keeps().describe("Full name of the service."),
        Attribute::string("type").optional().computed().keeps().replaces().validate(check_type).describe(
            "Type of the endpoint: `Gateway` (routes to a prefix list, for S3 and DynamoDB) or \
             `Interface` (a network interface in each subnet). Changing this replaces the endpoint. \
             Defaults to `Gateway` for `s3` and `dynamodb`, and to `Interface` for other services.",
        ),
        Attribute::of("route_table_ids", Type::set(Type::String))
            .optional()
            .describe("IDs of the route tables that get a route to a `Gateway` endpoint. Updated in place."),
        Attribute::of("subnet_ids", Type::set(Type::String)).optional().describe(
            "IDs of the subnets in which an `Interface` endpoint has a network interface, at most one in \
             each Availability Zone. Updated in place.",
        ),
        Attribute::of("security_group_ids", Type::set(Type::String)).optional().computed().keeps().describe(
            "IDs of the security groups of an `Interface` endpoint. At least one must allow inbound TCP \
             port 443 from the VPC. Updated in place. Defaults to the default security group of the VPC.",
        ),
        Attribute::bool("private_dns_enabled").optional().computed().keeps().describe(
            "Whether the public DNS name of the service resolves to an `Interface` endpoint inside the \
             VPC. Requires DNS support and DNS hostnames in the VPC. Updated in place. Defaults to \
             `true` for `Interface` endpoints of AWS services.",
        ),
        Attribute::string("policy").optional().validate(policy::json_object).describe(
            "Endpoint policy as JSON. Differences in formatting are ignored. Conflicts with \
             `bucket_policy`. Updated in place. By default the endpoint allows everything.",
        ),
        Attribute::nested(
            "bucket_policy",
            Nesting::Single,
            [
                Attribute::of("buckets", Type::set(Type::String))
                    .required()
                    .validate(check_buckets)
                    .describe(
                        "Names of the buckets, at least one. The endpoint allows listing them, and \
                         `object_actions` on their objects.",
                    ),
                Attribute::of("object_actions", Type::set(Type::String))
                    .default(tf_provider_rs::Value::set(vec!["s3:GetObject".into(), "s3:PutObject".into()]))
                    .describe(
                        "Actions that the endpoint allows on the objects of the buckets. Defaults to \
                         `[\"s3:GetObject\", \"s3:PutObject\"]`.",
                    ),
                Attribute::bool("ecr_layers").default(true).describe(
                    "Whether the endpoint allows reading the image layers of ECR, which AWS stores in a \
                     bucket of its own (`prod-REGION-starport-layer-bucket`). Defaults to `true`.",
                ),
            ],
        )
        .optional()
        .describe(
            "Buckets that an `s3` endpoint allows; all other buckets are unreachable through it. \
             Conflicts with `policy`. Updated in place.",
        ),
        Attribute::bool("allow_incomplete").optional().describe(
            "Whether to skip the check that an `ecr.*` endpoint has everything that it needs. Anything \
             missing must then be reachable another way, such as image layers through a NAT gateway. \
             Defaults to `false`.",
        ),
        Attribute::nested(
            "dns_entries",
            Nesting::List,
            [
                Attribute::string("dns_name").computed().describe("DNS name."),
                Attribute::string("hosted_zone_id").computed().describe("ID of the hosted zone of the name."),
            ],
        )
        .computed()
        .keeps()
        .describe("DNS names of an `Interface` endpoint, the regional name first."),
        Attribute::string("prefix_list_id")
            .computed()
            .keeps()
            .describe("ID of the prefix list of a `Gateway` endpoint, for use in security group rules."),
        Attribute::of("network_interface_ids", Type::set(Type::String))
            .computed()
            .keeps()
            .describe("IDs of the network interfaces of an `Interface` endpoint, one in each subnet."),
        Attribute::string("state")
            .computed()
            .keeps()
            .describe("State of the endpoint, such as `available` or `pendingacceptance`."),
        Attribute::string("owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the endpoint."),
    ])
    .attributes(common::tail())
}

fn check_type(
    value: &tf_provider_rs::Value,
    path: &tf_provider_rs::Path,
    found: &mut tf_provider_rs::Diagnostics,
) {
    if !matches!(value.as_str(), Some("Gateway" | "Interface")) {
        found.error_at(
            path.clone(),
            "Invalid endpoint type",
            "Warren supports two endpoint types. Set `type` to `Gateway` or `Interface`.",
        );
    }
}

fn check_buckets(
    value: &tf_provider_rs::Value,
    path: &tf_provider_rs::Path,
    found: &mut tf_provider_rs::Diagnostics,
) {
    let items = value.as_slice().unwrap_or_default();
    if items.is_empty() {
        found.error_at(
            path.clone(),
            "Empty list of buckets",
            "`bucket_policy` needs at least one bucket. Add a bucket name to `buckets`.",
        );
    }
    for name in items.iter().filter_map(tf_provider_rs::Value::as_str) {
        let fine = (3..=63).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-'));
        if !fine {
            found.error_at(
                path.clone(),
                "Invalid bucket name",
                format!(
                    "{name:?} is not the name of a bucket. Use 3 to 63 lower-case letters, digits, dots \
                     and hyphens, without `s3://` or `arn:`."
                ),
            );
        }
    }
}

impl Endpoint {
    pub(super) fn is_gateway(&self) -> bool {
        self.r#type.text() == "Gateway"
    }

    /// The policy for AWS; null for none, unknown while part of it is unknown.
    pub(super) fn wanted_policy(&self, region: &str) -> Attr<String> {
        match (&self.policy, &self.bucket_policy) {
            (Attr::Null, Attr::Known(buckets)) => buckets.render(region).map_or(Attr::Unknown, Attr::Known),
            (Attr::Null, Attr::Unknown) => Attr::Unknown,
            (policy, _) => policy.clone(),
        }
    }
}

impl BucketPolicy {
    /// The policy as JSON; `None` while a part is unknown.
    pub(super) fn render(&self, region: &str) -> Option<String> {
        let partition = service::partition(region);
        let buckets = sets::all_known(&self.buckets)?;
        let actions = sets::all_known(&self.object_actions)?;
        let layers = *self.ecr_layers.known()?;
        let arns = |tail: &str| -> Vec<String> {
            buckets.iter().map(|bucket| format!("arn:{partition}:s3:::{bucket}{tail}")).collect()
        };
        let mut statements = vec![json!({
            "Sid": "ListBuckets", "Effect": "Allow", "Principal": "*",
            "Action": "s3:ListBucket", "Resource": arns(""),
        })];
        if !actions.is_empty() {
            statements.push(json!({
                "Sid": "UseObjects", "Effect": "Allow", "Principal": "*",
                "Action": actions, "Resource": arns("/*"),
            }));
        }
        if layers {
            statements.push(json!({
                "Sid": "ReadImageLayers", "Effect": "Allow", "Principal": "*",
                "Action": "s3:GetObject", "Resource": format!("{}/*", service::layer_bucket(region)),
            }));
        }
        Some(json!({ "Version": "2012-10-17", "Statement": statements }).to_string())
    }
}

/// Whether the policy is the default policy of AWS, which allows everything.
pub(super) fn is_open(policy: &str) -> bool {
    let open = |version: &str| {
        json!({ "Version": version, "Statement": [
            { "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*" }
        ] })
    };
    ["2008-10-17", "2012-10-17"].iter().any(|version| policy::equivalent(policy, &open(version).to_string()))
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Endpoint) -> Endpoint {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    // The spelling of the user stays while it names the same service.
    if before.service.known().is_none_or(|service| service::full(service, &aws.region) != found.service_name)
    {
        state.service = service::short(&found.service_name, &aws.region).into();
    }
    state.service_name = found.service_name.into();
    state.r#type = found.kind.into();
    state.route_table_ids = sets::found(found.route_table_ids, &before.route_table_ids);
    state.subnet_ids = sets::found(found.subnet_ids, &before.subnet_ids);
    state.security_group_ids = sets::of(found.security_group_ids);
    // Meaningless for a gateway endpoint.
    state.private_dns_enabled = (found.private_dns && !state.is_gateway()).into();
    let live = found.policy.filter(|policy| !is_open(policy) || before.policy.is_known());
    let by_buckets = before.bucket_policy.known().and_then(|buckets| buckets.render(&aws.region));
    state.policy = match (&live, by_buckets) {
        (Some(live), Some(wanted)) if policy::equivalent(live, &wanted) => Attr::Null,
        // Appears as drift: the policy that was rendered from the buckets is missing.
        (None, Some(_)) => json!({ "Statement": [
            { "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*" }
        ] })
        .to_string()
        .into(),
        _ => policy::keep_spelling(&before.policy, live, policy::equivalent),
    };
    let entries = found
        .dns_entries
        .into_iter()
        .map(|(name, zone)| DnsEntry { dns_name: name.into(), hosted_zone_id: zone.into() });
    state.dns_entries = entries.collect::<Vec<_>>().into();
    state.prefix_list_id = found.prefix_list_id.into();
    state.network_interface_ids = sets::of(found.network_interface_ids);
    state.state = found.state.into();
    state.owner_id = found.owner_id.into();
    state
}
