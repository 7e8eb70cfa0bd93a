//! Whether an image pull from ECR can work through an endpoint: what is certainly missing fails the plan.
//!
//! A pull asks `ecr.api` for a token and `ecr.dkr` for the manifest, and reads the layers from a bucket
//! of AWS's through `s3`. What is not known yet is passed over; the plan is checked again during apply.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Diagnostics, Path};

use super::schema::Endpoint;
use super::service;
use crate::memory::{PlannedEndpoint, PlannedSecurityGroup, PlannedVpc};
use crate::policy::Document;
use warren_managed::sets;

/// What surrounds an endpoint, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// The endpoint's VPC.
    pub(super) vpc: Option<PlannedVpc>,
    /// Its security groups by id.
    pub(super) groups: BTreeMap<String, PlannedSecurityGroup>,
    /// Endpoints of the same VPC: planned in this run, or live.
    pub(super) endpoints: Vec<PlannedEndpoint>,
    /// Whether what is not in here does not exist; otherwise it was not looked up.
    pub(super) looked_up: bool,
}

const HINT: &str = "Set `allow_incomplete = true` if what is missing is reached another way.";

/// Whether the check is for this endpoint.
pub(super) fn concerns(endpoint: &Endpoint, short: &str) -> bool {
    short.starts_with("ecr.") && !endpoint.allow_incomplete.is_true()
}

/// Which services the endpoint's images need beside its own.
pub(super) fn companions(short: &str) -> &'static [&'static str] {
    if short == "ecr.dkr" { &["ecr.api", "s3"] } else { &[] }
}

/// Whether two endpoints are in one VPC; ids that are not known yet count as the same.
pub(super) fn same_vpc(left: &Attr<String>, right: &Attr<String>) -> bool {
    !left.is_known() || !right.is_known() || left == right
}

/// Adds an error for each thing that is certainly missing.
pub(super) fn check(
    endpoint: &Endpoint,
    config: &Endpoint,
    short: &str,
    region: &str,
    around: &Around,
    diagnostics: &mut Diagnostics,
) {
    let mut missing = |path: &str, summary: &str, detail: String| {
        diagnostics.error_at(Path::of(path), summary, format!("{detail} {HINT}"));
    };
    if endpoint.private_dns_enabled == Attr::Known(false) {
        missing(
            "private_dns_enabled",
            "ECR endpoint without private DNS",
            format!(
                "Container runtimes look up ECR's public names, which reach the endpoint `{short}` only with \
                 `private_dns_enabled = true`."
            ),
        );
    }
    if sets::is_empty(&endpoint.subnet_ids) {
        missing(
            "subnet_ids",
            "ECR endpoint without a subnet",
            format!("The endpoint `{short}` has an address only in the subnets that `subnet_ids` names."),
        );
    }
    if let Some(problem) = closed(endpoint, config, around) {
        missing("security_group_ids", "ECR endpoint behind closed security groups", problem);
    }
    if let Attr::Known(policy) = endpoint.wanted_policy(region)
        && Document::parse(&policy).is_some_and(|policy| !policy.allows_service("ecr"))
    {
        missing(
            "policy",
            "ECR endpoint whose policy allows nothing",
            format!(
                "No statement of the policy allows an action of ECR, so the endpoint `{short}` refuses all."
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
                    "Private DNS in a VPC without it",
                    format!("Private DNS of the endpoint `{short}` needs `{setting} = true` in its VPC."),
                );
            }
        }
    }
    pull(endpoint, short, region, around, diagnostics);
}

/// Why nothing in the VPC can reach the endpoint's port 443, when that is certain.
fn closed(endpoint: &Endpoint, config: &Endpoint, around: &Around) -> Option<String> {
    if config.security_group_ids.is_null() && !endpoint.security_group_ids.is_known() {
        return Some(
            "Without `security_group_ids` the endpoint gets the VPC's default group, which lets in its own \
             members at most. Name a group that lets TCP 443 in from the VPC."
                .to_owned(),
        );
    }
    let ids = sets::all_known(&endpoint.security_group_ids)?;
    if ids.is_empty() {
        return Some(
            "`security_group_ids` names no group. Name one that lets TCP 443 in from the VPC.".to_owned(),
        );
    }
    let ranges = around.vpc.as_ref().map(|vpc| vpc.ranges.as_slice()).unwrap_or_default();
    let shut = |id: &String| {
        let group = around.groups.get(id)?;
        let from_vpc = |net: &ipnet::IpNet| {
            ranges.is_empty() || ranges.iter().any(|range| range.contains(net) || net.contains(range))
        };
        let open = group.https_from_group || group.https_from.iter().any(from_vpc);
        (!open && group.known).then_some(())
    };
    ids.iter().all(|id| shut(id).is_some()).then(|| {
        let ids = ids.into_iter().collect::<Vec<_>>().join(", ");
        format!(
            "No ingress rule of {ids} lets TCP 443 in from the VPC. Add one; if another resource adds it in \
             this run, name that resource in `depends_on`."
        )
    })
}

fn pull(endpoint: &Endpoint, short: &str, region: &str, around: &Around, diagnostics: &mut Diagnostics) {
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
            "Incomplete endpoints for ECR",
            format!(
                "An image pull needs endpoints for `ecr.api`, `ecr.dkr` and `s3` in one VPC. Missing: {}; neither \
                 live in this VPC nor planned before this endpoint. If this configuration declares {them}, name \
                 {them} in this resource's `depends_on`, so that {they} planned first; if layers come through \
                 NAT, set `allow_incomplete = true`.",
                missing.join(" and ")
            ),
        );
        return;
    }
    if of("s3").is_empty() || needed.is_empty() {
        return;
    }
    let layer = format!("{}/layer", service::layer_bucket(region));
    let lets_layers_in = |other: &&PlannedEndpoint| match &other.policy {
        Attr::Known(policy) => {
            Document::parse(policy).is_none_or(|policy| policy.allows("s3:GetObject", &layer))
        }
        Attr::Null | Attr::Unknown => true,
    };
    if !of("s3").iter().any(lets_layers_in) {
        diagnostics.error_at(
            Path::of("service"),
            "Image layers are shut out",
            format!(
                "The policy of this VPC's `s3` endpoint does not allow `s3:GetObject` on `{}/*`, where ECR keeps \
                 image layers, so every pull would stop at the first layer. Allow it there (`bucket_policy` does \
                 with `ecr_layers = true`). {HINT}",
                service::layer_bucket(region)
            ),
        );
    }
}
