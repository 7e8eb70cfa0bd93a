//! Exact placement where demands of different spaces compete.
//!
//! Free space is a set of binary trees. A tree's *type* is its size and which spaces cover which part of it, up to
//! swapping halves; two trees of one type are interchangeable, so a state is a count by type, not a list of places.
//! The search goes from large to small sizes, and assigns the demands of each space to the types that can hold them.
//! Failed states are memoised. A state is pruned when some group of spaces needs more blocks of some size than
//! it has (Hall's condition).

use crate::bits::{Spans, Word};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of overlapping spaces that are searched: the bits of [`Set`].
pub(crate) const MAX_REGIONS: usize = 128;

/// A set of spaces.
type Set = u128;

/// Limits of a search.
#[derive(Clone, Copy)]
pub(crate) struct Budget<'a> {
    /// Maximum number of partial plans.
    pub(crate) steps: u64,
    /// Whether the time is up.
    pub(crate) late: &'a dyn Fn() -> bool,
}

/// The result of the search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Starts of the demands' blocks, in the order of the demands.
    Placed(Vec<u128>),
    /// Proven: no placement exists.
    Nothing,
    /// The bound was hit.
    Unknown,
}

/// Places `demands` (order, region) into the free spans of their regions, within the budget; counts the partial plans in
/// `tried`.
pub(crate) fn search(
    regions: &[Spans<u128>],
    demands: &[(u8, usize)],
    budget: Budget<'_>,
    tried: &mut u64,
) -> Found {
    if regions.len() > MAX_REGIONS {
        return Found::Unknown;
    }
    let mut groups: BTreeMap<u8, BTreeMap<usize, u128>> = BTreeMap::new();
    for &(order, region) in demands {
        *groups.entry(order).or_default().entry(region).or_default() += 1;
    }
    let levels: Vec<Level> = groups
        .into_iter()
        .rev()
        .map(|(order, groups)| Level { order, groups: groups.into_iter().collect() })
        .collect();
    let mut types = Types { regions, nodes: Vec::new(), ids: BTreeMap::new(), counts: BTreeMap::new() };
    let roots: Vec<(u128, usize)> =
        roots(regions).into_iter().map(|(start, order)| (start, types.build(start, order))).collect();
    let mut state = State::new();
    for &(_, id) in &roots {
        *state.entry(id).or_default() += 1;
    }
    let sets = sets(&levels, regions.len());
    let mut run = Run {
        types,
        levels,
        sets,
        failed: BTreeSet::new(),
        picks: Vec::new(),
        budget,
        tried,
        work: 0,
        hit: false,
    };
    if !run.level(0, state) {
        return if run.hit { Found::Unknown } else { Found::Nothing };
    }
    let picks = std::mem::take(&mut run.picks);
    Found::Placed(places(&mut run.types, &roots, &picks, demands))
}

/// Demands of one size: region and count.
struct Level {
    order: u8,
    groups: Vec<(usize, u128)>,
}

/// Free trees by type.
type State = BTreeMap<usize, u128>;

/// A tree of free space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    order: u8,
    /// Regions that cover all of it.
    full: Set,
    /// Types of the halves, smaller first; `None` if every part of it is covered alike.
    halves: Option<(usize, usize)>,
}

struct Types<'a> {
    regions: &'a [Spans<u128>],
    nodes: Vec<Node>,
    ids: BTreeMap<Node, usize>,
    /// Usable blocks in a type, by (type, order, set of regions).
    counts: BTreeMap<(usize, u8, Set), u128>,
}

