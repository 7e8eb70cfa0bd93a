//! Many networks with similar names in one box, with a tile for each.

use crate::card::{COMPACT, Cards, Words, count};
use crate::index::common;
use crate::scene::{Block, BoxKind, Rect, Style, TILE};
use std::collections::BTreeMap;
use warren_model::topology::{Change, Network};

/// Maximum number of groups by name. Beyond that, networks are grouped with their neighbours.
const GROUPS: usize = 60;
/// Maximum number of networks in one box.
const LARGE: usize = 240;

/// Groups networks whose names differ only in numbers, and splits large groups. If that leaves too many groups, groups
/// neighbours by name.
pub(crate) fn group<'a>(networks: &[&'a Network]) -> Vec<(String, Vec<&'a Network>)> {
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
        // The members are already in natural order.
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

/// Sort key of a name in natural order: numbers by their value.
pub(crate) fn natural(name: &str) -> Vec<(u64, String)> {
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

/// A name with each number replaced by a star.
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

/// The box of a group.
pub(crate) fn card(cards: &Cards<'_>, name: &str, members: &[&Network]) -> Block {
    if let [only] = members {
        return cards.compact(only);
    }
    let changes = members.iter().map(|network| network.head.change);
    let key = format!("group:{name}");
    let overlapping = members.iter().filter(|network| !cards.marks.others(&network.head.key).is_empty());
    let overlapping = overlapping.count();
    let numbers = members.iter().flat_map(|network| cards.marks.numbers(&network.head.key));
    let numbers: Vec<usize> = numbers.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    let mut block = Block::new(BoxKind::Group, &key, common(changes.clone()));
    if block.change == Change::Update && !changes.clone().all(|change| change == Change::Update) {
        // The tiles show the changes; the frame of a mixed group stays neutral.
        block.change = Change::Keep;
    }
    let badge = if block.change == Change::Keep { 0 } else { 26 };
    let mut ranges: Vec<_> = members.iter().flat_map(|network| network.ranges.iter()).collect();
    ranges.sort();
    let span = match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => format!("{} – {}", first.network(), last.broadcast()),
        _ => "ranges known after apply".to_owned(),
    };
    let marked = if overlapping > 0 { cards.mark_width(&numbers) + 150 } else { 0 };
    let width = COMPACT.max(cards.ruler.width(&span, 11, false).max(marked) + 24);
    let room = width - 24;
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
    cards.write(&mut block, &Words::new(&span, 11, Style::Muted), 12, top, room);
    if overlapping > 0 {
        top += 16;
        let text = format!("overlaps: {}", count(overlapping, "network"));
        let w = cards.mark(&mut block, &numbers, 12, top);
        cards.write(&mut block, &Words::new(&text, 11, Style::Strong).alert(), 12 + w, top, room - w);
        block.alert = true;
    }
    let step = TILE + 2;
    let (mut x, mut y) = (12, top + 11);
    for network in members {
        if x + TILE > width - 12 {
            x = 12;
            y += step;
        }
        block.tiles.push((x, y, network.head.change));
        x += step;
    }
    block.tip = format!("{}\n{span}", count(members.len(), "network"));
    block.rect = Rect { x: 0, y: 0, w: width, h: y + step + 8 };
    block
}
