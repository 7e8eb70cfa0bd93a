//! What a run builds: networks, what is in them, what connects them, and what the run does to each.
//!
//! Where [`crate::Model`] holds ranges and the place each was written, for the check, a [`Topology`] holds objects and
//! how they refer to each other, for pictures and for [`crate::reach`]. A [`Plan`] has two of them: before the run
//! and after it.

mod compare;
mod overlay;
mod rules;

use ipnet::IpNet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

pub use compare::compare;
pub use overlay::{Allow, GatewayConfig, Overlay, PeerGroup, Unread};
pub use rules::{Firewall, Peer, Protocol, Rule, SecurityGroup};

/// Identity of an object inside one plan: its resource address; the cloud's id for what the plan only mentions.
pub type Key = String;

/// What a run does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Nothing.
    #[default]
    Keep,
    /// It is made.
    Create,
    /// It changes in place.
    Update,
    /// It is destroyed and made again.
    Replace,
    /// It is destroyed.
    Delete,
}

impl Change {
    /// Every change, in the order of legends.
    pub const ALL: [Change; 5] =
        [Change::Create, Change::Update, Change::Replace, Change::Delete, Change::Keep];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Change::Keep => "unchanged",
            Change::Create => "create",
            Change::Update => "update",
            Change::Replace => "replace",
            Change::Delete => "delete",
        }
    }

    /// One sign, so that colour is not the only difference.
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

/// Who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Google,
    /// RunPod.
    Runpod,
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Home::Aws => "AWS",
            Home::Google => "Google Cloud",
            Home::Runpod => "RunPod",
        })
    }
}

/// What every object has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// Its identity.
    pub key: Key,
    /// Its name as people call it: the `name` attribute or tag, else the end of the address.
    pub name: String,
    /// Who runs it.
    pub home: Home,
    /// What the run does to it.
    pub change: Change,
    /// Whether the plan only mentions it: it belongs to another run.
    pub external: bool,
}

/// A network: a VPC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Network {
    /// What every object has.
    pub head: Head,
    /// Its ranges; none for Google, whose subnets have their own.
    pub ranges: Vec<IpNet>,
    /// Ranges before the run, where they were others.
    pub was: Vec<IpNet>,
    /// Whether every range is known.
    pub complete: bool,
    /// Its region.
    pub region: Option<String>,
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subnet {
    /// What every object has.
    pub head: Head,
    /// Its network; `None` is not known.
    pub network: Option<Key>,
    /// Its ranges; an empty list is known only after apply.
    pub ranges: Vec<IpNet>,
    /// Ranges before the run, where they were others.
    pub was: Vec<IpNet>,
    /// Zone or region.
    pub zone: Option<String>,
    /// Whether hosts in it get public addresses.
    pub public: bool,
}

/// Where traffic of a route goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A gateway of the topology.
    Gateway(Key),
    /// A peering connection.
    Peering(Key),
    /// An endpoint.
    Endpoint(Key),
    /// Something that the plan does not describe: a network interface, an instance.
    Other(String),
    /// Known only after apply; the word says of which kind it is.
    Unknown(String),
    /// Dropped.
    Nowhere,
}

/// What a route is for.
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
    /// What it is for.
    pub destination: Destination,
    /// Where it leads.
    pub target: Target,
    /// What the run does to it.
    pub change: Change,
}

/// A route table, or all routes of a Google network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteTable {
    /// What every object has.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// Whether it serves subnets that name no table.
    pub main: bool,
    /// Subnets that name it.
    pub subnets: Vec<Key>,
    /// Its routes, without those to the network itself, which every table has.
    pub routes: Vec<Route>,
}

/// What a gateway does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayKind {
    /// To and from the internet.
    Internet,
    /// From inside to the internet, IPv6.
    EgressOnly,
    /// From inside to outside under the gateway's own address.
    Nat,
    /// NAT under a private address.
    PrivateNat,
    /// Between attached networks.
    Transit,
    /// To a site.
    Vpn,
}

impl GatewayKind {
    /// The word for it.
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

    /// The word where there is little room.
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
    /// What every object has.
    pub head: Head,
    /// What it does.
    pub kind: GatewayKind,
    /// The network it is in or attached to; none for a transit gateway.
    pub network: Option<Key>,
    /// The subnet it is in.
    pub subnet: Option<Key>,
    /// Google's NAT: the subnets it serves; `None` is all of the network.
    pub serves: Option<Vec<Key>>,
    /// A transit gateway: whether attachments use its default table.
    pub associates: bool,
    /// A transit gateway: whether attachments write their ranges into its default table.
    pub propagates: bool,
}

/// A network on a transit gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// What every object has.
    pub head: Head,
    /// The transit gateway.
    pub gateway: Option<Key>,
    /// The network.
    pub network: Option<Key>,
    /// The subnets that packets from the gateway enter by.
    pub subnets: Vec<Key>,
    /// Whether it uses the default table; else only what a [`TransitTable`] says.
    pub associates: bool,
    /// Whether it writes into the default table.
    pub propagates: bool,
}

/// A route table of a transit gateway's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransitTable {
    /// What every object has.
    pub head: Head,
    /// The transit gateway.
    pub gateway: Option<Key>,
    /// Attachments that use it.
    pub associations: Vec<Key>,
    /// Attachments that write their ranges into it.
    pub propagations: Vec<Key>,
    /// Static routes to an attachment; `None` drops.
    pub routes: Vec<(IpNet, Option<Key>)>,
}

/// Two networks that are peered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peering {
    /// What every object has.
    pub head: Head,
    /// One side.
    pub left: Option<Key>,
    /// The other side.
    pub right: Option<Key>,
}

