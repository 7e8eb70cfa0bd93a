//! Where everything goes: in each cloud the hub in the middle, below it what networks are linked to, and the other
//! networks in columns on both sides. Between columns run gutters, above them a channel; links run only there.

use crate::card::{COMPACT, Cards, Words, count, visible};
use crate::index::{Index, common};
use crate::overlay;
use crate::route::{Net, Terminal, Unit, draw};
use crate::scene::{Block, BoxKind, LinkKind, Rect, Sample, Scene, Style, TILE};
use crate::text::Ruler;
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, EndpointKind, GatewayKind, Home, Key, Network, Topology};

/// How much of a network is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// By the number of networks: up to 40 full, up to 400 compact, beyond that grouped.
    #[default]
    Auto,
    /// Subnets, routes, what is in them.
    Full,
    /// Name, range, counts.
    Compact,
    /// Networks of like names in one box.
    Grouped,
}

const FULL_UP_TO: usize = 40;
const COMPACT_UP_TO: usize = 400;
/// Groups of like names; where there are more names than that, groups of neighbours.
const GROUPS: usize = 60;
/// Networks up to which a group of like names is one box.
const LARGE: usize = 240;
const MARGIN: i32 = 24;
/// Between boxes of one column.
const GAP: i32 = 18;
/// Hubs of one cloud that are put in the middle.
const HUBS: usize = 4;

/// Lays a topology out.
pub(crate) fn arrange(all: &Topology, title: &str, changes: bool, detail: Detail) -> Scene {
    let index = Index::new(all);
    let ruler = Ruler::new();
    let cards = Cards { index: &index, ruler: &ruler };
    let detail = match (detail, all.networks.len()) {
        (Detail::Auto, 0..=FULL_UP_TO) => Detail::Full,
        (Detail::Auto, 0..=COMPACT_UP_TO) => Detail::Compact,
        (Detail::Auto, _) => Detail::Grouped,
        (chosen, _) => chosen,
    };
    let mut scene = Scene {
        w: 0,
        h: 0,
        title: visible(title),
        labels: Vec::new(),
        blocks: Vec::new(),
        lines: Vec::new(),
        samples: Vec::new(),
    };
    let clouds: Vec<_> = [Home::Aws, Home::Google, Home::Runpod]
        .into_iter()
        .map(|home| (home, cloud(&cards, home, detail)))
        .filter_map(|(home, found)| found.map(|(cloud, lines)| (home, cloud, lines)))
        .collect();
    let widest = clouds.iter().map(|(_, cloud, _)| cloud.rect.w).max().unwrap_or_default();
    // Where pods are rented stands below the overlay, which joins them to what stands above.
    let mut overlay = overlay::block(&cards, widest.max(460 - MARGIN));
    let mut joined = None;
    let mut y = 84;
    let mut right = 460;
    for (home, mut cloud, mut lines) in clouds {
        if home == Home::Runpod {
            joined = joined.or(put_overlay(&mut scene, &mut overlay, &mut y));
        }
        cloud.shift(MARGIN, y);
        for line in &mut lines {
            line.points.iter_mut().for_each(|point| *point = (point.0 + MARGIN, point.1 + y));
            // Nets are counted in each cloud on their own.
            line.net += scene.lines.len() * 1000;
        }
        y = cloud.rect.bottom() + 20;
        scene.blocks.push(cloud);
        scene.lines.append(&mut lines);
    }
    joined = joined.or(put_overlay(&mut scene, &mut overlay, &mut y));
    right = scene.blocks.iter().map(|block| block.rect.right()).fold(right, i32::max);
    if let Some(at) = joined {
        let nets = (scene.lines.len() + 1) * 1000;
        right = right.max(overlay::links(&cards, &scene.blocks, at, nets, &mut scene.lines));
    }
    scene.w = right + MARGIN;
    head(&cards, &mut scene, all, changes);
    scene.h = legend(&cards, &mut scene, y, changes) + 16;
    scene
}

/// Puts the box of the overlays below what is there. Returns its place among the blocks.
fn put_overlay(scene: &mut Scene, overlay: &mut Option<Block>, y: &mut i32) -> Option<usize> {
    let mut block = overlay.take()?;
    block.shift(MARGIN, *y);
    *y = block.rect.bottom() + 20;
    scene.blocks.push(block);
    Some(scene.blocks.len() - 1)
}

