//! Compares the ranges: overlaps, and subnets outside their network.

use crate::connections::Connections;
use crate::finding::Unlisted;
use crate::hints::{AUTO_MODE, DEFAULT_VPC, Hint, advice};
use crate::roots::Roots;
use crate::twins::{Twins, identity};
use crate::{Fabrics, Finding, Screen, Severity};
use std::cell::OnceCell;
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
    /// Owners of the networks and subnets.
    pub(crate) owners: BTreeSet<&'a str>,
}

/// The table sorted for the search. What several passes over the conflicts need is computed once, if a finding needs it.
pub(crate) struct Search<'t> {
    table: &'t Table<'t>,
    pub(crate) scan: ConflictScan<'t>,
    twins: Twins,
    roots: OnceCell<Roots>,
    moves: OnceCell<Moves<'t>>,
}

impl<'t> Search<'t> {
    pub(crate) fn new(table: &'t Table<'t>) -> Self {
        let (scan, twins) = (ConflictScan::new(&table.ranges), Twins::new(&table.ranges));
        Self { table, scan, twins, roots: OnceCell::new(), moves: OnceCell::new() }
    }

    fn roots(&self) -> &Roots {
        self.roots.get_or_init(|| Roots::new(self.table, &self.scan, &self.twins))
    }

    fn moves(&self) -> &Moves<'t> {
        self.moves.get_or_init(|| self.table.moves(&self.scan))
    }
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
    pub(crate) fn of_file(&self, file: &str) -> Option<usize> {
        let named = self.named.get(file).copied();
        self.fabrics.declared.iter().position(|fabric| fabric.has_file(file, named))
    }
}

/// Facts about a range that the solver does not need.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Facts<'a> {
    pub(crate) site: &'a Site,
    /// Whether the conflicts inside its own file are already reported.
    pub(crate) refused: bool,
    pub(crate) live: bool,
    /// Whether it is managed elsewhere, by an owner that the file does not name.
    pub(crate) external: bool,
    /// The network it is a subnet of.
    pub(crate) subnet: Option<&'a str>,
    /// Whether it is an entry of an address plan, a claim, or a range that no network may use.
    pub(crate) entry: bool,
    /// Whether entries of address plans hold it.
    pub(crate) planned: bool,
    /// The number of its network among the connections. `None` if the network is not known.
    pub(crate) node: Option<usize>,
    /// The declared fabric, by its number.
    pub(crate) fabric: Option<usize>,
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
            rows.push((range, Facts { cloud: entry.cloud, ..facts }));
        }
        for entry in &model.excluded {
            let of = Object { name: &entry.name, owner: &entry.owner, id: "" };
            let (range, facts) = of.row(&entry.block, RangeKind::Reserved, Parent::Top);
            let node = match &entry.network {
                Some(NetworkRef::Id(id)) => world.connections.number(id),
                _ => None,
            };
            rows.push((range, Facts { entry: entry.network.is_none(), node, ..facts }));
        }
        let planned: Vec<IpNet> = model.reservations.iter().map(|entry| entry.block.net).collect();
        let planned = warren_cidr::merge(&planned);
        let mut files: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for (range, facts) in &mut rows {
            if !facts.entry {
                facts.planned = holds(&planned, &range.net);
                let own = || world.connections.number(facts.subnet.unwrap_or(&range.label.id));
                facts.node = facts.node.or_else(own);
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
            owners: model
                .networks
                .iter()
                .map(|network| network.owner.as_str())
                .chain(model.subnets.iter().map(|subnet| subnet.owner.as_str()))
                .collect(),
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
    pub(crate) fn overlaps(
        &self,
        search: &Search<'_>,
        (limit, all): (usize, bool),
        screen: &Screen,
    ) -> (Vec<Finding>, Unlisted) {
        let (mut errors, mut warnings, mut more) = (Vec::new(), Vec::new(), Unlisted::default());
        // The visitor does not fail.
        let _ = self.each_overlap(search, screen, |index, severity, finding| {
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

    /// Visits every conflicting pair that the screen keeps and that no other one explains, in address order, with its number. The finding is computed on request.
    pub(crate) fn each_overlap(
        &self,
        search: &Search<'_>,
        screen: &Screen,
        mut visit: impl FnMut(usize, Severity, &dyn Fn() -> Finding) -> io::Result<()>,
    ) -> io::Result<()> {
        let (scan, twins, roots) = (&search.scan, &search.twins, search.roots());
        let mut count = 0;
        for conflict in scan.overlaps() {
            let Conflict::Overlap { left, right, relation, why } = conflict else { continue };
            let Some(severity) = self.untold(left, right) else { continue };
            if roots.of(self, scan, left, right).is_some() || !self.is_first(scan, twins, left, right) {
                continue;
            }
            let movable = conflict.movable(&self.ranges);
            let pair = Pair { left, right, relation, why, severity };
            // Fingerprints and exceptions do not depend on which side moves.
            if screen.is_active() && !screen.keeps(&self.overlap(&pair, movable, Hint::default())) {
                continue;
            }
            let finding = || {
                let (movable, hint) = advice(&self.ranges, search.moves(), &pair, movable);
                let mut finding = self.overlap(&pair, movable, hint);
                finding.message.extend(roots.note(twins, left, right));
                finding
            };
            visit(count, severity, &finding)?;
            count += 1;
        }
        Ok(())
    }

    /// The subnets outside their network.
    pub(crate) fn outside(&self, search: &Search<'_>) -> Vec<Finding> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for conflict in search.scan.outside() {
            let Conflict::OutsideParent { child, parents } = conflict else { continue };
            let unknown = self.facts[child].subnet.is_some_and(|id| self.incomplete.contains(id));
            let mut all: Vec<_> =
                parents.iter().chain([&child]).map(|&at| identity(&self.ranges[at])).collect();
            all.sort_unstable();
            if !self.facts[child].refused && !unknown && seen.insert(all) {
                found.push(self.outsider(child, &parents, search.moves()));
            }
        }
        found
    }

    /// Whether no finding is about the pair.
    pub(crate) fn told(&self, left: usize, right: usize) -> bool {
        self.untold(left, right).is_none()
    }

    /// The severity of a conflict of two ranges. `None` if the solver has already reported the pair, if it cannot be judged, because
    /// a network that a data source read may be inside the reservation of its own owner, or if it is ignored.
    fn untold(&self, left: usize, right: usize) -> Option<Severity> {
        let severity = self.severity(left, right)?;
        let reserves = |index: usize| self.ranges[index].label.kind == RangeKind::Reserve;
        if self.facts[left].external && reserves(right) || self.facts[right].external && reserves(left) {
            return None;
        }
        let (one, other) = (self.facts[left].refused, self.facts[right].refused);
        let entry = |index: usize| self.ranges[index].label.kind != RangeKind::Occupy;
        let refused = (one && other) || ((one || other) && entry(left) && entry(right));
        let reported = refused && self.facts[left].site.file == self.facts[right].site.file;
        (!reported).then_some(severity)
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
}

/// A conflict that is reported.
pub(crate) struct Pair {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) relation: Relation,
    pub(crate) why: Why,
    pub(crate) severity: Severity,
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
