//! The address-space map: every pool as a bar with its used, reserved and free ranges, and every network as a bar with its
//! subnets and their room to grow.

use crate::card::{Cards, Words, count};
use crate::index::Index;
use crate::scene::{Block, BoxKind, Rect, Scene, Style};
use crate::text::Ruler;
use crate::verdict::Marks;
use ipnet::IpNet;
use std::collections::BTreeMap;
use warren_cidr::{SEPARATOR, free_blocks};
use warren_model::topology::{Change, Home, Overlay, Topology};
use warren_model::verdict::Verdict;

const WIDTH: i32 = 1040;
const PAD: i32 = 18;
const LEFT: i32 = 24;
/// Maximum number of networks of one pool; the rest are counted.
const ROWS: usize = 200;

/// A network with its parts.
struct Row {
    name: String,
    range: IpNet,
    change: Change,
    parts: Vec<Part>,
}

/// A subnet.
struct Part {
    name: String,
    range: IpNet,
    change: Change,
    hosts: Option<u64>,
    grown: Option<u64>,
}

/// A pool.
struct Pool {
    name: String,
    ranges: Vec<IpNet>,
    reserved: Vec<(String, IpNet)>,
    rows: Vec<Row>,
    /// Whether the pool belongs to an address plan.
    planned: bool,
}

/// Lays out the map.
pub(crate) fn arrange(all: &Topology, title: &str, verdict: &Verdict) -> Scene {
    let index = Index::new(all);
    let ruler = Ruler;
    let marks = Marks::new(verdict);
    let cards = Cards { index: &index, ruler: &ruler, marks: &marks };
    let mut scene = Scene {
        w: WIDTH + 2 * LEFT,
        h: 0,
        title: crate::card::visible(title),
        labels: Vec::new(),
        blocks: Vec::new(),
        lines: Vec::new(),
        samples: Vec::new(),
    };
    scene.labels.push(cards.label(&Words::new(&scene.title, 20, Style::Strong), LEFT, 42, WIDTH));
    let pools = pools(all);
    let text = format!("address space · {}", count(pools.len(), "pool"));
    scene.labels.push(cards.label(&Words::new(&text, 13, Style::Muted), LEFT, 65, WIDTH));
    let mut y = 84;
    for pool in &pools {
        let mut block = draw(&cards, pool);
        block.shift(LEFT, y);
        y = block.rect.bottom() + 20;
        scene.blocks.push(block);
    }
    scene.h = y + 6;
    scene
}

/// Pools of address plans. Without any, the private ranges that contain the networks.
fn pools(all: &Topology) -> Vec<Pool> {
    let mut pools = Vec::new();
    for space in all.spaces.values() {
        let reserved: Vec<(String, IpNet)> = space
            .reserved
            .iter()
            .flat_map(|(name, ranges)| ranges.iter().map(move |range| (name.clone(), *range)))
            .collect();
        for (name, ranges) in &space.pools {
            let inside = |range: &IpNet| ranges.iter().any(|pool| pool.contains(range));
            let mut rows: Vec<Row> = Vec::new();
            for entry in space.entries.iter().filter(|entry| inside(&entry.range)) {
                if entry.path.contains(SEPARATOR) {
                    continue;
                }
                let start = format!("{}{SEPARATOR}", entry.path);
                let parts = space.entries.iter().filter_map(|part| {
                    let name = part.path.strip_prefix(&start)?.to_owned();
                    let (range, change, hosts, grown) = (part.range, part.change, part.hosts, part.grown);
                    Some(Part { name, range, change, hosts, grown })
                });
                let parts = parts.collect();
                rows.push(Row { name: entry.path.clone(), range: entry.range, change: entry.change, parts });
            }
            let reserved = reserved.iter().filter(|(_, range)| inside(range)).cloned().collect();
            let ranges = ranges.clone();
            pools.push(Pool { name: format!("pool {name}"), ranges, reserved, rows, planned: true });
        }
    }
    let mut pools = if pools.is_empty() { of_networks(all) } else { pools };
    for overlay in all.overlays() {
        let rows = peers(&overlay, &pools);
        if !rows.is_empty() {
            let name = format!("overlay {}", overlay.name());
            let ranges = aggregate(&rows);
            pools.push(Pool { name, ranges, reserved: Vec::new(), rows, planned: false });
        }
    }
    pools
}

/// Ranges of peers that are in no address plan, by gateway.
fn peers(overlay: &Overlay<'_>, pools: &[Pool]) -> Vec<Row> {
    let planned = |range: &IpNet| {
        pools.iter().any(|pool| pool.planned && pool.ranges.iter().any(|it| it.contains(range)))
    };
    let mut rows: Vec<Row> = Vec::new();
    for config in &overlay.configs {
        let host = overlay.gateways.iter().find(|(_, it)| it.head.key == config.head.key);
        let name = host.map_or(config.head.name.as_str(), |(host, _)| host.head.name.as_str());
        for range in config.prefixes.iter().filter(|range| !planned(range)) {
            match rows.iter_mut().find(|row| row.range == *range) {
                // Gateways that share leases share the range.
                Some(row) => row.name = format!("{}, {name}", row.name),
                None => {
                    let (name, range, change) = (name.to_owned(), *range, config.head.change);
                    let change = if change == Change::Update { Change::Keep } else { change };
                    rows.push(Row { name, range, change, parts: Vec::new() });
                }
            }
        }
    }
    rows
}

