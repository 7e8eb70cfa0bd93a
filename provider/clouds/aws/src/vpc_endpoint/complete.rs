//! Checks whether an image pull from ECR can work through an endpoint. The plan fails if something is
//! certainly missing.
//!
//! Without private DNS, a private zone must answer for the names of the service.
//!
//! A pull requests a token from `ecr.api` and the manifest from `ecr.dkr`, and reads the layers from a
//! bucket of AWS through `s3`. Unknown values are skipped; the plan is checked again during apply.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Diagnostics, Path};

use super::model::Endpoint;
use super::service;
use crate::ids::{self, SecurityGroupId, VpcId};
use crate::memory::{PlannedEndpoint, PlannedSecurityGroup, PlannedVpc, PlannedZone};
use crate::policy::Document;
use crate::route53_zone::answers;
use warren_managed::sets;

/// The known objects around an endpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// The endpoint's VPC.
    pub(super) vpc: Option<PlannedVpc>,
    /// Its security groups by ID.
    pub(super) groups: BTreeMap<SecurityGroupId, PlannedSecurityGroup>,
    /// Endpoints of the same VPC: planned in this run, or live.
    pub(super) endpoints: Vec<PlannedEndpoint>,
    /// Private zones: planned in this run, or live ones of the VPC.
    pub(super) zones: Vec<PlannedZone>,
    /// Whether objects that are missing here do not exist; otherwise they were not looked up.
    pub(super) looked_up: bool,
}

const HINT: &str = "To skip this check, set `allow_incomplete = true`.";

/// Whether the check applies to this endpoint.
pub(super) fn concerns(endpoint: &Endpoint, short: &str) -> bool {
    short.starts_with("ecr.") && !endpoint.allow_incomplete.is_true()
}

/// The other services that image pulls through the endpoint need.
pub(super) fn companions(short: &str) -> &'static [&'static str] {
    if short == "ecr.dkr" { &["ecr.api", "s3"] } else { &[] }
}

/// Whether two endpoints are in the same VPC. Unknown IDs count as the same.
pub(super) fn same_vpc(left: &Attr<VpcId>, right: &Attr<VpcId>) -> bool {
    !left.is_known() || !right.is_known() || left == right
}

/// Adds an error for each thing that is certainly missing.
pub(super) fn check(
    endpoint: &Endpoint,
    config: &Endpoint,
    short: &str,
    region: Option<&str>,
    around: &Around,
    diagnostics: &mut Diagnostics,
) {
    let mut missing = |path: &str, summary: &str, detail: String| {
        diagnostics.error_at(Path::of(path), summary, format!("{detail} {HINT}"));
    };
    if endpoint.private_dns_enabled == Attr::Known(false)
        && around.looked_up
        && let Some(name) = region.and_then(|region| service::public_name(short, region))
        && !answers(&around.zones, &endpoint.vpc_id, &name)
    {
        missing(
            "private_dns_enabled",
            "ECR endpoint without DNS",
            format!(
                "Container runtimes look up `{name}`, which resolves to the endpoint `{short}` only with private DNS \
                 or with a private zone. Set `private_dns_enabled = true`, or create a `warren_aws_route53_zone` for \
                 `{name}` in the same VPC. If this configuration declares the zone, add it to `depends_on` of this \
                 resource, so that it is planned first."
            ),
        );
    }
    if sets::is_empty(&endpoint.subnet_ids) {
        missing(
            "subnet_ids",
            "ECR endpoint without a subnet",
            format!(
                "The endpoint `{short}` gets network interfaces only in the subnets in `subnet_ids`. Add \
                 at least one subnet."
            ),
        );
    }
    if let Some(problem) = closed(endpoint, config, around) {
        missing("security_group_ids", "ECR endpoint behind closed security groups", problem);
    }
    if let Some(Attr::Known(policy)) = region.map(|region| endpoint.wanted_policy(region))
        && Document::parse(&policy).is_some_and(|policy| !policy.allows_service("ecr"))
    {
        missing(
            "policy",
            "ECR endpoint policy allows no ECR action",
            format!(
                "No statement of the policy allows an ECR action, so the endpoint `{short}` denies every \
                 request. Allow the ECR actions that are needed."
            ),
        );
    }
    if let Some(vpc) = &around.vpc {
        for (setting, value) in
            [("enable_dns_support", &vpc.dns_support), ("enable_dns_hostnames", &vpc.dns_hostnames)]
        {
            if value == &Attr::Known(false) && endpoint.private_dns_enabled.is_true() {
                missing(
                    "vpc_id",
                    "Private DNS in a VPC without DNS",
                    format!(
                        "Private DNS of the endpoint `{short}` requires `{setting} = true` in its VPC. \
                         Set it in the VPC."
                    ),
                );
            }
        }
    }
    pull(endpoint, short, region, around, diagnostics);
}