/// The title, and in one line what is there and what changes.
fn head(cards: &Cards<'_>, scene: &mut Scene, all: &Topology, changes: bool) {
    let title = Words::new(&scene.title, 20, Style::Strong);
    let title = cards.label(&title, MARGIN, 42, scene.w.max(600) - 2 * MARGIN);
    let networks = all.networks.values().filter(|network| !network.head.external).count();
    let mut words = vec![count(networks, "network"), count(all.subnets.len(), "subnet")];
    let mut counts: BTreeMap<Change, usize> = BTreeMap::new();
    all.heads().for_each(|head| *counts.entry(head.change).or_default() += 1);
    if changes {
        for change in Change::ALL {
            if let Some(number) = counts.get(&change).filter(|_| change != Change::Keep) {
                words.push(format!("{} {number} to {}", change.sign(), change.word()));
            }
        }
        if words.len() == 2 {
            words.push("no changes".to_owned());
        }
    }
    let about = words.join("   ·   ");
    let about = cards.label(&Words::new(&about, 13, Style::Muted), MARGIN, 65, 900);
    scene.w = scene.w.max(title.rect().right() + MARGIN).max(about.rect().right() + MARGIN);
    scene.labels.extend([title, about]);
}

/// What the signs mean; only those that occur. Returns its bottom.
fn legend(cards: &Cards<'_>, scene: &mut Scene, y: i32, changes: bool) -> i32 {
    let mut seen: BTreeSet<Change> = BTreeSet::new();
    for block in &scene.blocks {
        block.walk(&mut |block| {
            if block.kind != BoxKind::Cloud {
                seen.insert(block.change);
            }
            seen.extend(block.labels.iter().map(|label| label.change));
            seen.extend(block.tiles.iter().map(|(_, _, change)| *change));
        });
    }
    let mut samples: Vec<(Sample, String)> = Vec::new();
    for change in Change::ALL.into_iter().filter(|change| changes && seen.contains(change)) {
        let sign = if change == Change::Keep { String::new() } else { format!("{} ", change.sign()) };
        samples.push((Sample::Change(change), format!("{sign}{}", change.word())));
    }
    for kind in LinkKind::ALL {
        if scene.lines.iter().any(|line| line.kind == kind) {
            samples.push((Sample::Link(kind), kind.word().to_owned()));
        }
    }
    if samples.is_empty() {
        return y;
    }
    let (mut x, mut y) = (MARGIN, y + 8);
    for (sample, text) in samples {
        let label = cards.label(&Words::new(&text, 12, Style::Muted), 0, 0, 300);
        let w = 34 + label.w + 22;
        if x + w > scene.w - MARGIN && x > MARGIN {
            x = MARGIN;
            y += 24;
        }
        scene.samples.push((x, y, sample));
        let mut label = label;
        (label.x, label.y) = (x + 34, y + 12);
        scene.labels.push(label);
        x += w;
    }
    y + 18
}

