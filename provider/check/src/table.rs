//! Compares the ranges: overlaps, and subnets outside their network.

use crate::connections::Connections;
use crate::finding::Unlisted;
use crate::hints::{AUTO_MODE, DEFAULT_VPC, Hint, advice};
use crate::roots::Roots;
use crate::{Fabrics, Finding, Rule, Screen, Severity, Side};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use warren_cidr::{
    Cloud, Conflict, ConflictScan, IpNet, Label, Moves, Parent, Range, RangeKind, Relation, Why,
};
use warren_model::{Block, Model, NetworkRef, Site};

/// The ranges for the solver, sorted so that the report does not depend on the order of the inputs.
pub(crate) struct Table<'a> {
    pub(crate) ranges: Vec<Range>,
    pub(crate) facts: Vec<Facts<'a>>,
    /// Networks with unknown ranges.
    incomplete: BTreeSet<&'a str>,
    pub(crate) world: &'a World<'a>,
    /// Destinations of routes to sites, which no network should use.
    pub(crate) routes: Vec<IpNet>,
}

/// What decides how severe an overlap is.
pub(crate) struct World<'a> {
    pub(crate) connections: Connections<'a>,
    pub(crate) fabrics: &'a Fabrics,
    /// The fabric that a file itself names.
    pub(crate) named: BTreeMap<&'a str, &'a str>,
}

impl World<'_> {
    /// The declared fabric of a file, by its number.
    fn of_file(&self, file: &str) -> Option<usize> {
        let named = self.named.get(file).copied();
        self.fabrics.declared.iter().position(|fabric| fabric.has_file(file, named))
    }
}

