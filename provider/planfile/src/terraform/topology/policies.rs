//! Policies of endpoints and buckets as JSON: the statements that concern reading objects.

use super::super::resource::{Attribute, Values};
use super::super::role::Role;
use super::Reader;
use super::view::{Item, Link, View, flag};
use crate::node::{Node, parse_json};
use warren_model::policy::matches;
use warren_model::topology::{Access, Condition, Statement, StoreKind};

/// Policies that are separate resources.
pub(super) const EDGES: &[(Role, Reader)] =
    &[("aws.bucket_policy", bucket_policy), ("aws.endpoint_policy", endpoint_policy)];

const BUCKETS: &[Role] = &["aws.bucket"];
const ENDPOINTS: &[Role] = &["aws.gateway_endpoint", "aws.endpoint"];

/// The action that the statements are evaluated for.
const READ: &str = "s3:getobject";

/// The policy of an endpoint: JSON, or Warren's list of buckets.
pub(super) fn of_endpoint(view: &View<'_>, values: &Values<'_>) -> Access {
    match values.attribute("bucket_policy") {
        Attribute::Known(_) => {
            let Some(policy) = values.nested("bucket_policy") else { return Access::Unknown };
            let Attribute::Known(list) = policy.attribute("buckets") else { return Access::Unknown };
            if list.items().iter().any(Node::is_null) {
                return Access::Unknown;
            }
            let mut buckets: Vec<String> =
                list.items().iter().filter_map(Node::text).map(str::to_owned).collect();
            if flag(&policy, "ecr_layers") != Some(false) {
                buckets.push("prod-*-starport-layer-bucket".to_owned());
            }
            Access::Statements(vec![Statement { allow: true, buckets, conditions: Vec::new() }])
        }
        Attribute::Unknown | Attribute::Sensitive => Access::Unknown,
        Attribute::Absent => of(view, values, true),
    }
}

/// The attribute `policy`. Providers mark the default policy of an endpoint as unknown before it is created.
fn of(view: &View<'_>, values: &Values<'_>, defaults: bool) -> Access {
    match values.attribute("policy") {
        Attribute::Known(node) => node.text().and_then(|text| read(view, text)).unwrap_or(Access::Unknown),
        Attribute::Absent => Access::Open,
        Attribute::Unknown if defaults => Access::Open,
        Attribute::Unknown | Attribute::Sensitive => Access::Unknown,
    }
}

fn read(view: &View<'_>, text: &str) -> Option<Access> {
    let tree = parse_json("policy", text).ok()?;
    let mut found = Vec::new();
    for statement in list(tree.get("Statement")?) {
        let allow = statement.get("Effect")?.text()? == "Allow";
        let acts = match (statement.get("Action"), statement.get("NotAction")) {
            (Some(actions), _) => texts(actions).any(|it| matches(&it.to_ascii_lowercase(), READ)),
            (None, Some(others)) => !texts(others).any(|it| matches(&it.to_ascii_lowercase(), READ)),
            (None, None) => return None,
        };
        if !acts {
            continue;
        }
        // A statement for all resources but some is not evaluated.
        let buckets: Vec<String> = texts(statement.get("Resource")?).filter_map(bucket).collect();
        let mut conditions = Vec::new();
        for operator in statement.get("Condition").map(Node::entries).unwrap_or_default() {
            for entry in operator.value.entries() {
                conditions.push(condition(view, &operator.key, &entry.key, &entry.value));
            }
        }
        // A principal other than everyone is a property of the caller, not of the path.
        let everyone = statement.get("Principal").is_none_or(|it| {
            it.text() == Some("*") || it.get("AWS").is_some_and(|it| texts(it).any(|it| it == "*"))
        });
        if !everyone {
            conditions.push(Condition::Other);
        }
        found.push(Statement { allow, buckets, conditions });
    }
    Some(Access::Statements(found))
}

/// `arn:aws:s3:::name/*` is about objects of the bucket `name`; an ARN without a path is about the bucket itself.
fn bucket(resource: &str) -> Option<String> {
    if resource == "*" {
        return Some("*".to_owned());
    }
    let name = resource.rsplit(":::").next()?;
    match name.split_once('/') {
        Some((bucket, _)) => Some(bucket.to_owned()),
        None => name.ends_with('*').then(|| name.to_owned()),
    }
}

fn condition(view: &View<'_>, operator: &str, key: &str, value: &Node) -> Condition {
    let is = match operator {
        "StringEquals" | "StringLike" | "ForAnyValue:StringEquals" => true,
        "StringNotEquals" | "StringNotLike" | "StringNotEqualsIfExists" => false,
        _ => return Condition::Other,
    };
    let keys = texts(value).map(|it| view.known(it)).collect();
    match key.to_ascii_lowercase().as_str() {
        "aws:sourcevpce" => Condition::Endpoint(is, keys),
        "aws:sourcevpc" => Condition::Network(is, keys),
        _ => Condition::Other,
    }
}

/// A value, or the items of a list.
fn list(node: &Node) -> &[Node] {
    if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() }
}

fn texts(node: &Node) -> impl Iterator<Item = &str> {
    list(node).iter().filter_map(Node::text)
}

fn bucket_policy(view: &mut View<'_>, item: &Item<'_>) {
    let access = of(view, &item.resource.values, false);
    let name = item.resource.values.text("bucket");
    let key = view.link(item, "bucket", BUCKETS).key();
    for store in view.topology.stores.values_mut().filter(|it| it.kind == StoreKind::Bucket) {
        if Some(&store.head.key) == key.as_ref() || Some(store.head.name.as_str()) == name {
            store.access = access.clone();
        }
    }
}

fn endpoint_policy(view: &mut View<'_>, item: &Item<'_>) {
    let access = of(view, &item.resource.values, false);
    if let Link::To(key) = view.link(item, "vpc_endpoint_id", ENDPOINTS)
        && let Some(endpoint) = view.topology.endpoints.get_mut(&key)
    {
        endpoint.access = access;
    }
}
