//! The ranges side by side: which overlap, and which lie outside their network.

use crate::{Finding, Rule, Severity, Side};
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{Conflict, ConflictScan, IpNet, Label, Parent, Range, RangeKind, Relation, Why, suggest};
use warren_model::{Block, Model, NetworkRef, Site};

/// Free ranges are searched for the first conflicts only: each search looks at every range.
const SUGGESTIONS: usize = 50;

/// The ranges for the solver, sorted, so that the order of the inputs does not show.
pub(crate) struct Table<'a> {
    ranges: Vec<Range>,
    facts: Vec<Facts<'a>>,
    /// Networks with ranges that are not known.
    incomplete: BTreeSet<&'a str>,
}

/// What the solver need not know of a range.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Facts<'a> {
    site: &'a Site,
    /// Whether conflicts inside its own file have been told.
    refused: bool,
    live: bool,
    /// The network it is a subnet of.
    subnet: Option<&'a str>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let mut rows = Vec::new();
        for network in &model.networks {
            let of = Object { name: &network.name, owner: &network.owner, id: &network.id };
            rows.extend(network.blocks.iter().map(|block| of.row(block, RangeKind::Occupy, Parent::Top)));
        }
        for subnet in &model.subnets {
            let parent = match &subnet.network {
                NetworkRef::Id(id) if subnet.nested => Parent::Of(id.clone()),
                NetworkRef::Unknown if subnet.nested => Parent::Unknown,
                _ => Parent::Top,
            };
            let of = Object { name: &subnet.name, owner: &subnet.owner, id: &subnet.id };
            rows.extend(subnet.blocks.iter().map(|block| {
                let (range, mut facts) = of.row(block, RangeKind::Occupy, parent.clone());
                facts.live = subnet.live;
                if let NetworkRef::Id(id) = &subnet.network {
                    facts.subnet = Some(id);
                }
                (range, facts)
            }));
        }
        for entry in &model.reservations {
            let kind = if entry.occupied { RangeKind::Occupy } else { RangeKind::Reserve };
            let parent = entry.parent.clone().map_or(Parent::Top, Parent::Of);
            let of = Object { name: &entry.name, owner: &entry.owner, id: &entry.id };
            let (range, facts) = of.row(&entry.block, kind, parent);
            rows.push((range, Facts { refused: entry.refused, subnet: entry.parent.as_deref(), ..facts }));
        }
        for entry in &model.excluded {
            let of = Object { name: &entry.name, owner: &entry.owner, id: "" };
            rows.push(of.row(&entry.block, RangeKind::Reserved, Parent::Top));
        }
        rows.sort();
        let (ranges, facts) = rows.into_iter().unzip();
        let unknown = model.networks.iter().filter(|network| !network.complete);
        Self { ranges, facts, incomplete: unknown.map(|network| network.id.as_str()).collect() }
    }

    /// How many ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Up to `limit` of the pairs that may not overlap, in address order, and how many more there are.
    pub(crate) fn overlaps(&self, limit: usize) -> (Vec<Finding>, usize) {
        let scan = ConflictScan::new(&self.ranges);
        let twins = Twins::new(&self.ranges);
        let (mut found, mut more) = (Vec::new(), 0);
        for conflict in scan.overlaps() {
            let Conflict::Overlap { left, right, relation, why } = conflict else { continue };
            if self.told(left, right) || !self.is_first(&scan, &twins, left, right) {
                continue;
            }
            if found.len() == limit {
                more += 1;
                continue;
            }
            let movable = conflict.movable(&self.ranges);
            let free = (found.len() < SUGGESTIONS)
                .then(|| self.free_for(movable))
                .flatten()
                // The network of a subnet may lie in what it conflicts with.
                .filter(|net| {
                    let other = self.ranges[if movable == left { right } else { left }].net;
                    !other.contains(net) && !net.contains(&other)
                });
            found.push(self.overlap(left, right, relation, why, movable, free));
        }
        (found, more)
    }

    /// The subnets that lie outside their network.
    pub(crate) fn outside(&self) -> Vec<Finding> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for conflict in ConflictScan::new(&self.ranges).outside() {
            let Conflict::OutsideParent { child, parents } = conflict else { continue };
            let unknown = self.facts[child].subnet.is_some_and(|id| self.incomplete.contains(id));
            let mut all: Vec<_> =
                parents.iter().chain([&child]).map(|&at| identity(&self.ranges[at])).collect();
            all.sort_unstable();
            if !self.facts[child].refused && !unknown && seen.insert(all) {
                found.push(self.outsider(child, &parents, found.len() < SUGGESTIONS));
            }
        }
        found
    }

    /// Whether the solver told it.
    fn told(&self, left: usize, right: usize) -> bool {
        let same = self.facts[left].site.file == self.facts[right].site.file;
        let (one, other) = (self.facts[left].refused, self.facts[right].refused);
        let entry = |index: usize| self.ranges[index].label.kind != RangeKind::Occupy;
        same && ((one && other) || ((one || other) && entry(left) && entry(right)))
    }

    /// Whether no twins of the two ranges tell the same before: one pair is told once, also if a plan and a state of one
    /// run show it twice. Asked pair by pair, so that nothing has to be remembered.
    fn is_first(&self, scan: &ConflictScan<'_>, twins: &Twins, left: usize, right: usize) -> bool {
        let (ones, others) = (twins.of(left), twins.of(right));
        if ones.len() == 1 && others.len() == 1 {
            return true;
        }
        let pairs = ones.iter().flat_map(|&one| others.iter().map(move |&other| (one, other)));
        let first = pairs
            .filter(|&(one, other)| one != other)
            .find(|&(one, other)| scan.pair(one, other).is_some() && !self.told(one, other));
        first.is_none_or(|(one, other)| (one, other) == (left, right) || (other, one) == (left, right))
    }

    /// A free place for a range: inside its network where that has ranges, else near where it is.
    fn free_for(&self, index: usize) -> Option<IpNet> {
        let range = &self.ranges[index];
        let Parent::Of(id) = &range.label.parent else { return suggest(&self.ranges, index, &[]) };
        let homes = self.ranges.iter().filter(|other| other.label.id == *id);
        let homes: Vec<IpNet> = homes.map(|other| other.net).collect();
        if homes.is_empty() {
            suggest(&self.ranges, index, &[])
        } else {
            self.free_inside(&homes, &range.net)
        }
    }

    /// The nearest free place inside the ranges of a network.
    fn free_inside(&self, homes: &[IpNet], net: &IpNet) -> Option<IpNet> {
        // What contains the network is not in the way of its subnets.
        let around = |taken: &IpNet| homes.iter().any(|home| taken.contains(home));
        let taken: Vec<IpNet> =
            self.ranges.iter().map(|range| range.net).filter(|net| !around(net)).collect();
        warren_cidr::nearest_free(homes, &taken, net.prefix_len(), net)
    }

    fn side(&self, index: usize) -> Side {
        let label = &self.ranges[index].label;
        Side {
            name: label.name.clone(),
            owner: label.owner.clone(),
            net: Some(self.ranges[index].net),
            site: self.facts[index].site.clone(),
        }
    }

    fn overlap(
        &self,
        left: usize,
        right: usize,
        relation: Relation,
        why: Why,
        movable: usize,
        free: Option<IpNet>,
    ) -> Finding {
        let other = if movable == left { right } else { left };
        let verb = match relation {
            Relation::Equal => "has the same range as",
            Relation::Contains if movable == left => "contains",
            Relation::Contains => "lies in",
        };
        let siblings =
            self.facts[left].subnet.is_some() && self.facts[left].subnet == self.facts[right].subnet;
        let (rule, detail) = match why {
            Why::BothOccupy if siblings => (Rule::SubnetOverlap, "both are subnets of one network"),
            Why::BothOccupy => {
                (Rule::Overlap, "both occupy these addresses, and one fabric can route them only once")
            }
            Why::BothReserve if siblings => (Rule::SubnetOverlap, "both are subnets of one network"),
            Why::BothReserve => (Rule::Overlap, "both reserve these addresses"),
            Why::ForeignReservation => (Rule::ForeignReservation, "the reservation belongs to another owner"),
            Why::BeyondOwnReservation => {
                (Rule::BeyondReservation, "the network is larger than the entry that reserves its place")
            }
            Why::Reserved => (Rule::Reserved, "the range is excluded for everybody"),
        };
        let name = |index: usize| format!("{} ({})", self.ranges[index].label.name, self.ranges[index].net);
        let mut hint = free.map(|net| format!("{net} is the nearest free range of this size"));
        if why == Why::ForeignReservation {
            let own = "if one team owns both, give the files one owner: --owner NAME=FILE for each";
            hint = Some(hint.map_or_else(|| own.to_owned(), |free| format!("{free}; {own}")));
        }
        Finding {
            severity: Severity::Error,
            rule,
            sides: vec![self.side(movable), self.side(other)],
            message: format!("{} {verb} {}", name(movable), name(other)),
            detail: detail.to_owned(),
            hint,
        }
    }

    fn outsider(&self, child: usize, parents: &[usize], hinted: bool) -> Finding {
        let net = self.ranges[child].net;
        let mut nets: Vec<IpNet> = parents.iter().map(|&index| self.ranges[index].net).collect();
        nets.sort();
        nets.dedup();
        let free = hinted.then(|| self.free_inside(&nets, &net)).flatten();
        let listed: Vec<String> = nets.iter().map(ToString::to_string).collect();
        let (severity, detail) = if self.facts[child].live {
            (Severity::Warning, "it exists already, so its network has a range that the inputs do not show")
        } else {
            (Severity::Error, "a subnet takes its addresses from its network")
        };
        let sides = std::iter::once(child).chain(parents.iter().copied()).map(|index| self.side(index));
        Finding {
            severity,
            rule: Rule::OutsideParent,
            sides: sides.collect(),
            message: format!(
                "{} ({net}) lies outside its network, which has {}",
                self.ranges[child].label.name,
                listed.join(", ")
            ),
            detail: detail.to_owned(),
            hint: free.map(|net| format!("{net} is the nearest free range of this size in the network")),
        }
    }
}

