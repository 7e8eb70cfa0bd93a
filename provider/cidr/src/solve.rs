//! From request to plan.

use crate::bits::{Spans, minus, nets, range, span, union};
use crate::level::{Stuck, place};
use crate::search::Budget;
use crate::siblings::{Level, Space, pool_blocks, pool_nets};
use crate::tree::{Node, good_key, network};
use crate::verdict::{Stage, no_room, refused};
use crate::{
    Assignment, BoundHit, Cloud, Family, Infeasible, IpNet, NetworkRequest, Plan, Problem, RenumberReason,
    Renumbering, Request, Severity, Want, Warning, overlaps,
};
use std::collections::BTreeMap;

/// Limits of the search, which several overlapping pools can make hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Maximum number of partial plans to examine.
    pub steps: u64,
    /// Maximum number of contradictions to list; the rest are counted.
    pub problems: usize,
}

impl Default for Bound {
    /// 200,000 partial plans, 1,000 contradictions.
    fn default() -> Self {
        Self { steps: 200_000, problems: 1_000 }
    }
}

/// Computes a range for everything in the request, or the reasons why that is not possible.
///
/// The same request always has the same result. Ranges in `previous` stay where possible: a range of the earlier plan moves
/// only if it breaks the request on its own, and [`Plan::renumbered`] lists it. A new network is placed around the others,
/// or the result is [`Infeasible::NoRoom`].
///
/// # Errors
/// [`Infeasible::Refused`] with every contradiction of the request, [`Infeasible::NoRoom`] with the smallest set of
/// demands that do not fit, [`Infeasible::BoundHit`] if overlapping pools made the search too long.
pub fn solve(request: &Request, bound: Bound) -> Result<Plan, Infeasible> {
    solve_until(request, bound, &|| false)
}

/// Like [`solve`], but also stops when `late` returns true. The result then depends on the speed of the machine.
///
/// # Errors
/// Those of [`solve`].
pub fn solve_until(request: &Request, bound: Bound, late: &dyn Fn() -> bool) -> Result<Plan, Infeasible> {
    let mut problems = Vec::new();
    let nodes = read(request, &mut problems);
    refused(request, &nodes, bound.problems, &mut problems);
    if !problems.is_empty() {
        return Err(Infeasible::Refused(problems));
    }
    let mut planner = Planner {
        request,
        budget: Budget { steps: bound.steps, late },
        special: Special::new(),
        ranges: Vec::with_capacity(nodes.len()),
        networks: Vec::with_capacity(nodes.len()),
        plan: Plan::default(),
    };
    for family in [Family::V4, Family::V6] {
        planner.networks(&nodes, family)?;
    }
    Ok(planner.finish())
}

/// Every network of the request that can be read, in path order.
fn read(request: &Request, problems: &mut Vec<Problem>) -> Vec<Node> {
    for (what, lists) in [("pools", &request.pools), ("reserved", &request.reserved)] {
        for (key, nets) in lists {
            problems.extend(
                nets.iter()
                    .filter(|net| net.trunc() != **net)
                    .map(|net| Problem::HostBits { path: format!("{what}.{key}"), meant: net.trunc() }),
            );
        }
    }
    let mut nodes = Vec::with_capacity(request.networks.len());
    for (key, wanted) in &request.networks {
        if !good_key(key, problems) {
            continue;
        }
        let mut known = true;
        for pool in wanted.pools.iter().filter(|pool| !request.pools.contains_key(*pool)) {
            known = false;
            problems.push(Problem::UnknownPool {
                path: key.clone(),
                pool: pool.clone(),
                known: request.pools.keys().cloned().collect(),
            });
        }
        let pinned = matches!(wanted.want, Want::Pinned(_));
        if wanted.pools.is_empty() && !pinned {
            known = false;
            problems.push(Problem::NoPool { path: key.clone() });
        }
        let family = family(request, wanted);
        if known && !pinned && !pool_nets(request, wanted).any(|net| Family::of(net) == family) {
            known = false;
            problems.push(Problem::NoFamily { path: key.clone(), family });
        }
        if known {
            nodes.extend(network(key, wanted, family, problems));
        }
    }
    nodes
}

fn family(request: &Request, wanted: &NetworkRequest) -> Family {
    match (wanted.want, wanted.family) {
        (Want::Pinned(net), _) => Family::of(&net),
        (_, Some(family)) => family,
        _ => {
            let v4 = pool_nets(request, wanted).any(|net| net.addr().is_ipv4());
            if v4 { Family::V4 } else { Family::V6 }
        }
    }
}

/// The special blocks of the clouds, read once.
struct Special {
    forbidden: BTreeMap<Cloud, Vec<IpNet>>,
    avoided: BTreeMap<Cloud, Vec<IpNet>>,
}

