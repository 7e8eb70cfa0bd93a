//! Which labelled ranges may not live together, and why.

use crate::{Family, nearest_free, overlaps};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
        /// Indices of the ranges of its network, of the same address family.
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

    /// The index of the range that is easier to move: the contained one, never an excluded one.
    pub fn movable(&self, ranges: &[Range]) -> usize {
        match self {
            Conflict::Overlap { left, right, .. } if ranges[*right].label.kind == RangeKind::Reserved => {
                *left
            }
            Conflict::Overlap { right, .. } => *right,
            Conflict::OutsideParent { child, .. } => *child,
        }
    }
}

/// Every conflict among the ranges: the overlaps in address order, then the subnets outside their network.
///
/// The result does not depend on the order of the input but for the indices. Cost: n log n + overlapping pairs.
pub fn conflicts(ranges: &[Range]) -> Vec<Conflict> {
    let families = Families::new(ranges);
    let nets: Vec<IpNet> = ranges.iter().map(|range| range.net).collect();
    let sweep = overlaps(&nets);
    let mut found: Vec<Conflict> = sweep
        .pairs()
        .filter_map(|(left, right)| {
            let equal = nets[left] == nets[right];
            let why = families.why(left, right, equal)?;
            // Equal ranges go by label, so that the input order does not show.
            let (left, right) =
                if equal && ranges[right].label < ranges[left].label { (right, left) } else { (left, right) };
            let relation = if equal { Relation::Equal } else { Relation::Contains };
            Some(Conflict::Overlap { left, right, relation, why })
        })
        .collect();
    found.extend(families.outside());
    found.sort_by(|a, b| order_key(ranges, a).cmp(&order_key(ranges, b)));
    found
}

/// The free range of the same size that lies nearest to `ranges[index]`: inside `pools`, or, when `pools` is
/// empty, inside the private block (RFC 1918, RFC 4193) that contains it. Every range counts as taken, itself too.
pub fn suggest(ranges: &[Range], index: usize, pools: &[IpNet]) -> Option<IpNet> {
    const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
    let net = ranges[index].net;
    let home: Vec<IpNet>;
    let pools = if pools.is_empty() {
        home = PRIVATE
            .iter()
            .filter_map(|text| text.parse().ok())
            .filter(|pool: &IpNet| pool.contains(&net))
            .collect();
        &home
    } else {
        pools
    };
    let taken: Vec<IpNet> = ranges.iter().map(|range| range.net).collect();
    nearest_free(pools, &taken, net.prefix_len(), &net)
}

/// Overlaps before outsiders, by address, then by label.
fn order_key<'a>(ranges: &'a [Range], conflict: &Conflict) -> (bool, [Option<(IpNet, &'a Label)>; 2]) {
    let key = |index: usize| Some((ranges[index].net, &ranges[index].label));
    match conflict {
        Conflict::Overlap { left, right, .. } => (false, [key(*left), key(*right)]),
        Conflict::OutsideParent { child, .. } => (true, [key(*child), None]),
    }
}

/// The ranges by the identity of their object.
struct Families<'a> {
    ranges: &'a [Range],
    by_id: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Families<'a> {
    fn new(ranges: &'a [Range]) -> Self {
        let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, range) in ranges.iter().enumerate().filter(|(_, range)| !range.label.id.is_empty()) {
            by_id.entry(&range.label.id).or_default().push(index);
        }
        for indices in by_id.values_mut() {
            indices.sort_by_key(|&index| &ranges[index]);
        }
        Self { ranges, by_id }
    }

    /// Which rule `outer` and `inner` break, where `outer` contains or equals `inner`.
    fn why(&self, outer: usize, inner: usize, equal: bool) -> Option<Why> {
        let (a, b) = (&self.ranges[outer].label, &self.ranges[inner].label);
        let fine = match (a.kind, b.kind) {
            (RangeKind::Reserved, RangeKind::Reserved) => true,
            (RangeKind::Reserved, _) | (_, RangeKind::Reserved) => return Some(Why::Reserved),
            (left, right) if left == right => {
                let same = equal && !a.id.is_empty() && a.id == b.id;
                same || self.nests(a, b) || (equal && self.nests(b, a))
            }
            _ if a.owner != b.owner || a.owner.is_empty() => return Some(Why::ForeignReservation),
            // The reservation is the outer range, or both are equal.
            (RangeKind::Reserve, _) => true,
            _ if equal => true,
            _ => self.ancestors(b).iter().any(|&ancestor| {
                self.ranges[ancestor].label.kind == RangeKind::Reserve
                    && self.ranges[ancestor].net.contains(&self.ranges[outer].net)
            }),
        };
        match (fine, a.kind, b.kind) {
            (true, ..) => None,
            (false, RangeKind::Occupy, RangeKind::Occupy) => Some(Why::BothOccupy),
            (false, RangeKind::Reserve, RangeKind::Reserve) => Some(Why::BothReserve),
            _ => Some(Why::BeyondOwnReservation),
        }
    }

    /// Whether `inner` may lie in `outer` because that is its network.
    fn nests(&self, outer: &Label, inner: &Label) -> bool {
        match &inner.parent {
            Parent::Top => false,
            Parent::Unknown => outer.owner == inner.owner && outer.parent == Parent::Top,
            Parent::Of(_) if outer.id.is_empty() => false,
            Parent::Of(id) => {
                *id == outer.id
                    || self.ancestors(inner).iter().any(|&index| self.ranges[index].label.id == outer.id)
            }
        }
    }

    /// The ranges of the network of `label`, of the network of that one, and so on.
    fn ancestors(&self, label: &Label) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut parent = &label.parent;
        while let Parent::Of(id) = parent {
            let Some(indices) = self.by_id.get(id.as_str()) else { break };
            // A circle of parents ends the walk.
            if found.contains(&indices[0]) {
                break;
            }
            found.extend(indices);
            parent = &self.ranges[indices[0]].label.parent;
        }
        found
    }

    /// Subnets that no range of their own network, of the same family, contains. A network without any range of that
    /// family is taken as not known yet.
    fn outside(&self) -> Vec<Conflict> {
        let mut found = Vec::new();
        for (child, range) in self.ranges.iter().enumerate() {
            let Parent::Of(id) = &range.label.parent else { continue };
            let parents: Vec<usize> = self
                .by_id
                .get(id.as_str())
                .into_iter()
                .flatten()
                .copied()
                .filter(|&parent| Family::of(&self.ranges[parent].net) == Family::of(&range.net))
                .collect();
            let inside = parents.iter().any(|&parent| self.ranges[parent].net.contains(&range.net));
            if !parents.is_empty() && !inside {
                found.push(Conflict::OutsideParent { child, parents });
            }
        }
        found
    }
}
