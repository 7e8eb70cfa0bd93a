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
        /// As the user calls it.
        pub service: Attr<String>,
        /// As AWS calls it.
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
        /// A policy by its buckets.
        pub bucket_policy: Attr<BucketPolicy>,
        /// Switches the completeness check off.
        pub allow_incomplete: Attr<bool>,
        /// Names of an interface.
        pub dns_entries: Attr<Vec<DnsEntry>>,
        /// Destination of a gateway's routes.
        pub prefix_list_id: Attr<String>,
        /// One a subnet.
        pub network_interface_ids: Texts,
        /// As AWS calls it, in lower case.
        pub state: Attr<String>,
        /// Account id.
        pub owner_id: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }

    /// A policy by its buckets.
    pub struct BucketPolicy {
        /// Names of buckets.
        pub buckets: Texts,
        /// What may be done with their objects.
        pub object_actions: Texts,
        /// Whether image layers may be read.
        pub ecr_layers: Attr<bool>,
    }

    /// One name.
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
        "An endpoint through which a VPC reaches a service of AWS without the internet. An image pull from ECR \
         takes three: `ecr.api`, `ecr.dkr` and `s3`; the plan of an `ecr.*` endpoint fails while what it needs is \
         missing.",
    )
    .attributes(common::head("endpoint"))
    .attributes([
        Attribute::string("vpc_id").required().replaces().describe(
            "Id of the VPC. A change replaces the endpoint.",
        ),
        Attribute::string("service").required().replaces().validate(service::check).describe(
            "The service: short, such as `s3`, `ecr.api`, `ecr.dkr`, `sts` or `logs`, or full, such as \
             `com.amazonaws.us-east-1.s3`. A change to another service replaces the endpoint.",
        ),
        Attribute::string("service_name").computed().keeps().describe("The service's full name."),
        Attribute::string("type").optional().computed().keeps().replaces().validate(check_type).describe(
            "`Gateway` (routes to a prefix list; S3 and DynamoDB) or `Interface` (an address in each subnet). \
             A change replaces the endpoint. Default: `Gateway` for `s3` and `dynamodb`, else `Interface`.",
        ),
        Attribute::of("route_table_ids", Type::set(Type::String)).optional().describe(
            "Route tables that a `Gateway` puts its route into. Changes in place.",
        ),
        Attribute::of("subnet_ids", Type::set(Type::String)).optional().describe(
            "Subnets that an `Interface` has an address in, at most one in each availability zone. Changes in \
             place.",
        ),
        Attribute::of("security_group_ids", Type::set(Type::String)).optional().computed().keeps().describe(
            "Security groups of an `Interface`; one must let TCP 443 in from the VPC. Changes in place. Default: \
             the VPC's default group.",
        ),
        Attribute::bool("private_dns_enabled").optional().computed().keeps().describe(
            "Whether the service's public name resolves to the `Interface` inside the VPC, which needs the VPC's \
             DNS support and hostnames. Changes in place. Default: `true` for services of AWS on an `Interface`.",
        ),
        Attribute::string("policy").optional().validate(policy::json_object).describe(
            "Policy of the endpoint as JSON, compared by meaning. Changes in place. Default: everything is \
             allowed.",
        ),
        Attribute::nested(
            "bucket_policy",
            Nesting::Single,
            [
                Attribute::of("buckets", Type::set(Type::String)).required().validate(check_buckets).describe(
                    "Names of the buckets, at least one. They may be listed; `object_actions` are allowed on \
                     their objects.",
                ),
                Attribute::of("object_actions", Type::set(Type::String))
                    .default(tf_provider_rs::Value::set(vec!["s3:GetObject".into(), "s3:PutObject".into()]))
                    .describe(
                        "Actions on the buckets' objects. Default: `[\"s3:GetObject\", \"s3:PutObject\"]`.",
                    ),
                Attribute::bool("ecr_layers").default(true).describe(
                    "Whether image layers of ECR may be read, which lie in a bucket of AWS's \
                     (`prod-REGION-starport-layer-bucket`). Default: `true`.",
                ),
            ],
        )
        .optional()
        .describe(
            "Instead of `policy`, for `s3`: nothing but these buckets can be reached through the endpoint. \
             Changes in place.",
        ),
        Attribute::bool("allow_incomplete").optional().describe(
            "Switches off the check that an `ecr.*` endpoint has all it needs; what is missing must then be \
             reached another way, such as image layers through NAT. Default: `false`.",
        ),
        Attribute::nested(
            "dns_entries",
            Nesting::List,
            [
                Attribute::string("dns_name").computed().describe("The name."),
                Attribute::string("hosted_zone_id").computed().describe("Hosted zone of the name."),
            ],
        )
        .computed()
        .keeps()
        .describe("DNS names of an `Interface`, the regional one first."),
        Attribute::string("prefix_list_id").computed().keeps().describe(
            "Id of the prefix list that a `Gateway`'s routes lead to, for rules of security groups.",
        ),
        Attribute::of("network_interface_ids", Type::set(Type::String)).computed().keeps().describe(
            "Network interfaces of an `Interface`, one in each subnet.",
        ),
        Attribute::string("state").computed().keeps().describe(
            "State in AWS's words, such as `available` or `pendingacceptance`.",
        ),
        Attribute::string("owner_id").computed().keeps().describe("Id of the account, 12 digits."),
    ])
    .attributes(common::tail())
}

