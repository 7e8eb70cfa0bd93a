//! Reasons for an infeasible request: every contradiction in it, or the smallest set of demands that do not fit.

use crate::bits::{Spans, blocks, join, minus, range, span};
use crate::level::{Component, Demand, fit, place};
use crate::minimal::shrink;
use crate::search::{Budget, Found};
use crate::siblings::{Level, pool_blocks};
use crate::tree::Node;
use crate::{
    Conflict, ConflictScan, Element, ElementKind, Family, Infeasible, IpNet, Label, NoRoom, Parent, Problem,
    Range, RangeKind, Request, contains, nearest_free,
};
use std::collections::{BTreeMap, BTreeSet};

/// Number of problems with a hint: each hint examines all ranges.
const HINTS: usize = 32;
/// Limit on the search for a hint, in placed blocks.
const HINT_WORK: usize = 2_000_000;

/// Location of a level in the request.
pub(crate) struct Stage<'a> {
    pub(crate) request: &'a Request,
    /// The network whose subnets are placed, with its range; `None` for the networks.
    pub(crate) network: Option<(String, IpNet)>,
    pub(crate) family: Family,
}

impl Stage<'_> {
    /// The pools that these networks name.
    pub(crate) fn pools<'n>(&self, nodes: impl IntoIterator<Item = &'n Node>) -> Vec<String> {
        let named = nodes.into_iter().filter_map(|node| self.request.networks.get(&node.path));
        let pools: BTreeSet<String> = named.flat_map(|wanted| wanted.pools.iter().cloned()).collect();
        pools.into_iter().collect()
    }
}

/// Adds every contradiction among the pinned ranges. Up to `limit` are listed; the others are counted.
pub(crate) fn refused(request: &Request, nodes: &[Node], limit: usize, problems: &mut Vec<Problem>) {
    let mut ranges = Vec::new();
    for (name, nets) in &request.reserved {
        ranges.extend(nets.iter().map(|net| {
            let path = format!("reserved.{name}");
            Range { net: net.trunc(), label: label(name, &path, RangeKind::Reserved, Parent::Top) }
        }));
    }
    for node in nodes {
        pins(node, Parent::Top, &mut ranges);
    }
    // Sorted by label, so that the listed conflicts do not depend on the order of the input.
    ranges.sort();
    for node in nodes {
        let Some(net) = node.pinned else { continue };
        let Some(wanted) = request.networks.get(&node.path).filter(|wanted| !wanted.pools.is_empty()) else {
            continue;
        };
        let blocks = pool_blocks(request, wanted);
        if !contains(&blocks, &net) {
            let hinted = problems.len() < HINTS;
            let taken = || ranges.iter().map(|range| range.net).collect::<Vec<_>>();
            let hint = hinted.then(|| nearest_free(&blocks, &taken(), net.prefix_len(), &net)).flatten();
            let container = pools_text(&wanted.pools);
            problems.push(Problem::PinnedOutside { path: node.path.clone(), net, container, blocks, hint });
        }
    }
    let (listed, total) = ConflictScan::new(&ranges).list(limit.saturating_sub(problems.len()));
    let more = total - listed.len() as u64;
    for conflict in listed {
        let hinted = problems.len() < HINTS;
        problems.push(match conflict {
            Conflict::Overlap { left, right, relation, why } => {
                let movable = conflict.movable(&ranges);
                Problem::Overlap {
                    ranges: Box::new([ranges[left].clone(), ranges[right].clone()]),
                    conflict: Conflict::Overlap { left: 0, right: 1, relation, why },
                    hint: if hinted { hint(request, &ranges, movable) } else { None },
                }
            }
            Conflict::OutsideParent { child, parents } => {
                let blocks: Vec<IpNet> = parents.iter().map(|&parent| ranges[parent].net).collect();
                let range = &ranges[child];
                let hint = if hinted { inside(&blocks, &ranges, range) } else { None };
                let network = parents.first().map_or("", |&parent| ranges[parent].label.name.as_str());
                let container = format!("network {network}");
                Problem::PinnedOutside {
                    path: range.label.name.clone(),
                    net: range.net,
                    container,
                    blocks,
                    hint,
                }
            }
        });
    }
    if more > 0 {
        problems.push(Problem::More { count: more });
    }
}

