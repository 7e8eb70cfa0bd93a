//! Endpoints of services, the registries and buckets behind them, and the policies of both.

use super::{Head, Key};
use ipnet::IpNet;
use serde::Serialize;
use std::net::IpAddr;

/// How an endpoint is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    /// Routes lead to it.
    Gateway,
    /// It has an address in each of its subnets.
    Interface,
    /// Private Google Access, enabled for a subnet.
    PrivateAccess,
}

/// An endpoint of a service, which avoids the internet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// Common properties.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// The short name of the service: `s3`, `ecr.api`, `googleapis`.
    pub service: String,
    /// How it is reached.
    pub kind: EndpointKind,
    /// Route tables with a route to it.
    pub tables: Vec<Key>,
    /// Subnets that it has an address in.
    pub subnets: Vec<Key>,
    /// Its security groups. `None` if they are unknown or the default group of the network.
    pub groups: Option<Vec<Key>>,
    /// The only buckets that its policy allows, if it is set through Warren's attribute.
    pub buckets: Vec<String>,
    /// What its policy allows.
    pub access: Access,
    /// Whether the service's public names resolve to it inside its network.
    pub private_dns: bool,
    /// For S3: whether only queries through an inbound resolver endpoint resolve to it. Other hosts of its network keep
    /// the public addresses, which its gateway endpoint serves.
    pub inbound_only: bool,
    /// Its address, for Private Service Connect.
    pub address: Option<IpAddr>,
    /// Ranges of a gateway endpoint's prefix list. Empty if they are known only after apply.
    pub ranges: Vec<IpNet>,
}

impl Endpoint {
    /// An endpoint that allows everything, without subnets, tables and names.
    pub fn new(head: Head, network: Option<Key>, service: &str, kind: EndpointKind) -> Self {
        Self {
            head,
            network,
            service: service.to_owned(),
            kind,
            tables: Vec::new(),
            subnets: Vec::new(),
            groups: None,
            buckets: Vec::new(),
            access: Access::default(),
            private_dns: false,
            inbound_only: false,
            address: None,
            ranges: Vec::new(),
        }
    }
}

/// The type of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// Container images.
    Registry,
    /// Objects.
    Bucket,
}

/// A registry or bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Store {
    /// Common properties.
    pub head: Head,
    /// Its type.
    pub kind: StoreKind,
    /// The policy of a bucket.
    pub access: Access,
}

/// The policy of an endpoint or a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// No policy: it denies nothing.
    #[default]
    Open,
    /// Statements that concern reading objects.
    Statements(Vec<Statement>),
    /// Known only after apply, or not read.
    Unknown,
}

/// A statement of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Whether it allows or denies.
    pub allow: bool,
    /// The buckets that it concerns, as patterns.
    pub buckets: Vec<String>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Condition>,
}

/// A condition of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The request arrives through one of these endpoints (`true`), or through none of them.
    Endpoint(bool, Vec<Key>),
    /// The request comes through an endpoint of one of these networks (`true`), or not.
    Network(bool, Vec<Key>),
    /// Anything else.
    Other,
}

/// A request for an object of a bucket.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The bucket.
    pub bucket: &'a str,
    /// The endpoint that the request passes, with its network.
    pub through: Option<&'a Endpoint>,
}

impl Access {
    /// Whether the policy forbids a request. `None` if the plan does not show it. `closed` states whether what no statement
    /// allows is forbidden, as for an endpoint; a bucket may allow it through the identity of the caller.
    pub fn forbids(&self, request: Request<'_>, closed: bool) -> Option<bool> {
        let statements = match self {
            Access::Open => return Some(false),
            Access::Unknown => return None,
            Access::Statements(statements) => statements,
        };
        let (mut allowed, mut maybe_allowed, mut maybe_denied) = (!closed, false, false);
        let concerns = |it: &&Statement| {
            it.buckets.iter().any(|pattern| crate::policy::matches(pattern, request.bucket))
        };
        for statement in statements.iter().filter(concerns) {
            match (statement.holds(request), statement.allow) {
                (Some(true), true) => allowed = true,
                (Some(true), false) => return Some(true),
                (None, true) => maybe_allowed = true,
                (None, false) => maybe_denied = true,
                (Some(false), _) => {}
            }
        }
        if maybe_denied || (!allowed && maybe_allowed) { None } else { Some(!allowed) }
    }
}

impl Statement {
    fn holds(&self, request: Request<'_>) -> Option<bool> {
        let mut all = Some(true);
        for condition in &self.conditions {
            let holds = match condition {
                Condition::Endpoint(is, keys) => {
                    Some(request.through.is_some_and(|it| keys.contains(&it.head.key)) == *is)
                }
                Condition::Network(is, keys) => {
                    let network = request.through.and_then(|it| it.network.as_ref());
                    Some(network.is_some_and(|it| keys.contains(it)) == *is)
                }
                Condition::Other => None,
            };
            match holds {
                Some(false) => return Some(false),
                None => all = None,
                Some(true) => {}
            }
        }
        all
    }
}
