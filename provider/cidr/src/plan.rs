//! What the solver answers: a plan, or why there is none.

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
    /// Addresses for hosts, by path: the size of the range less what the cloud keeps.
    pub usable_hosts: BTreeMap<String, u128>,
    /// What is left of every pool, as few and large blocks as possible, by pool.
    pub free: BTreeMap<String, Vec<IpNet>>,
    /// Ranges of the earlier plan that could not stay, by path.
    pub renumbered: Vec<Renumbering>,
    /// Warnings of the clouds' rules, by path.
    pub warnings: Vec<Warning>,
}

/// A rule of a cloud that a planned range breaks without being refused.
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
    /// Why it could not stay.
    pub why: RenumberReason,
}

/// Why a range could not stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RenumberReason {
    /// The request pins it elsewhere.
    Pinned,
    /// The request asks for another size. `in_place` if the new range holds the old one or lies in it.
    Resized {
        /// Whether old and new range overlap.
        in_place: bool,
    },
    /// The earlier range is outside its pools now.
    OutsidePools,
    /// It touches a range excluded under this name.
    Reserved(String),
    /// It touches what is at this path now.
    Overlaps(String),
    /// Its network moved.
    ParentMoved,
    /// It breaks a rule of the cloud.
    CloudRule(String),
}

/// Why there is no plan.
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
        /// The pools there are.
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
    /// The pools have no block of the family asked for.
    NoFamily {
        /// Path of the network.
        path: String,
        /// The family.
        family: crate::Family,
    },
    /// A prefix length or number of hosts that the family or the cloud cannot hold.
    BadSize {
        /// Path of the network or subnet.
        path: String,
        /// What was asked for.
        want: Want,
        /// The bounds, in prose.
        why: String,
    },
    /// A rule of the cloud is broken by a pinned range.
    Rule {
        /// Path of the network or subnet.
        path: String,
        /// The rule.
        finding: Finding,
    },
    /// A pinned range lies outside what it must lie in.
    PinnedOutside {
        /// Path of the network or subnet.
        path: String,
        /// The pinned range.
        net: IpNet,
        /// What it must lie in, in prose: `pool aws` or `network aws`.
        container: String,
        /// The blocks of that container; empty where it has no place yet.
        blocks: Vec<IpNet>,
        /// The nearest free range of the same size.
        hint: Option<IpNet>,
    },
    /// Two ranges with a fixed place overlap.
    Overlap {
        /// The two ranges: `ranges[left]` and `ranges[right]` of the conflict.
        ranges: Box<[Range; 2]>,
        /// The rule; its indices are 0 and 1.
        conflict: Conflict,
        /// The nearest free range for the second one.
        hint: Option<IpNet>,
    },
}

/// Demands that cannot hold together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoRoom {
    /// What they must share, in prose: `pool aws` or `network aws (172.16.0.0/16)`.
    pub container: String,
    /// The blocks of the container.
    pub blocks: Vec<IpNet>,
    /// The smallest set found that cannot hold together; leaving out any one of them would make the rest fit (if
    /// `minimal`).
    pub elements: Vec<Element>,
    /// Whether no element can be left out.
    pub minimal: bool,
    /// Whether no set with fewer elements is unsatisfiable.
    pub minimum: bool,
    /// Addresses that the elements without a place need.
    pub needed: u128,
    /// Addresses free for them.
    pub free: u128,
    /// The largest aligned free block.
    pub largest: Option<IpNet>,
    /// Whether the request would fit if the earlier plan did not have to stay.
    pub fits_renumbered: bool,
    /// One hint, in prose.
    pub hint: String,
}

/// One member of an unsatisfiable set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Element {
    /// Path of the network or subnet, or the name of the reserved range.
    pub path: String,
    /// What it asks for.
    pub kind: ElementKind,
}

/// What a member of an unsatisfiable set asks for.
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
    /// Partial plans looked at.
    pub tried: u64,
    /// The demands that compete, by path.
    pub paths: Vec<String>,
    /// The pools they compete for.
    pub pools: Vec<String>,
}
