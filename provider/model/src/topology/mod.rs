//! The objects of a plan: networks, the objects in them, their connections, and the change to each object.
//!
//! A [`crate::Model`] contains ranges with their positions, for the check. A [`Topology`] contains objects and their
//! references, for diagrams and for [`crate::reach`]. A [`Plan`] has two topologies: before and after the apply.

mod access;
mod compare;
mod endpoint;
mod managed;
mod names;
mod overlay;
mod rules;
mod transit;

use ipnet::IpNet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

pub use access::{Access, Condition, Fact, Request, Statement, Test};
pub use compare::compare;
pub use endpoint::{Endpoint, EndpointKind, Store, StoreKind};
pub use managed::{Managed, ManagedKind};
pub use names::{Content, Direction, Record, ResolverEndpoint, ResolverRule, Zone, ZoneKind};
pub use overlay::{Allow, GatewayConfig, Overlay, PeerGroup, SitePeer, Unread, Zones};
pub use rules::{AclRule, Firewall, NetworkAcl, Peer, Protocol, Rule, SecurityGroup};
pub use transit::{Attachment, TransitRoute, TransitTable, TransitTarget};

/// Identity of an object in one plan: its resource address, or the ID in the cloud for objects that the plan only refers to.
pub type Key = String;

/// The change to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Nothing.
    #[default]
    Keep,
    /// It is created.
    Create,
    /// It is updated in place.
    Update,
    /// It is destroyed and created again.
    Replace,
    /// It is destroyed.
    Delete,
}

impl Change {
    /// Every change, in the order of legends.
    pub const ALL: [Change; 5] =
        [Change::Create, Change::Update, Change::Replace, Change::Delete, Change::Keep];

    /// Display name.
    pub fn word(self) -> &'static str {
        match self {
            Change::Keep => "unchanged",
            Change::Create => "create",
            Change::Update => "update",
            Change::Replace => "replace",
            Change::Delete => "delete",
        }
    }

    /// A sign, so that colour is not the only difference.
    pub fn sign(self) -> &'static str {
        match self {
            Change::Keep => "",
            Change::Create => "+",
            Change::Update => "~",
            Change::Replace => "±",
            Change::Delete => "−",
        }
    }
}

/// The cloud of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Google,
    /// Microsoft Azure.
    Azure,
    /// RunPod.
    Runpod,
}

impl Home {
    /// Every cloud, in the order of a diagram.
    pub const ALL: [Home; 4] = [Home::Aws, Home::Google, Home::Azure, Home::Runpod];

    /// Whether its hosts are rented pods, which are in none of its networks and join an overlay with a token.
    pub fn rents_pods(self) -> bool {
        match self {
            Home::Runpod => true,
            Home::Aws | Home::Google | Home::Azure => false,
        }
    }

    /// Whether NAT and firewall rules belong to a network, as in Google Cloud, instead of to a subnet and an interface, as
    /// in AWS.
    pub fn filters_by_network(self) -> bool {
        match self {
            Home::Google => true,
            Home::Aws | Home::Azure | Home::Runpod => false,
        }
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Home::Aws => "AWS",
            Home::Google => "Google Cloud",
            Home::Azure => "Azure",
            Home::Runpod => "RunPod",
        })
    }
}

/// Common properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// Its identity.
    pub key: Key,
    /// Display name: the `name` attribute or tag, else the end of the address.
    pub name: String,
    /// The cloud of an object.
    pub home: Home,
    /// The change to it.
    pub change: Change,
    /// Whether the plan only refers to it, because it is managed elsewhere.
    pub external: bool,
}

/// A network: a VPC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Common properties.
    pub head: Head,
    /// Its ranges. Empty for Google Cloud, where only subnets have ranges.
    pub ranges: Vec<IpNet>,
    /// Ranges before the apply, if different.
    pub was: Vec<IpNet>,
    /// Whether every range is known.
    pub complete: bool,
    /// Its region.
    pub region: Option<String>,
    /// Whether its resolver answers hosts.
    pub resolver: bool,
    /// Whether its resolver answers from private zones, which needs DNS host names in AWS.
    pub private_names: bool,
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subnet {
    /// Common properties.
    pub head: Head,
    /// Its network. `None` if unknown.
    pub network: Option<Key>,
    /// Its ranges. Empty if they are known only after apply.
    pub ranges: Vec<IpNet>,
    /// Ranges before the apply, if different.
    pub was: Vec<IpNet>,
    /// Names of ranges that have one: secondary ranges in Google Cloud.
    pub named: Vec<(IpNet, String)>,
    /// Zone or region.
    pub zone: Option<String>,
    /// Whether hosts in it get public addresses.
    pub public: bool,
}

impl Subnet {
    /// Its ranges without a name.
    pub fn unnamed(&self) -> Vec<IpNet> {
        let named = |range: &IpNet| self.named.iter().any(|(it, _)| it == range);
        self.ranges.iter().filter(|range| !named(range)).copied().collect()
    }
}