fn aggregate(rows: &[Row]) -> Vec<IpNet> {
    IpNet::aggregate(&rows.iter().map(|row| row.range).collect())
}

fn of_networks(all: &Topology) -> Vec<Pool> {
    let mut rows: BTreeMap<Home, Vec<Row>> = BTreeMap::new();
    let mut parts: BTreeMap<&str, Vec<Part>> = BTreeMap::new();
    for subnet in all.subnets.values() {
        let network = subnet.network.as_deref().unwrap_or_default();
        let (name, change) = (&subnet.head.name, subnet.head.change);
        parts.entry(network).or_default().extend(subnet.ranges.iter().map(|range| Part {
            name: name.clone(),
            range: *range,
            change,
            hosts: None,
            grown: None,
        }));
    }
    for network in all.networks.values() {
        let mut own = parts.remove(network.head.key.as_str()).unwrap_or_default();
        let list = rows.entry(network.head.home).or_default();
        let (name, change) = (&network.head.name, network.head.change);
        if network.ranges.is_empty() {
            // Google networks have no ranges: every subnet is listed separately.
            list.extend(own.into_iter().map(|part| Row {
                name: format!("{name} / {}", part.name),
                range: part.range,
                change: part.change,
                parts: Vec::new(),
            }));
            continue;
        }
        for range in &network.ranges {
            let (inside, rest) = own.into_iter().partition(|part: &Part| range.contains(&part.range));
            own = rest;
            list.push(Row { name: name.clone(), range: *range, change, parts: inside });
        }
    }
    let private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"];
    let private: Vec<IpNet> = private.iter().filter_map(|text| text.parse().ok()).collect();
    let mut pools = Vec::new();
    for (home, list) in rows {
        let mut by_range: BTreeMap<IpNet, Vec<Row>> = BTreeMap::new();
        for row in list.into_iter().filter(|row| row.range.addr().is_ipv4()) {
            let pool = private.iter().find(|pool| pool.contains(&row.range)).copied().unwrap_or(row.range);
            by_range.entry(pool).or_default().push(row);
        }
        for (range, rows) in by_range {
            pools.push(Pool {
                name: home.to_string(),
                ranges: vec![range],
                reserved: Vec::new(),
                rows,
                planned: false,
            });
        }
    }
    pools
}

fn draw(cards: &Cards<'_>, pool: &Pool) -> Block {
    let mut block = Block::new(BoxKind::Cloud, &pool.name, Change::Keep);
    let name = Words::new(&pool.name, 15, Style::Strong);
    let used = cards.write(&mut block, &name, PAD, 28, 300);
    let room = WIDTH - 2 * PAD - used - 12;
    cards.write(
        &mut block,
        &Words::new(&cards.list(&pool.ranges, 13, false, room), 13, Style::Muted),
        PAD + used + 12,
        28,
        room,
    );
    let taken: Vec<IpNet> =
        pool.rows.iter().filter(|row| row.change != Change::Delete).map(|row| row.range).collect();
    let kept: Vec<IpNet> = pool.reserved.iter().map(|(_, range)| *range).collect();
    let total: f64 = pool.ranges.iter().map(size).sum();
    let share = |ranges: &[IpNet]| ranges.iter().map(size).sum::<f64>() * 100.0 / total.max(1.0);
    let free = free_blocks(&pool.ranges, &[taken.clone(), kept.clone()].concat());
    let mut largest = free.clone();
    largest.sort_by_key(|net| (net.prefix_len(), *net));
    largest.truncate(4);
    let used = format!(
        "used {:.1} %  ·  reserved {:.1} %  ·  free {:.1} %",
        share(&taken),
        share(&kept),
        share(&free)
    );
    let room = WIDTH - 2 * PAD - cards.ruler.width(&used, 12, false) - 80;
    let largest = cards.list(&largest, 12, false, room);
    let text = if largest.is_empty() { used } else { format!("{used}, largest {largest}") };
    cards.write(&mut block, &Words::new(&text, 12, Style::Muted), PAD, 49, WIDTH - 2 * PAD);
    let mut y = 62;
    for range in &pool.ranges {
        let bar = Rect { x: PAD, y, w: WIDTH - 2 * PAD, h: 22 };
        let mut card = Block::new(BoxKind::Chip, &range.to_string(), Change::Keep);
        card.rect = bar;
        card.tip = format!("{}: {range}", pool.name);
        card.bars.push((bar, Change::Keep));
        for (name, reserved) in &pool.reserved {
            if let Some(rect) = place(range, reserved, bar) {
                let mut inner = Block::new(BoxKind::Reserved, name, Change::Keep);
                inner.rect = Rect { y: bar.y + 2, h: bar.h - 4, ..rect };
                inner.tip = format!("reserved for {name}: {reserved}");
                let text = format!("{name} {reserved}");
                let fits = cards.ruler.width(&text, 11, false) + 12 <= rect.w;
                if fits {
                    cards.write(
                        &mut inner,
                        &Words::new(&text, 11, Style::Plain),
                        rect.x + 6,
                        y + 15,
                        rect.w - 12,
                    );
                }
                card.inner.push(inner);
            }
        }
        for row in &pool.rows {
            if let Some(rect) = place(range, &row.range, bar) {
                card.bars.push((rect, row.change));
            }
        }
        block.inner.push(card);
        y += 34;
    }
    for row in pool.rows.iter().take(ROWS) {
        let mut line = draw_row(cards, row);
        line.shift(PAD, y);
        y = line.rect.bottom() + 6;
        block.inner.push(line);
    }
    if pool.rows.len() > ROWS {
        let more = format!("and {} more networks", pool.rows.len() - ROWS);
        cards.write(&mut block, &Words::new(&more, 12, Style::Muted), PAD, y + 14, 400);
        y += 22;
    }
    block.rect = Rect { x: 0, y: 0, w: WIDTH, h: y + 10 };
    block
}