fn label(name: &str, path: &str, kind: RangeKind, parent: Parent) -> Label {
    Label {
        name: name.to_owned(),
        owner: String::new(),
        path: path.to_owned(),
        kind,
        id: path.to_owned(),
        parent,
    }
}

/// The pinned ranges of a node and of its descendants.
fn pins(node: &Node, parent: Parent, ranges: &mut Vec<Range>) {
    if let Some(net) = node.pinned {
        ranges.push(Range { net, label: label(&node.path, &node.path, RangeKind::Reserve, parent) });
    }
    for child in &node.children {
        pins(child, Parent::Of(node.path.clone()), ranges);
    }
}

/// The nearest free range for a pinned range, in its pools or in its network.
fn hint(request: &Request, ranges: &[Range], index: usize) -> Option<IpNet> {
    let range = &ranges[index];
    if let Parent::Of(id) = &range.label.parent {
        let blocks: Vec<IpNet> =
            ranges.iter().filter(|range| range.label.id == *id).map(|range| range.net).collect();
        return inside(&blocks, ranges, range);
    }
    let pools = request
        .networks
        .get(&range.label.name)
        .map(|wanted| pool_blocks(request, wanted))
        .unwrap_or_default();
    crate::suggest(ranges, index, &pools)
}

/// The nearest free range inside these blocks. Ranges that contain the blocks do not count as taken.
fn inside(within: &[IpNet], ranges: &[Range], range: &Range) -> Option<IpNet> {
    let taken: Vec<IpNet> = ranges
        .iter()
        .map(|other| other.net)
        .filter(|net| !within.iter().any(|block| net.contains(block)))
        .collect();
    nearest_free(within, &taken, range.net.prefix_len(), &range.net)
}

pub(crate) fn pools_text(pools: &[String]) -> String {
    match pools {
        [] => "no pool".to_owned(),
        [one] => format!("pool {one}"),
        [most @ .., last] => format!("pools {} and {last}", most.join(", ")),
    }
}