/// The target of a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A gateway of the topology.
    Gateway(Key),
    /// A peering connection.
    Peering(Key),
    /// An endpoint.
    Endpoint(Key),
    /// An object that the plan does not describe, such as a network interface.
    Other(String),
    /// Known only after apply, with the name of its type.
    Unknown(String),
    /// Dropped.
    Nowhere,
}

/// The destination of a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// A range.
    Range(IpNet),
    /// A prefix list.
    List(String),
    /// Known only after apply.
    Unknown,
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Range(net) if net.prefix_len() == 0 && net.addr().is_ipv4() => {
                f.write_str("0.0.0.0/0")
            }
            Destination::Range(net) => net.fmt(f),
            Destination::List(list) => f.write_str(list),
            Destination::Unknown => f.write_str("(known after apply)"),
        }
    }
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Route {
    /// The destination.
    pub destination: Destination,
    /// The target.
    pub target: Target,
    /// The change to it.
    pub change: Change,
    /// For Google: the tags of the hosts that it applies to. Empty means every host.
    pub tags: Vec<String>,
    /// For Google: the priority among routes with the same destination. The smallest number wins.
    pub priority: u32,
}

impl Route {
    /// A route for every host.
    pub fn new(destination: Destination, target: Target, change: Change) -> Self {
        Self { destination, target, change, tags: Vec::new(), priority: 0 }
    }
}

/// A route table, or all routes of a Google network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteTable {
    /// Common properties.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// Whether it is used by subnets without an associated table.
    pub main: bool,
    /// Associated subnets.
    pub subnets: Vec<Key>,
    /// Its routes, without the local routes that every table has.
    pub routes: Vec<Route>,
}

/// The type of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayKind {
    /// To and from the internet.
    Internet,
    /// From inside to the internet, IPv6.
    EgressOnly,
    /// Outbound, with the gateway's own address.
    Nat,
    /// NAT with a private address.
    PrivateNat,
    /// Between attached networks.
    Transit,
    /// To a site.
    Vpn,
}

impl GatewayKind {
    /// Display name.
    pub fn word(self) -> &'static str {
        match self {
            GatewayKind::Internet => "internet gateway",
            GatewayKind::EgressOnly => "egress-only gateway",
            GatewayKind::Nat => "NAT gateway",
            GatewayKind::PrivateNat => "private NAT gateway",
            GatewayKind::Transit => "transit gateway",
            GatewayKind::Vpn => "VPN gateway",
        }
    }

    /// Abbreviation.
    pub fn short(self) -> &'static str {
        match self {
            GatewayKind::Internet => "IGW",
            GatewayKind::EgressOnly => "EIGW",
            GatewayKind::Nat | GatewayKind::PrivateNat => "NAT",
            GatewayKind::Transit => "TGW",
            GatewayKind::Vpn => "VPN",
        }
    }
}

/// A gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gateway {
    /// Common properties.
    pub head: Head,
    /// Its type.
    pub kind: GatewayKind,
    /// The network it is in or attached to; none for a transit gateway.
    pub network: Option<Key>,
    /// The subnet it is in.
    pub subnet: Option<Key>,
    /// Cloud NAT of Google: the subnets that it serves. `None` means all of the network.
    pub serves: Option<Vec<Key>>,
    /// For a transit gateway: whether attachments are associated with its default table.
    pub associates: bool,
    /// For a transit gateway: whether attachments propagate their ranges to its default table.
    pub propagates: bool,
}

/// Two networks that are peered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peering {
    /// Common properties.
    pub head: Head,
    /// One side.
    pub left: Option<Key>,
    /// The other side.
    pub right: Option<Key>,
}

/// A VPN between gateways in two clouds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tunnel {
    /// Common properties.
    pub head: Head,
    /// The gateway at its own end.
    pub left: Key,
    /// The gateway at the other end.
    pub right: Key,
}

/// An object with an address: an instance, a rented pod, or a cluster of pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Common properties.
    pub head: Head,
    /// Its subnet. `None` for rented pods.
    pub subnet: Option<Key>,
    /// Its security groups. `None` if unknown.
    pub groups: Option<Vec<Key>>,
    /// Whether it has a public address; `None` follows the subnet.
    pub public: Option<bool>,
    /// Its network tags, and its service account in Google Cloud. Firewall rules refer to both.
    pub tags: Vec<String>,
    /// Its type: `instance`, `pod`, `WireGuard gateway`.
    pub what: String,
    /// Number of machines: of a cluster, its pods.
    pub machines: u64,
    /// The configuration, if it is a gateway.
    pub config: Option<Key>,
}

/// A flow log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowLog {
    /// Common properties.
    pub head: Head,
    /// The logged network, subnet or transit gateway.
    pub of: Option<Key>,
    /// Its destination.
    pub destination: String,
}

