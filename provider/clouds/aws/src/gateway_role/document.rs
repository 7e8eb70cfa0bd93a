//! The policies of the role of a gateway.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::model::GatewayRole;
use crate::policy::equivalent;
use crate::session::Aws;
use crate::tags;
use tf_provider_rs::Attr;
use warren_managed::sets;

/// The trust policy: EC2 instances.
pub(super) const TRUST: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;

/// What SSM Agent needs for Session Manager (AWS Systems Manager documentation, "Create a custom IAM role for Session
/// Manager"). The managed policy `AmazonSSMManagedInstanceCore` would also allow the role to read every parameter of the
/// account.
const SESSIONS: [&str; 5] = [
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
];

/// What shipping logs needs, on the streams of one log group.
const LOGS: [&str; 2] = ["logs:CreateLogStream", "logs:PutLogEvents"];

/// The policy: read the parameters, decrypt them with the keys; sessions, logs, the volume, and the role of pods if they are
/// configured.
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
    if role.session_manager.is_true() {
        statements.push(json!({ "Effect": "Allow", "Action": SESSIONS, "Resource": "*" }));
    }
    if let Some(group) = role.log_group_arn.known() {
        let streams = format!("{}:log-stream:*", group.trim_end_matches(":*"));
        statements.push(json!({ "Effect": "Allow", "Action": LOGS, "Resource": streams }));
    }
    if let Some(name) = role.attach_volumes_of.known() {
        // Volume and instance have the tags of their gateway group.
        let ours = tags::identity(aws, name)
            .into_iter()
            .map(|(key, value)| (format!("aws:ResourceTag/{key}"), value));
        let ours: BTreeMap<_, _> = ours.collect();
        let parts = ["instance/*", "volume/*"].map(|part| aws.arn(account, part));
        statements.push(json!({
            "Effect": "Allow", "Action": "ec2:AttachVolume", "Resource": parts,
            "Condition": { "StringEquals": ours },
        }));
    }
    if let Some(role) = role.pod_role_arn.known() {
        statements.push(json!({ "Effect": "Allow", "Action": "sts:AssumeRole", "Resource": role }));
    }
    json!({ "Version": "2012-10-17", "Statement": statements }).to_string()
}

/// `before` with the permissions of this policy. A policy that allows anything besides them reads as one that allows
/// nothing, so that the next apply rewrites it.
pub(super) fn read(aws: &Aws, account: &str, document: &str, before: &GatewayRole) -> GatewayRole {
    let arns = resources(document, &json!("ssm:GetParameter")).into_iter();
    let names = arns.filter_map(|arn| arn.split_once(":parameter/").map(|(_, name)| format!("/{name}")));
    let kms_key_arns = sets::found(resources(document, &json!("kms:Decrypt")), &before.kms_key_arns);
    let sessions = !resources(document, &json!(SESSIONS)).is_empty();
    let streams = resources(document, &json!(LOGS)).into_iter().next();
    let group = streams.and_then(|arn| Some(arn.strip_suffix(":log-stream:*")?.to_owned()));
    let attaches = !resources(document, &json!("ec2:AttachVolume")).is_empty();
    let same_group = |ours: &String| group.as_deref() == Some(ours.trim_end_matches(":*"));
    let role = GatewayRole {
        parameters: sets::of(names),
        kms_key_arns,
        session_manager: sessions.into(),
        log_group_arn: match before.log_group_arn.known().filter(|ours| same_group(ours)) {
            Some(ours) => Attr::Known(ours.clone()),
            None => group.into(),
        },
        pod_role_arn: resources(document, &json!("sts:AssumeRole")).into_iter().next().into(),
        attach_volumes_of: if attaches { before.attach_volumes_of.clone() } else { Attr::Null },
        ..before.clone()
    };
    if equivalent(document, &policy(aws, account, &role)) {
        return role;
    }
    GatewayRole { parameters: sets::of([]), ..role }
}

/// The resources of the statements with exactly this action, or these actions.
fn resources(document: &str, action: &Json) -> Vec<String> {
    let document: Json = serde_json::from_str(document).unwrap_or_default();
    let statements = document["Statement"].as_array().into_iter().flatten();
    let about = statements.filter(|statement| &statement["Action"] == action);
    let named = about.flat_map(|statement| match &statement["Resource"] {
        Json::Array(items) => items.clone(),
        one => vec![one.clone()],
    });
    named.filter_map(|resource| resource.as_str().map(str::to_owned)).collect()
}
