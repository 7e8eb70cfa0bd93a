//! One cloud: the hub in the middle with the nodes that networks are linked to, and the other networks in columns on both
//! sides. Links run only in the gutters between columns and in the channel above them.

use crate::beyond::Beyond;
use crate::card::{Cards, Words, count, node, visible};
use crate::detail::Detail;
use crate::group::{card, group, natural};
use crate::index::{Index, common};
use crate::nets::nets;
use crate::overlay;
use crate::route::{Unit, draw};
use crate::scene::{Block, BoxKind, Line, Rect, Style};
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, GatewayKind, Home, Key, Network, StoreKind};

/// Gap between boxes of one column.
const GAP: i32 = 18;
/// Maximum number of hubs in the middle of one cloud.
const HUBS: usize = 4;

/// One cloud with everything in it, at the origin.
pub(crate) fn cloud(
    cards: &Cards<'_>,
    beyond: &Beyond,
    home: Home,
    detail: Detail,
) -> Option<(Block, Vec<Line>)> {
    let all = cards.index.all;
    let networks: Vec<&Network> = all.networks.values().filter(|network| network.head.home == home).collect();
    let loose: Vec<_> =
        cards.index.hosts_in.get("").into_iter().flatten().filter(|host| host.head.home == home).collect();
    let services_apart: Vec<_> = cards.index.loose.iter().filter(|it| it.head.home == home).collect();
    if networks.is_empty()
        && loose.is_empty()
        && services_apart.is_empty()
        && !all.stores.values().any(|store| store.head.home == home)
    {
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
    // The middle, from top to bottom: the internet, hubs with their transit gateways, services.
    let internet = uses_internet(cards.index, home).map(|change| {
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
    let ends = beyond.place(cards, home, &mut units, &mut centre);
    let port = overlay::place(cards, home, &mut units, &mut centre);
    let mut spokes: Vec<&Network> = networks
        .iter()
        .copied()
        .filter(|network| !hubs.iter().any(|hub| hub.head.key == network.head.key))
        .collect();
    spokes.sort_by_cached_key(|network| (natural(&network.head.name), network.head.key.clone()));
    if detail != Detail::Grouped {
        spokes = beside(cards, &spokes);
    }
    let mut sides: Vec<usize> = Vec::new();
    match detail {
        Detail::Grouped => {
            for (name, members) in group(&spokes) {
                let keys: Vec<Key> = members.iter().map(|network| network.head.key.clone()).collect();
                let block = card(cards, &name, &members);
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
    for managed in services_apart {
        let block = node(cards, &managed.head.name, &managed.word(), managed.head.change, &managed.head.key);
        sides.push(put(&mut units, block, std::slice::from_ref(&managed.head.key)));
    }
    let mut nets = nets(cards.index, home, &place, internet, services);
    nets.extend(beyond.nets(home, &ends, &place));
    nets.extend(port.map(|root| overlay::net(cards, home, root, &place)));
    nets.extend(cards.marks.nets(
        cards.index,
        home,
        &place,
        &[("internet", internet), ("services", services)],
    ));
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

/// Networks in their order, but each followed by those that it is peered with or overlaps, so that lines between them are short.
fn beside<'a>(cards: &Cards<'_>, spokes: &[&'a Network]) -> Vec<&'a Network> {
    let at: BTreeMap<&str, usize> =
        spokes.iter().enumerate().map(|(at, network)| (network.head.key.as_str(), at)).collect();
    let mut near: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); spokes.len()];
    let mut link = |a: &str, b: &str| {
        if let (Some(&a), Some(&b)) = (at.get(a), at.get(b)) {
            near[a].insert(b);
            near[b].insert(a);
        }
    };
    for peering in cards.index.all.peerings.values() {
        if let (Some(a), Some(b)) = (&peering.left, &peering.right) {
            link(a, b);
        }
    }
    for network in spokes {
        let key = &network.head.key;
        cards.marks.others(key).iter().for_each(|other| link(key, other.side.address()));
    }
    let mut placed = vec![false; spokes.len()];
    let mut order = Vec::new();
    let mut waiting: Vec<usize> = (0..spokes.len()).rev().collect();
    while let Some(next) = waiting.pop() {
        if !std::mem::replace(&mut placed[next], true) {
            order.push(spokes[next]);
            waiting.extend(near[next].iter().rev().filter(|it| !placed[**it]));
        }
    }
    order
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

/// The internet node, if anything in the cloud is linked to the internet.
fn uses_internet(index: &Index<'_>, home: Home) -> Option<Change> {
    let balanced = index.loose.iter().any(|it| it.head.home == home && it.public);
    let any = index.all.gateways.values().any(|gateway| {
        gateway.head.home == home && matches!(gateway.kind, GatewayKind::Internet | GatewayKind::EgressOnly)
    });
    (any || balanced).then_some(Change::Keep)
}

/// Services with endpoints, and stores.
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
            StoreKind::Registry => "registry",
            StoreKind::Bucket => "bucket",
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

/// The networks in the middle: for each transit gateway, the one with the most gateways and endpoints; without transit
/// gateways, the network with the most peerings.
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
        // A network that is deleted is not a hub.
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