/// Name, range and parts of one network.
fn draw_row(cards: &Cards<'_>, row: &Row) -> Block {
    let width = WIDTH - 2 * PAD;
    let mut block = Block::new(BoxKind::Subnet, &row.name, row.change);
    // A long range begins further to the left, and the name is shortened.
    let range = row.range.to_string();
    let x = 210.min(352 - cards.ruler.width(&range, 11, false));
    let name = Words::new(&row.name, 12, Style::Strong).change(row.change);
    cards.write(&mut block, &name, 10, 20, x - 20);
    cards.write(&mut block, &Words::new(&range, 11, Style::Plain), x, 20, 352 - x);
    let parts: f64 =
        row.parts.iter().filter(|it| it.change != Change::Delete).map(|part| size(&part.range)).sum();
    let own = size(&row.range);
    let asked: u64 = row.parts.iter().filter_map(|part| part.hosts).sum();
    let grown: u64 = row.parts.iter().filter_map(|part| part.grown).sum();
    let growth = if grown > asked { format!(" · {asked} hosts, room for {grown}") } else { String::new() };
    let text = format!("{:.0} of {own:.0} in {}{growth}", parts, count(row.parts.len(), "subnet"));
    let bar = Rect { x: 360, y: 9, w: 330, h: 14 };
    block.bars.push((bar, Change::Keep));
    let mut tip = vec![format!("{} {}", row.name, row.range)];
    for part in &row.parts {
        if let Some(rect) = place(&row.range, &part.range, bar) {
            // The room to grow is the thin part at the end.
            let now = match (part.hosts, part.grown) {
                (Some(hosts), Some(grown)) if grown > hosts && grown > 0 => {
                    let w = (f64::from(rect.w) * hosts as f64 / grown as f64).ceil() as i32;
                    Rect { w: w.clamp(1, rect.w), ..rect }
                }
                _ => rect,
            };
            block.bars.push((now, part.change));
            if now.w < rect.w {
                let rest = Rect { x: now.right(), y: rect.y + 5, w: rect.w - now.w, h: 4 };
                block.bars.push((rest, part.change));
            }
        }
        if tip.len() < 40 {
            let growth = match (part.hosts, part.grown) {
                (Some(hosts), Some(grown)) => format!(", {hosts} hosts, room for {grown}"),
                _ => String::new(),
            };
            tip.push(format!("{} {}{growth}", part.name, part.range));
        }
    }
    block.tip = tip.join("\n");
    cards.write(&mut block, &Words::new(&text, 11, Style::Muted), 704, 20, width - 704 - 34);
    block.rect = Rect { x: 0, y: 0, w: width, h: 31 };
    block
}

/// Number of addresses.
fn size(net: &IpNet) -> f64 {
    f64::from(u32::from(net.max_prefix_len() - net.prefix_len())).exp2()
}

/// Position of a range in the bar of a larger one, at least two pixels wide.
fn place(whole: &IpNet, part: &IpNet, bar: Rect) -> Option<Rect> {
    let (IpNet::V4(outer), IpNet::V4(inner)) = (whole, part) else { return None };
    if !outer.contains(inner) {
        return None;
    }
    let size = 1_i64 << (32 - i64::from(outer.prefix_len()));
    let width = i64::from(bar.w);
    let from = (i64::from(u32::from(inner.network())) - i64::from(u32::from(outer.network()))) * width / size;
    let w = ((1_i64 << (32 - i64::from(inner.prefix_len()))) * width / size).max(2);
    let from = from.min(width - 2);
    let x = bar.x + i32::try_from(from).ok()?;
    Some(Rect { x, y: bar.y, w: i32::try_from(w.min(width - from)).ok()?, h: bar.h })
}
