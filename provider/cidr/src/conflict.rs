//! Conflicts between labelled ranges, and their reasons.

use crate::{Family, Overlaps, nearest_free, overlaps};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a range uses the address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeKind {
    /// An entry of an address plan, or a claim: only its owner may occupy it.
    Reserve,
    /// A network or subnet that exists or will be created.
    Occupy,
    /// Excluded for every network, such as on-premises networks or Docker's bridge.
    Reserved,
}

/// The network that contains a range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parent {
    /// Not inside another network.
    #[default]
    Top,
    /// Inside the object whose ranges have this [`Label::id`]. A range outside all of them is an error.
    Of(String),
    /// A subnet whose network is not known yet. It may be inside any network of its owner.
    Unknown,
}

/// The owner of a range and where it is defined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Label {
    /// Display name: `aws/public`, `vpc-0abc`.
    pub name: String,
    /// The repo or team whose Terraform state manages it. Empty if unknown.
    pub owner: String,
    /// An attribute path (`warren_aws_vpc.main.cidr_block`) or `file:line`.
    pub path: String,
    /// How it uses the address space.
    pub kind: RangeKind,
    /// The object's identity. Ranges of one object (a VPC's primary and secondary ranges) share it; two equal
    /// ranges of one kind with one non-empty id are the same object seen twice, not a conflict.
    pub id: String,
    /// The network that contains it.
    pub parent: Parent,
}

/// One labelled range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The range; host bits are zero.
    pub net: IpNet,
    /// Its owner and origin.
    pub label: Label,
}

/// Relation of the left range of a conflict to the right one. CIDR blocks are either nested or disjoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The same range.
    Equal,
    /// The left range contains the right one.
    Contains,
}

/// The rule that a pair of ranges breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Two networks or subnets occupy the same addresses.
    BothOccupy,
    /// An occupier in (or around) a reservation of another owner.
    ForeignReservation,
    /// An occupier that is larger than its owner's reservation.
    BeyondOwnReservation,
    /// Two reservations of the same addresses.
    BothReserve,
    /// The range overlaps an excluded range.
    Reserved,
}

/// One conflict. Indices are into the slice given to [`conflicts`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// Two ranges that must not overlap. `left` contains or equals `right`.
    Overlap {
        /// Index of the containing (or, when equal, the earlier labelled) range.
        left: usize,
        /// Index of the contained range.
        right: usize,
        /// Their relation.
        relation: Relation,
        /// The rule that they break.
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
    /// The indices of the conflicting ranges.
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
/// Except for the indices, the result does not depend on the order of the input. Cost: n log n + overlapping pairs. If
/// there may be very many, iterate with a [`ConflictScan`].
pub fn conflicts(ranges: &[Range]) -> Vec<Conflict> {
    ConflictScan::new(ranges).list(usize::MAX).0
}

/// Applies the rules to a set of ranges pair by pair. A thousand networks with the same range have half a million conflicts.
pub struct ConflictScan<'a> {
    ranges: &'a [Range],
    sweep: Overlaps,
    /// Position of each range in the order of labels: there are many pairs, and strings are slow to compare.
    rank: Vec<usize>,
    families: Families<'a>,
}

impl<'a> ConflictScan<'a> {
    /// Sorts the ranges.
    pub fn new(ranges: &'a [Range]) -> Self {
        let nets: Vec<IpNet> = ranges.iter().map(|range| range.net).collect();
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        order.sort_by_key(|&index| &ranges[index].label);
        let mut rank = vec![0; ranges.len()];
        for pair in order.windows(2) {
            // Equal labels have the same rank.
            rank[pair[1]] = rank[pair[0]] + usize::from(ranges[pair[0]].label != ranges[pair[1]].label);
        }
        Self { ranges, sweep: overlaps(&nets), rank, families: Families::new(ranges) }
    }

    /// Up to `limit` conflicts in the order of [`conflicts`], and their total number. If the ranges are sorted, the listed
    /// conflicts do not depend on the original order.
    pub fn list(&self, limit: usize) -> (Vec<Conflict>, u64) {
        let (mut found, mut total) = (Vec::new(), 0);
        for conflict in self.overlaps().chain(self.outside()) {
            total += 1;
            if found.len() < limit {
                found.push(conflict);
            }
        }
        found.sort_by(|a, b| order_key(self.ranges, a).cmp(&order_key(self.ranges, b)));
        (found, total)
    }

    /// Every overlap that is a conflict, in address order of the inner range.
    pub fn overlaps(&self) -> impl Iterator<Item = Conflict> {
        self.sweep.pairs().filter_map(|(outer, inner)| self.pair(outer, inner))
    }

    /// The conflict of two ranges, `outer` containing or being equal to `inner`, if they are in conflict.
    pub fn pair(&self, outer: usize, inner: usize) -> Option<Conflict> {
        let equal = self.ranges[outer].net == self.ranges[inner].net;
        let why = self.families.why(outer, inner, equal)?;
        // Equal ranges are ordered by label, so that the result does not depend on the input order.
        let turned = equal && self.rank[inner] < self.rank[outer];
        let (left, right) = if turned { (inner, outer) } else { (outer, inner) };
        let relation = if equal { Relation::Equal } else { Relation::Contains };
        Some(Conflict::Overlap { left, right, relation, why })
    }

