//! Names of services: the short form of the configuration and the full form of AWS.

use tf_provider_rs::{Diagnostics, Path, Value};

/// The full name of `service`, which may already be full.
pub(super) fn full(service: &str, region: &str) -> String {
    if is_full(service) { service.to_owned() } else { format!("com.amazonaws.{region}.{service}") }
}

/// The short form of a service in `region`; other names stay the same.
pub(super) fn short(service: &str, region: &str) -> String {
    ["com.amazonaws.", "cn.com.amazonaws."]
        .iter()
        .find_map(|prefix| service.strip_prefix(prefix)?.strip_prefix(region)?.strip_prefix('.'))
        .unwrap_or(service)
        .to_owned()
}

/// Whether the name is a full name of AWS.
pub(super) fn is_full(service: &str) -> bool {
    ["com.amazonaws.", "cn.com.amazonaws.", "aws."].iter().any(|prefix| service.starts_with(prefix))
}

/// `Gateway` for the services that have gateways, else `Interface`.
pub(super) fn default_type(short: &str) -> &'static str {
    if matches!(short, "s3" | "dynamodb") { "Gateway" } else { "Interface" }
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

/// Rejects names that no service has.
pub(super) fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let fine = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.ends_with('.')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    if !fine {
        diagnostics.error_at(
            path.clone(),
            "Invalid service name",
            format!(
                "{text:?} is not the name of a service. Use the short form, such as `s3`, `ecr.api`, \
                 `ecr.dkr`, `sts` or `logs`, or the full form, such as `com.amazonaws.us-east-1.s3`."
            ),
        );
    }
}
