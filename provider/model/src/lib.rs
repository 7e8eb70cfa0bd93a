//! The cloud-neutral model of the networks in plans, states and address plans, with their positions in the files.
//!
//! The crate is pure. Readers fill a [`Model`], [`Model::merge`] combines several, and the check examines the result.
//! [`topology`] describes the objects of a plan and their changes.

pub mod policy;
pub mod reach;
pub mod topology;
pub mod verdict;

use ipnet::IpNet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use warren_cidr::{CidrError, Cloud};

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Where something is defined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Site {
    /// Name of the input, as the user gave it; `-` is standard input.
    pub file: String,
    /// Attribute path: `aws_vpc.main.cidr_block`, `networks.hub.cidr`.
    pub path: String,
    /// Position in the file. `None` if the file has no useful line numbers.
    pub at: Option<Position>,
}

impl fmt::Display for Site {
    /// `file:line:column: path`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        Ok(())
    }
}

/// A range and where it is defined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Block {
    /// The range; host bits are zero.
    pub net: IpNet,
    /// Where it is defined.
    pub site: Site,
}

/// The network that a subnet or a peering refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkRef {
    /// The network with this [`Network::id`]; it may be missing from the model.
    Id(String),
    /// None: the range belongs to no network.
    None,
    /// Known only after apply, and no reference identifies it.
    Unknown,
}

/// How the network of a subnet was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The file contains its ID.
    Id,
    /// The configuration refers to it.
    Reference,
    /// The subnet was in it before the apply, and the plan replaces it.
    State,
    /// It is the only one in reach of the module that hides the reference in a local value.
    Module,
    /// It is the only one whose range contains that of the subnet.
    Range,
}

/// A subnet and the network that it was attached to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Attachment {
    /// Resource address of the subnet.
    pub subnet: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// Name of the input.
    pub file: String,
    /// Resource address or ID of its network. `None` if no network was found.
    pub network: Option<String>,
    /// How the network was found. `None` if no network was found.
    pub how: Option<How>,
}

/// A network that exists or will be created, such as a VPC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Network {
    /// Identity: the ID in the cloud if known, else file and address. Networks with the same ID are one object.
    pub id: String,
    /// Resource address.
    pub name: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// Name of the input.
    pub file: String,
    /// The cloud whose limits apply.
    pub cloud: Option<Cloud>,
    /// The primary range, then secondary ones.
    pub blocks: Vec<Block>,
    /// Whether every range is known. A subnet outside an incomplete network is not reported.
    pub complete: bool,
    /// Whether a data source read it: it is managed elsewhere, so its owner is not that of the file.
    pub external: bool,
    /// Whether the cloud chose its ranges, so that they cannot be changed: AWS gives every default VPC 172.31.0.0/16.
    pub fixed: bool,
    /// Whether it exists already and this run does not replace it.
    pub live: bool,
    /// Its tags, if the cloud has tags of networks and they are known.
    pub tags: BTreeMap<String, String>,
    /// The fabric of the provider `warren`, if that manages the network.
    pub fabric: Option<Fabric>,
}

/// A fabric of the provider `warren`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fabric {
    /// Its name.
    Named(String),
    /// The file does not show its name, so it may be any.
    Unknown,
}

/// A range inside a network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subnet {
    /// Identity, as for [`Network::id`].
    pub id: String,
    /// Resource address, with the name of the secondary range if it is one.
    pub name: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// The cloud whose limits apply.
    pub cloud: Option<Cloud>,
    /// Its network.
    pub network: NetworkRef,
    /// Whether networks of this cloud have ranges that must contain the subnet (AWS) or not (Google).
    pub nested: bool,
    /// Whether it exists already and this run does not replace it.
    pub live: bool,
    /// Whether the cloud chose its range, so that it cannot be changed: default subnets of AWS, auto mode of Google Cloud.
    pub fixed: bool,
    /// Its ranges.
    pub blocks: Vec<Block>,
}

/// The type of object that a range of an address plan or claim is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservationKind {
    /// A network.
    Network,
    /// A subnet of one.
    Subnet,
}

