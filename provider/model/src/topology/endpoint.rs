//! Endpoints of services, and the registries and buckets behind them.

use super::{Access, Head, Key, Subnet};
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
    /// Ranges of a gateway endpoint's prefix list, or the addresses of an interface endpoint. Empty if they are known only
    /// after apply.
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

    /// Its address in a subnet, if it is known.
    pub fn address_in(&self, subnet: &Subnet) -> Option<IpAddr> {
        let addresses = self
            .ranges
            .iter()
            .filter(|it| self.kind == EndpointKind::Interface && it.prefix_len() == it.max_prefix_len());
        let mut addresses = addresses.map(IpNet::addr);
        addresses.find(|address| subnet.ranges.iter().any(|range| range.contains(address)))
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
