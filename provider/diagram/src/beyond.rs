//! Links between clouds: overlaps, and VPNs. In each cloud, a node stands for what is beyond it, and a line beside all clouds
//! joins the nodes of two clouds. The nodes are at the bottom of the middle of their cloud. Each is wider than what is below it,
//! so that nothing is in the way of its line.
//!
//! ```text
//! [ AWS    … [ VPN ] ]
//!                └──────┐
//! [ Google … [ VPN ] ]  │
//!                └──────┘
//! ```

use crate::card::{Cards, node};
use crate::index::common;
use crate::overlay;
use crate::route::{Net, Unit};
use crate::scene::{Block, Line, LinkKind};
use crate::verdict::sentence;
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, Home, Key, Topology};

/// What is linked, from top to bottom: the type of link, the key of the nodes, their name, and a word before the other cloud.
const KINDS: [(LinkKind, &str, &str, &str); 2] =
    [(LinkKind::Clash, "overlaps", "Overlaps", "with"), (LinkKind::Vpn, "vpn", "VPN", "to")];
/// Distance from the clouds and other links to the first lane, and between two lanes.
const BESIDE: i32 = 14;
const LANE: i32 = 9;
/// Distance from the left of a node to its first line.
const INSET: i32 = 16;
/// Maximum number of tips that the tooltip of a line has.
const TIPS: usize = 8;

/// A link of an object in one cloud with one in another cloud.
struct Tie {
    /// The network or transit gateway.
    here: Key,
    there: Home,
    change: Change,
    tip: String,
}

/// A place: the cloud, and the network or transit gateway.
type Place<'a> = (Home, &'a Key);

/// The links of one kind that begin in a cloud.
fn ties(cards: &Cards<'_>, kind: LinkKind, home: Home) -> Vec<Tie> {
    let all = cards.index.all;
    let pairs: Vec<([Place<'_>; 2], Change, String)> = if kind == LinkKind::Vpn {
        let vpns = all.tunnels.values().filter_map(|tunnel| {
            let [left, right] = [&tunnel.left, &tunnel.right].map(|key| {
                let gateway = all.gateways.get(key)?;
                Some((gateway.head.home, gateway.network.as_ref().unwrap_or(&gateway.head.key)))
            });
            let names = format!("{} and {}", all.name(&tunnel.left), all.name(&tunnel.right));
            Some(([left?, right?], tunnel.head.change, format!("{}: VPN between {names}", tunnel.head.key)))
        });
        vpns.collect()
    } else {
        let overlaps = cards.marks.overlaps().iter().filter_map(|overlap| {
            let [left, right] = [0, 1].map(|at| place_of(all, overlap.sides[at].address()));
            Some(([left?, right?], Change::Keep, sentence(all, overlap)))
        });
        overlaps.collect()
    };
    let mut ties = Vec::new();
    for (ends, change, tip) in pairs {
        let [(one, _), (other, _)] = ends;
        if one != other && (one == home || other == home) {
            let [(_, here), (there, _)] = if one == home { ends } else { [ends[1], ends[0]] };
            ties.push(Tie { here: here.clone(), there, change, tip });
        }
    }
    ties
}

/// The cloud and the network of a network or subnet.
fn place_of<'a>(all: &'a Topology, key: &str) -> Option<Place<'a>> {
    match all.subnets.get(key) {
        Some(subnet) => Some((subnet.head.home, subnet.network.as_ref()?)),
        None => all.networks.get(key).map(|network| (network.head.home, &network.head.key)),
    }
}

/// The clouds that links of one kind lead to.
fn others(cards: &Cards<'_>, kind: LinkKind, home: Home) -> BTreeSet<Home> {
    ties(cards, kind, home).into_iter().map(|tie| tie.there).collect()
}

/// Room for one line to each of these clouds.
fn room(others: &BTreeSet<Home>) -> i32 {
    LANE * i32::try_from(others.len()).unwrap_or_default()
}

/// Room for the lines below a cloud.
pub(crate) fn below(cards: &Cards<'_>, home: Home) -> i32 {
    KINDS.iter().map(|(kind, ..)| room(&others(cards, *kind, home))).sum()
}