/// An entry of an address plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its path: `hub/public`.
    pub path: String,
    /// Its range.
    pub range: IpNet,
    /// Requested number of hosts, if the entry sets it.
    pub hosts: Option<u64>,
    /// Requested number of hosts with room to grow.
    pub grown: Option<u64>,
    /// The change to it.
    pub change: Change,
}

/// An address plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddressSpace {
    /// Common properties.
    pub head: Head,
    /// Ranges by pool.
    pub pools: BTreeMap<String, Vec<IpNet>>,
    /// Reserved ranges by name.
    pub reserved: BTreeMap<String, Vec<IpNet>>,
    /// Networks and subnets.
    pub entries: Vec<Entry>,
}

macro_rules! topology {
    ($($(#[$doc:meta])* $field:ident: $kind:ident,)*) => {
        /// All objects, by key.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
        pub struct Topology { $($(#[$doc])* pub $field: BTreeMap<Key, $kind>,)* }

        impl Topology {
            /// The common properties of every object.
            pub fn heads(&self) -> impl Iterator<Item = &Head> {
                std::iter::empty()$(.chain(self.$field.values().map(|object| &object.head)))*
            }

            /// The common properties of every object.
            pub fn heads_mut(&mut self) -> impl Iterator<Item = &mut Head> {
                std::iter::empty()$(.chain(self.$field.values_mut().map(|object| &mut object.head)))*
            }

            /// Adds the objects of `other` that are missing here.
            pub fn adopt(&mut self, other: &Topology) {
                $(for (key, object) in &other.$field {
                    self.$field.entry(key.clone()).or_insert_with(|| object.clone());
                })*
            }
        }
    };
}

topology! {
    /// Networks.
    networks: Network,
    /// Subnets.
    subnets: Subnet,
    /// Route tables.
    tables: RouteTable,
    /// Gateways.
    gateways: Gateway,
    /// Attachments to transit gateways.
    attachments: Attachment,
    /// Route tables of transit gateways.
    transit_tables: TransitTable,
    /// Peerings.
    peerings: Peering,
    /// VPNs between clouds.
    tunnels: Tunnel,
    /// Endpoints.
    endpoints: Endpoint,
    /// Private zones.
    zones: Zone,
    /// Records of zones.
    records: Record,
    /// Resolver endpoints.
    resolver_endpoints: ResolverEndpoint,
    /// Resolver rules.
    resolver_rules: ResolverRule,
    /// Security groups.
    groups: SecurityGroup,
    /// Network ACLs.
    acls: NetworkAcl,
    /// Firewall rules of Google networks.
    firewalls: Firewall,
    /// Hosts.
    hosts: Host,
    /// Kubernetes clusters and load balancers.
    managed: Managed,
    /// Gateway configurations.
    configs: GatewayConfig,
    /// Registries and buckets.
    stores: Store,
    /// Flow logs.
    flow_logs: FlowLog,
    /// Address plans.
    spaces: AddressSpace,
}

impl Topology {
    /// The route table of a subnet: the associated one, or else the main table of its network.
    pub fn table_of(&self, subnet: &str) -> Option<&RouteTable> {
        let own = self.tables.values().find(|table| table.subnets.iter().any(|key| key == subnet));
        own.or_else(|| {
            let network = self.subnets.get(subnet)?.network.as_ref()?;
            self.tables.values().find(|table| table.main && table.network.as_ref() == Some(network))
        })
    }

    /// Name of an object of any type, or the key itself if there is no such object.
    pub fn name<'a>(&'a self, key: &'a str) -> &'a str {
        let head = None
            .or_else(|| self.networks.get(key).map(|object| &object.head))
            .or_else(|| self.subnets.get(key).map(|object| &object.head))
            .or_else(|| self.gateways.get(key).map(|object| &object.head))
            .or_else(|| self.peerings.get(key).map(|object| &object.head))
            .or_else(|| self.endpoints.get(key).map(|object| &object.head))
            .or_else(|| self.tables.get(key).map(|object| &object.head))
            .or_else(|| self.zones.get(key).map(|object| &object.head))
            .or_else(|| self.transit_tables.get(key).map(|object| &object.head))
            .or_else(|| self.attachments.get(key).map(|object| &object.head))
            .or_else(|| self.groups.get(key).map(|object| &object.head))
            .or_else(|| self.hosts.get(key).map(|object| &object.head))
            .or_else(|| self.managed.get(key).map(|object| &object.head))
            .or_else(|| self.configs.get(key).map(|object| &object.head));
        head.map_or(key, |head| head.name.as_str())
    }
}

/// The topologies before and after the apply. A state is a plan without changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// Name of the input.
    pub file: String,
    /// Before the apply.
    pub before: Topology,
    /// After the apply.
    pub after: Topology,
    /// Whether it is a plan, not a state.
    pub changes: bool,
    /// Number of values that are known only after apply.
    pub unknown: usize,
}