/// The explanation of a component that does not fit.
pub(crate) fn no_room(
    level: &Level<'_>,
    stage: &Stage<'_>,
    places: &[Option<IpNet>],
    open: &[usize],
    component: &Component,
    budget: Budget<'_>,
) -> Infeasible {
    let (regions, demands) = level.demands(open, false);
    let space: Spans<u128> =
        join(&component.regions.iter().flat_map(|&region| &regions[region]).copied().collect::<Vec<_>>());
    let touches = |net: &IpNet| {
        let (start, end) = span(net);
        space.iter().any(|&(low, high)| low <= end && start <= high)
    };
    let mut fixed: Vec<(Element, IpNet)> = Vec::new();
    for &(name, net) in level.reserved.iter().filter(|(_, net)| touches(net)) {
        fixed.push((Element { path: name.to_owned(), kind: ElementKind::Reserved(net) }, net));
    }
    for (node, net) in level.nodes.iter().zip(places) {
        if let Some(net) = net.filter(|net| touches(net)) {
            let kind = if node.pinned.is_some() { ElementKind::Pinned(net) } else { ElementKind::Held(net) };
            fixed.push((Element { path: node.path.clone(), kind }, net));
        }
    }
    let spans: Vec<(u128, u128)> = fixed.iter().map(|(_, net)| span(net)).collect();
    let nodes: Vec<&Node> = component.demands.iter().map(|&at| level.nodes[open[at]]).collect();
    let wanted: Vec<Demand> = component.demands.iter().map(|&at| demands[at]).collect();
    let core = shrink(&regions, &spans, &wanted, budget);

    let mut elements: Vec<Element> = core.fixed.iter().map(|&at| fixed[at].0.clone()).collect();
    elements.extend(core.demands.iter().map(|&at| Element {
        path: nodes[at].path.clone(),
        kind: ElementKind::Sized { prefix: nodes[at].prefix },
    }));
    elements.sort();
    let mut used: Vec<usize> = core.demands.iter().map(|&at| wanted[at].region).collect();
    used.sort_unstable();
    used.dedup();
    let core_space: Spans<u128> =
        join(&used.iter().flat_map(|&region| &regions[region]).copied().collect::<Vec<_>>());
    let free = minus(&core_space, &join(&core.fixed.iter().map(|&at| spans[at]).collect::<Vec<_>>()));
    let largest = free
        .iter()
        .flat_map(|&(start, end)| blocks(start, end))
        .max_by_key(|&(start, order)| (order, std::cmp::Reverse(start)))
        .map(|(start, order)| range(stage.family, start, stage.family.bits() - order));
    let needed = core.demands.iter().fold(0u128, |sum, &at| sum.saturating_add(power(wanted[at].order)));
    let free_addresses =
        free.iter().fold(0u128, |sum, &(start, end)| sum.saturating_add((end - start).saturating_add(1)));

    let unheld: Vec<(u128, u128)> = fixed
        .iter()
        .filter(|(element, _)| !matches!(element.kind, ElementKind::Held(_)))
        .map(|(_, net)| span(net))
        .collect();
    let fits_renumbered = unheld.len() < spans.len() && {
        let all: Vec<usize> =
            (0..level.nodes.len()).filter(|&index| level.nodes[index].pinned.is_none()).collect();
        let (regions, demands) = level.demands(&all, false);
        place(&regions, &unheld, &demands, budget).is_ok()
    };
    let story = Story { regions: &regions, spans: &spans, wanted: &wanted, nodes: &nodes, budget };
    let hint = story.smaller(&core.demands).unwrap_or_else(|| {
        if fits_renumbered {
            return "renumber some networks of the earlier plan; everything fits without it".to_owned();
        }
        let missing = needed.saturating_sub(free_addresses);
        match (&stage.network, missing) {
            (Some((path, _)), _) => format!("make {path} larger, or move a subnet to another network"),
            (None, 0) => "free a larger aligned block, or add one to the pool".to_owned(),
            (None, missing) => format!("add a block of at least {missing} addresses to the pool"),
        }
    });
    let container = match &stage.network {
        Some((path, net)) => format!("network {path} ({net})"),
        None => pools_text(&stage.pools(nodes.iter().copied())),
    };
    Infeasible::NoRoom(Box::new(NoRoom {
        container,
        blocks: core_space
            .iter()
            .flat_map(|&(start, end)| blocks(start, end))
            .map(|(start, order)| range(stage.family, start, stage.family.bits() - order))
            .collect(),
        elements,
        minimal: core.minimal,
        minimum: core.minimum,
        needed,
        free: free_addresses,
        largest,
        fits_renumbered,
        hint,
    }))
}

fn power(order: u8) -> u128 {
    1u128.checked_shl(order.into()).unwrap_or(u128::MAX)
}

struct Story<'a> {
    regions: &'a [Spans<u128>],
    spans: &'a [(u128, u128)],
    wanted: &'a [Demand],
    nodes: &'a [&'a Node],
    budget: Budget<'a>,
}

impl Story<'_> {
    /// The smallest change of one size that makes everything fit.
    fn smaller(&self, demands: &[usize]) -> Option<String> {
        let taken = join(self.spans);
        let mut work = 0;
        let by_size: BTreeMap<_, _> =
            demands.iter().map(|&at| ((std::cmp::Reverse(self.wanted[at].order), at), at)).collect();
        for bits in 1..=8u8 {
            for &at in by_size.values().take(16) {
                // A size derived from hosts or from a pinned subnet cannot shrink on its own.
                let Some(order) =
                    self.wanted[at].order.checked_sub(bits).filter(|_| !self.nodes[at].at_least)
                else {
                    continue;
                };
                work += self.wanted.len() + self.spans.len();
                if work > HINT_WORK {
                    return None;
                }
                let mut changed = self.wanted.to_vec();
                changed[at].order = order;
                let mut tried = 0;
                let budget = Budget { steps: self.budget.steps / 16, ..self.budget };
                if let Found::Placed(_) = fit(self.regions, &taken, &changed, budget, &mut tried) {
                    let node = self.nodes[at];
                    return Some(format!(
                        "change {} from a /{} to a /{}, and everything fits",
                        node.path,
                        node.prefix,
                        node.prefix + bits
                    ));
                }
            }
        }
        None
    }
}
