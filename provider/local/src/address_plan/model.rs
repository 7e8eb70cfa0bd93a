//! Attributes and state of `warren_address_plan`.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Number, Object, Resource};

/// The default name of a plan.
pub(super) const DEFAULT_NAME: &str = "main";

/// Attributes by key.
pub(super) type Map<T> = Attr<BTreeMap<String, Attr<T>>>;

/// Allocates non-overlapping ranges for networks and subnets from pools of address space. Every range is known at plan
/// time and stays the same when other networks are added or removed. The resource calls no cloud API.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_address_plan")]
pub(crate) struct State {
    /// Name of the address plan, unique within the fabric and owner. Changing this replaces the plan. Defaults to
    /// `main`.
    #[attr(default = DEFAULT_NAME.to_owned(), replaces)]
    pub(crate) name: Attr<String>,
    /// Address space to allocate from, by pool name: lists of IPv4 or IPv6 ranges in CIDR notation.
    #[attr(required)]
    pub(crate) pools: Map<Vec<Attr<String>>>,
    /// Ranges that no network may overlap, by the name of what uses them, such as `on_prem` or `docker`.
    #[attr(optional)]
    pub(crate) reserved: Map<Vec<Attr<String>>>,
    /// Networks to allocate, by key. Each network sets exactly one of `cidr`, `prefix` and `hosts`. A key must not be
    /// empty or contain a slash.
    #[attr(required)]
    pub(crate) networks: Map<Network>,
    /// Paths whose ranges may change, such as `aws` or `aws/public`; a path includes everything below it, and `*`
    /// means all. A plan that would change any other range in the state fails.
    #[attr(optional)]
    pub(crate) acknowledge_renumbering: Attr<Vec<Attr<String>>>,
    /// All ranges by path: `aws` for a network, `aws/public` for a subnet of it.
    #[attr(computed)]
    pub(crate) cidrs: Map<String>,
    /// Planned networks by key, with their subnets, such as `network["aws"].subnets["public"].cidr`.
    #[attr(computed)]
    pub(crate) network: Map<PlannedNetwork>,
    /// Free address space by pool name, as the fewest possible CIDR blocks.
    #[attr(computed)]
    pub(crate) free: Map<Vec<Attr<String>>>,
}

/// A requested network.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Network {
    /// Fixed range in CIDR notation.
    #[attr(optional)]
    pub(crate) cidr: Attr<String>,
    /// Prefix length of the block to allocate: 0 to 32 for IPv4, 0 to 128 for IPv6.
    #[attr(optional)]
    pub(crate) prefix: Attr<Number>,
    /// Number of hosts, 1 or more. Allocates the smallest block with room for the hosts, the addresses that the cloud
    /// reserves, and all subnets.
    #[attr(optional)]
    pub(crate) hosts: Attr<Number>,
    /// Factor applied to `hosts` to leave room for growth, `1.0` to `1000.0`. Defaults to `1.0`.
    #[attr(optional)]
    pub(crate) growth: Attr<Number>,
    /// Pool to allocate the network from. Conflicts with `pools`.
    #[attr(optional)]
    pub(crate) pool: Attr<String>,
    /// Pools to allocate the network from. Conflicts with `pool`.
    #[attr(optional)]
    pub(crate) pools: Attr<Vec<Attr<String>>>,
    /// Cloud whose limits and reserved addresses apply: `aws`, `gcp` or `overlay`. Without it, no cloud limits are
    /// checked.
    #[attr(optional)]
    pub(crate) cloud: Attr<String>,
    /// Subnets of the network, by key. Each subnet sets exactly one of `cidr`, `prefix` and `hosts`.
    #[attr(optional)]
    pub(crate) subnets: Map<Subnet>,
}

/// A requested subnet.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Subnet {
    /// Fixed range in CIDR notation.
    #[attr(optional)]
    pub(crate) cidr: Attr<String>,
    /// Prefix length of the block to allocate: 0 to 32 for IPv4, 0 to 128 for IPv6.
    #[attr(optional)]
    pub(crate) prefix: Attr<Number>,
    /// Number of hosts, 1 or more. Allocates the smallest block with room for the hosts and the addresses that the
    /// cloud reserves.
    #[attr(optional)]
    pub(crate) hosts: Attr<Number>,
    /// Factor applied to `hosts` to leave room for growth, `1.0` to `1000.0`. Defaults to `1.0`.
    #[attr(optional)]
    pub(crate) growth: Attr<Number>,
}

/// A planned network.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct PlannedNetwork {
    /// Range in CIDR notation.
    #[attr(computed)]
    pub(crate) cidr: Attr<String>,
    /// Number of addresses available to hosts: the size of the range minus the addresses that the cloud reserves.
    #[attr(computed)]
    pub(crate) usable_hosts: Attr<Number>,
    /// Planned subnets by key.
    #[attr(computed)]
    pub(crate) subnets: Map<PlannedSubnet>,
}

/// A planned subnet.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct PlannedSubnet {
    /// Range in CIDR notation.
    #[attr(computed)]
    pub(crate) cidr: Attr<String>,
    /// Number of addresses available to hosts: the size of the range minus the addresses that the cloud reserves.
    #[attr(computed)]
    pub(crate) usable_hosts: Attr<Number>,
}