/// Places the nodes of a cloud in its middle.
pub(crate) fn place(
    cards: &Cards<'_>,
    home: Home,
    units: &mut Vec<Unit>,
    centre: &mut Vec<usize>,
) -> Vec<(LinkKind, usize)> {
    let mut least = overlay::port(cards, home).map_or(0, |port| port.rect.w);
    let mut blocks = Vec::new();
    for (kind, key, name, word) in KINDS.into_iter().rev() {
        let others = others(cards, kind, home);
        if others.is_empty() {
            continue;
        }
        let names: Vec<String> = others.iter().map(ToString::to_string).collect();
        let mut block = node(cards, name, &format!("{word} {}", names.join(", ")), Change::Keep, key);
        block.alert = kind == LinkKind::Clash;
        block.rect.w = block.rect.w.max(least + 2 * (INSET + room(&others)));
        least = block.rect.w;
        blocks.push((kind, block));
    }
    let mut placed = Vec::new();
    for (kind, block) in blocks.into_iter().rev() {
        placed.push((kind, units.len()));
        centre.push(units.len());
        units.push(Unit::new(block));
    }
    placed
}

/// The links of networks and transit gateways to the nodes of their cloud.
pub(crate) fn nets(
    cards: &Cards<'_>,
    home: Home,
    nodes: &[(LinkKind, usize)],
    place: &BTreeMap<Key, usize>,
) -> Vec<Net> {
    let net = |&(kind, root): &(LinkKind, usize)| {
        let port = KINDS.iter().find(|it| it.0 == kind).map_or("", |it| it.1);
        let mut net = Net::new(kind, root);
        for tie in ties(cards, kind, home) {
            if let Some(&at) = place.get(&tie.here) {
                net.push(at, tie.change, (port, &tie.here), &tie.tip);
            }
        }
        net
    };
    nodes.iter().map(net).collect()
}

/// The links between the nodes of two clouds, at the right of `right`. Returns the right end of them.
pub(crate) fn links(cards: &Cards<'_>, blocks: &[Block], mut right: i32, lines: &mut Vec<Line>) -> i32 {
    let first = (lines.len() + 1) * 1000;
    let (mut number, mut lanes) = (0, BTreeMap::<Home, i32>::new());
    for (kind, port, ..) in KINDS {
        let mut used: BTreeMap<Home, i32> = BTreeMap::new();
        for one in Home::ALL {
            for other in others(cards, kind, one).into_iter().filter(|other| one < *other) {
                let ties: Vec<Tie> =
                    ties(cards, kind, one).into_iter().filter(|tie| tie.there == other).collect();
                let change = common(ties.iter().map(|tie| tie.change));
                let tips: Vec<&str> = ties.iter().map(|tie| tie.tip.as_str()).take(TIPS).collect();
                let mut stubs = Vec::new();
                for home in [one, other] {
                    let found = blocks.iter().find(|block| block.key == format!("cloud:{home}"));
                    let Some(cloud) = found else { continue };
                    let Some(node) = cloud.inner.iter().find(|block| block.key == port) else { continue };
                    let (at, lane) = (used.entry(home).or_default(), lanes.entry(home).or_default());
                    let x = node.rect.x + INSET + LANE * *at;
                    (*at, *lane) = (*at + 1, *lane + 1);
                    stubs.push((
                        (x, node.rect.bottom()),
                        (x, cloud.rect.bottom() + 10 + LANE * *lane),
                        cloud,
                    ));
                }
                let [(from, under, near), (to, end, far)] = stubs.as_slice() else { continue };
                right += if number == 0 { BESIDE } else { LANE };
                let mut line = |points: Vec<(i32, i32)>, at_node: bool| {
                    let ends = at_node.then(|| (near.key.clone(), far.key.clone()));
                    let tip = if at_node { tips.join("\n") } else { String::new() };
                    lines.push(Line { kind, net: first + number, change, points, ends, tip });
                };
                line(vec![*under, (right, under.1), (right, end.1), *end], false);
                line(vec![*from, *under], true);
                line(vec![*to, *end], true);
                number += 1;
            }
        }
    }
    right
}