/// What a range belongs to.
struct Object<'a> {
    name: &'a str,
    owner: &'a str,
    id: &'a str,
}

impl Object<'_> {
    fn row<'b>(&self, block: &'b Block, kind: RangeKind, parent: Parent) -> (Range, Facts<'b>) {
        let label = Label {
            name: self.name.to_owned(),
            owner: self.owner.to_owned(),
            path: block.site.to_string(),
            kind,
            id: self.id.to_owned(),
            parent,
        };
        let facts = Facts { site: &block.site, refused: false, live: false, subnet: None };
        (Range { net: block.net, label }, facts)
    }
}

/// Ranges that are one thing seen several times.
struct Twins {
    class: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl Twins {
    fn new(ranges: &[Range]) -> Self {
        let mut classes = BTreeMap::new();
        let (mut class, mut members) = (Vec::with_capacity(ranges.len()), Vec::new());
        for (index, range) in ranges.iter().enumerate() {
            let at = *classes.entry(identity(range)).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[at].push(index);
            class.push(at);
        }
        Self { class, members }
    }

    /// The range and its twins, in order.
    fn of(&self, index: usize) -> &[usize] {
        &self.members[self.class[index]]
    }
}

/// By which a thing is known in a plan and in a state: its id, else its place; its name; its range.
fn identity(range: &Range) -> (&str, &str, IpNet) {
    let label = &range.label;
    let id = if label.id.is_empty() { &label.path } else { &label.id };
    (id, &label.name, range.net)
}
