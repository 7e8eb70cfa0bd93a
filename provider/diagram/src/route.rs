//! Columns, gutters and the links in them.
//!
//! ```text
//!      ─────────── channel ───────────
//!      │        │          │         │
//! [ ]──┤   [ ]──┤  [hub]───┤──[ ]    ├──[ ]
//! [ ]──┘   [ ]──┘  [tgw]───┘──[ ]    └──[ ]
//! column gutter    middle  gutter
//! ```
//!
//! A box has ports on the side that faces the middle. From a port a stub leads into the gutter beside the column, to
//! the net's lane there; lanes of one net are joined by its lane in the channel above. No link
//! crosses a box. Short lanes are near the boxes, and a port is on that side of the others to which its net leads, so that
//! neighbours are linked without crossing the long lanes.

use crate::index::common;
use crate::scene::{Block, Line, LinkKind};
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::Change;

const PAD: i32 = 20;
/// Distance between two lanes.
const LANE: i32 = 9;
/// Target ratio of width to height, times 100.
const ASPECT: i64 = 150;

/// A box that is placed as a whole.
pub(crate) struct Unit {
    block: Block,
    column: usize,
}

impl Unit {
    pub(crate) fn new(block: Block) -> Self {
        Self { block, column: 0 }
    }
}

/// Where a net touches a box.
pub(crate) struct Terminal {
    pub(crate) at: usize,
    pub(crate) change: Change,
    pub(crate) ends: Option<(String, String)>,
    pub(crate) tip: String,
    pub(crate) tips: usize,
}

impl Terminal {
    pub(crate) fn new(at: usize) -> Self {
        Self { at, change: Change::Keep, ends: None, tip: String::new(), tips: 0 }
    }
}

/// Boxes that are linked with each other.
pub(crate) struct Net {
    pub(crate) kind: LinkKind,
    pub(crate) root: usize,
    pub(crate) terminals: Vec<Terminal>,
}

/// By box and gutter: net, terminal, and whether the box is left of the gutter.
type Ports = BTreeMap<(usize, usize), Vec<(usize, usize, bool)>>;

/// A stub from a box into a gutter.
struct Stub {
    net: usize,
    terminal: usize,
    gutter: usize,
    y: i32,
    /// Whether the box is left of the gutter.
    from_left: bool,
}

/// Places the units and draws the nets. Returns the boxes, the lines, width and height.
pub(crate) fn draw(
    mut units: Vec<Unit>,
    centre: &[usize],
    sides: &[usize],
    nets: &[Net],
    gap: i32,
) -> (Vec<Block>, Vec<Line>, i32, i32) {
    let columns = columns(&units, centre, sides, gap);
    let middle = columns.len() / 2;
    // Columns are centred vertically.
    let heights: Vec<i32> = columns.iter().map(|column| height(&units, column, gap)).collect();
    let tall = heights.iter().copied().max().unwrap_or_default();
    for (at, column) in columns.iter().enumerate() {
        let mut y = (tall - heights[at]) / 2;
        for &unit in column {
            units[unit].column = at;
            units[unit].block.shift(0, y);
            y += units[unit].block.rect.h + gap;
        }
    }
    let plan = Plan::new(&units, nets, &columns, middle);
    // The lanes determine the widths of the gutters.
    let top = PAD + plan.channel_lanes * LANE + if plan.channel_lanes > 0 { 8 } else { 0 };
    let mut x = PAD;
    let mut gutters = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let width = column.iter().map(|&unit| units[unit].block.rect.w).max().unwrap_or_default();
        for &unit in column {
            let spare = width - units[unit].block.rect.w;
            // Boxes of the sides end at their gutter, and those in the middle are centred.
            let dx = match at.cmp(&middle) {
                std::cmp::Ordering::Less => spare,
                std::cmp::Ordering::Equal => spare / 2,
                std::cmp::Ordering::Greater => 0,
            };
            units[unit].block.shift(x + dx, top);
        }
        x += width;
        if at + 1 < columns.len() || (at == middle && plan.lanes.contains_key(&at)) {
            gutters.push(x);
            let lanes = plan.lanes.get(&at).copied().unwrap_or_default();
            x += if width == 0 && lanes == 0 { 0 } else { (20 + lanes * LANE).max(30) };
        }
    }
    let lines = plan.lines(&units, nets, &gutters, top);
    let blocks = units.into_iter().map(|unit| unit.block).collect();
    (blocks, lines, x + PAD, top + tall + PAD)
}