impl Types<'_> {
    fn id(&mut self, node: Node) -> usize {
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let id = self.nodes.len();
        self.nodes.push(node.clone());
        self.ids.insert(node, id);
        id
    }

    /// The type of the aligned block at `start`.
    fn build(&mut self, start: u128, order: u8) -> usize {
        let end = start | u128::low_mask(order);
        let (mut full, mut any) = (0, 0);
        for (bit, spans) in self.regions.iter().enumerate() {
            let after = spans.partition_point(|&(_, last)| last < start);
            if let Some(&(low, high)) = spans.get(after).filter(|&&(low, _)| low <= end) {
                any |= 1 << bit;
                if low <= start && end <= high {
                    full |= 1 << bit;
                }
            }
        }
        if full == any {
            return self.id(Node { order, full, halves: None });
        }
        let left = self.build(start, order - 1);
        let right = self.build(start + (1 << (order - 1)), order - 1);
        self.id(Node { order, full, halves: Some((left.min(right), left.max(right))) })
    }

    /// Cuts every tree larger than `order` down to it; drops what no region covers.
    fn cut(&mut self, state: State, order: u8) -> State {
        let mut out = State::new();
        let mut work: Vec<(usize, u128)> = state.into_iter().filter(|&(_, count)| count > 0).collect();
        while let Some((id, count)) = work.pop() {
            let node = self.nodes[id].clone();
            match node.halves {
                None if node.full == 0 => {}
                _ if node.order <= order => add(&mut out, id, count),
                None => {
                    let small = self.id(Node { order, ..node });
                    add(&mut out, small, shift(count, node.order - order));
                }
                Some((left, right)) => work.extend([(left, count), (right, count)]),
            }
        }
        out
    }

    /// How many aligned blocks of `order` inside the type one of the regions in `set` covers.
    fn usable(&mut self, id: usize, order: u8, set: Set) -> u128 {
        let node = self.nodes[id].clone();
        if node.order < order {
            return 0;
        }
        let covered = u128::from(node.full & set != 0);
        match node.halves {
            Some((left, right)) if node.order > order => {
                if let Some(&known) = self.counts.get(&(id, order, set)) {
                    return known;
                }
                let count = self.usable(left, order, set).saturating_add(self.usable(right, order, set));
                self.counts.insert((id, order, set), count);
                count
            }
            _ => shift(covered, node.order - order),
        }
    }

    /// Whether a tree of type `id` can be cut into one of type `target`.
    fn holds(&self, id: usize, target: usize) -> bool {
        let (node, wanted) = (&self.nodes[id], &self.nodes[target]);
        match node.halves {
            _ if id == target => true,
            _ if node.order <= wanted.order => false,
            None => wanted.halves.is_none() && wanted.full == node.full,
            Some((left, right)) => self.holds(left, target) || self.holds(right, target),
        }
    }
}

struct Run<'a, 'b> {
    types: Types<'a>,
    levels: Vec<Level>,
    /// Groups of regions whose need is compared with what they have.
    sets: Vec<Set>,
    failed: BTreeSet<(usize, Vec<(usize, u128)>)>,
    /// Level, region, type, count.
    picks: Vec<(usize, usize, usize, u128)>,
    budget: Budget<'b>,
    tried: &'b mut u64,
    work: u64,
    hit: bool,
}

impl Run<'_, '_> {
    /// One partial plan more. A partial plan costs more where there are many types, hence the second bound.
    fn step(&mut self, work: usize) -> bool {
        *self.tried += 1;
        self.work += work as u64;
        let steps = self.budget.steps;
        self.hit |= *self.tried > steps || self.work > steps.saturating_mul(256);
        // Reading a clock costs more than a partial plan.
        self.hit |= self.tried.is_multiple_of(64) && (self.budget.late)();
        !self.hit
    }

    fn level(&mut self, at: usize, state: State) -> bool {
        let Some(level) = self.levels.get(at) else { return true };
        let order = level.order;
        let state = self.types.cut(state, order);
        let key = (at, state.iter().map(|(&id, &count)| (id, count)).collect::<Vec<_>>());
        if self.failed.contains(&key) {
            return false;
        }
        let work = state.len() * self.sets.len() * (self.levels.len() - at);
        if !self.step(work) {
            return false;
        }
        if self.enough(at, &state) && self.deal(at, 0, &state) {
            return true;
        }
        if !self.hit {
            self.failed.insert(key);
        }
        false
    }

    /// Hall's condition for every group of regions and every size still to come.
    fn enough(&mut self, at: usize, state: &State) -> bool {
        for set_at in 0..self.sets.len() {
            let set = self.sets[set_at];
            let mut need: u128 = 0;
            let mut above = None;
            for later in at..self.levels.len() {
                let level = &self.levels[later];
                let order = level.order;
                need = shift(need, above.map_or(0, |above: u8| above - order));
                above = Some(order);
                for &(_, count) in level.groups.iter().filter(|&&(region, _)| set >> region & 1 == 1) {
                    need = need.saturating_add(count);
                }
                if need == 0 {
                    continue;
                }
                let have = state.iter().fold(0u128, |have, (&id, &count)| {
                    have.saturating_add(self.types.usable(id, order, set).saturating_mul(count))
                });
                if have < need {
                    return false;
                }
            }
        }
        true
    }

    /// Assigns the demands of one group after the other.
    fn deal(&mut self, at: usize, group: usize, state: &State) -> bool {
        let level = &self.levels[at];
        let Some(&(region, count)) = level.groups.get(group) else {
            return self.level(at + 1, state.clone());
        };
        let order = level.order;
        let mut wanted: Set = 0;
        for &(region, _) in self.levels[at..].iter().flat_map(|level| &level.groups) {
            wanted |= 1 << region;
        }
        let mut eligible: Vec<usize> = state
            .keys()
            .copied()
            .filter(|&id| self.types.nodes[id].order == order && self.types.nodes[id].full >> region & 1 == 1)
            .collect();
        // Types that the fewest other demands can use go first.
        eligible.sort_by_key(|&id| ((self.types.nodes[id].full & wanted).count_ones(), id));
        self.spread(at, group, count, &eligible, state)
    }

