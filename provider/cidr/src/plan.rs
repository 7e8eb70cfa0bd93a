//! Results of the solver: a plan, or the reasons why none exists.

use crate::{Conflict, Finding, Range, Want};
use ipnet::IpNet;
use serde::Serialize;
use std::collections::BTreeMap;

/// Ranges by path: `aws` for a network, `aws/public` for its subnet.
pub type Assignment = BTreeMap<String, IpNet>;

/// A complete plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// The range of every network and subnet by path.
    pub networks: Assignment,
    /// Number of addresses for hosts, by path: the size of the range minus the addresses that the cloud reserves.
    pub usable_hosts: BTreeMap<String, u128>,
    /// Free space of every pool, by pool, in as few and large blocks as possible.
    pub free: BTreeMap<String, Vec<IpNet>>,
    /// Ranges of the earlier plan that could not stay, by path.
    pub renumbered: Vec<Renumbering>,
    /// Warnings of the clouds' rules, by path.
    pub warnings: Vec<Warning>,
}

/// A rule of a cloud that a planned range breaks, but that the cloud does not enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Path of the network or subnet.
    pub path: String,
    /// The rule.
    pub finding: Finding,
}

/// One range that cannot stay where the earlier plan had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renumbering {
    /// Its path.
    pub path: String,
    /// Where it was.
    pub from: IpNet,
    /// Where it is now.
    pub to: IpNet,
    /// The reason.
    pub why: RenumberReason,
}

/// The reason why a range could not stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RenumberReason {
    /// The request pins it elsewhere.
    Pinned,
    /// The request changes the size. `in_place` if the new range contains the old one or is inside it.
    Resized {
        /// Whether old and new range overlap.
        in_place: bool,
    },
    /// The earlier range is outside its pools now.
    OutsidePools,
    /// It overlaps a range that is reserved under this name.
    Reserved(String),
    /// It overlaps the new range of this path.
    Overlaps(String),
    /// Its network moved.
    ParentMoved,
    /// It breaks a rule of the cloud.
    CloudRule(String),
    /// It makes room for others.
    MadeRoom,
}

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Infeasible {
    /// The request contradicts itself: every problem, by path.
    Refused(Vec<Problem>),
    /// The demands do not fit together.
    NoRoom(Box<NoRoom>),
    /// Neither a plan nor a proof that there is none was found within the bound.
    BoundHit(BoundHit),
}

/// One contradiction in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// A key is empty or contains [`crate::SEPARATOR`].
    BadKey {
        /// The key.
        key: String,
    },
    /// A network names a pool that does not exist.
    UnknownPool {
        /// Path of the network.
        path: String,
        /// The pool it names.
        pool: String,
        /// The existing pools.
        known: Vec<String>,
    },
    /// A network that is not pinned names no pool.
    NoPool {
        /// Path of the network.
        path: String,
    },
    /// A pool or a reserved range has host bits set.
    HostBits {
        /// `pools.NAME`, `reserved.NAME` or the path of the network.
        path: String,
        /// The network that was probably meant.
        meant: IpNet,
    },
    /// More conflicts than [`crate::Bound::problems`].
    More {
        /// How many are not listed.
        count: u64,
    },
    /// The pools have no block of the requested family.
    NoFamily {
        /// Path of the network.
        path: String,
        /// The family.
        family: crate::Family,
    },
    /// A prefix length or number of hosts that the address family or the cloud does not allow.
    BadSize {
        /// Path of the network or subnet.
        path: String,
        /// The requested size.
        want: Want,
        /// The limits, as text.
        why: String,
    },
    /// A rule of the cloud is broken by a pinned range.
    Rule {
        /// Path of the network or subnet.
        path: String,
        /// The rule.
        finding: Finding,
    },
    /// A pinned range is outside its pools or its network.
    PinnedOutside {
        /// Path of the network or subnet.
        path: String,
        /// The pinned range.
        net: IpNet,
        /// What must contain it, as text: `pool aws` or `network aws`.
        container: String,
        /// The blocks of that container. Empty if it is not placed yet.
        blocks: Vec<IpNet>,
        /// The nearest free range of the same size.
        hint: Option<IpNet>,
    },
    /// Two pinned ranges overlap.
    Overlap {
        /// The two ranges: `ranges[left]` and `ranges[right]` of the conflict.
        ranges: Box<[Range; 2]>,
        /// The rule; its indices are 0 and 1.
        conflict: Conflict,
        /// The nearest free range for the second one.
        hint: Option<IpNet>,
    },
}

/// Demands that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoRoom {
    /// What they share, as text: `pool aws` or `network aws (172.16.0.0/16)`.
    pub container: String,
    /// The blocks of the container.
    pub blocks: Vec<IpNet>,
    /// The smallest set found that does not fit. If any one of them is removed, the others fit (if
    /// `minimal`).
    pub elements: Vec<Element>,
    /// Whether no element can be left out.
    pub minimal: bool,
    /// Whether no set with fewer elements is unsatisfiable.
    pub minimum: bool,
    /// Number of addresses that the unplaced elements need.
    pub needed: u128,
    /// Number of free addresses.
    pub free: u128,
    /// The largest aligned free block.
    pub largest: Option<IpNet>,
    /// Whether the request fits without the earlier plan.
    pub fits_renumbered: bool,
    /// One hint, as text.
    pub hint: String,
}

/// One member of an unsatisfiable set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Element {
    /// Path of the network or subnet, or the name of the reserved range.
    pub path: String,
    /// What it requires.
    pub kind: ElementKind,
}

/// The requirement of a member of an unsatisfiable set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementKind {
    /// A block of this prefix length anywhere in its pools.
    Sized {
        /// The prefix length.
        prefix: u8,
    },
    /// This range, because the request pins it.
    Pinned(IpNet),
    /// This range, because the earlier plan has it there.
    Held(IpNet),
    /// This range, because it is excluded.
    Reserved(IpNet),
}

/// The bound of the search was hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoundHit {
    /// Number of partial plans examined.
    pub tried: u64,
    /// Whether the time was up. Otherwise, the number of partial plans reached its limit.
    pub timed_out: bool,
    /// The demands that compete, by path.
    pub paths: Vec<String>,
    /// The pools they compete for.
    pub pools: Vec<String>,
}
