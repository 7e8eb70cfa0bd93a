//! The overlay of peers: its own box with prefixes and allow-lists, and in each cloud a node to which its gateways and
//! rented pods are linked. The node is the last one in the middle of its cloud, so that nothing crosses the link from the
//! node to the box.
//!
//! ```text
//! [ AWS    … [overlay] ]──┐       beside a cloud that is in between
//! [ Google … [overlay] ]  │
//!                │        │
//! [ overlay: groups …  ]──┘
//!                │
//! [ RunPod … [overlay] ]
//! ```

use crate::card::{Cards, FULL, Words, count, join, node, visible};
use crate::index::common;
use crate::route::{Net, Unit};
use crate::scene::{Block, BoxKind, Line, LinkKind, Rect, Style};
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, GatewayConfig, Home, Host, Key, Overlay, PeerGroup};

const PAD: i32 = 12;
/// Maximum number of rules of one group, and of groups of one overlay; the rest are counted.
const RULES: usize = 8;
const GROUPS: usize = 24;
/// Key of the node in a cloud, and of the box.
const PORT: &str = "overlay";
/// Distance from the widest cloud to the link beside it.
const BESIDE: i32 = 14;

/// Hosts of a cloud that are linked to an overlay: gateways, and rented pods if there is exactly one overlay. The overlay of
/// a pod is in its token, which is not in the plan.
fn members<'a>(cards: &Cards<'a>, home: Home) -> Vec<&'a Host> {
    let all = cards.index.all;
    let fabrics: BTreeSet<&str> = all.configs.values().map(|config| config.fabric.as_str()).collect();
    let known = |host: &Host| host.config.as_ref().is_some_and(|key| all.configs.contains_key(key));
    let hosts = all.hosts.values().filter(|host| host.head.home == home);
    hosts.filter(|host| known(host) || (home.rents_pods() && fabrics.len() == 1)).collect()
}

/// The node of a cloud.
pub(crate) fn port(cards: &Cards<'_>, home: Home) -> Option<Block> {
    let members = members(cards, home);
    if members.is_empty() {
        return None;
    }
    let (gateways, pods): (Vec<&Host>, Vec<&Host>) =
        members.into_iter().partition(|host| host.config.is_some());
    let pods: u64 = pods.iter().map(|host| host.machines).sum();
    let (gateways, pods) = (gateways.len(), usize::try_from(pods).unwrap_or(usize::MAX));
    let words = [(gateways, "gateway"), (pods, "pod")];
    let about: Vec<String> = words
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| count(number, word))
        .collect();
    Some(node(cards, "Overlay", &about.join(" · "), Change::Keep, PORT))
}

/// The links of a cloud's members to its node.
pub(crate) fn net(cards: &Cards<'_>, home: Home, root: usize, place: &BTreeMap<Key, usize>) -> Net {
    let all = cards.index.all;
    let mut net = Net::new(LinkKind::Overlay, root);
    for host in members(cards, home) {
        let network = host.subnet.as_ref().and_then(|key| all.subnets.get(key)?.network.as_ref());
        let key = network.unwrap_or(&host.head.key);
        if let Some(&at) = place.get(key) {
            net.push(at, host.head.change, (PORT, key), &format!("{} {}", host.what, host.head.name));
        }
    }
    net
}

/// Places the node of a cloud last in its middle.
pub(crate) fn place(
    cards: &Cards<'_>,
    home: Home,
    units: &mut Vec<Unit>,
    centre: &mut Vec<usize>,
) -> Option<usize> {
    let block = port(cards, home)?;
    units.push(Unit::new(block));
    centre.push(units.len() - 1);
    centre.last().copied()
}

/// The box of all overlays, at the origin.
pub(crate) fn block(cards: &Cards<'_>, width: i32) -> Option<Block> {
    let overlays = cards.index.all.overlays();
    if overlays.is_empty() {
        return None;
    }
    let mut block = Block::new(BoxKind::Cloud, "overlays", Change::Keep);
    cards.write(&mut block, &Words::new("Overlay", 15, Style::Strong), 18, 28, 300);
    let mut y = 42;
    for overlay in &overlays {
        let mut card = card(cards, overlay, width - 40);
        card.shift(20, y);
        y = card.rect.bottom() + 16;
        block.inner.push(card);
    }
    block.rect = Rect { x: 0, y: 0, w: width, h: y + 4 };
    Some(block)
}

