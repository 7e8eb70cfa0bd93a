//! From what was read to findings.

use crate::plans::{self, cloud_findings, cloud_rule};
use crate::{Finding, Report, Rule, Severity, Side};
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{
    CidrError, Conflict, IpNet, Label, Parent, Range, RangeKind, Relation, Why, conflicts, suggest,
};
use warren_model::{Block, Model, NetworkRef, ReservationKind, Site};
use warren_planfile::Input;

/// Free ranges are searched for the first conflicts only: each search looks at every range.
const SUGGESTIONS: usize = 50;

/// Checks everything that was read, as one fabric. `claims` of owners that the inputs show are left out: the inputs
/// are newer.
pub fn check(inputs: &[Input], claims: Model) -> Report {
    let (mut model, mut findings, mut fabrics) = (Model::default(), Vec::new(), BTreeSet::new());
    let mut owners = BTreeSet::new();
    for input in inputs {
        match input {
            Input::AddressPlan(plan) => {
                findings.extend(plans::add(plan, &mut model));
                fabrics.extend(plan.fabric.clone());
                owners.insert(plan.owner.as_str());
            }
            Input::Terraform { owner, model: read } => {
                model.merge((**read).clone());
                owners.insert(owner);
            }
        }
    }
    let mut claims = claims;
    claims.reservations.retain(|claim| !owners.contains(claim.owner.as_str()));
    model.merge(claims);
    findings.extend(model.defects.iter().map(|found| defect(&found.owner, &found.site, &found.error)));
    findings.extend(clouds(&model));
    findings.extend(peerings(&model));
    let table = Table::new(&model);
    findings.extend(table.findings());
    findings.sort();
    findings.dedup();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    Report {
        version: 1,
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        files: inputs.len(),
        ranges: table.ranges.len(),
        notes: notes(&model, &fabrics),
        findings,
    }
}

pub(crate) fn defect(owner: &str, site: &Site, error: &CidrError) -> Finding {
    let (rule, hint) = match error {
        CidrError::HostBits { meant, .. } => (Rule::HostBits, Some(format!("write {meant}"))),
        _ => (Rule::BadCidr, None),
    };
    let (owner, name) = (owner.to_owned(), site.path.clone());
    let sides = vec![Side { name, owner, net: None, site: site.clone() }];
    let message = error.to_string();
    Finding { severity: Severity::Error, rule, sides, message, detail: String::new(), hint }
}

fn notes(model: &Model, fabrics: &BTreeSet<String>) -> Vec<String> {
    let mut notes = Vec::new();
    let ranges = |count: usize| if count == 1 { "1 range is" } else { "ranges are" };
    let told =
        |count: usize| if count == 1 { "1 range is".into() } else { format!("{count} {}", ranges(count)) };
    if model.unknown > 0 {
        notes.push(format!("{} known only after apply", told(model.unknown)));
    }
    if model.sensitive > 0 {
        notes.push(format!("{} marked sensitive and not looked at", told(model.sensitive)));
    }
    if fabrics.len() > 1 {
        let names: Vec<&str> = fabrics.iter().map(String::as_str).collect();
        notes.push(format!("the inputs name the fabrics {}; they were checked as one", names.join(", ")));
    }
    notes
}

/// What the clouds say of each range on its own, and of secondary ranges.
fn clouds(model: &Model) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut push = |rules: Vec<warren_cidr::Finding>, name: &str, owner: &str, block: &Block| {
        found.extend(rules.into_iter().map(|rule| Finding {
            severity: match rule.severity {
                warren_cidr::Severity::Error => Severity::Error,
                warren_cidr::Severity::Warning => Severity::Warning,
            },
            rule: cloud_rule(rule.rule),
            sides: vec![side(name, owner, block)],
            message: rule.message,
            detail: String::new(),
            hint: None,
        }));
    };
    let mut primary: BTreeMap<&str, &Block> = BTreeMap::new();
    for network in &model.networks {
        for block in &network.blocks {
            push(cloud_findings(network.cloud, &block.net, false), &network.name, &network.owner, block);
        }
        let first = network.blocks.first().filter(|block| block.net.addr().is_ipv4());
        if let Some(first) =
            first.filter(|first| first.site.path.starts_with(&network.name) && is_primary(first))
        {
            primary.entry(&network.id).or_insert(first);
        }
    }
    for network in &model.networks {
        let Some((first, cloud)) = primary.get(network.id.as_str()).zip(network.cloud) else { continue };
        for block in network.blocks.iter().filter(|block| block.net != first.net) {
            push(cloud.check_secondary(&first.net, &block.net), &network.name, &network.owner, block);
        }
    }
    for subnet in &model.subnets {
        for block in &subnet.blocks {
            push(cloud_findings(subnet.cloud, &block.net, true), &subnet.name, &subnet.owner, block);
        }
    }
    for entry in &model.reservations {
        let rules = cloud_findings(entry.cloud, &entry.block.net, entry.kind == ReservationKind::Subnet);
        // The solver has told the errors of a plan that it refused.
        let rules = rules
            .into_iter()
            .filter(|rule| !entry.refused || rule.severity == warren_cidr::Severity::Warning);
        push(rules.collect(), &entry.name, &entry.owner, &entry.block);
    }
    found
}

