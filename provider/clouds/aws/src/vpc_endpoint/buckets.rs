//! The policy of an endpoint: as written, or rendered from a list of buckets.

use serde_json::json;
use tf_provider_rs::Attr;

use super::model::{BucketPolicy, Endpoint};
use super::service;
use crate::partition::Partition;
use crate::policy;
use warren_managed::sets;

impl Endpoint {
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
        let partition = Partition::of(region).name;
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

/// The policy of AWS for an endpoint that was created without one.
fn open() -> String {
    json!({ "Statement": [{ "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*" }] })
        .to_string()
}

/// The attribute `policy` of an endpoint with the policy `live`, based on `before`.
pub(super) fn shown(live: Option<String>, before: &Endpoint, region: &str) -> Attr<String> {
    let live = live.filter(|policy| !is_open(policy) || before.policy.is_known());
    let by_buckets = before.bucket_policy.known().and_then(|buckets| buckets.render(region));
    match (&live, by_buckets) {
        (Some(live), Some(wanted)) if policy::equivalent(live, &wanted) => Attr::Null,
        // Appears as drift: the policy that was rendered from the buckets is missing.
        (None, Some(_)) => open().into(),
        _ => policy::keep_spelling(&before.policy, live, policy::equivalent),
    }
}