/// How an endpoint is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    /// Routes lead to it.
    Gateway,
    /// It has an address in each of its subnets.
    Interface,
    /// Google's private access, switched on for a subnet.
    PrivateAccess,
}

/// A way to a service that avoids the internet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// What every object has.
    pub head: Head,
    /// Its network.
    pub network: Option<Key>,
    /// The service in short: `s3`, `ecr.api`, `googleapis`.
    pub service: String,
    /// How it is reached.
    pub kind: EndpointKind,
    /// Route tables that lead to it.
    pub tables: Vec<Key>,
    /// Subnets that it has an address in.
    pub subnets: Vec<Key>,
    /// Its security groups; `None` is not known or the network's default group.
    pub groups: Option<Vec<Key>>,
    /// The only buckets its policy allows, where it says so in Warren's words.
    pub buckets: Vec<String>,
}

/// Something with an address: an instance, a rented pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// What every object has.
    pub head: Head,
    /// Where it is; none for a rented pod.
    pub subnet: Option<Key>,
    /// Its security groups; `None` is not known.
    pub groups: Option<Vec<Key>>,
    /// Whether it has a public address; `None` follows the subnet.
    pub public: Option<bool>,
    /// Its tags, which Google's firewalls speak of.
    pub tags: Vec<String>,
    /// What it is: `instance`, `pod`, `WireGuard gateway`.
    pub what: String,
    /// A gateway's file.
    pub config: Option<Key>,
}

/// What a store keeps.
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
    /// What every object has.
    pub head: Head,
    /// What it keeps.
    pub kind: StoreKind,
}

/// A flow log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowLog {
    /// What every object has.
    pub head: Head,
    /// The network, subnet or transit gateway that is logged.
    pub of: Option<Key>,
    /// Where it is written to.
    pub destination: String,
}

/// An entry of an address plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its path: `hub/public`.
    pub path: String,
    /// Its range.
    pub range: IpNet,
    /// Hosts asked for, where the plan says hosts.
    pub hosts: Option<u64>,
    /// Hosts asked for with room to grow.
    pub grown: Option<u64>,
    /// What the run does to it.
    pub change: Change,
}

/// An address plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddressSpace {
    /// What every object has.
    pub head: Head,
    /// Ranges by pool.
    pub pools: BTreeMap<String, Vec<IpNet>>,
    /// Ranges that nothing may touch, by what uses them.
    pub reserved: BTreeMap<String, Vec<IpNet>>,
    /// Networks and subnets.
    pub entries: Vec<Entry>,
}

macro_rules! topology {
    ($($(#[$doc:meta])* $field:ident: $kind:ident,)*) => {
        /// Everything that was read, by key.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
        pub struct Topology { $($(#[$doc])* pub $field: BTreeMap<Key, $kind>,)* }

        impl Topology {
            /// What every object has, of every object.
            pub fn heads(&self) -> impl Iterator<Item = &Head> {
                std::iter::empty()$(.chain(self.$field.values().map(|object| &object.head)))*
            }

            /// What every object has, of every object.
            pub fn heads_mut(&mut self) -> impl Iterator<Item = &mut Head> {
                std::iter::empty()$(.chain(self.$field.values_mut().map(|object| &mut object.head)))*
            }

            /// Adds the objects of `other` that are not here.
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
    /// Networks on transit gateways.
    attachments: Attachment,
    /// Route tables of transit gateways.
    transit_tables: TransitTable,
    /// Peerings.
    peerings: Peering,
    /// Endpoints.
    endpoints: Endpoint,
    /// Security groups.
    groups: SecurityGroup,
    /// Firewalls of Google networks.
    firewalls: Firewall,
    /// Hosts.
    hosts: Host,
    /// Files of gateways.
    configs: GatewayConfig,
    /// Registries and buckets.
    stores: Store,
    /// Flow logs.
    flow_logs: FlowLog,
    /// Address plans.
    spaces: AddressSpace,
}

impl Topology {
    /// The route table that a subnet uses: its own, else its network's main one.
    pub fn table_of(&self, subnet: &str) -> Option<&RouteTable> {
        let own = self.tables.values().find(|table| table.subnets.iter().any(|key| key == subnet));
        own.or_else(|| {
            let network = self.subnets.get(subnet)?.network.as_ref()?;
            self.tables.values().find(|table| table.main && table.network.as_ref() == Some(network))
        })
    }

    /// Name of an object, whatever it is; the key itself where nothing has it.
    pub fn name<'a>(&'a self, key: &'a str) -> &'a str {
        let head = None
            .or_else(|| self.networks.get(key).map(|object| &object.head))
            .or_else(|| self.subnets.get(key).map(|object| &object.head))
            .or_else(|| self.gateways.get(key).map(|object| &object.head))
            .or_else(|| self.peerings.get(key).map(|object| &object.head))
            .or_else(|| self.endpoints.get(key).map(|object| &object.head))
            .or_else(|| self.tables.get(key).map(|object| &object.head))
            .or_else(|| self.groups.get(key).map(|object| &object.head))
            .or_else(|| self.hosts.get(key).map(|object| &object.head))
            .or_else(|| self.configs.get(key).map(|object| &object.head));
        head.map_or(key, |head| head.name.as_str())
    }
}

/// A run: what is there before it and after it. A state is a run that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// Name of the input.
    pub file: String,
    /// Before the run.
    pub before: Topology,
    /// After the run.
    pub after: Topology,
    /// Whether it is a plan and not a state.
    pub changes: bool,
    /// Values that are known only after apply.
    pub unknown: usize,
}