/// Whether a block is what the VPC was made with, not an association.
fn is_primary(block: &Block) -> bool {
    block.site.path.ends_with(".cidr_block") && !block.site.path.contains("_association.")
}

fn peerings(model: &Model) -> Vec<Finding> {
    let mut blocks: BTreeMap<&str, Vec<(&str, &str, &Block)>> = BTreeMap::new();
    for network in &model.networks {
        let all = network.blocks.iter().map(|block| (network.name.as_str(), network.owner.as_str(), block));
        blocks.entry(&network.id).or_default().extend(all);
    }
    for subnet in model.subnets.iter().filter(|subnet| !subnet.nested) {
        if let NetworkRef::Id(id) = &subnet.network {
            let all = subnet.blocks.iter().map(|block| (subnet.name.as_str(), subnet.owner.as_str(), block));
            blocks.entry(id).or_default().extend(all);
        }
    }
    let mut found = Vec::new();
    for peering in &model.peerings {
        let (NetworkRef::Id(left), NetworkRef::Id(right)) = (&peering.left, &peering.right) else { continue };
        let (Some(left), Some(right)) = (blocks.get(left.as_str()), blocks.get(right.as_str())) else {
            continue;
        };
        if peering.left == peering.right {
            continue;
        }
        let nets =
            |side: &[(&str, &str, &Block)]| side.iter().map(|(_, _, block)| block.net).collect::<Vec<_>>();
        for rule in peering.cloud.check_peering(&nets(left), &nets(right)) {
            let mut sides = vec![Side {
                name: peering.name.clone(),
                owner: peering.owner.clone(),
                net: None,
                site: peering.site.clone(),
            }];
            for (name, owner, block) in left.iter().chain(right) {
                if block.net == rule.net || rule.message.contains(&format!(" {} ", block.net)) {
                    sides.push(side(name, owner, block));
                }
            }
            found.push(Finding {
                severity: Severity::Error,
                rule: Rule::Peering,
                sides,
                message: format!("{} peers networks that overlap: {}", peering.name, rule.message),
                detail: String::new(),
                hint: Some("move one of the networks; a peering has no address translation".to_owned()),
            });
        }
    }
    found
}

fn side(name: &str, owner: &str, block: &Block) -> Side {
    Side { name: name.to_owned(), owner: owner.to_owned(), net: Some(block.net), site: block.site.clone() }
}

/// The ranges for the solver, and what it need not know.
struct Table<'a> {
    ranges: Vec<Range>,
    sites: Vec<&'a Site>,
    refused: Vec<bool>,
    live: Vec<bool>,
    subnet: Vec<Option<&'a str>>,
    incomplete: BTreeSet<&'a str>,
}

impl<'a> Table<'a> {
    fn new(model: &'a Model) -> Self {
        let mut table = Self {
            ranges: Vec::new(),
            sites: Vec::new(),
            refused: Vec::new(),
            live: Vec::new(),
            subnet: Vec::new(),
            incomplete: BTreeSet::new(),
        };
        for network in &model.networks {
            if !network.complete {
                table.incomplete.insert(&network.id);
            }
            for block in &network.blocks {
                let names = (&network.name, &network.owner, &network.id);
                table.push(block, names, RangeKind::Occupy, Parent::Top);
            }
        }
        for subnet in &model.subnets {
            let parent = match &subnet.network {
                NetworkRef::Id(id) if subnet.nested => Parent::Of(id.clone()),
                NetworkRef::Unknown if subnet.nested => Parent::Unknown,
                _ => Parent::Top,
            };
            for block in &subnet.blocks {
                table.push(
                    block,
                    (&subnet.name, &subnet.owner, &subnet.id),
                    RangeKind::Occupy,
                    parent.clone(),
                );
                if let (Some(live), Some(slot)) = (table.live.last_mut(), table.subnet.last_mut()) {
                    *live = subnet.live;
                    *slot = match &subnet.network {
                        NetworkRef::Id(id) => Some(id),
                        _ => None,
                    };
                }
            }
        }
        for entry in &model.reservations {
            let kind = if entry.occupied { RangeKind::Occupy } else { RangeKind::Reserve };
            let parent = entry.parent.clone().map_or(Parent::Top, Parent::Of);
            table.push(&entry.block, (&entry.name, &entry.owner, &entry.id), kind, parent);
            if let (Some(refused), Some(slot)) = (table.refused.last_mut(), table.subnet.last_mut()) {
                *refused = entry.refused;
                *slot = entry.parent.as_deref();
            }
        }
        for entry in &model.excluded {
            let none = String::new();
            table.push(&entry.block, (&entry.name, &entry.owner, &none), RangeKind::Reserved, Parent::Top);
        }
        table
    }