/// An entry of an address plan, or a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reservation {
    /// Identity.
    pub id: String,
    /// Identity of the entry that contains it.
    pub parent: Option<String>,
    /// Its path: `hub/public`.
    pub name: String,
    /// The owner, who may occupy it.
    pub owner: String,
    /// The cloud whose limits apply.
    pub cloud: Option<Cloud>,
    /// Network or subnet.
    pub kind: ReservationKind,
    /// Whether a network exists there (the claim of an occupier), and not only an entry.
    pub occupied: bool,
    /// The range.
    pub block: Block,
    /// Whether conflicts inside its own file are already reported: the plan is infeasible, or the file contains claims.
    pub refused: bool,
}

/// A range that no network may use: one that an address plan reserves, that of a cluster of rented pods, or that of services or
/// clients of a network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Excluded {
    /// Its name.
    pub name: String,
    /// The owner of the address plan or the cluster.
    pub owner: String,
    /// The network that reaches the range, so that only this network and those that it is connected to may not use it. `None` if no
    /// network may use it.
    pub network: Option<NetworkRef>,
    /// The range.
    pub block: Block,
}

/// A peering of two networks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Peering {
    /// Resource address.
    pub name: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// The cloud whose limits apply.
    pub cloud: Option<Cloud>,
    /// Where it is defined.
    pub site: Site,
    /// One side.
    pub left: NetworkRef,
    /// The other side.
    pub right: NetworkRef,
    /// Whether one side may use the VPN gateways of the other.
    pub transit: bool,
}

/// Something that connects networks, such as an attachment to a transit gateway. Peerings are [`Peering`]s.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Link {
    /// Resource address, or a description.
    pub name: String,
    /// Identities of the networks that it connects, as in [`Network::id`].
    pub networks: Vec<String>,
    /// Identities of hubs, such as transit gateways: what a hub connects can reach each other through it.
    pub hubs: Vec<String>,
    /// Whether it connects something that is known only after apply.
    pub open: bool,
}

/// A static route to a site behind a VPN.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SiteRoute {
    /// Resource address.
    pub name: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// Identity of the hub that leads to the site. `None` if it is known only after apply.
    pub hub: Option<String>,
    /// The destination.
    pub block: Block,
}

/// An invalid range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Its owner.
    pub owner: String,
    /// Where it is defined.
    pub site: Site,
    /// The error.
    pub error: CidrError,
}

/// The content of all inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// Networks.
    pub networks: Vec<Network>,
    /// Subnets.
    pub subnets: Vec<Subnet>,
    /// Entries of address plans, and claims.
    pub reservations: Vec<Reservation>,
    /// Reserved ranges.
    pub excluded: Vec<Excluded>,
    /// Peerings.
    pub peerings: Vec<Peering>,
    /// What else connects networks.
    pub links: Vec<Link>,
    /// Static routes to sites behind VPNs.
    pub site_routes: Vec<SiteRoute>,
    /// Invalid ranges.
    pub defects: Vec<Defect>,
    /// Files whose plan does not list everything, because it ended with an error or was limited to some resources.
    pub partial: Vec<String>,
    /// The network of each subnet, and how it was found.
    pub attachments: Vec<Attachment>,
    /// Ranges that are known only after apply: resource address and attribute.
    pub unknown: Vec<String>,
    /// Number of ranges that are marked as sensitive and were not read.
    pub sensitive: usize,
}

impl Model {
    /// Sorts everything, so that the order of the inputs does not matter.
    pub fn sort(&mut self) {
        self.networks.sort();
        self.subnets.sort();
        self.reservations.sort();
        self.excluded.sort();
        self.peerings.sort();
        self.links.sort();
        self.site_routes.sort();
        self.partial.sort();
        self.attachments.sort();
        self.unknown.sort();
    }

    /// Adds the content of `other`.
    pub fn merge(&mut self, other: Model) {
        self.networks.extend(other.networks);
        self.subnets.extend(other.subnets);
        self.reservations.extend(other.reservations);
        self.excluded.extend(other.excluded);
        self.peerings.extend(other.peerings);
        self.links.extend(other.links);
        self.site_routes.extend(other.site_routes);
        self.defects.extend(other.defects);
        self.partial.extend(other.partial);
        self.attachments.extend(other.attachments);
        self.unknown.extend(other.unknown);
        self.sensitive += other.sensitive;
    }
}
