//! Names of services: the short form of the configuration and the full form of AWS.

use super::model::Kind;
use crate::partition::Partition;

/// The full name of `service`, which may already be full.
pub(super) fn full(service: &str, region: &str, kind: Kind) -> String {
    if is_full(service) {
        return service.to_owned();
    }
    let prefix = Partition::of(region).service_prefix(service, kind == Kind::Gateway);
    format!("{prefix}.{region}.{service}")
}

/// The short form of a service in `region`; other names stay the same.
pub(super) fn short<'a>(service: &'a str, region: Option<&str>) -> &'a str {
    let Some(region) = region else { return service };
    let rest = |prefix| {
        let rest = service.strip_prefix(prefix)?.strip_prefix('.')?;
        rest.strip_prefix(region)?.strip_prefix('.')
    };
    Partition::service_prefixes().find_map(rest).unwrap_or(service)
}

/// Whether the name is a full name of AWS.
pub(super) fn is_full(service: &str) -> bool {
    let begins = |prefix| service.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    service.starts_with("aws.") || Partition::service_prefixes().any(begins)
}

/// The name of an ECR service, or the domain of its names, that clients look up; `None` for other services.
pub(super) fn public_name(short: &str, region: &str) -> Option<String> {
    let kind = short.strip_prefix("ecr.").filter(|kind| matches!(*kind, "api" | "dkr"))?;
    Some(format!("{kind}.ecr.{region}.{}", warren_wire::partition::domain(region)))
}

/// `Gateway` for the services that have gateways, else `Interface`.
pub(super) fn default_type(short: &str) -> Kind {
    if matches!(short, "s3" | "dynamodb") { Kind::Gateway } else { Kind::Interface }
}

/// Whether the service belongs to an AWS customer, who may not have set a private DNS name.
pub(super) fn is_customers(service: &str) -> bool {
    service.contains(".vpce.")
}

/// The bucket in which ECR stores image layers.
pub(super) fn layer_bucket(region: &str) -> String {
    format!("arn:{}:s3:::prod-{region}-starport-layer-bucket", Partition::of(region).name)
}