impl Special {
    fn new() -> Self {
        let all = |severity| {
            [Cloud::Aws, Cloud::Gcp, Cloud::Overlay]
                .map(|cloud| (cloud, cloud.special_blocks(severity)))
                .into()
        };
        Self { forbidden: all(Severity::Error), avoided: all(Severity::Warning) }
    }

    fn list(map: &BTreeMap<Cloud, Vec<IpNet>>, cloud: Option<Cloud>) -> &[IpNet] {
        cloud.and_then(|cloud| map.get(&cloud)).map_or(&[], Vec::as_slice)
    }
}

struct Planner<'a> {
    request: &'a Request,
    budget: Budget<'a>,
    special: Special,
    /// The placed ranges. Maps are built from them at the end, which is faster than inserting one by one.
    ranges: Vec<Placed>,
    /// The ranges of the networks.
    networks: Vec<IpNet>,
    plan: Plan,
}

struct Placed {
    path: String,
    net: IpNet,
    hosts: u128,
}

impl Planner<'_> {
    /// Places the networks of one family, then their subnets.
    fn networks(&mut self, nodes: &[Node], family: Family) -> Result<(), Infeasible> {
        // A request without problems has a node for each of its networks, in the same order.
        let wanted = self.request.networks.values().zip(nodes).filter(|(_, node)| node.family == family);
        let mut spaces: BTreeMap<(&[String], Option<Cloud>), usize> = BTreeMap::new();
        let mut level = Level { top: true, ..Level::default() };
        let mut last = None;
        for (wanted, node) in wanted {
            let key = (wanted.pools.as_slice(), node.cloud);
            // Neighbours are mostly in the same pools.
            let at = match last {
                Some((before, at)) if before == key => at,
                _ => *spaces.entry(key).or_insert_with(|| {
                    level.space(self.space(&pool_blocks(self.request, wanted), node.cloud, family))
                }),
            };
            last = Some((key, at));
            level.add(node, at);
        }
        level.reserved = self
            .request
            .reserved
            .iter()
            .flat_map(|(name, nets)| nets.iter().map(move |net| (name.as_str(), *net)))
            .filter(|(_, net)| Family::of(net) == family)
            .collect();
        let stage = Stage { request: self.request, network: None, family };
        self.level(&level, &stage)
    }

    fn space(&self, blocks: &[IpNet], cloud: Option<Cloud>, family: Family) -> Space {
        let spans = |nets: &[IpNet]| -> Spans<u128> {
            match family {
                Family::V4 => union::<u32>(nets).iter().map(|&(a, b)| (a.into(), b.into())).collect(),
                Family::V6 => union::<u128>(nets),
            }
        };
        let whole = minus(&spans(blocks), &spans(Special::list(&self.special.forbidden, cloud)));
        let calm = minus(&whole, &spans(Special::list(&self.special.avoided, cloud)));
        Space { whole, calm }
    }

    /// Places one level: pinned ranges, ranges of the earlier plan and new ranges, then the levels below.
    fn level(&mut self, level: &Level<'_>, stage: &Stage<'_>) -> Result<(), Infeasible> {
        let earlier = self.earlier(level);
        let (mut places, reasons, soft) = self.settle(level, &earlier);
        let open: Vec<usize> = (0..places.len()).filter(|&index| places[index].is_none()).collect();
        let fixed = |soft: &BTreeMap<usize, IpNet>| -> Vec<(u128, u128)> {
            let reserved = level.reserved.iter().map(|(_, net)| span(net));
            reserved.chain(places.iter().flatten().map(span)).chain(soft.values().map(span)).collect()
        };
        let none = BTreeMap::new();
        // Preferred solution first: resize ranges in place, and avoid blocks that services use.
        let all_calm = level.spaces.iter().all(|space| space.whole == space.calm);
        let mut first: Option<Stuck> = None;
        let mut found = None;
        let attempts = [(&soft, true), (&none, true), (&soft, false), (&none, false)];
        for (soft, calm) in attempts.into_iter().skip(usize::from(soft.is_empty())) {
            if !calm && all_calm {
                continue;
            }
            let rest: Vec<usize> = open.iter().copied().filter(|index| !soft.contains_key(index)).collect();
            let (regions, demands) = level.demands(&rest, calm);
            match place(&regions, &fixed(soft), &demands, self.budget) {
                Ok(starts) => {
                    let new = rest.iter().zip(starts).map(|(&index, start)| {
                        let node = level.nodes[index];
                        (index, range(node.family, start, node.prefix))
                    });
                    found =
                        Some(new.chain(soft.iter().map(|(&index, &net)| (index, net))).collect::<Vec<_>>());
                    break;
                }
                // The last attempt has no preferences, so its failure is the result.
                Err(stuck) => first = Some(stuck),
            }
        }
        let Some(found) = found else {
            return Err(match first {
                Some(Stuck::Unknown(component, tried)) => Infeasible::BoundHit(BoundHit {
                    tried,
                    timed_out: (self.budget.late)(),
                    paths: component.demands.iter().map(|&at| level.nodes[open[at]].path.clone()).collect(),
                    pools: stage.pools(component.demands.iter().map(|&at| level.nodes[open[at]])),
                }),
                Some(Stuck::Nothing(component)) => {
                    no_room(level, stage, &places, &open, &component, self.budget)
                }
                None => Infeasible::Refused(Vec::new()),
            });
        };
        for (index, net) in found {
            places[index] = Some(net);
        }
        for ((node, place), earlier) in level.nodes.iter().zip(&places).zip(earlier) {
            let Some(net) = *place else { continue };
            self.record(node, net, earlier, &reasons);
            if level.top {
                self.networks.push(net);
            }
        }
        for (node, place) in level.nodes.iter().zip(&places) {
            let Some(net) = *place else { continue };
            if !node.children.is_empty() {
                let mut below = Level::default();
                let space = below.space(self.space(&[net], node.cloud, node.family));
                node.children.iter().for_each(|child| below.add(child, space));
                let stage = Stage {
                    request: self.request,
                    network: Some((node.path.clone(), net)),
                    family: node.family,
                };
                self.level(&below, &stage)?;
            }
        }
        Ok(())
    }

    /// The range that the earlier plan has for each node of a level.
    fn earlier(&self, level: &Level<'_>) -> Vec<Option<IpNet>> {
        let previous = &self.request.previous;
        if !level.top || previous.is_empty() {
            return level.nodes.iter().map(|node| previous.get(&node.path).copied()).collect();
        }
        // Both are in path order: one walk through the earlier plan finds all of them.
        let mut walk = previous.iter().peekable();
        let find = |node: &&Node| {
            while walk.next_if(|(path, _)| **path < node.path).is_some() {}
            walk.next_if(|(path, _)| **path == node.path).map(|(_, net)| *net)
        };
        level.nodes.iter().map(find).collect()
    }

    /// The fixed ranges: pinned ones, and those of the earlier plan that can stay. Also the reasons why others of the earlier
    /// plan cannot stay, and the preferred position of resized ones.
    fn settle<'n>(&self, level: &Level<'n>, earlier: &[Option<IpNet>]) -> Settled<'n> {
        let mut places: Vec<Option<IpNet>> = level.nodes.iter().map(|node| node.pinned).collect();
        let mut reasons = BTreeMap::new();
        let mut soft = BTreeMap::new();
        let mut held = Vec::new();
        for (index, node) in level.nodes.iter().enumerate() {
            let Some(earlier) = earlier[index] else { continue };
            if node.pinned.is_some() {
                reasons.insert(node.path.as_str(), RenumberReason::Pinned);
                continue;
            }
            let same =
                earlier.prefix_len() == node.prefix || (node.at_least && earlier.prefix_len() < node.prefix);
            let inside = |net: &IpNet| {
                let (start, end) = span(net);
                Family::of(net) == node.family
                    && level.spaces[level.space_of[index]]
                        .whole
                        .iter()
                        .any(|&(low, high)| low <= start && end <= high)
            };
            let sized = node.cloud.is_none_or(|cloud| cloud_size(cloud, level.top, &earlier));
            if !inside(&earlier) {
                let touches = Special::list(&self.special.forbidden, node.cloud)
                    .iter()
                    .find(|block| block.contains(&earlier) || earlier.contains(*block));
                let why = match touches {
                    _ if !level.top => RenumberReason::ParentMoved,
                    Some(block) => RenumberReason::CloudRule(format!(
                        "{earlier} overlaps {block}, which the cloud forbids"
                    )),
                    None => RenumberReason::OutsidePools,
                };
                reasons.insert(node.path.as_str(), why);
            } else if same && sized {
                held.push((index, earlier));
            } else {
                reasons.insert(node.path.as_str(), RenumberReason::Resized { in_place: false });
                if let Some(wish) =
                    IpNet::new(earlier.addr(), node.prefix).ok().map(|net| net.trunc()).filter(inside)
                {
                    soft.insert(index, wish);
                }
            }
        }
        self.clear(level, &mut places, &held, &mut reasons, &mut soft);
        (places, reasons, soft)
    }

    /// Keeps ranges of the earlier plan unless they overlap a fixed one or each other, and drops preferred positions that
    /// overlap anything.
    fn clear<'n>(
        &self,
        level: &Level<'n>,
        places: &mut [Option<IpNet>],
        held: &[(usize, IpNet)],
        reasons: &mut BTreeMap<&'n str, RenumberReason>,
        soft: &mut BTreeMap<usize, IpNet>,
    ) {
        let mut nets: Vec<IpNet> = level.reserved.iter().map(|(_, net)| *net).collect();
        let reserved = nets.len();
        let pinned: Vec<usize> = (0..places.len()).filter(|&index| places[index].is_some()).collect();
        nets.extend(pinned.iter().filter_map(|&index| places[index]));
        let firm = nets.len();
        nets.extend(held.iter().map(|&(_, net)| net));
        let wishes: Vec<(usize, IpNet)> = soft.iter().map(|(&index, &net)| (index, net)).collect();
        let wishes_from = nets.len();
        nets.extend(wishes.iter().map(|&(_, net)| net));
        let name = |at: usize| match at {
            _ if at < reserved => RenumberReason::Reserved(level.reserved[at].0.to_owned()),
            _ if at < firm => RenumberReason::Overlaps(level.nodes[pinned[at - reserved]].path.clone()),
            _ => RenumberReason::Overlaps(level.nodes[held[at - firm].0].path.clone()),
        };
        // Every pair is decided against its later member, so that the result depends on paths only.
        let mut pairs: Vec<(usize, usize)> = overlaps(&nets)
            .pairs()
            .map(|(a, b)| (a.max(b), a.min(b)))
            .filter(|&(later, _)| later >= firm)
            .collect();
        pairs.sort_unstable();
        let mut gone = vec![false; nets.len()];
        for (later, other) in pairs {
            if gone[other] || gone[later] {
                continue;
            }
            gone[later] = true;
            if later < wishes_from {
                reasons.insert(level.nodes[held[later - firm].0].path.as_str(), name(other));
            } else {
                soft.remove(&wishes[later - wishes_from].0);
            }
        }
        for (at, &(index, net)) in held.iter().enumerate() {
            if !gone[firm + at] {
                places[index] = Some(net);
            }
        }
    }

    fn record(
        &mut self,
        node: &Node,
        net: IpNet,
        earlier: Option<IpNet>,
        reasons: &BTreeMap<&str, RenumberReason>,
    ) {
        if let Some(from) = earlier.filter(|&from| from != net) {
            let why = match reasons.get(node.path.as_str()) {
                Some(RenumberReason::Resized { .. }) => {
                    RenumberReason::Resized { in_place: from.contains(&net) || net.contains(&from) }
                }
                Some(why) => why.clone(),
                None => RenumberReason::Pinned,
            };
            self.plan.renumbered.push(Renumbering { path: node.path.clone(), from, to: net, why });
        }
        let avoided = Special::list(&self.special.avoided, node.cloud);
        if let Some(cloud) =
            node.cloud.filter(|_| avoided.iter().any(|a| a.contains(&net) || net.contains(a)))
        {
            let found =
                cloud.check_network(&net).into_iter().filter(|finding| finding.severity == Severity::Warning);
            self.plan.warnings.extend(found.map(|finding| Warning { path: node.path.clone(), finding }));
        }
        let hosts = node.cloud.unwrap_or(Cloud::Overlay).usable_hosts(&net);
        self.ranges.push(Placed { path: node.path.clone(), net, hosts });
    }

    fn finish(mut self) -> Plan {
        let mut taken = self.networks;
        taken.extend(self.request.reserved.values().flatten());
        let (v4, v6) = (union::<u32>(&taken), union::<u128>(&taken));
        for (name, pool) in &self.request.pools {
            let free = (minus(&union::<u32>(pool), &v4), minus(&union::<u128>(pool), &v6));
            self.plan.free.insert(name.clone(), nets(&free.0).chain(nets(&free.1)).collect());
        }
        self.plan.usable_hosts =
            self.ranges.iter().map(|placed| (placed.path.clone(), placed.hosts)).collect();
        self.plan.networks = self.ranges.into_iter().map(|placed| (placed.path, placed.net)).collect();
        self.plan.renumbered.sort_by(|a, b| a.path.cmp(&b.path));
        self.plan.warnings.sort_by(|a, b| a.path.cmp(&b.path));
        self.plan
    }
}

/// Fixed ranges, reasons why earlier ranges cannot stay, and preferred positions.
type Settled<'n> = (Vec<Option<IpNet>>, BTreeMap<&'n str, RenumberReason>, BTreeMap<usize, IpNet>);

fn cloud_size(cloud: Cloud, network: bool, net: &IpNet) -> bool {
    let family = Family::of(net);
    let sizes = if network { cloud.network_prefixes(family) } else { cloud.subnet_prefixes(family) };
    sizes.holds(net.prefix_len())
}

impl Plan {
    /// The ranges to pass as [`Request::previous`] next time.
    pub fn assignment(&self) -> &Assignment {
        &self.networks
    }
}