fn height(units: &[Unit], column: &[usize], gap: i32) -> i32 {
    let boxes: i32 = column.iter().map(|&unit| units[unit].block.rect.h).sum();
    boxes + gap * i32::try_from(column.len().saturating_sub(1)).unwrap_or_default()
}

/// An odd number of columns, with the centre in the middle one, and enough columns on each side for the target ratio.
fn columns(units: &[Unit], centre: &[usize], sides: &[usize], gap: i32) -> Vec<Vec<usize>> {
    let wide =
        |list: &[usize]| list.iter().map(|&unit| i64::from(units[unit].block.rect.w)).max().unwrap_or(0);
    let middle = i64::from(height(units, centre, gap));
    let mut best: Option<(i64, [Vec<Vec<usize>>; 2])> = None;
    // A few networks need one column on each side; for many, the number of columns grows with the square root.
    let most = sides.len().min(4 + sides.len().isqrt() * 3);
    for count in 0..=most {
        if (count == 0) != sides.is_empty() {
            continue;
        }
        // Without a centre, all columns form one row.
        let on_left = if centre.is_empty() { 0 } else { count / 2 };
        let parts = share(units, sides, count, gap);
        let (left, right) = parts.split_at(on_left.min(parts.len()));
        let tall =
            parts.iter().map(|part| i64::from(height(units, part, gap))).max().unwrap_or(0).max(middle);
        let width: i64 = parts.iter().map(|part| wide(part) + 40).sum::<i64>() + wide(centre);
        let ratio = (width * 100 / tall.max(1)).max(1);
        let off = if ratio > ASPECT { ratio * 100 / ASPECT } else { ASPECT * 100 / ratio };
        if best.as_ref().is_none_or(|(least, _)| off < *least) {
            best = Some((off, [left.to_vec(), right.to_vec()]));
        }
    }
    let (_, [mut left, mut right]) = best.unwrap_or_default();
    // The centre must be in the middle of the list, so the shorter side gets empty columns of no width.
    while left.len() < right.len() {
        left.insert(0, Vec::new());
    }
    while right.len() < left.len() {
        right.push(Vec::new());
    }
    left.push(centre.to_vec());
    left.extend(right);
    left
}

