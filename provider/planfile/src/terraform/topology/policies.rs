//! Policies of endpoints and buckets as JSON: the statements that concern reading objects.

use super::super::resource::{Attribute, Values};
use super::super::role::Role;
use super::Reader;
use super::view::{Item, Link, View, flag};
use crate::node::{Kind, Node, parse_json};
use std::net::IpAddr;
use warren_cidr::IpNet;
use warren_model::policy::like;
use warren_model::topology::{Access, Condition, Fact, Statement, StoreKind, Test};

/// Policies that are separate resources.
pub(super) const EDGES: &[(Role, Reader)] =
    &[("aws.bucket_policy", bucket_policy), ("aws.endpoint_policy", endpoint_policy)];

const BUCKETS: &[Role] = &["aws.bucket"];
const ENDPOINTS: &[Role] = &["aws.gateway_endpoint", "aws.endpoint"];

/// The action that the statements are evaluated for.
const READ: &str = "s3:getobject";

/// The policy of an endpoint: JSON, or Warren's list of buckets.
pub(super) fn of_endpoint(view: &View<'_>, item: &Item<'_>) -> Access {
    let values = &item.resource.values;
    match values.attribute("bucket_policy") {
        Attribute::Known(_) => {
            let Some(policy) = values.nested("bucket_policy") else { return Access::Unknown };
            let Attribute::Known(list) = policy.attribute("buckets") else { return Access::Unknown };
            if list.items().iter().any(Node::is_null) {
                return Access::Unknown;
            }
            let actions = match policy.attribute("object_actions") {
                Attribute::Known(actions) if actions.items().iter().any(Node::is_null) => None,
                Attribute::Known(actions) => Some(acts(actions)),
                Attribute::Absent => Some(true),
                Attribute::Unknown | Attribute::Sensitive => None,
            };
            let Some(reads) = actions else { return Access::Unknown };
            let objects = |bucket: &str| format!("arn:*:s3:::{bucket}/*");
            let mut resources: Vec<String> =
                list.items().iter().filter_map(Node::text).filter(|_| reads).map(objects).collect();
            if flag(&policy, "ecr_layers") != Some(false) {
                resources.push(objects("prod-*-starport-layer-bucket"));
            }
            Access::Statements(vec![Statement {
                allow: true,
                others: false,
                resources,
                conditions: Vec::new(),
            }])
        }
        Attribute::Unknown | Attribute::Sensitive => Access::Unknown,
        // hashicorp/aws marks the policy that AWS gives by default as unknown before the endpoint is created.
        Attribute::Absent => {
            let defaults = !item.resource.kind.starts_with("warren")
                && view.references.wrote(&item.resource, "policy") != Some(true);
            of(view, values, defaults)
        }
    }
}

/// The attribute `policy`. `defaults` states whether one that is unknown is the default policy, which allows everything.
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
        let reads = match (statement.get("Action"), statement.get("NotAction")) {
            (Some(actions), _) => acts(actions),
            (None, Some(others)) => !acts(others),
            (None, None) => return None,
        };
        if !reads {
            continue;
        }
        let (others, resources) = match (statement.get("Resource"), statement.get("NotResource")) {
            (Some(resources), _) => (false, resources),
            (None, others) => (true, others?),
        };
        let resources = texts(resources).map(str::to_owned).collect();
        let mut conditions = Vec::new();
        for operator in statement.get("Condition").map(Node::entries).unwrap_or_default() {
            for entry in operator.value.entries() {
                conditions.push(condition(view, &operator.key, &entry.key, &entry.value));
            }
        }
        // A principal other than everyone is a property of the caller, not of the path.
        let everyone = |it: &Node| {
            it.text() == Some("*") || it.get("AWS").is_some_and(|it| texts(it).any(|it| it == "*"))
        };
        let named = statement.get("NotPrincipal").is_some();
        if named || !statement.get("Principal").is_none_or(everyone) {
            conditions.push(Condition::Other);
        }
        found.push(Statement { allow, others, resources, conditions });
    }
    Some(Access::Statements(found))
}

/// Whether reading an object is one of these actions.
fn acts(actions: &Node) -> bool {
    texts(actions).any(|it| like(&it.to_ascii_lowercase(), READ))
}

/// A condition: for a key that is absent, a test that requires a value fails, and one that excludes values holds. Each key here
/// has one value: tests of all values of a key then hold without it, and those of any value fail.
fn condition(view: &View<'_>, operator: &str, key: &str, value: &Node) -> Condition {
    let (fact, any) = match key.to_ascii_lowercase().as_str() {
        "aws:sourcevpce" => (Fact::Endpoint, "vpce-*"),
        "aws:sourcevpc" => (Fact::Network, "vpc-*"),
        "aws:vpcsourceip" => (Fact::PrivateAddress, "*"),
        "aws:sourceip" => (Fact::PublicAddress, "*"),
        "aws:securetransport" => (Fact::Encrypted, "*"),
        _ => return Condition::Other,
    };
    let (set, name) = operator.split_once(':').map_or((None, operator), |(set, name)| (Some(set), name));
    let (name, optional) = name.strip_suffix("IfExists").map_or((name, false), |name| (name, true));
    let is = !name.contains("Not");
    let address = matches!(fact, Fact::PrivateAddress | Fact::PublicAddress);
    let test = match name {
        "Null" => Test::Exists(!texts_or_flags(value).any(|it| it == "true")),
        "StringEquals" | "StringNotEquals" | "StringLike" | "StringNotLike" | "Bool" if !address => {
            let pattern = |it: &str| name.ends_with("Like") && it.contains(['*', '?']);
            if texts(value).any(|it| pattern(it) && it != any && it != "*") {
                return Condition::Other;
            }
            let known = |it: &str| match fact {
                _ if pattern(it) => "*".to_owned(),
                Fact::Encrypted => it.to_owned(),
                _ => view.known(it),
            };
            Test::Is(is, texts_or_flags(value).map(|it| known(&it)).collect())
        }
        "IpAddress" | "NotIpAddress" if address => {
            let range = |it: &str| it.parse().ok().or_else(|| it.parse::<IpAddr>().ok().map(IpNet::from));
            match texts(value).map(range).collect() {
                Some(ranges) => Test::In(is, ranges),
                None => return Condition::Other,
            }
        }
        _ => return Condition::Other,
    };
    let absent = match set {
        None => optional || !is,
        Some("ForAllValues") => true,
        Some("ForAnyValue") => false,
        Some(_) => return Condition::Other,
    };
    Condition::Path { fact, test, absent }
}

/// A value, or the items of a list.
fn list(node: &Node) -> &[Node] {
    if matches!(node.kind, Kind::List(_)) { node.items() } else { std::slice::from_ref(node) }
}

fn texts(node: &Node) -> impl Iterator<Item = &str> {
    list(node).iter().filter_map(Node::text)
}

/// The same, where `true` and `"true"` mean the same.
fn texts_or_flags(node: &Node) -> impl Iterator<Item = String> {
    list(node).iter().filter_map(|it| match (it.text(), it.what()) {
        (Some(text), _) => Some(text.to_owned()),
        (None, "a boolean") => Some(it.is_true().to_string()),
        _ => None,
    })
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
