//! Compares the ranges: overlaps, and subnets outside their network.

use crate::roots::Roots;
use crate::{Finding, Rule, Screen, Severity, Side};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use warren_cidr::{Conflict, ConflictScan, IpNet, Label, Parent, Range, RangeKind, Relation, Why, suggest};
use warren_model::{Block, Model, NetworkRef, Site};

/// Number of conflicts with a proposed free range: each search examines every range.
const SUGGESTIONS: usize = 50;

/// The ranges for the solver, sorted so that the report does not depend on the order of the inputs.
pub(crate) struct Table<'a> {
    ranges: Vec<Range>,
    facts: Vec<Facts<'a>>,
    /// Networks with unknown ranges.
    incomplete: BTreeSet<&'a str>,
}

/// Facts about a range that the solver does not need.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Facts<'a> {
    site: &'a Site,
    /// Whether the conflicts inside its own file are already reported.
    refused: bool,
    live: bool,
    /// Whether it is managed elsewhere, by an owner that the file does not name.
    external: bool,
    /// The network it is a subnet of.
    subnet: Option<&'a str>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let mut rows = Vec::new();
        for network in &model.networks {
            let of = Object { name: &network.name, owner: &network.owner, id: &network.id };
            rows.extend(network.blocks.iter().map(|block| {
                let (range, facts) = of.row(block, RangeKind::Occupy, Parent::Top);
                (range, Facts { external: network.external, ..facts })
            }));
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

    /// Number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// A range.
    pub(crate) fn net(&self, index: usize) -> &IpNet {
        &self.ranges[index].net
    }

    /// The ID of the network that a range is a subnet of.
    pub(crate) fn network(&self, index: usize) -> Option<&str> {
        self.facts[index].subnet
    }

    /// The ID of the network that a range belongs to, if it is not a subnet.
    pub(crate) fn top(&self, index: usize) -> Option<&str> {
        let id = self.ranges[index].label.id.as_str();
        (!id.is_empty() && self.network(index).is_none()).then_some(id)
    }

    /// Whether two ranges are in a conflict that the solver has not reported.
    pub(crate) fn conflict(&self, scan: &ConflictScan<'_>, one: usize, other: usize) -> bool {
        let (outer, inner) =
            if self.net(one).contains(self.net(other)) { (one, other) } else { (other, one) };
        self.net(outer).contains(self.net(inner))
            && scan.pair(outer, inner).is_some()
            && !self.told(one, other)
    }

    /// Up to `limit` conflicting pairs, in address order, and the number of further ones.
    pub(crate) fn overlaps(&self, limit: usize, screen: &Screen) -> (Vec<Finding>, usize) {
        let (mut found, mut more) = (Vec::new(), 0);
        // The visitor does not fail.
        let _ = self.each_overlap(screen, |index, finding| {
            if index < limit {
                found.push(finding());
            } else {
                more += 1;
            }
            Ok(())
        });
        (found, more)
    }

    /// Visits every conflicting pair that the screen keeps and that no other one explains, in address order, with its number. The finding is computed on request.
    pub(crate) fn each_overlap(
        &self,
        screen: &Screen,
        mut visit: impl FnMut(usize, &dyn Fn() -> Finding) -> io::Result<()>,
    ) -> io::Result<()> {
        let scan = ConflictScan::new(&self.ranges);
        let twins = Twins::new(&self.ranges);
        let roots = Roots::new(self, &scan, &twins);
        let mut count = 0;
        for conflict in scan.overlaps() {
            let Conflict::Overlap { left, right, relation, why } = conflict else { continue };
            if self.told(left, right)
                || roots.of(self, &scan, left, right).is_some()
                || !self.is_first(&scan, &twins, left, right)
            {
                continue;
            }
            let movable = conflict.movable(&self.ranges);
            // The hint, which takes time, does not count.
            if screen.is_active() && !screen.keeps(&self.overlap(left, right, relation, why, movable, None)) {
                continue;
            }
            let finding = || {
                let free = (count < SUGGESTIONS)
                    .then(|| self.free_for(movable))
                    .flatten()
                    // The network of a subnet may be inside the conflicting range.
                    .filter(|net| {
                        let other = self.ranges[if movable == left { right } else { left }].net;
                        !other.contains(net) && !net.contains(&other)
                    });
                let mut finding = self.overlap(left, right, relation, why, movable, free);
                finding.message.extend(roots.note(&twins, left, right));
                finding
            };
            visit(count, &finding)?;
            count += 1;
        }
        Ok(())
    }

    /// The subnets outside their network.
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

    /// Whether the solver has already reported the pair, or it cannot be judged: a network that a data source read may be inside
    /// the reservation of its own owner.
    pub(crate) fn told(&self, left: usize, right: usize) -> bool {
        let reserves = |index: usize| self.ranges[index].label.kind == RangeKind::Reserve;
        if self.facts[left].external && reserves(right) || self.facts[right].external && reserves(left) {
            return true;
        }
        let same = self.facts[left].site.file == self.facts[right].site.file;
        let (one, other) = (self.facts[left].refused, self.facts[right].refused);
        let entry = |index: usize| self.ranges[index].label.kind != RangeKind::Occupy;
        same && ((one && other) || ((one || other) && entry(left) && entry(right)))
    }

    /// Whether no twins of the two ranges report the same conflict earlier. A pair is reported once, even if the plan and the
    /// state of one run both contain it. Computed for each pair, so that no pair has to be stored.
    pub(crate) fn is_first(&self, scan: &ConflictScan<'_>, twins: &Twins, left: usize, right: usize) -> bool {
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

    /// A free range for a range: inside its network if that has ranges, otherwise near the range itself.
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

    /// The nearest free range inside the ranges of a network.
    fn free_inside(&self, homes: &[IpNet], net: &IpNet) -> Option<IpNet> {
        // Ranges that contain the network do not conflict with its subnets.
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
            Relation::Contains => "is inside",
        };
        let siblings =
            self.facts[left].subnet.is_some() && self.facts[left].subnet == self.facts[right].subnet;
        let (rule, detail) = match why {
            Why::BothOccupy if siblings => (Rule::SubnetOverlap, "both are subnets of the same network"),
            Why::BothOccupy => (
                Rule::Overlap,
                "both use these addresses, and a fabric can route an address to one network only",
            ),
            Why::BothReserve if siblings => (Rule::SubnetOverlap, "both are subnets of the same network"),
            Why::BothReserve => (Rule::Overlap, "both reserve these addresses"),
            Why::ForeignReservation => (Rule::ForeignReservation, "another owner reserved the range"),
            Why::BeyondOwnReservation => (
                Rule::BeyondReservation,
                "the network is larger than the address plan entry that reserves its range",
            ),
            Why::Reserved => (Rule::Reserved, "no network may use a reserved range"),
        };
        let name = |index: usize| format!("{} ({})", self.ranges[index].label.name, self.ranges[index].net);
        let mut hint = free.map(|net| format!("use {net}, the nearest free range of this size"));
        if why == Why::ForeignReservation {
            let own = "if one team owns both files, set the same owner for each with `--owner NAME=FILE`";
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
            (
                Severity::Warning,
                "the subnet already exists, so its network must have a range that is not in the files",
            )
        } else {
            (Severity::Error, "one of the ranges of its network must contain the subnet")
        };
        let sides = std::iter::once(child).chain(parents.iter().copied()).map(|index| self.side(index));
        Finding {
            severity,
            rule: Rule::OutsideParent,
            sides: sides.collect(),
            message: format!(
                "{} ({net}) is outside its network, which has {}",
                self.ranges[child].label.name,
                listed.join(", ")
            ),
            detail: detail.to_owned(),
            hint: free.map(|net| format!("use {net}, the nearest free range of this size in the network")),
        }
    }
}

/// The object that a range belongs to.
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
        let facts = Facts { site: &block.site, refused: false, live: false, external: false, subnet: None };
        (Range { net: block.net, label }, facts)
    }
}

/// Ranges of the same object that several inputs contain.
pub(crate) struct Twins {
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

    /// Identifies a pair of ranges across their twins, in either order.
    pub(crate) fn key(&self, (one, other): (usize, usize)) -> (usize, usize) {
        let (one, other) = (self.class[one], self.class[other]);
        (one.min(other), one.max(other))
    }

    /// The range and its twins, in order.
    fn of(&self, index: usize) -> &[usize] {
        &self.members[self.class[index]]
    }
}

/// Identifies an object across plan and state: its ID (or else its path), its name and its range.
fn identity(range: &Range) -> (&str, &str, IpNet) {
    let label = &range.label;
    let id = if label.id.is_empty() { &label.path } else { &label.id };
    (id, &label.name, range.net)
}
