//! Links between boxes.

use crate::card::visible;
use crate::index::{Index, common};
use crate::route::{Net, Terminal};
use crate::scene::LinkKind;
use std::collections::BTreeMap;
use warren_model::topology::{Change, EndpointKind, GatewayKind, Home, Key};

/// The links of a cloud as nets. All attachments of a transit gateway are one net, as are the peerings of a hub.
pub(crate) fn nets(
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
        for managed in index.loose.iter().filter(|it| it.head.home == home && it.public) {
            let key = &managed.head.key;
            if let Some(&at) = place.get(key) {
                net.push(at, managed.head.change, ("internet", key), key);
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
            let tip = format!("{}: peering {}", peering.head.key, peering.head.name);
            net.push(other, peering.head.change, (a, b), &tip);
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
        let tip = tip.lines().map(visible).collect::<Vec<_>>().join("\n");
        match self.terminals.iter_mut().find(|terminal| terminal.at == at) {
            Some(terminal) if at != self.root => {
                // One line represents several objects.
                terminal.change = common([terminal.change, change]);
                if terminal.tips < 8 {
                    terminal.tip.push('\n');
                    terminal.tip.push_str(&tip);
                }
                terminal.tips += 1;
            }
            Some(_) => {}
            None => {
                let ends = Some((ends.0.to_owned(), ends.1.to_owned()));
                self.terminals.push(Terminal { at, change, ends, tip, tips: 1 });
            }
        }
    }
}
