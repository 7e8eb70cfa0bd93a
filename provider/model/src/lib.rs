//! The cloud-neutral model of the networks in plans, states and address plans, with their positions in the files.
//!
//! The crate is pure. Readers fill a [`Model`], [`Model::merge`] combines several, and the check examines the result.
//! [`topology`] describes the objects of a plan and their changes.

pub mod policy;
pub mod reach;
pub mod topology;

use ipnet::IpNet;
use serde::Serialize;
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

/// A network that exists or will be created, such as a VPC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Network {
    /// Identity: the ID in the cloud if known, else file and address. Networks with the same ID are one object.
    pub id: String,
    /// Resource address.
    pub name: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// The cloud whose limits apply.
    pub cloud: Option<Cloud>,
    /// The primary range, then secondary ones.
    pub blocks: Vec<Block>,
    /// Whether every range is known. A subnet outside an incomplete network is not reported.
    pub complete: bool,
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

/// A range that no network may use: one that an address plan reserves, or that of a cluster of rented pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Excluded {
    /// Its name.
    pub name: String,
    /// The owner of the address plan or the cluster.
    pub owner: String,
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
    pub cloud: Cloud,
    /// Where it is defined.
    pub site: Site,
    /// One side.
    pub left: NetworkRef,
    /// The other side.
    pub right: NetworkRef,
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
    /// Invalid ranges.
    pub defects: Vec<Defect>,
    /// Number of ranges that are known only after apply.
    pub unknown: usize,
    /// Number of ranges that are marked as sensitive and were not read.
    pub sensitive: usize,
}

impl Model {
    /// Adds the content of `other`.
    pub fn merge(&mut self, other: Model) {
        self.networks.extend(other.networks);
        self.subnets.extend(other.subnets);
        self.reservations.extend(other.reservations);
        self.excluded.extend(other.excluded);
        self.peerings.extend(other.peerings);
        self.defects.extend(other.defects);
        self.unknown += other.unknown;
        self.sensitive += other.sensitive;
    }
}
