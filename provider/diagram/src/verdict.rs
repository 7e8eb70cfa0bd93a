//! Marks of what a check found: overlaps at both places, lines between them, and forbidden paths.

use crate::card::{Cards, Words, visible};
use crate::index::Index;
use crate::route::Net;
use crate::scene::{Block, BoxKind, LinkKind, Style};
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, GatewayKind, Home, Key, Topology};
use warren_model::verdict::{Overlap, Path, Side, Verdict};

/// Maximum number of findings in the list; the rest are counted.
const ROWS: usize = 60;
/// Maximum number of lines in one cloud. Findings beyond it have their number at both places only.
const LINES: usize = 60;
const PAD: i32 = 18;

/// The findings by the objects that they are about.
pub(crate) struct Marks<'a> {
    verdict: &'a Verdict,
    /// By key: the other side of each overlap.
    others: BTreeMap<&'a str, Vec<Other<'a>>>,
    /// By key: the numbers of forbidden paths.
    on_path: BTreeMap<&'a str, Vec<usize>>,
}

/// The other side of the overlaps of an object.
pub(crate) struct Other<'a> {
    /// The numbers of the findings.
    pub(crate) numbers: Vec<usize>,
    pub(crate) side: &'a Side,
}

impl<'a> Marks<'a> {
    /// Findings have the numbers of the list: forbidden paths first, then overlaps.
    pub(crate) fn new(verdict: &'a Verdict) -> Self {
        let mut others: BTreeMap<&str, Vec<Other<'_>>> = BTreeMap::new();
        for (at, Overlap { sides: [left, right], .. }) in verdict.overlaps.iter().enumerate() {
            let number = verdict.paths.len() + at + 1;
            for (own, side) in [(left, right), (right, left)] {
                let list = others.entry(own.address()).or_default();
                // Several ranges of one object may overlap the same range.
                match list.iter_mut().find(|other| other.side == side) {
                    Some(other) => other.numbers.push(number),
                    None => list.push(Other { numbers: vec![number], side }),
                }
            }
        }
        let mut on_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, path) in verdict.paths.iter().enumerate() {
            let keys: BTreeSet<&str> = path.hops.iter().map(|(key, _)| key.as_str()).collect();
            keys.into_iter()
                .filter(|key| !key.is_empty())
                .for_each(|key| on_path.entry(key).or_default().push(at + 1));
        }
        Self { verdict, others, on_path }
    }

    /// The overlaps.
    pub(crate) fn overlaps(&self) -> &'a [Overlap] {
        &self.verdict.overlaps
    }

    /// The other sides of the overlaps of an object.
    pub(crate) fn others(&self, key: &str) -> &[Other<'a>] {
        self.others.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The numbers of the forbidden paths that an object is on.
    pub(crate) fn paths(&self, key: &str) -> &[usize] {
        self.on_path.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The numbers of all findings about an object.
    pub(crate) fn numbers(&self, key: &str) -> Vec<usize> {
        let overlaps = self.others(key).iter().flat_map(|other| &other.numbers);
        let mut numbers: Vec<usize> = self.paths(key).iter().chain(overlaps).copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Whether the object overlaps another or is on a forbidden path.
    pub(crate) fn marks(&self, key: &str) -> bool {
        self.others.contains_key(key) || self.on_path.contains_key(key)
    }

    /// Whether two objects overlap each other.
    pub(crate) fn between(&self, left: &str, right: &str) -> bool {
        self.others(left).iter().any(|other| other.side.address() == right)
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
        let Verdict { overlaps, paths, .. } = self.verdict;
        if self.verdict.is_empty() {
            return None;
        }
        let all = cards.index.all;
        let mut block = Block::new(BoxKind::Cloud, "findings", Change::Keep);
        cards.write(&mut block, &Words::new("Findings", 15, Style::Strong).alert(), PAD, 28, 300);
        let mut y = 40;
        let paths = paths.iter().map(|path| (path.message.clone(), steps(path), keys(path)));
        let overlaps = overlaps.iter().map(|overlap| {
            let keys = overlap.sides.iter().map(|side| side.address().to_owned()).collect();
            // Names of any length leave room for the ranges.
            let fit = |name: &str| cards.ruler.fit(&visible(name), 12, false, width - 2 * PAD - 60);
            (sentence_with(all, overlap, &fit), Vec::new(), keys)
        });
        let shown = (self.verdict.overlaps.len() + self.verdict.paths.len()).min(ROWS);
        let widest = cards.mark_width(&[shown]).max(cards.mark_width(&[shown.min(88)]));
        for (at, (text, more, keys)) in paths.chain(overlaps).take(ROWS).enumerate() {
            let mut row = Block::new(BoxKind::Finding, "", Change::Keep);
            row.refs = keys;
            cards.mark(&mut row, &[at + 1], 8, 20);
            let x = 8 + widest;
            let room = width - 2 * PAD - 8 - x;
            let mut bottom = 4;
            for line in cards.ruler.wrap(&visible(&text), 12, room) {
                bottom += 16;
                let words = Words::new(&line, 12, Style::Plain).alert();
                cards.write(&mut row, &words, x, bottom, room);
            }
            for line in more.iter().flat_map(|step| cards.ruler.wrap(&visible(step), 11, room)) {
                bottom += 15;
                let words = Words::new(&line, 11, Style::Muted);
                cards.write(&mut row, &words, x, bottom, room);
            }
            let lines: Vec<String> = std::iter::once(&text).chain(&more).map(|line| visible(line)).collect();
            row.tip = lines.join("\n");
            row.rect = crate::scene::Rect { x: 0, y: 0, w: width - 2 * PAD, h: bottom + 7 };
            row.shift(PAD, y);
            y = row.rect.bottom() + 4;
            block.inner.push(row);
        }
        let all = self.verdict.overlaps.len() + self.verdict.paths.len();
        let rest = all.saturating_sub(ROWS) + self.verdict.omitted;
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
    sentence_with(all, overlap, &str::to_owned)
}

/// The sentence with the names as `fit` writes them.
fn sentence_with(all: &Topology, overlap: &Overlap, fit: &dyn Fn(&str) -> String) -> String {
    let [left, right] = &overlap.sides;
    let note = if overlap.warning { " (warning)" } else { "" };
    let [one, other] = [left, right].map(|side| fit(&name(all, side)));
    format!("{} of {one} overlaps {} of {other}{note}", left.net, right.net)
}

/// Numbers as runs: `1–3, 7`. Beyond a few runs, the rest are left out.
pub(crate) fn runs(numbers: &[usize]) -> String {
    const RUNS: usize = 6;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let more = if runs.len() > RUNS { ", …" } else { "" };
    let texts = runs.iter().take(RUNS).map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    });
    texts.collect::<Vec<_>>().join(", ") + more
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
    steps(path).join(" › ")
}

/// The hops of a path, each with its number: `1. subnet a`.
fn steps(path: &Path) -> Vec<String> {
    let texts = path.hops.iter().map(|(_, text)| text).filter(|text| !text.is_empty());
    texts.enumerate().map(|(at, text)| format!("{}. {text}", at + 1)).collect()
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
