//! New ranges for a whole report: each one is free next to all ranges and all other proposals, so following all of them
//! resolves every conflict, in any order.
//!
//! Networks come before subnets. What is inside a range moves with it and keeps its offset. Of each conflict, the side moves
//! that costs less; a greedy cover finds few sides for all conflicts.

use crate::bits::span;
use crate::nest::Nest;
use crate::space::Taken;
use crate::{ConflictScan, Parent, Range, RangeKind};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Maximum number of conflicts that are planned.
const CONFLICTS: usize = 20_000;

/// Number of free ranges that are tried if a cloud does not allow the nearest one.
const TRIES: usize = 32;

/// RFC 1918 (the first three), RFC 6598 and RFC 4193.
const PRIVATE: [&str; 5] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];

/// How easily a range moves.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The higher, the rather the other side moves. The cost of a network and of its subnets adds up.
    pub cost: u64,
    /// Why it cannot move, if so.
    pub fixed: Option<&'static str>,
}

/// Where ranges move.
pub struct Moves<'a> {
    nest: Nest<'a>,
    /// New ranges, in the old coordinates of the range that they are in.
    to: BTreeMap<usize, IpNet>,
    /// The ranges that subnets move into which were outside their network.
    into: BTreeMap<usize, usize>,
    /// Why ranges cannot move.
    stuck: BTreeMap<usize, String>,
}

impl<'a> Moves<'a> {
    /// Plans all moves. `wishes` has an entry for each range, `counts` is whether a conflict of two ranges is reported,
    /// and `fits` is whether a range may become another one.
    pub fn new(
        ranges: &'a [Range],
        scan: &ConflictScan<'_>,
        wishes: &[Wish],
        counts: &dyn Fn(usize, usize) -> bool,
        fits: &dyn Fn(usize, &IpNet) -> bool,
    ) -> Self {
        let nest = Nest::new(ranges, scan, counts, CONFLICTS);
        let mut planner = Planner { wishes, fits, local: BTreeMap::new(), neighbours: BTreeMap::new() };
        let mut this = Self { nest, to: BTreeMap::new(), into: BTreeMap::new(), stuck: BTreeMap::new() };
        planner.run(&mut this);
        this
    }

    /// The range after all moves.
    pub fn after(&self, index: usize) -> IpNet {
        let mut net = self.nest.ranges[index].net;
        for at in self.homes(index) {
            if let Some(to) = self.to.get(&at) {
                net = shift(&net, &self.nest.ranges[at].net, to);
            }
        }
        net
    }

    /// A range, the one that it is in after all moves, and so on.
    fn homes(&self, index: usize) -> impl Iterator<Item = usize> + use<'_, 'a> {
        let next = |at: &usize| self.into.get(at).copied().or(self.nest.above[*at]);
        // Limits the steps to the number of ranges, in case networks are inside each other.
        std::iter::successors(Some(index), next).take(self.nest.ranges.len())
    }

    /// Why a range, or one that it is in after all moves, does not move, if it is known.
    pub fn why_not(&self, index: usize) -> Option<&str> {
        let stuck = self.homes(index).find_map(|home| self.stuck.get(&home));
        match stuck {
            None if self.nest.more => Some("there are too many conflicts; resolve others first"),
            stuck => stuck.map(String::as_str),
        }
    }
}

/// A range moved as another one moves.
fn shift(net: &IpNet, from: &IpNet, to: &IpNet) -> IpNet {
    match (net, from, to) {
        (IpNet::V4(net), IpNet::V4(from), IpNet::V4(to)) => {
            let start = u32::from(net.network())
                .wrapping_sub(u32::from(from.network()))
                .wrapping_add(u32::from(to.network()));
            Ipv4Net::new(start.into(), net.prefix_len()).map_or(IpNet::V4(*net), IpNet::V4)
        }
        (IpNet::V6(net), IpNet::V6(from), IpNet::V6(to)) => {
            let start = u128::from(net.network())
                .wrapping_sub(u128::from(from.network()))
                .wrapping_add(u128::from(to.network()));
            Ipv6Net::new(start.into(), net.prefix_len()).map_or(IpNet::V6(*net), IpNet::V6)
        }
        _ => *net,
    }
}

struct Planner<'p> {
    wishes: &'p [Wish],
    fits: &'p dyn Fn(usize, &IpNet) -> bool,
    /// What is taken inside a range, in its old coordinates; `None` is outside all ranges.
    local: BTreeMap<Option<usize>, Taken>,
    /// The branches in conflict with each one.
    neighbours: BTreeMap<usize, BTreeSet<usize>>,
}

