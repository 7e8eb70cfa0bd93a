//! The policies of the role of a gateway.

use serde_json::{Value as Json, json};

use super::model::GatewayRole;
use crate::policy::equivalent;
use crate::session::Aws;
use warren_managed::sets::{self, Texts};

/// The trust policy: EC2 instances.
pub(super) const TRUST: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;

/// The policy: read the parameters, decrypt them with the keys.
pub(super) fn policy(aws: &Aws, account: &str, role: &GatewayRole) -> String {
    let parameters = sets::known(&role.parameters);
    let region = role.parameter_region.known().unwrap_or(&aws.region);
    let names: Vec<String> =
        parameters.iter().map(|name| aws.parameter_arn((region, account), name)).collect();
    let mut statements = vec![json!({ "Effect": "Allow", "Action": "ssm:GetParameter", "Resource": names })];
    let keys = sets::known(&role.kms_key_arns);
    if !keys.is_empty() {
        statements.push(json!({ "Effect": "Allow", "Action": "kms:Decrypt", "Resource": keys }));
    }
    json!({ "Version": "2012-10-17", "Statement": statements }).to_string()
}

/// The attributes `parameters` and `kms_key_arns` of a role with this policy. A policy that allows anything besides
/// reading parameters reads as one that allows nothing, so that the next apply rewrites it.
pub(super) fn read(aws: &Aws, account: &str, document: &str, before: &GatewayRole) -> (Texts, Texts) {
    let arns = resources(document, "ssm:GetParameter").into_iter();
    let names = arns.filter_map(|arn| arn.split_once(":parameter/").map(|(_, name)| format!("/{name}")));
    let role = GatewayRole {
        parameters: sets::of(names),
        parameter_region: before.parameter_region.clone(),
        kms_key_arns: sets::found(resources(document, "kms:Decrypt"), &before.kms_key_arns),
        ..GatewayRole::default()
    };
    let ours = equivalent(document, &policy(aws, account, &role));
    (if ours { role.parameters } else { sets::of([]) }, role.kms_key_arns)
}

/// The resources of the statements whose only action is `action`.
fn resources(document: &str, action: &str) -> Vec<String> {
    let document: Json = serde_json::from_str(document).unwrap_or_default();
    let statements = document["Statement"].as_array().into_iter().flatten();
    let about = statements.filter(|statement| statement["Action"] == action);
    let named = about.flat_map(|statement| match &statement["Resource"] {
        Json::Array(items) => items.clone(),
        one => vec![one.clone()],
    });
    named.filter_map(|resource| resource.as_str().map(str::to_owned)).collect()
}