/// The reason why nothing in the VPC can reach port 443 of the endpoint, if that is certain.
fn closed(endpoint: &Endpoint, config: &Endpoint, around: &Around) -> Option<String> {
    if config.security_group_ids.is_null() && !endpoint.security_group_ids.is_known() {
        return Some(
            "Without `security_group_ids`, the endpoint gets the default security group of the VPC, which \
             at most allows traffic from its own members. Set `security_group_ids` to a group that \
             allows inbound TCP port 443 from the VPC."
                .to_owned(),
        );
    }
    let ids = sets::all_known(&endpoint.security_group_ids)?;
    if ids.is_empty() {
        return Some(
            "`security_group_ids` is empty. Add a group that allows inbound TCP port 443 from the VPC."
                .to_owned(),
        );
    }
    let ranges = around.vpc.as_ref().map(|vpc| vpc.ranges.as_slice()).unwrap_or_default();
    let shut = |id: &SecurityGroupId| {
        let group = around.groups.get(id)?;
        let from_vpc = |net: &ipnet::IpNet| {
            ranges.is_empty() || ranges.iter().any(|range| range.contains(net) || net.contains(range))
        };
        let open = group.https_from_group || group.https_from.iter().any(from_vpc);
        (!open && group.known).then_some(())
    };
    ids.iter().all(|id| shut(id).is_some()).then(|| {
        let ids = ids::texts(ids).join(", ");
        format!(
            "No ingress rule of {ids} allows TCP port 443 from the VPC. Add one. If another resource adds \
             it in this run, add that resource to `depends_on`."
        )
    })
}

fn pull(
    endpoint: &Endpoint,
    short: &str,
    region: Option<&str>,
    around: &Around,
    diagnostics: &mut Diagnostics,
) {
    let of = |service: &str| {
        around
            .endpoints
            .iter()
            .filter(|other| other.service == service && same_vpc(&other.vpc_id, &endpoint.vpc_id))
            .collect::<Vec<_>>()
    };
    let needed = companions(short);
    let missing: Vec<String> = needed
        .iter()
        .filter(|service| of(service).is_empty())
        .map(|service| format!("`{service}`"))
        .collect();
    if !missing.is_empty() && around.looked_up {
        let (them, they) = if missing.len() == 1 { ("it", "it is") } else { ("them", "they are") };
        diagnostics.error_at(
            Path::of("service"),
            "Missing endpoints for ECR",
            format!(
                "An image pull needs endpoints for `ecr.api`, `ecr.dkr` and `s3` in the same VPC. \
                 Missing: {}. Neither the VPC nor the plan so far contains {them}. If this configuration \
                 declares {them}, add {them} to `depends_on` of this resource, so that {they} planned \
                 first. If image layers are pulled through a NAT gateway, set `allow_incomplete = true`.",
                missing.join(" and ")
            ),
        );
        return;
    }
    if of("s3").is_empty() || needed.is_empty() {
        return;
    }
    let Some(bucket) = region.map(service::layer_bucket) else { return };
    let layer = format!("{bucket}/layer");
    let lets_layers_in = |other: &&PlannedEndpoint| match &other.policy {
        Attr::Known(policy) => {
            Document::parse(policy).is_none_or(|policy| policy.allows("s3:GetObject", &layer))
        }
        Attr::Null | Attr::Unknown => true,
    };
    if !of("s3").iter().any(lets_layers_in) {
        diagnostics.error_at(
            Path::of("service"),
            "Endpoint policy blocks image layers",
            format!(
                "The policy of the `s3` endpoint of this VPC does not allow `s3:GetObject` on \
                 `{bucket}/*`, where ECR stores image layers, so every pull would fail at the first layer. Allow it \
                 there, for example with `ecr_layers = true` in `bucket_policy`. {HINT}"
            ),
        );
    }
}