/// One cloud with everything in it, at the origin.
fn cloud(cards: &Cards<'_>, home: Home, detail: Detail) -> Option<(Block, Vec<crate::scene::Line>)> {
    let all = cards.index.all;
    let networks: Vec<&Network> = all.networks.values().filter(|network| network.head.home == home).collect();
    let loose: Vec<_> =
        cards.index.hosts_in.get("").into_iter().flatten().filter(|host| host.head.home == home).collect();
    if networks.is_empty() && loose.is_empty() && !all.stores.values().any(|store| store.head.home == home) {
        return None;
    }
    let hubs = hubs(cards.index, &networks);
    let mut units: Vec<Unit> = Vec::new();
    let mut place: BTreeMap<Key, usize> = BTreeMap::new();
    let mut centre: Vec<usize> = Vec::new();
    let mut put = |units: &mut Vec<Unit>, block: Block, keys: &[Key]| {
        keys.iter().for_each(|key| {
            place.insert(key.clone(), units.len());
        });
        units.push(Unit::new(block));
        units.len() - 1
    };
    // The middle, from above: the internet, hubs with their transit gateways, services.
    let internet = uses_internet(all, home).map(|change| {
        let at = put(&mut units, node(cards, "Internet", "", change, "internet"), &[]);
        centre.push(at);
        at
    });
    let transit: Vec<_> = all
        .gateways
        .values()
        .filter(|gateway| gateway.kind == GatewayKind::Transit && gateway.head.home == home)
        .collect();
    let mut gateways_left: BTreeSet<&str> = transit.iter().map(|gateway| gateway.head.key.as_str()).collect();
    for hub in &hubs {
        let at = put(&mut units, cards.full(hub), std::slice::from_ref(&hub.head.key));
        centre.push(at);
        for attachment in all.attachments.values() {
            let Some(gateway) = attachment.gateway.as_deref() else { continue };
            if attachment.network.as_ref() == Some(&hub.head.key) && gateways_left.remove(gateway) {
                centre.push(transit_node(cards, &mut units, &mut put, gateway));
            }
        }
    }
    for gateway in gateways_left {
        centre.push(transit_node(cards, &mut units, &mut put, gateway));
    }
    let services = services(cards, home).map(|block| {
        let at = put(&mut units, block, &[]);
        centre.push(at);
        at
    });
    let port = overlay::place(cards, home, &mut units, &mut centre);
    let mut spokes: Vec<&Network> = networks
        .iter()
        .copied()
        .filter(|network| !hubs.iter().any(|hub| hub.head.key == network.head.key))
        .collect();
    spokes.sort_by_cached_key(|network| (natural(&network.head.name), network.head.key.clone()));
    let mut sides: Vec<usize> = Vec::new();
    match detail {
        Detail::Grouped => {
            for (name, members) in group(&spokes) {
                let keys: Vec<Key> = members.iter().map(|network| network.head.key.clone()).collect();
                let block = group_card(cards, &name, &members);
                sides.push(put(&mut units, block, &keys));
            }
        }
        _ => {
            for network in &spokes {
                let block =
                    if detail == Detail::Compact { cards.compact(network) } else { cards.full(network) };
                sides.push(put(&mut units, block, std::slice::from_ref(&network.head.key)));
            }
        }
    }
    for host in loose {
        let block = node(cards, &host.head.name, &host.what, host.head.change, &host.head.key);
        sides.push(put(&mut units, block, std::slice::from_ref(&host.head.key)));
    }
    let mut nets = nets(cards.index, home, &place, internet, services);
    nets.extend(port.map(|root| overlay::net(cards, home, root, &place)));
    nets.retain(|net| net.terminals.len() > 1);
    let (mut inner, lines, w, h) = draw(units, &centre, &sides, &nets, GAP);
    let mut block = Block::new(BoxKind::Cloud, &format!("cloud:{home}"), Change::Keep);
    let name = home.to_string();
    cards.write(&mut block, &Words::new(&name, 15, Style::Strong), 18, 28, 300);
    inner.iter_mut().for_each(|unit| unit.shift(0, 30));
    let lines = lines
        .into_iter()
        .map(|mut line| {
            line.points.iter_mut().for_each(|point| point.1 += 30);
            line
        })
        .collect();
    block.rect = Rect { x: 0, y: 0, w: w.max(200), h: h + 30 };
    block.inner = inner;
    Some((block, lines))
}

fn transit_node(
    cards: &Cards<'_>,
    units: &mut Vec<Unit>,
    put: &mut impl FnMut(&mut Vec<Unit>, Block, &[Key]) -> usize,
    key: &str,
) -> usize {
    let gateway = cards.index.all.gateways.get(key);
    let (name, change) =
        gateway.map_or((key, Change::Keep), |gateway| (&gateway.head.name, gateway.head.change));
    let attached =
        cards.index.all.attachments.values().filter(|it| it.gateway.as_deref() == Some(key)).count();
    let about = format!("transit gateway · {}", count(attached, "attachment"));
    put(units, node(cards, name, &about, change, key), &[key.to_owned()])
}

/// A box of a name and one line.
pub(crate) fn node(cards: &Cards<'_>, name: &str, about: &str, change: Change, key: &str) -> Block {
    let mut block = Block::new(BoxKind::Node, key, change);
    let badge = if change == Change::Keep { 0 } else { 26 };
    let first =
        cards.write(&mut block, &Words::new(name, 14, Style::Strong).change(change), 14, 24, 220 - badge);
    let mut h = 38;
    let mut w = first;
    if !about.is_empty() {
        w = w.max(cards.write(&mut block, &Words::new(about, 12, Style::Muted), 14, 42, 260));
        h = 54;
    }
    block.tip = format!("{}\n{}", visible(about), visible(key));
    block.rect = Rect { x: 0, y: 0, w: (w + 28 + badge).max(92), h };
    block
}