    /// Whether two ranges are in conflict, `outer` containing or being equal to `inner`.
    pub(crate) fn clash(&self, outer: usize, inner: usize) -> bool {
        self.families.why(outer, inner, self.ranges[outer].net == self.ranges[inner].net).is_some()
    }

    /// The number of the object that a range belongs to, if it has an identity.
    pub(crate) fn object(&self, index: usize) -> Option<usize> {
        self.families.object[index]
    }

    /// The number of the object that contains a range, if it has ranges.
    pub(crate) fn parent(&self, index: usize) -> Option<usize> {
        self.families.parent[index]
    }

    /// Every subnet that no range of its own network, of the same family, contains. A network without any range of that
    /// family counts as not known yet.
    pub fn outside(&self) -> impl Iterator<Item = Conflict> {
        self.families.outside()
    }
}

/// The free range of the same size nearest to `ranges[index]`: inside `pools`, or, when `pools` is
/// empty, inside the private block (RFC 1918, RFC 4193) that contains it. Every range counts as taken, including this one.
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

/// Sort key: overlaps before subnets outside their network, by address, then by label.
fn order_key<'a>(ranges: &'a [Range], conflict: &Conflict) -> (bool, [Option<(IpNet, &'a Label)>; 2]) {
    let key = |index: usize| Some((ranges[index].net, &ranges[index].label));
    match conflict {
        Conflict::Overlap { left, right, .. } => (false, [key(*left), key(*right)]),
        Conflict::OutsideParent { child, .. } => (true, [key(*child), None]),
    }
}

/// The ranges by the identity of their object. Objects are numbers here, because there are many pairs and strings are slow
/// to compare.
struct Families<'a> {
    ranges: &'a [Range],
    /// The ranges of each object, sorted.
    members: Vec<Vec<usize>>,
    /// The object of each range, if it has an identity.
    object: Vec<Option<usize>>,
    /// The object that contains each range, if it has ranges.
    parent: Vec<Option<usize>>,
}

impl<'a> Families<'a> {
    fn new(ranges: &'a [Range]) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut object = Vec::with_capacity(ranges.len());
        for (index, range) in ranges.iter().enumerate() {
            let number = (!range.label.id.is_empty()).then(|| {
                *numbers.entry(range.label.id.as_str()).or_insert_with(|| {
                    members.push(Vec::new());
                    members.len() - 1
                })
            });
            number.into_iter().for_each(|number| members[number].push(index));
            object.push(number);
        }
        for indices in &mut members {
            indices.sort_by_key(|&index| &ranges[index]);
        }
        let parent = |range: &Range| match &range.label.parent {
            Parent::Of(id) => numbers.get(id.as_str()).copied(),
            Parent::Top | Parent::Unknown => None,
        };
        let parent = ranges.iter().map(parent).collect();
        Self { ranges, members, object, parent }
    }

    /// Which rule `outer` and `inner` break, where `outer` contains or equals `inner`.
    fn why(&self, outer: usize, inner: usize, equal: bool) -> Option<Why> {
        let (a, b) = (&self.ranges[outer].label, &self.ranges[inner].label);
        let fine = match (a.kind, b.kind) {
            (RangeKind::Reserved, RangeKind::Reserved) => true,
            (RangeKind::Reserved, _) | (_, RangeKind::Reserved) => return Some(Why::Reserved),
            (left, right) if left == right => {
                let same = equal && self.object[outer].is_some() && self.object[outer] == self.object[inner];
                same || self.nests(outer, inner) || (equal && self.nests(inner, outer))
            }
            _ if a.owner != b.owner || a.owner.is_empty() => return Some(Why::ForeignReservation),
            // The reservation is the outer range, or both are equal.
            (RangeKind::Reserve, _) => true,
            _ if equal => true,
            _ => self.ancestors(inner).flat_map(|object| &self.members[object]).any(|&ancestor| {
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

    /// Whether `inner` may be inside `outer` because that is its network.
    fn nests(&self, outer: usize, inner: usize) -> bool {
        let (network, subnet) = (&self.ranges[outer].label, &self.ranges[inner].label);
        match &subnet.parent {
            Parent::Top => false,
            Parent::Unknown => network.owner == subnet.owner && network.parent == Parent::Top,
            Parent::Of(_) => self.object[outer]
                .is_some_and(|network| self.ancestors(inner).any(|ancestor| ancestor == network)),
        }
    }

    /// The network of a range, the network of that one, and so on.
    fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> {
        let next = |object: &usize| self.members[*object].first().and_then(|&first| self.parent[first]);
        // Limits the chain to the number of objects, in case parents form a cycle.
        std::iter::successors(self.parent[index], next).take(self.members.len())
    }

    fn outside(&self) -> impl Iterator<Item = Conflict> {
        (0..self.ranges.len()).filter_map(|child| {
            let range = &self.ranges[child];
            let family = |parent: &usize| Family::of(&self.ranges[*parent].net) == Family::of(&range.net);
            let parents: Vec<usize> =
                self.members[self.parent[child]?].iter().copied().filter(family).collect();
            let inside = parents.iter().any(|&parent| self.ranges[parent].net.contains(&range.net));
            (!parents.is_empty() && !inside).then_some(Conflict::OutsideParent { child, parents })
        })
    }
}
