//! VPNs between clouds: in each cloud a node to which networks and transit gateways with such a VPN are linked, and a line beside
//! all clouds between the nodes of two clouds. The node is at the bottom of the middle of its cloud, and wider than that of the
//! overlay below it, so that nothing is in the way of the line.
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
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, Gateway, Home, Key, Topology, Tunnel};

/// Key of the node in a cloud.
const PORT: &str = "vpn";
/// Distance from the clouds and other links to the first lane, and between two lanes.
const BESIDE: i32 = 14;
const LANE: i32 = 9;
/// Distance from the left of a node to its first line.
const INSET: i32 = 16;
/// Maximum number of tunnels that the tooltip of a line names.
const TIPS: usize = 8;

/// The tunnels with an end in a cloud, with the gateways here and in the other cloud.
fn ends(all: &Topology, home: Home) -> impl Iterator<Item = (&Tunnel, &Gateway, &Gateway)> {
    all.tunnels.values().filter_map(move |tunnel| {
        let (left, right) = (all.gateways.get(&tunnel.left)?, all.gateways.get(&tunnel.right)?);
        let (here, there) = if left.head.home == home { (left, right) } else { (right, left) };
        (here.head.home == home && there.head.home != home).then_some((tunnel, here, there))
    })
}

/// The clouds that a cloud is linked to.
fn others(all: &Topology, home: Home) -> BTreeSet<Home> {
    ends(all, home).map(|(_, _, there)| there.head.home).collect()
}

/// Room for the lines below a cloud.
pub(crate) fn below(all: &Topology, home: Home) -> i32 {
    LANE * i32::try_from(others(all, home).len()).unwrap_or_default()
}

/// Places the node of a cloud in its middle.
pub(crate) fn place(
    cards: &Cards<'_>,
    home: Home,
    units: &mut Vec<Unit>,
    centre: &mut Vec<usize>,
) -> Option<usize> {
    let all = cards.index.all;
    let others: Vec<String> = others(all, home).iter().map(ToString::to_string).collect();
    if others.is_empty() {
        return None;
    }
    let mut block = node(cards, "VPN", &format!("to {}", others.join(", ")), Change::Keep, PORT);
    let beside = overlay::port(cards, home).map_or(0, |port| port.rect.w);
    block.rect.w = block.rect.w.max(beside + 2 * (INSET + below(all, home)));
    units.push(Unit::new(block));
    centre.push(units.len() - 1);
    centre.last().copied()
}

/// The links of networks and transit gateways to the node of their cloud.
pub(crate) fn net(all: &Topology, home: Home, root: usize, place: &BTreeMap<Key, usize>) -> Net {
    let mut net = Net::new(LinkKind::Vpn, root);
    for (tunnel, here, there) in ends(all, home) {
        let key = here.network.as_ref().unwrap_or(&here.head.key);
        if let Some(&at) = place.get(key) {
            net.push(at, tunnel.head.change, (PORT, key), &tip(tunnel, there));
        }
    }
    net
}

fn tip(tunnel: &Tunnel, there: &Gateway) -> String {
    format!("{}: VPN to {} of {}", tunnel.head.key, there.head.name, there.head.home)
}

/// The links between the nodes of two clouds, at the right of `right`. Returns the right end of them.
pub(crate) fn links(all: &Topology, blocks: &[Block], mut right: i32, lines: &mut Vec<Line>) -> i32 {
    let nets = (lines.len() + 1) * 1000;
    let mut used: BTreeMap<Home, i32> = BTreeMap::new();
    let pairs =
        Home::ALL.iter().flat_map(|one| others(all, *one).into_iter().map(move |other| (*one, other)));
    for (number, (one, other)) in pairs.filter(|(one, other)| one < other).enumerate() {
        let between: Vec<_> = ends(all, one).filter(|(.., there)| there.head.home == other).collect();
        let change = common(between.iter().map(|(tunnel, ..)| tunnel.head.change));
        let tips: Vec<String> =
            between.iter().map(|(tunnel, _, there)| tip(tunnel, there)).take(TIPS).collect();
        let mut stubs = Vec::new();
        for home in [one, other] {
            let Some(cloud) = blocks.iter().find(|block| block.key == format!("cloud:{home}")) else {
                continue;
            };
            let Some(port) = cloud.inner.iter().find(|block| block.key == PORT) else { continue };
            let lane = used.entry(home).or_default();
            let x = port.rect.x + INSET + LANE * *lane;
            *lane += 1;
            stubs.push(((x, port.rect.bottom()), (x, cloud.rect.bottom() + 10 + LANE * *lane), &cloud.key));
        }
        let [(from, under, left), (to, end, far)] = stubs.as_slice() else { continue };
        right += if number == 0 { BESIDE } else { LANE };
        let mut line = |points: Vec<(i32, i32)>, at_node: bool| {
            let ends = at_node.then(|| ((*left).clone(), (*far).clone()));
            let tip = if at_node { tips.join("\n") } else { String::new() };
            lines.push(Line { kind: LinkKind::Vpn, net: nets + number, change, points, ends, tip });
        };
        line(vec![*under, (right, under.1), (right, end.1), *end], false);
        line(vec![*from, *under], true);
        line(vec![*to, *end], true);
    }
    right
}