fn check_type(
    value: &tf_provider_rs::Value,
    path: &tf_provider_rs::Path,
    found: &mut tf_provider_rs::Diagnostics,
) {
    if !matches!(value.as_str(), Some("Gateway" | "Interface")) {
        found.error_at(path.clone(), "Unknown endpoint type", "`type` is `Gateway` or `Interface`.");
    }
}

fn check_buckets(
    value: &tf_provider_rs::Value,
    path: &tf_provider_rs::Path,
    found: &mut tf_provider_rs::Diagnostics,
) {
    let items = value.as_slice().unwrap_or_default();
    if items.is_empty() {
        found.error_at(path.clone(), "No bucket", "`buckets` names at least one bucket.");
    }
    for name in items.iter().filter_map(tf_provider_rs::Value::as_str) {
        let fine = (3..=63).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-'));
        if !fine {
            found.error_at(
                path.clone(),
                "Not a bucket",
                format!(
                    "{name:?} is not the name of a bucket: 3 to 63 lower-case letters, digits, dots and \
                     hyphens, without `s3://` or `arn:`."
                ),
            );
        }
    }
}

impl Endpoint {
    pub(super) fn is_gateway(&self) -> bool {
        self.r#type.text() == "Gateway"
    }

    /// The policy that AWS is to hold; null for none. Unknown parts leave it unknown.
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

/// What AWS holds when it was given no policy.
pub(super) fn is_open(policy: &str) -> bool {
    let open = |version: &str| {
        json!({ "Version": version, "Statement": [
            { "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*" }
        ] })
    };
    ["2008-10-17", "2012-10-17"].iter().any(|version| policy::equivalent(policy, &open(version).to_string()))
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Endpoint) -> Endpoint {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    // The user's way to call the service stays while it names this one.
    if before.service.known().is_none_or(|service| service::full(service, &aws.region) != found.service_name)
    {
        state.service = service::short(&found.service_name, &aws.region).into();
    }
    state.service_name = found.service_name.into();
    state.r#type = found.kind.into();
    state.route_table_ids = sets::found(found.route_table_ids, &before.route_table_ids);
    state.subnet_ids = sets::found(found.subnet_ids, &before.subnet_ids);
    state.security_group_ids = sets::of(found.security_group_ids);
    // It says nothing about a gateway.
    state.private_dns_enabled = (found.private_dns && !state.is_gateway()).into();
    let live = found.policy.filter(|policy| !is_open(policy) || before.policy.is_known());
    let by_buckets = before.bucket_policy.known().and_then(|buckets| buckets.render(&aws.region));
    state.policy = match (&live, by_buckets) {
        (Some(live), Some(wanted)) if policy::equivalent(live, &wanted) => Attr::Null,
        // Shown as drift: the policy that was made of the buckets is gone.
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