    fn push(
        &mut self,
        block: &'a Block,
        (name, owner, id): (&String, &String, &String),
        kind: RangeKind,
        parent: Parent,
    ) {
        let (name, owner, id) = (name.clone(), owner.clone(), id.clone());
        let path = block.site.to_string();
        self.ranges.push(Range { net: block.net, label: Label { name, owner, path, kind, id, parent } });
        self.sites.push(&block.site);
        self.refused.push(false);
        self.live.push(false);
        self.subnet.push(None);
    }

    fn findings(&self) -> Vec<Finding> {
        let found = conflicts(&self.ranges);
        let wanted = found.iter().filter(|conflict| !self.told(conflict));
        let mut seen = BTreeSet::new();
        wanted
            .enumerate()
            .filter(|(_, conflict)| seen.insert(self.identity(conflict)))
            .map(|(number, conflict)| match conflict {
                Conflict::Overlap { left, right, relation, why } => {
                    let free = (number < SUGGESTIONS)
                        .then(|| self.free_for(conflict.movable(&self.ranges)))
                        .flatten()
                        // The network of a subnet may lie in what it conflicts with.
                        .filter(|net| {
                            let blocks = [*left, *right].map(|index| self.ranges[index].net);
                            let other = blocks[usize::from(conflict.movable(&self.ranges) == *left)];
                            !other.contains(net) && !net.contains(&other)
                        });
                    self.overlap(*left, *right, *relation, *why, conflict.movable(&self.ranges), free)
                }
                Conflict::OutsideParent { child, parents } => self.outside(*child, parents),
            })
            .collect()
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

    /// Whether there is nothing to tell: the solver told it, or the network has ranges that are not known.
    fn told(&self, conflict: &Conflict) -> bool {
        match conflict {
            Conflict::Overlap { left, right, .. } => {
                let same = self.sites[*left].file == self.sites[*right].file;
                let (one, other) = (self.refused[*left], self.refused[*right]);
                let entry = |index: usize| self.ranges[index].label.kind != RangeKind::Occupy;
                same && ((one && other) || ((one || other) && entry(*left) && entry(*right)))
            }
            Conflict::OutsideParent { child, .. } => {
                self.refused[*child] || self.subnet[*child].is_some_and(|id| self.incomplete.contains(id))
            }
        }
    }

    /// One pair is told once, also if a plan and a state of one run show it twice.
    fn identity(&self, conflict: &Conflict) -> Vec<(String, String, IpNet)> {
        let one = |index: usize| {
            let range = &self.ranges[index];
            let id = if range.label.id.is_empty() { &range.label.path } else { &range.label.id };
            (id.clone(), range.label.name.clone(), range.net)
        };
        let mut key: Vec<_> = conflict.indices().into_iter().map(one).collect();
        key.sort();
        key
    }

    fn side(&self, index: usize) -> Side {
        let label = &self.ranges[index].label;
        Side {
            name: label.name.clone(),
            owner: label.owner.clone(),
            net: Some(self.ranges[index].net),
            site: self.sites[index].clone(),
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
        let siblings = self.subnet[left].is_some() && self.subnet[left] == self.subnet[right];
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

    fn outside(&self, child: usize, parents: &[usize]) -> Finding {
        let net = self.ranges[child].net;
        let mut nets: Vec<IpNet> = parents.iter().map(|&index| self.ranges[index].net).collect();
        nets.sort();
        nets.dedup();
        let free = self.free_inside(&nets, &net);
        let listed: Vec<String> = nets.iter().map(ToString::to_string).collect();
        let (severity, detail) = if self.live[child] {
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