fn card(cards: &Cards<'_>, overlay: &Overlay<'_>, width: i32) -> Block {
    let change = common(overlay.configs.iter().map(|config| config.head.change));
    let mut block = Block::new(BoxKind::Network, &overlay.key(), change);
    let room = width - 2 * PAD;
    let name = Words::new(overlay.name(), 14, Style::Strong).change(change);
    cards.write(&mut block, &name, PAD, 23, room - 26);
    ranges(cards, &mut block, overlay, room);
    let gateways = overlay.gateways.iter().map(|(host, config)| {
        let tip =
            format!("{}\npeer addresses: {}\n{}", host.head.key, join(&config.prefixes), config.head.key);
        (format!("gateway {}", host.head.name), host.head.change, host.head.key.clone(), tip)
    });
    let mut chips: Vec<_> = gateways.collect();
    for config in overlay.configs.iter().filter(|config| config.unread.is_some()) {
        let (key, change) = (config.head.key.clone(), config.head.change);
        chips.push((format!("groups of {}: {}", config.head.name, unread(config)), change, key.clone(), key));
    }
    let mut y = 50;
    if !chips.is_empty() {
        y = cards.flow(&mut block, chips, PAD, y, room) + 8;
    }
    let groups = overlay.groups();
    let columns = usize::try_from(((room + 10) / (FULL + 10)).max(1)).unwrap_or(1);
    let each = FULL.min(room);
    let mut bottoms = vec![y; columns];
    for (group, configs) in groups.iter().take(GROUPS) {
        let (column, top) =
            bottoms.iter().enumerate().min_by_key(|(_, y)| **y).map_or((0, y), |(at, y)| (at, *y));
        let everywhere = configs.len() == overlay.configs.len();
        let mut inner = group_card(cards, overlay, group, if everywhere { &[] } else { configs }, each);
        inner.shift(PAD + i32::try_from(column).unwrap_or_default() * (each + 10), top);
        bottoms[column] = inner.rect.bottom() + 8;
        block.inner.push(inner);
    }
    y = bottoms.into_iter().max().unwrap_or(y);
    if groups.len() > GROUPS {
        let more = format!("and {} more groups", groups.len() - GROUPS);
        cards.write(&mut block, &Words::new(&more, 12, Style::Muted), PAD, y + 12, room);
        y += 22;
    }
    let was: Vec<_> = overlay.configs.iter().flat_map(|config| config.was.iter().copied()).collect();
    let mut facts = vec![overlay.key(), format!("peer addresses: {}", join(&overlay.prefixes()))];
    if !was.is_empty() {
        facts.push(format!("was {}", join(&was)));
    }
    facts.push(change.word().to_owned());
    block.tip = visible_lines(&facts);
    block.rect = Rect { x: 0, y: 0, w: width, h: y + 4 };
    block
}

/// Ranges of peers, and the previous ranges struck out if they change.
fn ranges(cards: &Cards<'_>, block: &mut Block, overlay: &Overlay<'_>, room: i32) {
    let was: Vec<_> = overlay.configs.iter().flat_map(|config| config.was.iter().copied()).collect();
    let mut text =
        cards.list(&overlay.prefixes(), 12, !was.is_empty(), if was.is_empty() { room } else { room / 2 });
    if text.is_empty() {
        text = "peer addresses known after apply".to_owned();
    }
    if was.is_empty() {
        cards.write(block, &Words::new(&text, 12, Style::Muted), PAD, 41, room);
        return;
    }
    let now = Words::new(&text, 12, Style::Strong).change(Change::Replace);
    let used = cards.write(block, &now, PAD, 41, room) + 8;
    let was = cards.list(&was, 12, false, room - used);
    // A range that does not fit is only in the tooltip.
    if cards.ruler.width(&was, 12, false) <= room - used {
        cards.write(block, &Words::new(&was, 12, Style::Muted).struck(), PAD + used, 41, room - used);
    }
}

fn unread(config: &GatewayConfig) -> &'static str {
    match config.unread {
        Some(warren_model::topology::Unread::Later) => "known after apply",
        _ => "not readable",
    }
}