/// Facts about a range that the solver does not need.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Facts<'a> {
    site: &'a Site,
    /// Whether the conflicts inside its own file are already reported.
    pub(crate) refused: bool,
    pub(crate) live: bool,
    /// Whether it is managed elsewhere, by an owner that the file does not name.
    pub(crate) external: bool,
    /// The network it is a subnet of.
    pub(crate) subnet: Option<&'a str>,
    /// Whether it is an entry of an address plan, a claim, or a reserved range.
    pub(crate) entry: bool,
    /// Whether entries of address plans hold it.
    planned: bool,
    /// The number of its network among the connections.
    pub(crate) node: Option<usize>,
    /// The declared fabric, by its number.
    fabric: Option<usize>,
    /// Why its range cannot change.
    pub(crate) fixed: Option<&'static str>,
    pub(crate) cloud: Option<Cloud>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(model: &'a Model, world: &'a World<'a>) -> Self {
        let mut rows = Vec::new();
        for network in &model.networks {
            let of = Object { name: &network.name, owner: &network.owner, id: &network.id };
            rows.extend(network.blocks.iter().map(|block| {
                let (range, facts) = of.row(block, RangeKind::Occupy, Parent::Top);
                let fixed = network.fixed.then_some(DEFAULT_VPC);
                let (external, live, cloud) = (network.external, network.live, network.cloud);
                (range, Facts { external, live, fixed, cloud, ..facts })
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
                facts.cloud = subnet.cloud;
                let why = if subnet.cloud == Some(Cloud::Aws) { DEFAULT_VPC } else { AUTO_MODE };
                facts.fixed = subnet.fixed.then_some(why);
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
            let facts =
                Facts { refused: entry.refused, subnet: entry.parent.as_deref(), entry: true, ..facts };
            rows.push((range, facts));
        }
        for entry in &model.excluded {
            let of = Object { name: &entry.name, owner: &entry.owner, id: "" };
            let (range, facts) = of.row(&entry.block, RangeKind::Reserved, Parent::Top);
            rows.push((range, Facts { entry: true, ..facts }));
        }
        let planned: Vec<IpNet> = model.reservations.iter().map(|entry| entry.block.net).collect();
        let planned = warren_cidr::merge(&planned);
        let mut files: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for (range, facts) in &mut rows {
            if !facts.entry {
                facts.planned = holds(&planned, &range.net);
                facts.node = world.connections.number(facts.subnet.unwrap_or(&range.label.id));
            }
            let file = facts.site.file.as_str();
            let of_file = *files.entry(file).or_insert_with(|| world.of_file(file));
            facts.fabric = facts.node.and_then(|node| world.connections.declared(node)).or(of_file);
        }
        rows.sort();
        let (ranges, facts) = rows.into_iter().unzip();
        let unknown = model.networks.iter().filter(|network| !network.complete);
        Self {
            ranges,
            facts,
            incomplete: unknown.map(|network| network.id.as_str()).collect(),
            world,
            routes: model.site_routes.iter().map(|route| route.block.net).collect(),
        }
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

    /// Up to `limit` conflicting pairs in address order, errors first unless `all` pairs are listed later; and the number of
    /// further errors and warnings.
    pub(crate) fn overlaps(&self, limit: usize, all: bool, screen: &Screen) -> (Vec<Finding>, Unlisted) {
        let (mut errors, mut warnings, mut more) = (Vec::new(), Vec::new(), Unlisted::default());
        // The visitor does not fail.
        let _ = self.each_overlap(screen, |index, severity, finding| {
            let (list, count) = match severity {
                Severity::Error => (&mut errors, &mut more.errors),
                Severity::Warning => (&mut warnings, &mut more.warnings),
            };
            if if all { index < limit } else { list.len() < limit } {
                list.push(finding());
            } else {
                *count += 1;
            }
            Ok(())
        });
        if !all {
            let room = limit - errors.len();
            more.warnings += warnings.len().saturating_sub(room);
            warnings.truncate(room);
        }
        errors.append(&mut warnings);
        (errors, more)
    }

    /// The severity of a conflict of two ranges. `None` if it is ignored.
    ///
    /// Entries of address plans, claims and reserved ranges belong to one fabric. Networks may belong to several.
    fn severity(&self, one: usize, other: usize) -> Option<Severity> {
        let (one, other) = (&self.facts[one], &self.facts[other]);
        let fabrics = self.world.fabrics;
        match (one.fabric, other.fabric) {
            (Some(left), Some(right)) if left != right => return None,
            _ if one.entry || other.entry => return Some(Severity::Error),
            // The cloud refuses the second subnet.
            _ if one.subnet.is_some() && one.subnet == other.subnet => return Some(Severity::Error),
            (Some(_), Some(_)) => return fabrics.connected,
            _ => {}
        }
        let connected =
            one.node.zip(other.node).is_some_and(|(one, other)| self.world.connections.connected(one, other));
        if connected || (one.planned && other.planned) { fabrics.connected } else { fabrics.unconnected }
    }

    /// What a finding says about the connection of two networks. `None` if there is nothing to say: subnets of one network, and
    /// entries of address plans.
    fn tie(&self, one: usize, other: usize) -> Option<String> {
        let (one, other) = (&self.facts[one], &self.facts[other]);
        let world = self.world;
        if one.entry || other.entry || one.node.is_some() && one.node == other.node {
            return None;
        }
        if let (Some(fabric), true) = (one.fabric, one.fabric == other.fabric) {
            return Some(format!("both belong to the fabric {}", world.fabrics.declared[fabric].name));
        }
        if let Some(links) =
            one.node.zip(other.node).and_then(|(one, other)| world.connections.path(one, other))
        {
            return Some(format!("connected by {links}"));
        }
        if one.planned && other.planned {
            return Some("an address plan reserves the range of both".to_owned());
        }
        Some(match world.connections.open(one.node, other.node) {
            Some(links) => format!("the plan does not show what {links} connects"),
            None => "nothing in the files connects them".to_owned(),
        })
    }

    /// Visits every conflicting pair that the screen keeps and that no other one explains, in address order, with its number. The finding is computed on request.
    pub(crate) fn each_overlap(
        &self,
        screen: &Screen,
        mut visit: impl FnMut(usize, Severity, &dyn Fn() -> Finding) -> io::Result<()>,
    ) -> io::Result<()> {
        let scan = ConflictScan::new(&self.ranges);
        let twins = Twins::new(&self.ranges);
        let roots = Roots::new(self, &scan, &twins);
        let moves = self.moves(&scan);
        let mut count = 0;
        for conflict in scan.overlaps() {
            let Conflict::Overlap { left, right, relation, why } = conflict else { continue };
            if self.told(left, right)
                || roots.of(self, &scan, left, right).is_some()
                || !self.is_first(&scan, &twins, left, right)
            {
                continue;
            }
            let Some(severity) = self.severity(left, right) else { continue };
            let movable = conflict.movable(&self.ranges);
            let pair = Pair { left, right, relation, why, severity };
            // Fingerprints and exceptions do not depend on which side moves.
            if screen.is_active() && !screen.keeps(&self.overlap(&pair, movable, Hint::default())) {
                continue;
            }
            let finding = || {
                let (movable, hint) = advice(&self.ranges, &moves, &pair, movable);
                let mut finding = self.overlap(&pair, movable, hint);
                finding.message.extend(roots.note(&twins, left, right));
                finding
            };
            visit(count, severity, &finding)?;
            count += 1;
        }
        Ok(())
    }

    /// The subnets outside their network.
    pub(crate) fn outside(&self) -> Vec<Finding> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let scan = ConflictScan::new(&self.ranges);
        let mut moves = None;
        for conflict in scan.outside() {
            let Conflict::OutsideParent { child, parents } = conflict else { continue };
            let unknown = self.facts[child].subnet.is_some_and(|id| self.incomplete.contains(id));
            let mut all: Vec<_> =
                parents.iter().chain([&child]).map(|&at| identity(&self.ranges[at])).collect();
            all.sort_unstable();
            if !self.facts[child].refused && !unknown && seen.insert(all) {
                let moves = moves.get_or_insert_with(|| self.moves(&scan));
                found.push(self.outsider(child, &parents, moves));
            }
        }
        found
    }

    /// Whether the solver has already reported the pair, or it cannot be judged: a network that a data source read may be inside
    /// the reservation of its own owner. Or it is ignored.
    pub(crate) fn told(&self, left: usize, right: usize) -> bool {
        if self.severity(left, right).is_none() {
            return true;
        }
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

    fn side(&self, index: usize) -> Side {
        let label = &self.ranges[index].label;
        Side {
            name: label.name.clone(),
            owner: label.owner.clone(),
            net: Some(self.ranges[index].net),
            site: self.facts[index].site.clone(),
        }
    }

    fn overlap(&self, pair: &Pair, movable: usize, hint: Hint) -> Finding {
        let Pair { left, right, relation, why, severity } = *pair;
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
            Why::BothOccupy if severity == Severity::Warning => {
                (Rule::Overlap, "both use these addresses, so they cannot be connected later")
            }
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
        let Hint { mut text, reason } = hint;
        if why == Why::ForeignReservation {
            let own = "if one team owns both files, set the same owner for each with `--owner NAME=FILE`";
            text = Some(text.map_or_else(|| own.to_owned(), |free| format!("{free}; {own}")));
        }
        let mut detail = detail.to_owned();
        for line in [self.tie(left, right), reason].into_iter().flatten() {
            detail.push('\n');
            detail.push_str(&line);
        }
        Finding {
            severity,
            rule,
            sides: vec![self.side(movable), self.side(other)],
            message: format!("{} {verb} {}", name(movable), name(other)),
            detail,
            hint: text,
        }
    }

    fn outsider(&self, child: usize, parents: &[usize], moves: &Moves<'_>) -> Finding {
        let net = self.ranges[child].net;
        let mut nets: Vec<IpNet> = parents.iter().map(|&index| self.ranges[index].net).collect();
        nets.sort();
        nets.dedup();
        let free = Some(moves.after(child)).filter(|free| *free != net);
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
            detail: match moves.why_not(child).filter(|_| free.is_none()) {
                Some(why) => format!("{detail}\nno range is proposed: {why}"),
                None => detail.to_owned(),
            },
            hint: free.map(|net| format!("use {net}, the nearest free range of this size in the network")),
        }
    }
}

/// A conflict that is reported.
pub(crate) struct Pair {
    pub(crate) left: usize,
    pub(crate) right: usize,
    relation: Relation,
    why: Why,
    severity: Severity,
}

/// Whether one of the sorted, disjoint blocks contains a range.
fn holds(blocks: &[IpNet], net: &IpNet) -> bool {
    let after = blocks.partition_point(|block| block.network() <= net.network());
    after > 0 && blocks[after - 1].contains(net)
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
        let facts = Facts {
            site: &block.site,
            refused: false,
            live: false,
            external: false,
            subnet: None,
            entry: false,
            planned: false,
            node: None,
            fabric: None,
            fixed: None,
            cloud: None,
        };
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
