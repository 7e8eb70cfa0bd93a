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
use crate::verdict::{Marks, sentence};
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

/// A link between objects in two clouds.
struct Tie {
    kind: LinkKind,
    /// The cloud and the network or transit gateway at each end.
    ends: [(Home, Key); 2],
    change: Change,
    tip: String,
}

/// All links between clouds.
pub(crate) struct Beyond(Vec<Tie>);

/// The cloud and the network of a network or subnet.
fn place_of(all: &Topology, key: &str) -> Option<(Home, Key)> {
    match all.subnets.get(key) {
        Some(subnet) => Some((subnet.head.home, subnet.network.clone()?)),
        None => all.networks.get(key).map(|network| (network.head.home, network.head.key.clone())),
    }
}

/// Room for one line to each of these clouds.
fn room(others: &BTreeSet<Home>) -> i32 {
    LANE * i32::try_from(others.len()).unwrap_or_default()
}

impl Beyond {
    /// Finds the links of a topology.
    pub(crate) fn new(all: &Topology, marks: &Marks<'_>) -> Self {
        let vpns = all.tunnels.values().filter_map(|tunnel| {
            let [left, right] = [&tunnel.left, &tunnel.right].map(|key| {
                let gateway = all.gateways.get(key)?;
                Some((gateway.head.home, gateway.network.as_ref().unwrap_or(&gateway.head.key).clone()))
            });
            let names = format!("{} and {}", all.name(&tunnel.left), all.name(&tunnel.right));
            let tip = format!("{}: VPN between {names}", tunnel.head.key);
            Some(Tie { kind: LinkKind::Vpn, ends: [left?, right?], change: tunnel.head.change, tip })
        });
        let overlaps = marks.overlaps().iter().filter_map(|overlap| {
            let [left, right] = [0, 1].map(|at| place_of(all, overlap.sides[at].address()));
            let tip = sentence(all, overlap);
            Some(Tie { kind: LinkKind::Clash, ends: [left?, right?], change: Change::Keep, tip })
        });
        Self(vpns.chain(overlaps).filter(|tie| tie.ends[0].0 != tie.ends[1].0).collect())
    }

    /// The links of one kind that begin in a cloud: the network or transit gateway there, and the other cloud.
    fn of(&self, kind: LinkKind, home: Home) -> impl Iterator<Item = (&Key, Home, &Tie)> {
        self.0.iter().filter(move |tie| tie.kind == kind).filter_map(move |tie| match &tie.ends {
            [(one, here), (other, _)] if *one == home => Some((here, *other, tie)),
            [(other, _), (one, here)] if *one == home => Some((here, *other, tie)),
            _ => None,
        })
    }

    /// The clouds that links of one kind lead to.
    fn others(&self, kind: LinkKind, home: Home) -> BTreeSet<Home> {
        self.of(kind, home).map(|(_, there, _)| there).collect()
    }

    /// Room for the lines below a cloud.
    pub(crate) fn below(&self, home: Home) -> i32 {
        KINDS.iter().map(|(kind, ..)| room(&self.others(*kind, home))).sum()
    }

    /// Places the nodes of a cloud in its middle.
    pub(crate) fn place(
        &self,
        cards: &Cards<'_>,
        home: Home,
        units: &mut Vec<Unit>,
        centre: &mut Vec<usize>,
    ) -> Vec<(LinkKind, usize)> {
        let mut least = overlay::port(cards, home).map_or(0, |port| port.rect.w);
        let mut blocks = Vec::new();
        for (kind, key, name, word) in KINDS.into_iter().rev() {
            let others = self.others(kind, home);
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
        &self,
        home: Home,
        nodes: &[(LinkKind, usize)],
        place: &BTreeMap<Key, usize>,
    ) -> Vec<Net> {
        let net = |&(kind, root): &(LinkKind, usize)| {
            let port = KINDS.iter().find(|it| it.0 == kind).map_or("", |it| it.1);
            let mut net = Net::new(kind, root);
            for (here, _, tie) in self.of(kind, home) {
                if let Some(&at) = place.get(here) {
                    net.push(at, tie.change, (port, here), &tie.tip);
                }
            }
            net
        };
        nodes.iter().map(net).collect()
    }

    /// The links between the nodes of two clouds, at the right of `right`. Returns the right end of them.
    pub(crate) fn links(&self, blocks: &[Block], mut right: i32, lines: &mut Vec<Line>) -> i32 {
        let first = (lines.len() + 1) * 1000;
        let (mut number, mut lanes) = (0, BTreeMap::<Home, i32>::new());
        for (kind, port, ..) in KINDS {
            let mut used: BTreeMap<Home, i32> = BTreeMap::new();
            for one in Home::ALL {
                for other in self.others(kind, one).into_iter().filter(|other| one < *other) {
                    let ties = || self.of(kind, one).filter(|(_, there, _)| *there == other);
                    let change = common(ties().map(|(.., tie)| tie.change));
                    let tips: Vec<&str> = ties().map(|(.., tie)| tie.tip.as_str()).take(TIPS).collect();
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
}