/// Whether anything is linked to the internet, and what happens to those links.
fn uses_internet(all: &Topology, home: Home) -> Option<Change> {
    let any = all.gateways.values().any(|gateway| {
        gateway.head.home == home && matches!(gateway.kind, GatewayKind::Internet | GatewayKind::EgressOnly)
    });
    any.then_some(Change::Keep)
}

/// Services that endpoints lead to, and stores.
fn services(cards: &Cards<'_>, home: Home) -> Option<Block> {
    let all = cards.index.all;
    let mut lines: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    for endpoint in all.endpoints.values().filter(|endpoint| endpoint.head.home == home) {
        lines.entry(endpoint.service.clone()).or_default().push(endpoint.head.change);
        for bucket in &endpoint.buckets {
            lines.entry(format!("bucket {bucket}")).or_default().push(endpoint.head.change);
        }
    }
    for store in all.stores.values().filter(|store| store.head.home == home) {
        let word = match store.kind {
            warren_model::topology::StoreKind::Registry => "registry",
            warren_model::topology::StoreKind::Bucket => "bucket",
        };
        lines.insert(format!("{word} {}", store.head.name), vec![store.head.change]);
    }
    if lines.is_empty() {
        return None;
    }
    let mut block = Block::new(BoxKind::Node, "services", Change::Keep);
    cards.write(&mut block, &Words::new("Services", 14, Style::Strong), 14, 24, 200);
    block.tip = lines.keys().map(|line| visible(line)).take(60).collect::<Vec<_>>().join("\n");
    let more = lines.len().saturating_sub(24);
    let chips = lines
        .into_iter()
        .take(24)
        .map(|(text, changes)| (text.clone(), common(changes), String::new(), text))
        .collect();
    let mut y = cards.flow(&mut block, chips, 14, 36, 292);
    if more > 0 {
        y += 18;
        let text = format!("and {more} more");
        cards.write(&mut block, &Words::new(&text, 12, Style::Muted), 14, y, 292);
    }
    block.rect = Rect { x: 0, y: 0, w: 320, h: y + 14 };
    Some(block)
}

/// The networks that belong in the middle: for each transit gateway the one that offers most; else the one with most
/// peerings.
fn hubs<'a>(index: &Index<'a>, networks: &[&'a Network]) -> Vec<&'a Network> {
    let mut chosen: Vec<&Network> = Vec::new();
    let mut by_gateway: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for attachment in index.all.attachments.values() {
        if let (Some(gateway), Some(network)) = (&attachment.gateway, &attachment.network) {
            by_gateway.entry(gateway).or_default().insert(network);
        }
    }
    let known: BTreeMap<&str, &Network> =
        networks.iter().map(|network| (network.head.key.as_str(), *network)).collect();
    let mut add = |network: Option<&&'a Network>| {
        if let Some(network) = network
            && chosen.len() < HUBS
            && !chosen.iter().any(|hub| hub.head.key == network.head.key)
        {
            chosen.push(network);
        }
    };
    for members in by_gateway.values() {
        let best = members
            .iter()
            .filter(|key| known.contains_key(*key))
            .map(|key| (index.offers(key), std::cmp::Reverse(*key)))
            .max()
            .filter(|(offers, _)| *offers > 0);
        add(best.and_then(|(_, key)| known.get(key.0)));
    }
    let mut degree: BTreeMap<&str, usize> = BTreeMap::new();
    for peering in index.all.peerings.values() {
        for key in [&peering.left, &peering.right].into_iter().flatten() {
            *degree.entry(key).or_default() += 1;
        }
    }
    if by_gateway.is_empty() {
        // What goes away is no middle.
        let best = networks
            .iter()
            .filter(|network| network.head.change != Change::Delete && !network.head.external)
            .map(|network| {
                let key = network.head.key.as_str();
                let degree = degree.get(key).copied().unwrap_or_default();
                (degree, index.offers(key), std::cmp::Reverse(key))
            })
            .filter(|(degree, offers, _)| degree + offers > 0)
            .max();
        add(best.and_then(|(_, _, key)| known.get(key.0)));
    }
    chosen
}

