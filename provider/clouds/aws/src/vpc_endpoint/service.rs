//! Names of services: the short form of the configuration and the full form of AWS.

use super::model::Kind;

/// The full name of `service`, which may already be full.
pub(super) fn full(service: &str, region: &str) -> String {
    if is_full(service) { service.to_owned() } else { format!("com.amazonaws.{region}.{service}") }
}

/// The short form of a service in `region`; other names stay the same.
pub(super) fn short<'a>(service: &'a str, region: Option<&str>) -> &'a str {
    let Some(region) = region else { return service };
    ["com.amazonaws.", "cn.com.amazonaws."]
        .iter()
        .find_map(|prefix| service.strip_prefix(prefix)?.strip_prefix(region)?.strip_prefix('.'))
        .unwrap_or(service)
}

/// Whether the name is a full name of AWS.
pub(super) fn is_full(service: &str) -> bool {
    ["com.amazonaws.", "cn.com.amazonaws.", "aws."].iter().any(|prefix| service.starts_with(prefix))
}

/// The name of an ECR service, or the domain of its names, that clients look up; `None` for other services.
pub(super) fn public_name(short: &str, region: &str) -> Option<String> {
    let kind = short.strip_prefix("ecr.").filter(|kind| matches!(*kind, "api" | "dkr"))?;
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    Some(format!("{kind}.ecr.{region}.{domain}"))
}

/// `Gateway` for the services that have gateways, else `Interface`.
pub(super) fn default_type(short: &str) -> Kind {
    if matches!(short, "s3" | "dynamodb") { Kind::Gateway } else { Kind::Interface }
}

/// Whether the service belongs to an AWS customer, who may not have set a private DNS name.
pub(super) fn is_customers(service: &str) -> bool {
    service.contains(".vpce.")
}

/// The partition of ARNs in `region`.
pub(super) fn partition(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "aws-cn"
    } else if region.starts_with("us-gov-") {
        "aws-us-gov"
    } else {
        "aws"
    }
}

/// The bucket in which ECR stores image layers.
pub(super) fn layer_bucket(region: &str) -> String {
    format!("arn:{}:s3:::prod-{region}-starport-layer-bucket", partition(region))
}