/// Divides boxes, in their order, into columns of about the same height.
fn share(units: &[Unit], sides: &[usize], count: usize, gap: i32) -> Vec<Vec<usize>> {
    let total = i64::from(height(units, sides, gap));
    let count = i64::try_from(count.max(1)).unwrap_or(1);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut done = 0_i64;
    for &unit in sides {
        let h = i64::from(units[unit].block.rect.h + gap);
        // The column in which the box has its middle.
        let at = usize::try_from((done + h / 2) * count / total.max(1)).unwrap_or_default();
        let at = at.min(usize::try_from(count).unwrap_or(1) - 1);
        while parts.len() <= at {
            parts.push(Vec::new());
        }
        parts[at].push(unit);
        done += h;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Lanes of every net.
struct Plan {
    stubs: Vec<Stub>,
    /// Straight lines between neighbours in the middle: net, terminal, upper, lower, sideways.
    straight: Vec<(usize, usize, usize, usize, i32)>,
    /// Lane by net and gutter.
    lane: BTreeMap<(usize, usize), i32>,
    /// Number of lanes by gutter.
    lanes: BTreeMap<usize, i32>,
    middle: usize,
    /// Lane in the channel by net and side, with its first and last gutter.
    channel: BTreeMap<(usize, bool), (i32, usize, usize)>,
    channel_lanes: i32,
}

impl Plan {
    fn new(units: &[Unit], nets: &[Net], columns: &[Vec<usize>], middle: usize) -> Self {
        let mut plan = Self {
            stubs: Vec::new(),
            straight: Vec::new(),
            lane: BTreeMap::new(),
            lanes: BTreeMap::new(),
            middle,
            channel: BTreeMap::new(),
            channel_lanes: 0,
        };
        let order: BTreeMap<usize, usize> =
            columns[middle].iter().enumerate().map(|(at, &unit)| (unit, at)).collect();
        let mut between: BTreeMap<usize, i32> = BTreeMap::new();
        let mut ports = Ports::new();
        for (number, net) in nets.iter().enumerate() {
            let column = |terminal: &Terminal| units[terminal.at].column;
            let has_left = net.terminals.iter().any(|terminal| column(terminal) < middle);
            let has_right = net.terminals.iter().any(|terminal| column(terminal) > middle);
            let root = order.get(&net.root).copied();
            // Neighbours of the root in the middle are connected by a straight line.
            let mut joined = BTreeSet::new();
            for (at, terminal) in net.terminals.iter().enumerate() {
                if let (Some(root), Some(&place)) = (root, order.get(&terminal.at))
                    && root.abs_diff(place) == 1
                {
                    let upper = columns[middle][root.min(place)];
                    let lower = columns[middle][root.max(place)];
                    let used = between.entry(root.min(place)).or_default();
                    let side = if *used % 2 == 0 { *used / 2 * 24 } else { -(*used / 2 + 1) * 24 };
                    *used += 1;
                    plan.straight.push((number, at, upper, lower, side));
                    joined.insert(at);
                }
            }
            let rest = net
                .terminals
                .iter()
                .enumerate()
                .filter(|(at, terminal)| {
                    terminal.at != net.root && order.contains_key(&terminal.at) && !joined.contains(at)
                })
                .count();
            for (at, terminal) in net.terminals.iter().enumerate() {
                let mut port = |gutter: usize, from_left: bool| {
                    ports.entry((terminal.at, gutter)).or_default().push((number, at, from_left));
                };
                match column(terminal).cmp(&middle) {
                    std::cmp::Ordering::Less => port(column(terminal), true),
                    std::cmp::Ordering::Greater => port(column(terminal) - 1, false),
                    std::cmp::Ordering::Equal if joined.contains(&at) => {}
                    std::cmp::Ordering::Equal => {
                        let is_root = terminal.at == net.root;
                        if has_left && (is_root || !has_right) {
                            port(middle - 1, false);
                        }
                        if (has_right && (is_root || !has_left || rest > 0)) || (!has_left && rest > 0) {
                            port(middle, true);
                        }
                    }
                }
            }
        }
        plan.place(units, ports);
        plan.allot(nets, middle);
        plan
    }

    /// Assigns every port a distinct height in its gutter.
    fn place(&mut self, units: &[Unit], ports: Ports) {
        let mut taken: BTreeMap<usize, BTreeMap<i32, usize>> = BTreeMap::new();
        // The boxes that each net touches from a gutter, from top to bottom.
        let mut touched: BTreeMap<(usize, usize), BTreeSet<i32>> = BTreeMap::new();
        for ((unit, gutter), list) in &ports {
            for (net, ..) in list {
                touched.entry((*net, *gutter)).or_default().insert(units[*unit].block.rect.y);
            }
        }
        for ((unit, gutter), mut list) in ports {
            let here = units[unit].block.rect.y;
            // Nets that lead up are above those that lead in both directions or to the channel, and nets that lead down are
            // below.
            list.sort_by_key(|(net, ..)| {
                let others = touched.get(&(*net, gutter));
                let up = others.is_some_and(|all| all.iter().any(|y| *y < here));
                let down = others.is_some_and(|all| all.iter().any(|y| *y > here));
                i32::from(down) - i32::from(up)
            });
            let rect = units[unit].block.rect;
            let room = rect.h - 24;
            let step = (room / i32::try_from(list.len()).unwrap_or(1).max(1)).clamp(1, 12);
            let mut y = rect.y + 18.min(rect.h / 2);
            for (net, terminal, from_left) in list {
                let taken = taken.entry(gutter).or_default();
                // Two stubs of the same height would look like one line.
                let free = |y: i32| !taken.range(y - 2..=y + 2).any(|(_, other)| *other != net);
                let end = rect.bottom() - 6;
                let at =
                    (y..end).find(|y| free(*y)).or_else(|| (rect.y + 6..end).find(|y| free(*y))).unwrap_or(y);
                taken.insert(at, net);
                self.stubs.push(Stub { net, terminal, gutter, y: at, from_left });
                y = at + step.max(3);
            }
        }
    }

    /// Assigns each net the first lane that is free along its length.
    fn allot(&mut self, nets: &[Net], middle: usize) {
        let mut gutters: BTreeMap<(usize, usize), (i32, i32)> = BTreeMap::new();
        for stub in &self.stubs {
            let range = gutters.entry((stub.net, stub.gutter)).or_insert((stub.y, stub.y));
            *range = (range.0.min(stub.y), range.1.max(stub.y));
        }
        let mut channel: Vec<(usize, bool, usize, usize)> = Vec::new();
        for (number, net) in nets.iter().enumerate() {
            let used: Vec<usize> =
                gutters.keys().filter(|(net, _)| *net == number).map(|(_, gutter)| *gutter).collect();
            // A root in the middle already connects both sides.
            let rooted = self.stubs.iter().any(|stub| {
                stub.net == number
                    && net.terminals[stub.terminal].at == net.root
                    && stub.gutter == middle
                    && stub.from_left
            });
            let (left, right): (Vec<usize>, Vec<usize>) =
                used.into_iter().partition(|gutter| *gutter < middle);
            let parts = if rooted {
                vec![(false, left), (true, right)]
            } else {
                vec![(false, [left, right].concat())]
            };
            for (side, part) in parts {
                if let (Some(&first), Some(&last)) = (part.first(), part.last())
                    && first != last
                {
                    channel.push((number, side, first, last));
                    for gutter in part {
                        if let Some(range) = gutters.get_mut(&(number, gutter)) {
                            range.0 = i32::MIN;
                        }
                    }
                }
            }
        }
        let mut ends: BTreeMap<usize, Vec<Vec<(i32, i32)>>> = BTreeMap::new();
        let mut gutters: Vec<_> = gutters.into_iter().collect();
        // A lane that leads to the channel is longer than any other.
        gutters.sort_by_key(|(key, (from, to))| (to.saturating_sub(*from), *key));
        for ((net, gutter), (from, to)) in gutters {
            let lanes = ends.entry(gutter).or_default();
            let clear = |lane: &Vec<(i32, i32)>| {
                lane.iter().all(|(a, b)| to < a.saturating_sub(4) || *b < from.saturating_sub(4))
            };
            let at = lanes.iter().position(clear).unwrap_or(lanes.len());
            if at == lanes.len() {
                lanes.push(Vec::new());
            }
            lanes[at].push((from, to));
            self.lane.insert((net, gutter), i32::try_from(at).unwrap_or_default());
        }
        self.lanes = ends
            .iter()
            .map(|(gutter, lanes)| (*gutter, i32::try_from(lanes.len()).unwrap_or_default()))
            .collect();
        let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
        // The longest is at the top, so that the shorter ones do not cross its ends.
        channel.sort_by_key(|(net, side, first, last)| (std::cmp::Reverse(last - first), *net, *side));
        for (net, side, first, last) in channel {
            let clear = |lane: &Vec<(usize, usize)>| lane.iter().all(|(a, b)| last < *a || *b < first);
            let at = lanes.iter().position(clear).unwrap_or(lanes.len());
            if at == lanes.len() {
                lanes.push(Vec::new());
            }
            lanes[at].push((first, last));
            self.channel.insert((net, side), (i32::try_from(at).unwrap_or_default(), first, last));
        }
        self.channel_lanes = i32::try_from(lanes.len()).unwrap_or_default();
    }

    fn lines(&self, units: &[Unit], nets: &[Net], gutters: &[i32], top: i32) -> Vec<Line> {
        let lane_x = |net: usize, gutter: usize| {
            let lane = self.lane.get(&(net, gutter)).copied().unwrap_or_default();
            let lanes = self.lanes.get(&gutter).copied().unwrap_or_default();
            // The first lane is near the boxes of the gutter, which face the middle.
            let lane = if gutter < self.middle { lane } else { lanes - 1 - lane };
            gutters.get(gutter).copied().unwrap_or_default() + 14 + LANE * lane.max(0)
        };
        let line = |net: usize, change: Change, points: Vec<(i32, i32)>| Line {
            kind: nets[net].kind,
            net,
            change,
            points,
            ends: None,
            tip: String::new(),
        };
        let whole = |net: usize| {
            let change =
                common(nets[net].terminals.iter().filter(|it| it.at != nets[net].root).map(|it| it.change));
            let mixed = nets[net].terminals.iter().any(|it| it.at != nets[net].root && it.change != change);
            if mixed { Change::Keep } else { change }
        };
        let mut lines = Vec::new();
        let mut trunks: BTreeMap<(usize, usize), (i32, i32)> = BTreeMap::new();
        for stub in &self.stubs {
            let terminal = &nets[stub.net].terminals[stub.terminal];
            let rect = units[terminal.at].block.rect;
            let y = stub.y + top;
            let trunk = trunks.entry((stub.net, stub.gutter)).or_insert((y, y));
            *trunk = (trunk.0.min(y), trunk.1.max(y));
            let edge = if stub.from_left { rect.right() } else { rect.x };
            let change = if terminal.at == nets[stub.net].root { whole(stub.net) } else { terminal.change };
            let mut line = line(stub.net, change, vec![(edge, y), (lane_x(stub.net, stub.gutter), y)]);
            line.ends.clone_from(&terminal.ends);
            line.tip.clone_from(&terminal.tip);
            lines.push(line);
        }
        for (&(net, side), &(lane, first, last)) in &self.channel {
            let y = PAD - 4 + LANE * lane;
            lines.push(line(net, whole(net), vec![(lane_x(net, first), y), (lane_x(net, last), y)]));
            for (&(_, gutter), trunk) in trunks.range_mut((net, first)..=(net, last)) {
                let _ = (side, gutter);
                trunk.0 = y;
            }
        }
        for ((net, gutter), (from, to)) in trunks {
            if from != to {
                let x = lane_x(net, gutter);
                lines.push(line(net, whole(net), vec![(x, from), (x, to)]));
            }
        }
        for &(net, terminal, upper, lower, side) in &self.straight {
            let (upper, lower) = (units[upper].block.rect, units[lower].block.rect);
            let x = upper.x + upper.w / 2 + side;
            let terminal = &nets[net].terminals[terminal];
            let mut line = line(net, terminal.change, vec![(x, upper.bottom()), (x, lower.y)]);
            line.ends.clone_from(&terminal.ends);
            line.tip.clone_from(&terminal.tip);
            lines.push(line);
        }
        // Draw trunks first and stubs above them.
        lines.sort_by_key(|line| line.ends.is_some());
        lines
    }
}
