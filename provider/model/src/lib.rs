//! Cloud-neutral networks: what a plan, a state or an address plan says, with the place it says it at.
//!
//! The crate is pure. Readers fill a [`Model`], several models [`Model::merge`] into one, and the check looks at the
//! result. [`topology`] says what a run builds.

pub mod policy;
pub mod reach;
pub mod topology;

use ipnet::IpNet;
use serde::Serialize;
use std::fmt;
use warren_cidr::{CidrError, Cloud};

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Site {
    /// Name of the input, as the user gave it; `-` is standard input.
    pub file: String,
    /// Attribute path: `aws_vpc.main.cidr_block`, `networks.hub.cidr`.
    pub path: String,
    /// Place in the file; `None` where the file has no lines worth telling.
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

/// A range and where it was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Block {
    /// The range; host bits are zero.
    pub net: IpNet,
    /// Where it was written.
    pub site: Site,
}

/// The network that a subnet or a peering speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkRef {
    /// The network with this [`Network::id`]; it may be missing from the model.
    Id(String),
    /// It has none: the range stands on its own.
    None,
    /// Known only after apply, and no reference tells it.
    Unknown,
}

/// A network that exists or is about to be made: a VPC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Network {
    /// Identity: the cloud's id where it is known, else file and address. Networks of one id are one object.
    pub id: String,
    /// Resource address.
    pub name: String,
    /// Who manages it.
    pub owner: String,
    /// Whose limits apply.
    pub cloud: Option<Cloud>,
    /// The primary range, then secondary ones.
    pub blocks: Vec<Block>,
    /// Whether every range is known; a subnet outside an incomplete network is no finding.
    pub complete: bool,
}

/// A range inside a network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subnet {
    /// Identity, as for [`Network::id`].
    pub id: String,
    /// Resource address, with the name of the secondary range if it is one.
    pub name: String,
    /// Who manages it.
    pub owner: String,
    /// Whose limits apply.
    pub cloud: Option<Cloud>,
    /// Its network.
    pub network: NetworkRef,
    /// Whether networks of this cloud have ranges of their own that the subnet must lie in (AWS) or not (Google).
    pub nested: bool,
    /// Whether it exists already and this run does not replace it.
    pub live: bool,
    /// Its ranges.
    pub blocks: Vec<Block>,
}

/// What a range of an address plan or claim is.
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
    /// Identity of the entry it lies in.
    pub parent: Option<String>,
    /// Its path: `hub/public`.
    pub name: String,
    /// Who may occupy it.
    pub owner: String,
    /// Whose limits apply.
    pub cloud: Option<Cloud>,
    /// Network or subnet.
    pub kind: ReservationKind,
    /// Whether a real network stands there (a claim of an occupier) and not only an entry.
    pub occupied: bool,
    /// The range.
    pub block: Block,
    /// Whether conflicts inside its own file have been told already: the solver refused the file, or it holds claims.
    pub refused: bool,
}

/// A range that nothing may touch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Excluded {
    /// What uses it.
    pub name: String,
    /// Who says so.
    pub owner: String,
    /// The range.
    pub block: Block,
}

/// Two networks that are to be peered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Peering {
    /// Resource address.
    pub name: String,
    /// Who manages it.
    pub owner: String,
    /// Whose limits apply.
    pub cloud: Cloud,
    /// Where it was written.
    pub site: Site,
    /// One side.
    pub left: NetworkRef,
    /// The other side.
    pub right: NetworkRef,
}

/// A text that should be a range and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Whose it is.
    pub owner: String,
    /// Where it was written.
    pub site: Site,
    /// What is wrong.
    pub error: CidrError,
}

/// Everything that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// Networks.
    pub networks: Vec<Network>,
    /// Subnets.
    pub subnets: Vec<Subnet>,
    /// Entries of address plans, and claims.
    pub reservations: Vec<Reservation>,
    /// Ranges that nothing may touch.
    pub excluded: Vec<Excluded>,
    /// Peerings.
    pub peerings: Vec<Peering>,
    /// Texts that are no ranges.
    pub defects: Vec<Defect>,
    /// Ranges that are known only after apply.
    pub unknown: usize,
    /// Ranges that are marked sensitive and were not read.
    pub sensitive: usize,
}

impl Model {
    /// Adds everything of `other`.
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
