//! Which labelled ranges may not live together, and why.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// What a range does to the address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeKind {
    /// An entry of an address plan or a claim: its owner may occupy it, nobody else.
    Reserve,
    /// A real network or subnet, live or about to be made.
    Occupy,
    /// Excluded for everybody: on-premises networks, Docker's bridge.
    Reserved,
}

/// The network that a range lies in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parent {
    /// A network of its own: not inside another.
    #[default]
    Top,
    /// Inside the object whose ranges carry this [`Label::id`]; lying outside all of them is an error.
    Of(String),
    /// A subnet whose network is not known yet: inside any network of its own owner is fine.
    Unknown,
}

/// Who a range belongs to and where it was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Label {
    /// What a person calls it: `aws/public`, `vpc-0abc`.
    pub name: String,
    /// The repo or team whose Terraform state manages it; empty if nobody's is known.
    pub owner: String,
    /// An attribute path (`warren_aws_vpc.main.cidr_block`) or `file:line`.
    pub path: String,
    /// What it does to the address space.
    pub kind: RangeKind,
    /// The object's identity. Ranges of one object (a VPC's primary and secondary ranges) share it; two equal
    /// ranges of one kind with one non-empty id are the same object seen twice, not a conflict.
    pub id: String,
    /// The network it lies in.
    pub parent: Parent,
}

/// One labelled range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The range; host bits are zero.
    pub net: IpNet,
    /// Whose it is.
    pub label: Label,
}

/// How the left range of a conflict lies to the right one. CIDR blocks nest or are disjoint, nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The same range.
    Equal,
    /// The left range contains the right one.
    Contains,
}

/// Which rule a pair of ranges breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Two networks or subnets occupy the same addresses.
    BothOccupy,
    /// An occupier in (or around) a reservation of another owner.
    ForeignReservation,
    /// An occupier that reaches beyond its own owner's reservation.
    BeyondOwnReservation,
    /// Two reservations of the same addresses.
    BothReserve,
    /// The range touches one that is excluded for everybody.
    Reserved,
}

/// One conflict. Indices are into the slice given to [`conflicts`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// Two ranges that overlap and may not. `left` contains or equals `right`.
    Overlap {
        /// Index of the containing (or, when equal, the earlier labelled) range.
        left: usize,
        /// Index of the contained range.
        right: usize,
        /// How they lie.
        relation: Relation,
        /// The rule that is broken.
        why: Why,
    },
    /// A subnet that no range of its own network contains.
    OutsideParent {
        /// Index of the subnet.
        child: usize,
        /// Indices of the ranges of its network, of the same address family first.
        parents: Vec<usize>,
    },
}

impl Conflict {
    /// The indices of the ranges it is about.
    pub fn indices(&self) -> Vec<usize> {
        match self {
            Conflict::Overlap { left, right, .. } => vec![*left, *right],
            Conflict::OutsideParent { child, parents } => {
                std::iter::once(*child).chain(parents.iter().copied()).collect()
            }
        }
    }

    /// One paragraph: both ranges with owner and path, and why they may not live together.
    pub fn explain(&self, ranges: &[Range]) -> String {
        let _ = ranges;
        String::new()
    }
}

/// Every conflict among the ranges, sorted by address, then by label.
///
/// The result does not depend on the order of the input but for the indices. Cost: n log n + number of pairs.
pub fn conflicts(ranges: &[Range]) -> Vec<Conflict> {
    let _ = ranges;
    Vec::new()
}

/// The free range of the same size that lies nearest to `ranges[index]`: inside `pools`, or, when `pools` is
/// empty, inside the private block (RFC 1918, RFC 4193) that contains it. Every other range counts as taken.
pub fn suggest(ranges: &[Range], index: usize, pools: &[IpNet]) -> Option<IpNet> {
    let _ = (ranges, index, pools);
    None
}