/// Networks whose names differ only in numbers, in parts where they are many; neighbours by name where that leaves
/// too many groups.
fn group<'a>(networks: &[&'a Network]) -> Vec<(String, Vec<&'a Network>)> {
    let mut stems: BTreeMap<String, Vec<&Network>> = BTreeMap::new();
    for network in networks {
        stems.entry(stem(&network.head.name)).or_default().push(network);
    }
    let size = networks.len().div_ceil(GROUPS).max(LARGE);
    let mut groups = Vec::new();
    if stems.len() > GROUPS {
        stems = BTreeMap::from([(String::new(), networks.to_vec())]);
    }
    for (name, members) in stems {
        if members.len() <= size && !name.is_empty() {
            groups.push((name, members));
            continue;
        }
        // The members come in natural order already.
        for part in members.chunks(size) {
            let ends = part.first().zip(part.last());
            let name = match ends {
                Some((first, last)) if part.len() > 1 => format!("{} – {}", first.head.name, last.head.name),
                Some((first, _)) => first.head.name.clone(),
                None => String::new(),
            };
            groups.push((name, part.to_vec()));
        }
    }
    groups
}

/// A name as people sort it: numbers by their value.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut parts: Vec<(u64, String)> = vec![(0, String::new())];
    for c in name.chars().take(200) {
        let Some((number, text)) = parts.last_mut() else { break };
        match c.to_digit(10) {
            Some(digit) if text.is_empty() => {
                *number = number.saturating_mul(10).saturating_add(digit.into());
            }
            Some(digit) => parts.push((digit.into(), String::new())),
            None => text.push(c),
        }
    }
    parts
}

/// A name with each number in it made a star.
fn stem(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(200) {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('*') {
            out.push('*');
        }
    }
    out
}

fn group_card(cards: &Cards<'_>, name: &str, members: &[&Network]) -> Block {
    if let [only] = members {
        return cards.compact(only);
    }
    let changes = members.iter().map(|network| network.head.change);
    let key = format!("group:{name}");
    let mut block = Block::new(BoxKind::Group, &key, common(changes.clone()));
    if block.change == Change::Update && !changes.clone().all(|change| change == Change::Update) {
        // The tiles tell; the frame of a mixed group stays neutral.
        block.change = Change::Keep;
    }
    let badge = if block.change == Change::Keep { 0 } else { 26 };
    let room = COMPACT - 24;
    let change = block.change;
    cards.write(&mut block, &Words::new(name, 14, Style::Strong).change(change), 12, 23, room - badge);
    let mut counts: BTreeMap<Change, usize> = BTreeMap::new();
    changes.for_each(|change| *counts.entry(change).or_default() += 1);
    let text = count(members.len(), "network");
    cards.write(&mut block, &Words::new(&text, 12, Style::Muted), 12, 41, room);
    let words: Vec<String> = Change::ALL
        .into_iter()
        .filter(|change| *change != Change::Keep)
        .filter_map(|change| counts.get(&change).map(|number| format!("{} {number}", change.sign())))
        .collect();
    let mut top = 57;
    if !words.is_empty() {
        cards.write(&mut block, &Words::new(&words.join(" · "), 11, Style::Plain), 12, top, room);
        top += 16;
    }
    let mut ranges: Vec<_> = members.iter().flat_map(|network| network.ranges.iter()).collect();
    ranges.sort();
    let span = match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => format!("{} – {}", first.network(), last.broadcast()),
        _ => "ranges known after apply".to_owned(),
    };
    cards.write(&mut block, &Words::new(&span, 11, Style::Muted), 12, top, room);
    let step = TILE + 2;
    let (mut x, mut y) = (12, top + 11);
    for network in members {
        if x + TILE > COMPACT - 12 {
            x = 12;
            y += step;
        }
        block.tiles.push((x, y, network.head.change));
        x += step;
    }
    block.tip = format!("{}\n{span}", count(members.len(), "network"));
    block.rect = Rect { x: 0, y: 0, w: COMPACT, h: y + step + 8 };
    block
}

