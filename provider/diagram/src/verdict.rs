//! Marks of what a check found: overlaps at both places, lines between them, and forbidden paths.

use crate::card::{Cards, Words, visible};
use crate::index::Index;
use crate::route::Net;
use crate::scene::{Block, BoxKind, LinkKind, Style};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use warren_model::topology::{Change, GatewayKind, Home, Key, Topology};
use warren_model::verdict::{Overlap, Path, Side, Verdict};

/// Maximum number of findings in the list, and of lines in one cloud; the rest are counted.
const ROWS: usize = 24;
const LINES: usize = 24;
const PAD: i32 = 18;

/// The findings by the objects that they are about.
pub(crate) struct Marks<'a> {
    verdict: &'a Verdict,
    /// By key: the other side of each overlap.
    others: BTreeMap<&'a str, Vec<&'a Side>>,
    on_path: BTreeSet<&'a str>,
}

impl<'a> Marks<'a> {
    pub(crate) fn new(verdict: &'a Verdict) -> Self {
        let mut others: BTreeMap<&str, Vec<&Side>> = BTreeMap::new();
        for Overlap { sides: [left, right], .. } in &verdict.overlaps {
            for (own, other) in [(left, right), (right, left)] {
                let list = others.entry(own.address()).or_default();
                // Several ranges of one object may overlap the same range.
                if !list.contains(&other) {
                    list.push(other);
                }
            }
        }
        let on_path = verdict.paths.iter().flat_map(|path| path.hops.iter().map(|(key, _)| key.as_str()));
        Self { verdict, others, on_path: on_path.collect() }
    }

