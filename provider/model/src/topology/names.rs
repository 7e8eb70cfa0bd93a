//! Names: private zones with their records, and the endpoints and rules of resolvers.

use super::{Head, Key};
use serde::Serialize;
use std::net::IpAddr;

/// A zone that only some networks see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Zone {
    /// Common properties.
    pub head: Head,
    /// Its domain, in lower case, without a dot at its end. `None` if known only after apply.
    pub domain: Option<String>,
    /// How it answers.
    pub kind: ZoneKind,
    /// Networks whose resolvers use it.
    pub networks: Vec<Key>,
    /// Whether every network is known.
    pub complete: bool,
    /// Whether it answers the internet instead of networks.
    pub public: bool,
}

/// How a zone answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneKind {
    /// From its records.
    Records,
    /// From other resolvers, at these addresses.
    Forwarding(Vec<IpAddr>),
    /// As the resolver of another network does. `None` if known only after apply.
    Peering(Option<Key>),
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Common properties.
    pub head: Head,
    /// Its zone. `None` if known only after apply.
    pub zone: Option<Key>,
    /// Its name, in lower case, without a dot at its end; its first label may be `*`. `None` if known only after apply.
    pub name: Option<String>,
    /// What it answers.
    pub content: Content,
}

/// What a record answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Addresses.
    Addresses(Vec<IpAddr>),
    /// The addresses of an endpoint.
    Endpoint(Key),
    /// Another name.
    Name(String),
    /// Something without addresses, such as text.
    Other,
    /// Known only after apply.
    Unknown,
}

/// The direction of queries through a resolver endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Queries from other networks.
    Inbound,
    /// Queries to other resolvers.
    Outbound,
}

/// A resolver endpoint: addresses through which a network's resolver is asked, or asks others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolverEndpoint {
    /// Common properties.
    pub head: Head,
    /// The direction of queries.
    pub direction: Direction,
    /// The subnets that it has an address in.
    pub subnets: Vec<Key>,
    /// Its addresses, as far as they are known.
    pub addresses: Vec<IpAddr>,
    /// Its security groups. `None` if unknown.
    pub groups: Option<Vec<Key>>,
}

/// A rule for the queries of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolverRule {
    /// Common properties.
    pub head: Head,
    /// Its domain, in lower case, without a dot at its end. `None` if known only after apply.
    pub domain: Option<String>,
    /// Whether queries are forwarded; otherwise the network's own resolver answers them.
    pub forwards: bool,
    /// The outbound endpoint.
    pub endpoint: Option<Key>,
    /// Addresses of the resolvers that are asked.
    pub targets: Vec<IpAddr>,
    /// Inbound endpoints whose addresses are targets and known only after apply.
    pub inbound: Vec<Key>,
    /// Whether every target is known.
    pub complete: bool,
    /// Networks that the rule is associated with.
    pub networks: Vec<Key>,
    /// Whether every network is known.
    pub associated: bool,
}