impl Planner<'_> {
    fn run(&mut self, moves: &mut Moves<'_>) {
        let mut levels: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for pair in &moves.nest.conflicts {
            let Some((level, one, other)) = moves.nest.branches(*pair) else { continue };
            for (from, to) in [(one, other), (other, one)] {
                self.neighbours.entry(from).or_default().insert(to);
                levels.insert(from, level);
            }
        }
        let forced: BTreeSet<usize> = moves
            .nest
            .outside
            .iter()
            .filter(|(_, homes)| !homes.is_empty())
            .map(|(child, _)| *child)
            .collect();
        for &branch in self.neighbours.keys().chain(&forced) {
            if let Some(why) = self.holds(&moves.nest, branch) {
                moves.stuck.insert(branch, why);
            }
        }
        let cover = self.cover(moves, &forced);
        // Outer ranges first, because the others may be inside them; then the largest ones, which find room less easily.
        let mut queue: Vec<usize> = cover.into_iter().collect();
        queue.sort_by_key(|&index| {
            let level = levels.get(&index).copied().flatten().map(|level| moves.nest.position[level] + 1);
            let net = moves.nest.ranges[index].net;
            (forced.contains(&index), level.unwrap_or(0), net.prefix_len(), moves.nest.position[index])
        });
        let mut queue = VecDeque::from(queue);
        while let Some(index) = queue.pop_front() {
            if moves.to.contains_key(&index) || moves.stuck.contains_key(&index) {
                continue;
            }
            match self.place(moves, index, levels.get(&index).copied().flatten()) {
                Ok(net) => {
                    moves.to.insert(index, net);
                }
                Err(why) => {
                    moves.stuck.insert(index, why);
                    // The other sides have to move instead.
                    queue.extend(self.neighbours.get(&index).into_iter().flatten());
                }
            }
        }
    }

    /// Why a branch cannot move.
    fn holds(&self, nest: &Nest<'_>, branch: usize) -> Option<String> {
        if nest.ranges[branch].label.kind == RangeKind::Reserved {
            return Some("a reserved range does not move".to_owned());
        }
        if let Some(why) = nest.branch(branch).into_iter().find_map(|index| self.wishes[index].fixed) {
            return Some(why.to_owned());
        }
        let unknown = match &nest.ranges[branch].label.parent {
            Parent::Top => false,
            Parent::Unknown => nest.above[branch].is_none(),
            Parent::Of(_) => nest.outside.get(&branch).is_some_and(Vec::is_empty),
        };
        unknown.then(|| "the range of its network is not known".to_owned())
    }

    /// Branches whose moves resolve all conflicts that can be resolved: cheap ones with many conflicts first.
    fn cover(&self, moves: &Moves<'_>, forced: &BTreeSet<usize>) -> BTreeSet<usize> {
        let nest = &moves.nest;
        let can = |index: &usize| !moves.stuck.contains_key(index);
        let mut cover: BTreeSet<usize> = forced.iter().copied().filter(can).collect();
        let open = |cover: &BTreeSet<usize>, index: usize| {
            let others = self.neighbours.get(&index).into_iter().flatten();
            others.filter(|other| !cover.contains(other)).count() as u64
        };
        let key = |degree: u64, index: usize| {
            let cost: u64 = nest.branch(index).into_iter().map(|index| self.wishes[index].cost + 1).sum();
            let prefix = nest.ranges[index].net.prefix_len();
            (Reverse(cost.saturating_mul(1_000) / degree), prefix, nest.position[index], degree)
        };
        let mut heap: BinaryHeap<_> = self
            .neighbours
            .keys()
            .filter(|index| can(index) && !cover.contains(index))
            .filter_map(|&index| {
                let degree = open(&cover, index);
                (degree > 0).then(|| (key(degree, index), index))
            })
            .collect();
        let mut chosen = Vec::new();
        while let Some((known, index)) = heap.pop() {
            let degree = open(&cover, index);
            if degree == known.3 {
                cover.insert(index);
                chosen.push(index);
            } else if degree > 0 {
                heap.push((key(degree, index), index));
            }
        }
        // Later choices may have made earlier ones unnecessary.
        for index in chosen {
            if open(&cover, index) == 0 {
                cover.remove(&index);
            }
        }
        cover
    }

    /// A free range for a branch, in the old coordinates of the range that it is in.
    fn place(&mut self, moves: &mut Moves<'_>, index: usize, level: Option<usize>) -> Result<IpNet, String> {
        let net = moves.nest.ranges[index].net;
        let mut homes = moves.nest.outside.get(&index).cloned().unwrap_or_default();
        homes.sort_by_key(|&home| span(&moves.nest.ranges[home].net).0.abs_diff(span(&net).0));
        let places: Vec<(Option<usize>, IpNet)> = match level {
            _ if !homes.is_empty() => {
                homes.iter().map(|home| (Some(*home), moves.nest.ranges[*home].net)).collect()
            }
            Some(level) => vec![(Some(level), moves.nest.ranges[level].net)],
            None => self.blocks(&moves.nest, index)?.into_iter().map(|block| (None, block)).collect(),
        };
        for (level, pool) in &places {
            let Some(free) = self.free(moves, index, *level, pool) else { continue };
            self.taken(moves, *level).add(&free);
            if let Some(home) = level.filter(|_| !homes.is_empty()) {
                moves.into.insert(index, home);
            }
            return Ok(free);
        }
        let mut pools: Vec<String> = places.iter().map(|(_, pool)| pool.to_string()).collect();
        pools.dedup();
        Err(format!("no free /{} in {}", net.prefix_len(), pools.join(", ")))
    }

    /// The nearest free range in a block that suits everything in the branch.
    fn free(&mut self, moves: &Moves<'_>, index: usize, level: Option<usize>, pool: &IpNet) -> Option<IpNet> {
        let net = moves.nest.ranges[index].net;
        let branch = moves.nest.branch(index);
        let fits = self.fits;
        let taken = self.taken(moves, level);
        let first = taken.nearest_free(&[*pool], net.prefix_len(), &net)?;
        let suits = |free: &IpNet| {
            branch.iter().all(|&inner| fits(inner, &shift(&moves.nest.ranges[inner].net, &net, free)))
        };
        if suits(&first) {
            return Some(first);
        }
        let mut taken = taken.clone();
        let mut next = first;
        for _ in 0..TRIES {
            taken.add(&next);
            next = taken.nearest_free(&[*pool], net.prefix_len(), &net)?;
            if suits(&next) {
                return Some(next);
            }
        }
        None
    }

    /// What is taken at a level, with the proposals there.
    fn taken(&mut self, moves: &Moves<'_>, level: Option<usize>) -> &mut Taken {
        self.local.entry(level).or_insert_with(|| {
            let nest = &moves.nest;
            let Some(level) = level else {
                return Taken::new(&nest.ranges.iter().map(|range| range.net).collect::<Vec<_>>());
            };
            let home = nest.ranges[level].net;
            let around: BTreeSet<usize> = nest.chain(level).collect();
            let branch: BTreeSet<usize> = nest.branch(level).into_iter().collect();
            let moves_away = around.iter().any(|above| moves.to.contains_key(above));
            // If the network moves, it leaves behind what does not belong to it. Ranges around it are in conflict with itself.
            let fills = |index: &usize, net: &IpNet| {
                branch.contains(index) || !moves_away && home.contains(net) && *net != home
            };
            let all = nest.ranges.iter().map(|range| range.net).enumerate();
            let inside: Vec<IpNet> = all
                .filter(|(index, net)| {
                    !around.contains(index) && !nest.twins(*index, level) && fills(index, net)
                })
                .map(|(_, net)| net)
                .collect();
            Taken::new(&inside)
        })
    }

    /// The private blocks for a network, its own first.
    fn blocks(&self, nest: &Nest<'_>, index: usize) -> Result<Vec<IpNet>, String> {
        let net = nest.ranges[index].net;
        let all: Vec<IpNet> = PRIVATE.iter().filter_map(|text| text.parse().ok()).collect();
        let Some(own) = all.iter().find(|block| block.contains(&net)) else {
            return Err(format!("{net} is not private, so it is not known which ranges are free"));
        };
        let mut blocks = vec![*own];
        // The ranges of one VPC are restricted to one block, and 100.64.0.0/10 has a purpose of its own.
        let id = &nest.ranges[index].label.id;
        let several = nest.ranges.iter().any(|other| other.label.id == *id && other.net != net);
        if !several && all[..3].contains(own) {
            blocks.extend(all[..3].iter().filter(|block| *block != own));
        }
        Ok(blocks)
    }
}
