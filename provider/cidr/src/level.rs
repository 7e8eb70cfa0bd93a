//! One level of a plan: places blocks among fixed ones, in one or several spaces.

use crate::bits::{Spans, join, minus};
use crate::buddy::buddy;
use crate::greedy::greedy;
use crate::search::{Budget, Found, search};

/// A demand for a block: its order (binary logarithm of the size) and the index of its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) order: u8,
    pub(crate) region: usize,
}

/// Everything that competes for one space, or for spaces that overlap. All indices are those of the level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Component {
    pub(crate) regions: Vec<usize>,
    pub(crate) demands: Vec<usize>,
}

/// Why a level has no placement.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// Proven: this component does not fit.
    Nothing(Component),
    /// The bound was hit in this component.
    Unknown(Component, u64),
}

/// Starts of the demands' blocks. `fixed` are spans that are taken, in any order.
pub(crate) fn place(
    regions: &[Spans<u128>],
    fixed: &[(u128, u128)],
    demands: &[Demand],
    budget: Budget<'_>,
) -> Result<Vec<u128>, Stuck> {
    let taken = join(fixed);
    let mut starts = vec![0; demands.len()];
    for component in components(regions, demands) {
        let chosen: Vec<Demand> = component.demands.iter().map(|&index| demands[index]).collect();
        let mut tried = 0;
        match fit(regions, &taken, &chosen, budget, &mut tried) {
            Found::Placed(found) => {
                component.demands.iter().zip(found).for_each(|(&index, start)| starts[index] = start);
            }
            Found::Nothing => return Err(Stuck::Nothing(component)),
            Found::Unknown => return Err(Stuck::Unknown(component, tried)),
        }
    }
    Ok(starts)
}

/// Places the demands of one component; `taken` is sorted and disjoint.
pub(crate) fn fit(
    regions: &[Spans<u128>],
    taken: &[(u128, u128)],
    demands: &[Demand],
    budget: Budget<'_>,
    tried: &mut u64,
) -> Found {
    let mut used: Vec<usize> = demands.iter().map(|demand| demand.region).collect();
    used.sort_unstable();
    used.dedup();
    if let &[only] = used.as_slice() {
        let free = minus(&regions[only], taken);
        let order = falling(demands);
        let sizes: Vec<u8> = order.iter().map(|&index| demands[index].order).collect();
        return match buddy(&free, &sizes) {
            Ok(found) => {
                let mut starts = vec![0; demands.len()];
                order.iter().zip(found).for_each(|(&index, start)| starts[index] = start);
                Found::Placed(starts)
            }
            Err(_) => Found::Nothing,
        };
    }
    let free: Vec<Spans<u128>> = used.iter().map(|&region| minus(&regions[region], taken)).collect();
    let local: Vec<(u8, usize)> = demands
        .iter()
        .map(|demand| (demand.order, used.binary_search(&demand.region).unwrap_or_default()))
        .collect();
    match search(&free, &local, budget, tried) {
        Found::Unknown => greedy(&free, &local, tried).map_or(Found::Unknown, Found::Placed),
        found => found,
    }
}

/// Indices of the demands, largest first, otherwise in their order.
pub(crate) fn falling(demands: &[Demand]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(demands[index].order));
    order
}

/// Groups the spaces that overlap, with their demands.
pub(crate) fn components(regions: &[Spans<u128>], demands: &[Demand]) -> Vec<Component> {
    let mut wanted = vec![false; regions.len()];
    demands.iter().for_each(|demand| wanted[demand.region] = true);
    let mut spans: Vec<(u128, u128, usize)> = Vec::new();
    for (region, list) in regions.iter().enumerate().filter(|&(region, _)| wanted[region]) {
        spans.extend(list.iter().map(|&(start, end)| (start, end, region)));
    }
    spans.sort_unstable();
    let mut root: Vec<usize> = (0..regions.len()).collect();
    fn find(root: &[usize], mut at: usize) -> usize {
        while root[at] != at {
            at = root[at];
        }
        at
    }
    let mut reach: Option<(u128, usize)> = None;
    for (start, end, region) in spans {
        match reach {
            Some((last, other)) if start <= last => {
                let (a, b) = (find(&root, other), find(&root, region));
                root[a.max(b)] = a.min(b);
                reach = Some((last.max(end), region));
            }
            _ => reach = Some((end, region)),
        }
    }
    let mut slot = vec![usize::MAX; regions.len()];
    let mut found: Vec<Component> = Vec::new();
    for region in (0..regions.len()).filter(|&region| wanted[region]) {
        let top = find(&root, region);
        if slot[top] == usize::MAX {
            slot[top] = found.len();
            found.push(Component { regions: Vec::new(), demands: Vec::new() });
        }
        slot[region] = slot[top];
        found[slot[top]].regions.push(region);
    }
    for (index, demand) in demands.iter().enumerate() {
        found[slot[demand.region]].demands.push(index);
    }
    found
}