/// Who is linked with whom, as nets: all attachments of a transit gateway are one, peerings of a busy network are one.
fn nets(
    index: &Index<'_>,
    home: Home,
    place: &BTreeMap<Key, usize>,
    internet: Option<usize>,
    services: Option<usize>,
) -> Vec<Net> {
    let all = index.all;
    let mut nets: Vec<Net> = Vec::new();
    let mut by_gateway: BTreeMap<&str, Net> = BTreeMap::new();
    for attachment in all.attachments.values().filter(|attachment| attachment.head.home == home) {
        let (Some(gateway), Some(network)) = (&attachment.gateway, &attachment.network) else { continue };
        let (Some(&root), Some(&at)) = (place.get(gateway), place.get(network)) else { continue };
        let net = by_gateway.entry(gateway).or_insert_with(|| Net::new(LinkKind::Transit, root));
        net.push(at, attachment.head.change, (gateway, network), &attachment.head.key);
    }
    nets.extend(by_gateway.into_values());
    nets.extend(peering_nets(index, home, place));
    if let Some(root) = internet {
        let mut net = Net::new(LinkKind::Internet, root);
        for gateway in all.gateways.values().filter(|gateway| gateway.head.home == home) {
            let open = matches!(gateway.kind, GatewayKind::Internet | GatewayKind::EgressOnly);
            if let Some((network, &at)) =
                gateway.network.as_ref().and_then(|key| Some((key, place.get(key)?)))
                && open
            {
                net.push(at, gateway.head.change, ("internet", network), &gateway.head.key);
            }
        }
        nets.push(net);
    }
    if let Some(root) = services {
        let mut net = Net::new(LinkKind::Service, root);
        for endpoint in all.endpoints.values().filter(|endpoint| endpoint.head.home == home) {
            if let Some((network, &at)) =
                endpoint.network.as_ref().and_then(|key| Some((key, place.get(key)?)))
                && endpoint.kind != EndpointKind::PrivateAccess
            {
                net.push(at, endpoint.head.change, ("services", network), &endpoint.head.key);
            }
        }
        nets.push(net);
    }
    nets
}

fn peering_nets(index: &Index<'_>, home: Home, place: &BTreeMap<Key, usize>) -> Vec<Net> {
    let mut left: Vec<_> = index
        .all
        .peerings
        .values()
        .filter(|peering| peering.head.home == home)
        .filter_map(|peering| {
            let (a, b) = (peering.left.as_ref()?, peering.right.as_ref()?);
            let (from, to) = (*place.get(a)?, *place.get(b)?);
            (from != to).then_some((peering, from, to, a, b))
        })
        .collect();
    let mut nets = Vec::new();
    while !left.is_empty() {
        let mut degree: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, from, to, ..) in &left {
            *degree.entry(*from).or_default() += 1;
            *degree.entry(*to).or_default() += 1;
        }
        let root = degree.iter().max_by_key(|(at, degree)| (**degree, std::cmp::Reverse(**at)));
        let root = root.map_or(0, |(at, _)| *at);
        let mut net = Net::new(LinkKind::Peering, root);
        left.retain(|(peering, from, to, a, b)| {
            if *from != root && *to != root {
                return true;
            }
            let other = if *from == root { *to } else { *from };
            net.push(other, peering.head.change, (a, b), &peering.head.key);
            false
        });
        nets.push(net);
    }
    nets
}

impl Net {
    pub(crate) fn new(kind: LinkKind, root: usize) -> Self {
        Self { kind, root, terminals: vec![Terminal::new(root)] }
    }

    pub(crate) fn push(&mut self, at: usize, change: Change, ends: (&str, &str), tip: &str) {
        match self.terminals.iter_mut().find(|terminal| terminal.at == at) {
            Some(terminal) if at != self.root => {
                // One line stands for several objects.
                terminal.change = common([terminal.change, change]);
                if terminal.tips < 8 {
                    terminal.tip.push('\n');
                    terminal.tip.push_str(&visible(tip));
                }
                terminal.tips += 1;
            }
            Some(_) => {}
            None => {
                let ends = Some((ends.0.to_owned(), ends.1.to_owned()));
                self.terminals.push(Terminal { at, change, ends, tip: visible(tip), tips: 1 });
            }
        }
    }
}