    /// Every way to take `left` blocks from the eligible types, most from the first ones first.
    fn spread(&mut self, at: usize, group: usize, left: u128, eligible: &[usize], state: &State) -> bool {
        if left == 0 {
            return self.deal(at, group + 1, state);
        }
        let Some((&id, rest)) = eligible.split_first() else { return false };
        let later = rest.iter().fold(0u128, |sum, id| sum.saturating_add(state[id]));
        let most = state[&id].min(left);
        let least = left.saturating_sub(later);
        let mut take = most;
        while take >= least {
            if !self.step(1) {
                return false;
            }
            let mut next = state.clone();
            next.insert(id, state[&id] - take);
            self.picks.push((at, self.levels[at].groups[group].0, id, take));
            if self.spread(at, group, left - take, rest, &next) {
                return true;
            }
            self.picks.pop();
            if self.hit || take == 0 {
                return false;
            }
            take -= 1;
        }
        false
    }
}

/// Turns the counts of a solution into positions, lowest first.
fn places(
    types: &mut Types<'_>,
    roots: &[(u128, usize)],
    picks: &[(usize, usize, usize, u128)],
    demands: &[(u8, usize)],
) -> Vec<u128> {
    let mut free: BTreeMap<usize, BTreeSet<u128>> = BTreeMap::new();
    for &(start, id) in roots {
        free.entry(id).or_default().insert(start);
    }
    let mut taken: BTreeMap<(u8, usize), Vec<u128>> = BTreeMap::new();
    for &(_, region, target, count) in picks {
        let order = types.nodes[target].order;
        for _ in 0..count {
            let start = take(types, &mut free, target);
            taken.entry((order, region)).or_default().push(start);
        }
    }
    for starts in taken.values_mut() {
        starts.sort_unstable_by(|a, b| b.cmp(a));
    }
    demands.iter().map(|key| taken.get_mut(key).and_then(Vec::pop).unwrap_or_default()).collect()
}

/// Takes a tree of type `target` out of the free ones, cutting the smallest (then lowest) that holds one.
fn take(types: &mut Types<'_>, free: &mut BTreeMap<usize, BTreeSet<u128>>, target: usize) -> u128 {
    loop {
        let source = free
            .iter()
            .filter(|(id, starts)| !starts.is_empty() && types.holds(**id, target))
            .filter_map(|(&id, starts)| Some((types.nodes[id].order, *starts.first()?, id)))
            .min();
        // The search counted this block, so a tree that holds it is there.
        let Some((order, start, id)) = source else { return 0 };
        free.entry(id).or_default().remove(&start);
        if id == target {
            return start;
        }
        for half in [start, start + (1 << (order - 1))] {
            let id = match types.nodes[id].clone() {
                Node { halves: None, full, .. } => types.id(Node { order: order - 1, full, halves: None }),
                _ => types.build(half, order - 1),
            };
            free.entry(id).or_default().insert(half);
        }
    }
}

/// The largest aligned blocks of the union of all regions.
fn roots(regions: &[Spans<u128>]) -> Vec<(u128, u8)> {
    let all = crate::bits::join(&regions.concat());
    all.into_iter().flat_map(|(start, end)| crate::bits::blocks(start, end)).collect()
}

/// Which groups of regions to compare: all where there are few, else singles, pairs of neighbours and all together.
fn sets(levels: &[Level], regions: usize) -> Vec<Set> {
    let mut used: Vec<usize> =
        levels.iter().flat_map(|level| level.groups.iter().map(|&(region, _)| region)).collect();
    used.sort_unstable();
    used.dedup();
    if regions <= 6 {
        let bits = |subset: Set| used.iter().enumerate().filter(move |&(at, _)| subset >> at & 1 == 1);
        return (1..1 << used.len())
            .map(|subset| bits(subset).fold(0, |set, (_, &r)| set | 1 << r))
            .collect();
    }
    let mut sets: Vec<Set> = used.iter().map(|&region| 1 << region).collect();
    sets.extend(used.windows(2).map(|pair| 1 << pair[0] | 1 << pair[1]));
    sets.push(used.iter().fold(0, |set, &region| set | 1 << region));
    sets
}

fn add(state: &mut State, id: usize, count: u128) {
    let slot = state.entry(id).or_default();
    *slot = slot.saturating_add(count);
}

fn shift(count: u128, by: u8) -> u128 {
    if count == 0 { 0 } else { count.saturating_mul(1u128.checked_shl(by.into()).unwrap_or(u128::MAX)) }
}