    /// The other sides of the overlaps of an object.
    pub(crate) fn others(&self, key: &str) -> &[&'a Side] {
        self.others.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the object overlaps another or is on a forbidden path.
    pub(crate) fn marks(&self, key: &str) -> bool {
        self.others.contains_key(key) || self.on_path.contains(key)
    }

    /// Whether two objects overlap each other.
    pub(crate) fn between(&self, left: &str, right: &str) -> bool {
        self.others(left).iter().any(|other| other.address() == right)
    }

    /// The lines of one cloud: between the networks of each overlap, and along each forbidden path.
    pub(crate) fn nets(
        &self,
        index: &Index<'_>,
        home: Home,
        place: &BTreeMap<Key, usize>,
        shared: &[(&str, Option<usize>)],
    ) -> Vec<Net> {
        let unit = |key: &str| match shared.iter().find(|(name, _)| *name == key) {
            Some((_, at)) => *at,
            None => at(index.all, home, key, place),
        };
        let mut found: BTreeMap<(LinkKind, usize, usize), Net> = BTreeMap::new();
        let mut add = |kind: LinkKind, left: &str, right: &str, tip: &str| {
            let (Some(from), Some(to)) = (unit(left), unit(right)) else { return };
            if from == to || (found.len() >= LINES && !found.contains_key(&(kind, from, to))) {
                return;
            }
            let net = found.entry((kind, from, to)).or_insert_with(|| Net::new(kind, from));
            net.push(to, Change::Keep, (left, right), tip);
        };
        for overlap in &self.verdict.overlaps {
            let [left, right] = &overlap.sides;
            let tip = sentence(index.all, overlap);
            add(LinkKind::Clash, left.address(), right.address(), &tip);
        }
        for path in &self.verdict.paths {
            // Objects without a box of their own cloud, such as records, are passed over.
            let mut last: Option<&str> = None;
            for (key, text) in path.hops.iter().filter(|(key, _)| unit(key).is_some()) {
                if let Some(last) = last {
                    add(LinkKind::Forbidden, last, key, &format!("{}\n{text}", path.message));
                }
                last = Some(key);
            }
        }
        found.into_values().collect()
    }

    /// The list of findings, at the origin.
    pub(crate) fn list(&self, cards: &Cards<'_>, width: i32) -> Option<Block> {
        let Verdict { overlaps, paths } = self.verdict;
        if self.verdict.is_empty() {
            return None;
        }
        let all = cards.index.all;
        let mut block = Block::new(BoxKind::Cloud, "findings", Change::Keep);
        cards.write(&mut block, &Words::new("Findings", 15, Style::Strong).alert(), PAD, 28, 300);
        let mut y = 40;
        let paths = paths.iter().map(|path| (path.message.clone(), hops(path), keys(path)));
        let overlaps = overlaps.iter().map(|overlap| {
            let keys = overlap.sides.iter().map(|side| side.address().to_owned()).collect();
            (sentence(all, overlap), String::new(), keys)
        });
        for (text, more, keys) in paths.chain(overlaps).take(ROWS) {
            let mut row = Block::new(BoxKind::Finding, "", Change::Keep);
            row.refs = keys;
            let mut bottom = 4;
            for line in cards.ruler.wrap(&visible(&text), 12, width - 2 * PAD - 16) {
                bottom += 16;
                let words = Words::new(&line, 12, Style::Plain).alert();
                cards.write(&mut row, &words, 8, bottom, width - 2 * PAD - 16);
            }
            if !more.is_empty() {
                for line in cards.ruler.wrap(&visible(&more), 11, width - 2 * PAD - 16) {
                    bottom += 15;
                    let words = Words::new(&line, 11, Style::Muted);
                    cards.write(&mut row, &words, 8, bottom, width - 2 * PAD - 16);
                }
            }
            row.tip = format!("{}\n{}", visible(&text), visible(&more));
            row.rect = crate::scene::Rect { x: 0, y: 0, w: width - 2 * PAD, h: bottom + 7 };
            row.shift(PAD, y);
            y = row.rect.bottom() + 4;
            block.inner.push(row);
        }
        let rest = (self.verdict.overlaps.len() + self.verdict.paths.len()).saturating_sub(ROWS);
        if rest > 0 {
            let more = format!("and {rest} more");
            cards.write(&mut block, &Words::new(&more, 12, Style::Muted), PAD + 8, y + 14, width - 2 * PAD);
            y += 22;
        }
        block.rect = crate::scene::Rect { x: 0, y: 0, w: width, h: y + 10 };
        Some(block)
    }
}

/// `10.30.0.0/16 of dev overlaps 10.30.0.0/16 of prod`.
pub(crate) fn sentence(all: &Topology, overlap: &Overlap) -> String {
    let [left, right] = &overlap.sides;
    let note = if overlap.warning { " (warning)" } else { "" };
    format!("{} of {} overlaps {} of {}{note}", left.net, name(all, left), right.net, name(all, right))
}

/// Name of the object of a side, with that of its network and of its secondary range.
pub(crate) fn name(all: &Topology, side: &Side) -> String {
    let address = side.address();
    let part = &side.name[address.len()..];
    let network = all.subnets.get(address).and_then(|subnet| subnet.network.as_deref());
    let of = network.map_or(String::new(), |network| format!(" of {}", all.name(network)));
    format!("{}{part}{of}", all.name(address))
}

/// The hops of a path in one text: `1. subnet a › 2. route table b`.
pub(crate) fn hops(path: &Path) -> String {
    let texts = path.hops.iter().map(|(_, text)| text).filter(|text| !text.is_empty());
    let mut out = String::new();
    for (at, text) in texts.enumerate() {
        let _ = write!(out, "{}{}. {text}", if at == 0 { "" } else { " › " }, at + 1);
    }
    out
}

fn keys(path: &Path) -> Vec<Key> {
    path.hops.iter().map(|(key, _)| key.clone()).collect()
}

/// The box in a cloud that an object is drawn in.
fn at(all: &Topology, home: Home, key: &str, place: &BTreeMap<Key, usize>) -> Option<usize> {
    let of_subnet = |key: &Key| all.subnets.get(key)?.network.clone();
    let owner = || -> Option<Key> {
        if let Some(subnet) = all.subnets.get(key) {
            return subnet.network.clone();
        }
        if let Some(gateway) = all.gateways.get(key).filter(|it| it.kind != GatewayKind::Transit) {
            return gateway.network.clone().or_else(|| of_subnet(gateway.subnet.as_ref()?));
        }
        if let Some(endpoint) = all.endpoints.get(key) {
            return endpoint.network.clone().or_else(|| of_subnet(endpoint.subnets.first()?));
        }
        if let Some(host) = all.hosts.get(key) {
            return host.subnet.as_ref().and_then(of_subnet);
        }
        all.tables.get(key)?.network.clone()
    };
    let found = owner().unwrap_or_else(|| key.to_owned());
    let here = all.networks.get(&found).is_none_or(|network| network.head.home == home);
    place.get(&found).copied().filter(|_| here)
}