/// A group and its allow-list, with the names of the gateways if they differ.
fn group_card(
    cards: &Cards<'_>,
    overlay: &Overlay<'_>,
    group: &PeerGroup,
    only: &[&GatewayConfig],
    width: i32,
) -> Block {
    let mut block = Block::new(BoxKind::Subnet, &format!("{}/{}", overlay.key(), group.name), group.change);
    let room = width - 20;
    let title = format!("group {}", group.name);
    let title = Words::new(&title, 13, Style::Strong).change(group.change);
    cards.write(&mut block, &title, 10, 20, room - 20);
    let mut y = 20;
    if !only.is_empty() {
        let is = |config: &GatewayConfig| only.iter().any(|it| it.head.key == config.head.key);
        let at = overlay.gateways.iter().filter(|(_, config)| is(config));
        let at: Vec<&str> = at.map(|(host, _)| host.head.name.as_str()).collect();
        y += 16;
        let text = format!("at {}", at.join(", "));
        cards.write(&mut block, &Words::new(&text, 11, Style::Muted), 10, y, room);
    }
    let none = Words::new("no destinations allowed", 11, Style::Muted);
    if group.allow.is_empty() {
        y += 16;
        cards.write(&mut block, &none, 10, y, room);
    }
    for rule in group.allow.iter().take(RULES) {
        y += 16;
        let sign = rule.change.sign();
        let gap = if sign.is_empty() { String::new() } else { format!("{sign} ") };
        let text = format!("{gap}{}", visible(&rule.short()));
        for (at, part) in cards.ruler.wrap(&text, 11, room).into_iter().enumerate() {
            y += if at == 0 { 0 } else { 14 };
            cards.write(&mut block, &Words::new(&part, 11, Style::Plain).change(rule.change), 10, y, room);
        }
    }
    if group.allow.len() > RULES {
        y += 16;
        let more = format!("and {} more rules", group.allow.len() - RULES);
        cards.write(&mut block, &Words::new(&more, 11, Style::Muted), 10, y, room);
    }
    let rules = group.allow.iter().take(30).map(|rule| format!("{} {}", rule.change.sign(), rule.short()));
    let facts: Vec<String> = std::iter::once(title_of(group)).chain(rules).collect();
    block.tip = visible_lines(&facts);
    block.rect = Rect { x: 0, y: 0, w: width, h: y + 10 };
    block
}

fn title_of(group: &PeerGroup) -> String {
    format!("group {} may reach", group.name)
}

fn visible_lines(lines: &[String]) -> String {
    lines.iter().map(|line| visible(line)).collect::<Vec<_>>().join("\n")
}

/// Position of the node of a placed cloud.
fn port_of(cloud: &Block) -> Option<Rect> {
    cloud.inner.iter().find(|block| block.key == PORT).map(|block| block.rect)
}

/// The links from the clouds' nodes to the box; `at` is the box among the blocks. Returns the right end of them.
pub(crate) fn links(
    cards: &Cards<'_>,
    blocks: &[Block],
    at: usize,
    nets: usize,
    lines: &mut Vec<Line>,
) -> i32 {
    let target = blocks[at].rect;
    let widest = blocks.iter().map(|block| block.rect.right()).max().unwrap_or_default();
    let change = |cloud: &Block| {
        let home = Home::ALL.into_iter().find(|home| cloud.key == format!("cloud:{home}"));
        common(home.into_iter().flat_map(|home| members(cards, home)).map(|host| host.head.change))
    };
    let (mut beside, mut right) = (0, widest);
    for (number, cloud) in blocks.iter().enumerate() {
        let Some(port) = port_of(cloud) else { continue };
        let x = port.x + port.w / 2;
        let mixed = change(cloud);
        let mut line = |points: Vec<(i32, i32)>, ends: bool| {
            let ends = ends.then(|| (cloud.key.clone(), "overlays".to_owned()));
            let (kind, net) = (LinkKind::Overlay, nets + number);
            lines.push(Line { kind, net, change: mixed, points, ends, tip: String::new() });
        };
        if number == at + 1 {
            // Avoid the name of the cloud at the left.
            let x = port.right() - 16;
            line(vec![(x, target.bottom()), (x, port.y)], true);
        } else if number + 1 == at {
            line(vec![(x, port.bottom()), (x, target.y)], true);
        } else {
            let lane = widest + BESIDE + 9 * beside;
            let (under, y) = (cloud.rect.bottom() + 10, target.y + 20 + 9 * beside);
            (beside, right) = (beside + 1, lane);
            line(vec![(x, under), (lane, under), (lane, y)], false);
            line(vec![(x, port.bottom()), (x, under)], true);
            line(vec![(lane, y), (target.right(), y)], true);
        }
    }
    right
}
