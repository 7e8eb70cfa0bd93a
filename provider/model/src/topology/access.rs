//! Policies of endpoints and buckets, as far as they concern reading objects.

use super::{Endpoint, Key};
use crate::policy::like;
use ipnet::IpNet;
use serde::Serialize;
use std::collections::BTreeSet;

/// Ranges that no public address is in.
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"];

/// Partitions of AWS, which resource names begin with.
const PARTITIONS: [&str; 3] = ["aws", "aws-cn", "aws-us-gov"];

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
    /// Whether it concerns all resources except the listed ones.
    pub others: bool,
    /// Resource names, as patterns.
    pub resources: Vec<String>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Condition>,
}

/// A condition of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Something that the path decides.
    Path {
        /// What is tested.
        fact: Fact,
        /// The test.
        test: Test,
        /// Whether it holds for a request without the fact.
        absent: bool,
    },
    /// Anything else.
    Other,
}

/// A property of a request that follows from its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The endpoint that it arrives through, if any.
    Endpoint,
    /// The network of that endpoint.
    Network,
    /// The private address that it comes from. Requests without an endpoint have none.
    PrivateAddress,
    /// The public address that it comes from. Requests through an endpoint have none.
    PublicAddress,
    /// Whether it is encrypted: `true` or `false`.
    Encrypted,
}

/// A test of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It is one of these (`true`) or none of them. `*` is anything.
    Is(bool, Vec<Key>),
    /// The address is in one of these ranges (`true`) or in none of them.
    In(bool, Vec<IpNet>),
    /// There is such a fact (`true`) or none.
    Exists(bool),
}

/// A request for an object of a bucket.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The bucket.
    pub bucket: &'a str,
    /// The name of the object.
    pub object: &'a str,
    /// The endpoint that the request passes, with its network.
    pub through: Option<&'a Endpoint>,
    /// Ranges that contain every private address that it may come from. None if they are unknown.
    pub sources: &'a [IpNet],
    /// Whether it is encrypted, if that is known.
    pub encrypted: Option<bool>,
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
        for statement in statements.iter().filter(|it| it.concerns(request)) {
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

    /// Names of objects that stand for those that the policy tells apart by their names.
    pub fn objects(&self) -> BTreeSet<String> {
        let Access::Statements(statements) = self else { return BTreeSet::new() };
        let keys = statements.iter().flat_map(|it| &it.resources).filter_map(|it| it.split_once('/'));
        keys.filter(|(_, key)| *key != "*").map(|(_, key)| key.replace(['*', '?'], "0")).collect()
    }
}

impl Statement {
    fn concerns(&self, request: Request<'_>) -> bool {
        let Request { bucket, object, .. } = request;
        let listed = self.resources.iter().any(|pattern| {
            PARTITIONS
                .iter()
                .any(|partition| like(pattern, &format!("arn:{partition}:s3:::{bucket}/{object}")))
        });
        listed != self.others
    }

    fn holds(&self, request: Request<'_>) -> Option<bool> {
        let mut all = Some(true);
        for condition in &self.conditions {
            match condition.holds(request) {
                Some(false) => return Some(false),
                None => all = None,
                Some(true) => {}
            }
        }
        all
    }
}

impl Condition {
    fn holds(&self, request: Request<'_>) -> Option<bool> {
        let Condition::Path { fact, test, absent } = self else { return None };
        let present = match fact {
            Fact::Endpoint | Fact::Network | Fact::PrivateAddress => request.through.is_some(),
            Fact::PublicAddress => request.through.is_none(),
            Fact::Encrypted => true,
        };
        match test {
            Test::Exists(is) => Some(present == *is),
            _ if !present => Some(*absent),
            Test::Is(is, values) => {
                let value = fact.value(request)?;
                Some(values.iter().any(|it| it == "*" || *it == value) == *is)
            }
            Test::In(is, ranges) => Some(fact.within(request, ranges)? == *is),
        }
    }
}

impl Fact {
    fn value(self, request: Request<'_>) -> Option<String> {
        match self {
            Fact::Endpoint => request.through.map(|it| it.head.key.clone()),
            Fact::Network => request.through.and_then(|it| it.network.clone()),
            Fact::Encrypted => request.encrypted.map(|it| it.to_string()),
            Fact::PrivateAddress | Fact::PublicAddress => None,
        }
    }

    fn within(self, request: Request<'_>, ranges: &[IpNet]) -> Option<bool> {
        match self {
            Fact::PrivateAddress if !request.sources.is_empty() => {
                let inside = |it: &IpNet| ranges.iter().any(|range| range.contains(it));
                let apart = |it: &IpNet| !ranges.iter().any(|range| range.contains(it) || it.contains(range));
                if request.sources.iter().all(inside) {
                    Some(true)
                } else if request.sources.iter().all(apart) {
                    Some(false)
                } else {
                    None
                }
            }
            // Which public address it is, the plan does not show.
            Fact::PublicAddress => {
                let private: Vec<IpNet> = PRIVATE.iter().filter_map(|it| it.parse().ok()).collect();
                if ranges.iter().any(|range| range.addr().is_ipv4() && range.prefix_len() == 0) {
                    Some(true)
                } else if ranges.iter().all(|range| private.iter().any(|it| it.contains(range))) {
                    Some(false)
                } else {
                    None
                }
            }
            _ => None,
        }
    }
}
