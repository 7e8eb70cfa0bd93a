//! Layout: the clouds below each other, the overlay between them, the title at the top and the legend at the bottom.

use crate::Options;
use crate::beyond::Beyond;
use crate::card::{Cards, Words, count, visible};
use crate::cloud::cloud;
use crate::detail::Detail;
use crate::index::Index;
use crate::overlay;
use crate::scene::{Block, BoxKind, LinkKind, Sample, Scene, Style};
use crate::text::Ruler;
use crate::unattached;
use crate::verdict::Marks;
use std::collections::{BTreeMap, BTreeSet};
use warren_model::topology::{Change, Home, Topology};

const FULL_UP_TO: usize = 40;
const COMPACT_UP_TO: usize = 400;
const MARGIN: i32 = 24;

/// Lays out a topology.
pub(crate) fn arrange(all: &Topology, title: &str, changes: bool, options: &Options) -> Scene {
    let index = Index::new(all);
    let ruler = Ruler;
    let marks = Marks::new(&options.verdict);
    let cards = Cards { index: &index, ruler: &ruler, marks: &marks };
    let beyond = Beyond::new(all, &marks);
    let detail = match (options.detail, all.networks.len()) {
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
    let clouds: Vec<_> = Home::ALL
        .into_iter()
        .map(|home| (home, cloud(&cards, &beyond, home, detail)))
        .filter_map(|(home, found)| found.map(|(cloud, lines)| (home, cloud, lines)))
        .collect();
    let widest = clouds.iter().map(|(_, cloud, _)| cloud.rect.w).max().unwrap_or_default();
    // Clouds of rented pods are below the overlay, which connects them to the clouds above.
    let mut overlay = overlay::block(&cards, widest.max(460 - MARGIN));
    let mut joined = None;
    let mut y = 84;
    let mut right = 460;
    for (home, mut cloud, mut lines) in clouds {
        if home.rents_pods() {
            joined = joined.or(put_overlay(&mut scene, &mut overlay, &mut y));
        }
        cloud.shift(MARGIN, y);
        for line in &mut lines {
            line.points.iter_mut().for_each(|point| *point = (point.0 + MARGIN, point.1 + y));
            // Nets are numbered separately in each cloud.
            line.net += scene.lines.len() * 1000;
        }
        y = cloud.rect.bottom() + 20 + beyond.below(home);
        scene.blocks.push(cloud);
        scene.lines.append(&mut lines);
    }
    joined = joined.or(put_overlay(&mut scene, &mut overlay, &mut y));
    right = scene.blocks.iter().map(|block| block.rect.right()).fold(right, i32::max);
    if let Some(at) = joined {
        let nets = (scene.lines.len() + 1) * 1000;
        right = right.max(overlay::links(&cards, &scene.blocks, at, nets, &mut scene.lines));
    }
    right = beyond.links(&scene.blocks, right, &mut scene.lines);
    scene.w = right + MARGIN;
    if let Some(mut list) = marks.list(&cards, widest.max(460 - MARGIN)) {
        list.shift(MARGIN, y);
        y = list.rect.bottom() + 20;
        scene.w = scene.w.max(list.rect.right() + MARGIN);
        scene.blocks.push(list);
    }
    head(&cards, &mut scene, all, changes);
    scene.h = legend(&cards, &mut scene, y, changes) + 16;
    scene
}

/// Places the box of the overlays below the existing blocks. Returns its index.
fn put_overlay(scene: &mut Scene, overlay: &mut Option<Block>, y: &mut i32) -> Option<usize> {
    let mut block = overlay.take()?;
    block.shift(MARGIN, *y);
    *y = block.rect.bottom() + 20;
    scene.blocks.push(block);
    Some(scene.blocks.len() - 1)
}

/// The title, and one line with the number of objects and changes.
fn head(cards: &Cards<'_>, scene: &mut Scene, all: &Topology, changes: bool) {
    let title = Words::new(&scene.title, 20, Style::Strong);
    let title = cards.label(&title, MARGIN, 42, scene.w.max(600) - 2 * MARGIN);
    let networks = all.networks.values().filter(|network| !network.head.external).count();
    let mut words = vec![count(networks, "network"), count(all.subnets.len(), "subnet")];
    words.extend(unattached::words(all));
    let kinds = words.len();
    let mut counts: BTreeMap<Change, usize> = BTreeMap::new();
    all.heads().for_each(|head| *counts.entry(head.change).or_default() += 1);
    if changes {
        for change in Change::ALL {
            if let Some(number) = counts.get(&change).filter(|_| change != Change::Keep) {
                words.push(format!("{} {number} to {}", change.sign(), change.word()));
            }
        }
        if words.len() == kinds {
            words.push("no changes".to_owned());
        }
    }
    let about = words.join("   ·   ");
    let about = cards.label(&Words::new(&about, 13, Style::Muted), MARGIN, 65, 900);
    scene.w = scene.w.max(title.rect().right() + MARGIN).max(about.rect().right() + MARGIN);
    scene.labels.extend([title, about]);
}

/// The legend, with only the signs that occur. Returns its bottom.
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
