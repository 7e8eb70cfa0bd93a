//! Boxes of networks, in three levels of detail.

use crate::index::Index;
use crate::scene::{Block, BoxKind, Label, MARK, Rect, Style};
use crate::text::Ruler;
use crate::unattached::is_box;
use crate::verdict::{Marks, Other, name, runs};
use ipnet::IpNet;
use warren_model::topology::{Change, Managed, ManagedKind, Network, Subnet};

/// Width of a network's box with all its subnets.
pub(crate) const FULL: i32 = 352;
/// Width of a network's box without its subnets.
pub(crate) const COMPACT: i32 = 248;
const PAD: i32 = 12;
/// Minimum width of a name beside a range.
pub(crate) const NAME: i32 = 70;
/// Maximum number of small boxes of one network or subnet; the rest are counted.
const CHIPS: usize = 12;
/// Maximum number of peerings of a network without its subnets; the rest are counted.
const PEERINGS: usize = 3;
/// Maximum number of overlaps of one box; the rest are counted.
const ALERTS: usize = 3;
/// Maximum number of subnets of one network.
const SUBNETS: usize = 40;

/// Builds boxes.
pub(crate) struct Cards<'a> {
    pub(crate) index: &'a Index<'a>,
    pub(crate) ruler: &'a Ruler,
    pub(crate) marks: &'a Marks<'a>,
}

/// A small box: text, change, key, and tooltip.
pub(crate) type Chip = (String, Change, String, String);

/// A text to place.
pub(crate) struct Words<'t> {
    pub(crate) text: &'t str,
    pub(crate) size: i32,
    pub(crate) style: Style,
    pub(crate) change: Change,
    pub(crate) struck: bool,
    pub(crate) alert: bool,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t str, size: i32, style: Style) -> Self {
        Self { text, size, style, change: Change::Keep, struck: false, alert: false }
    }

    pub(crate) fn change(mut self, change: Change) -> Self {
        self.change = change;
        self.struck = change == Change::Delete;
        self
    }

    /// In the colour of findings.
    pub(crate) fn alert(mut self) -> Self {
        self.alert = true;
        self
    }

    pub(crate) fn struck(mut self) -> Self {
        self.struck = true;
        self
    }
}

impl Cards<'_> {
    /// Places a text at `x`, shortened to `room`. Returns its width.
    pub(crate) fn write(&self, block: &mut Block, words: &Words<'_>, x: i32, y: i32, room: i32) -> i32 {
        let label = self.label(words, x, y, room);
        let w = label.w;
        if !label.text.is_empty() {
            block.labels.push(label);
        }
        w
    }

    pub(crate) fn label(&self, words: &Words<'_>, x: i32, y: i32, room: i32) -> Label {
        let strong = words.style == Style::Strong;
        let whole = visible(words.text);
        let text = self.ruler.fit(&whole, words.size, strong, room);
        let w = self.ruler.width(&text, words.size, strong);
        let whole = (whole != text).then_some(whole);
        let (size, style, change, struck) = (words.size, words.style, words.change, words.struck);
        Label {
            x,
            y,
            w,
            end: false,
            size,
            style,
            text,
            whole,
            change,
            struck,
            alert: words.alert,
            mark: false,
        }
    }

    /// Places the number of a finding, or several of them, at `x`. Returns its width with a gap after it.
    pub(crate) fn mark(&self, block: &mut Block, numbers: &[usize], x: i32, y: i32) -> i32 {
        let text = runs(numbers);
        let mut label = self.label(&Words::new(&text, 11, Style::Strong), x + MARK.0, y, i32::MAX);
        label.mark = true;
        let w = label.w + 2 * MARK.0;
        block.labels.push(label);
        w + 6
    }

    /// Width of [`Self::mark`].
    pub(crate) fn mark_width(&self, numbers: &[usize]) -> i32 {
        self.ruler.width(&runs(numbers), 11, true) + 2 * MARK.0 + 6
    }

    /// As many ranges as fit, but at least one, and the number of the others. No range is shortened.
    pub(crate) fn list(&self, ranges: &[IpNet], size: i32, strong: bool, room: i32) -> String {
        let mut shown = ranges.len().min(20);
        loop {
            let more = ranges.len() - shown;
            let text = join(&ranges[..shown]);
            let text = if more == 0 { text } else { format!("{text} +{more}") };
            if shown <= 1 || self.ruler.width(&text, size, strong) <= room {
                return text;
            }
            shown -= 1;
        }
    }

    /// Width of the shortest form of a list of ranges.
    pub(crate) fn least(&self, ranges: &[IpNet], size: i32, strong: bool) -> i32 {
        self.ruler.width(&self.list(ranges, size, strong, 0), size, strong)
    }

    /// Places a text that ends at `right`.
    pub(crate) fn write_right(
        &self,
        block: &mut Block,
        words: &Words<'_>,
        right: i32,
        y: i32,
        room: i32,
    ) -> i32 {
        let mut label = self.label(words, 0, y, room);
        label.x = right - label.w;
        label.end = true;
        let w = label.w;
        if !label.text.is_empty() {
            block.labels.push(label);
        }
        w
    }

    /// Name, ranges and overlaps. The renderer draws the sign of a change at the top right. Returns the height of the
    /// overlaps.
    fn head(&self, block: &mut Block, network: &Network, width: i32) -> i32 {
        let badge = if network.head.change == Change::Keep { 0 } else { 26 };
        let name = Words::new(&network.head.name, 14, Style::Strong).change(network.head.change);
        self.write(block, &name, PAD, 23, width - 2 * PAD - badge);
        let mut x = PAD;
        let room = width - 2 * PAD;
        if network.was.is_empty() {
            let ranges = self.ranges(network, false, room);
            self.write(block, &Words::new(&ranges, 12, Style::Muted), x, 41, room);
        } else {
            // Both ranges, the old one struck out: a reviewer must not miss a renumbered network.
            let ranges = self.ranges(network, true, room - self.least(&network.was, 12, false) - 8);
            let now = Words::new(&ranges, 12, Style::Strong).change(Change::Replace);
            x += self.write(block, &now, x, 41, room) + 8;
            let was = self.list(&network.was, 12, false, PAD + room - x);
            self.write(block, &Words::new(&was, 12, Style::Muted).struck(), x, 41, PAD + room - x);
        }
        self.alerts(block, &network.head.key, PAD, 41, room) - 41
    }

    /// Marks an object that a check found something about, with one line below `y` for each overlap and one for all
    /// forbidden paths. Each begins with the numbers of its findings. Returns the base of the last line.
    pub(crate) fn alerts(&self, block: &mut Block, key: &str, x: i32, mut y: i32, room: i32) -> i32 {
        block.alert = self.marks.marks(key);
        let mut line = |numbers: &[usize], text: &str| {
            y += 16;
            let w = self.mark(block, numbers, x, y);
            self.write(block, &Words::new(text, 11, Style::Strong).alert(), x + w, y, room - w);
        };
        let others = self.marks.others(key);
        for Other { numbers, side } in others.iter().take(ALERTS) {
            let start = format!("overlaps {} of ", side.net);
            let rest = room - self.mark_width(numbers) - self.ruler.width(&start, 11, true);
            line(numbers, &format!("{start}{}", self.ruler.fit(&name(self.index.all, side), 11, true, rest)));
        }
        if others.len() > ALERTS {
            let numbers: Vec<usize> = others[ALERTS..].iter().flat_map(|it| it.numbers.clone()).collect();
            line(&numbers, &format!("{} more overlaps", others.len() - ALERTS));
        }
        let paths = self.marks.paths(key);
        if !paths.is_empty() {
            line(paths, if paths.len() == 1 { "forbidden path" } else { "forbidden paths" });
        }
        y
    }

    /// Width in which the numbers and ranges of the findings of an object fit.
    pub(crate) fn alert_width(&self, key: &str) -> i32 {
        let all = self.marks.others(key);
        let each = all.iter().take(ALERTS).map(|Other { numbers, side }| {
            self.mark_width(numbers)
                + self.ruler.width(&format!("overlaps {} of ", side.net), 11, true)
                + NAME
        });
        let more: Vec<usize> = all.iter().skip(ALERTS).flat_map(|it| it.numbers.clone()).collect();
        let more = if more.is_empty() { 0 } else { self.mark_width(&more) + 2 * NAME };
        let paths = self.marks.paths(key);
        let paths = if paths.is_empty() { 0 } else { self.mark_width(paths) + 2 * NAME };
        each.max().unwrap_or_default().max(more).max(paths)
    }

    /// Width of a network's box in which its ranges fit.
    fn head_width(&self, network: &Network) -> i32 {
        let was = network.was.as_slice();
        let before = if was.is_empty() { 0 } else { self.least(was, 12, false) + 8 };
        let now = self.ruler.width(&self.ranges(network, !was.is_empty(), 0), 12, !was.is_empty());
        (now + before).max(self.alert_width(&network.head.key)) + 2 * PAD
    }

    /// Ranges and region of a network. The region is left out before a range is.
    fn ranges(&self, network: &Network, strong: bool, room: i32) -> String {
        let mut text = self.list(&network.ranges, 12, strong, room);
        if text.is_empty() {
            text = if is_box(network) {
                "the plan does not show it".to_owned()
            } else if network.head.external {
                "managed elsewhere".to_owned()
            } else if network.complete {
                "ranges in its subnets".to_owned()
            } else {
                "range known after apply".to_owned()
            };
        }
        match &network.region {
            Some(region) => {
                let both = format!("{text} · {region}");
                if self.ruler.width(&both, 12, strong) <= room { both } else { text }
            }
            None => text,
        }
    }

    /// A network with its subnets, their routes and the objects in them.
    pub(crate) fn full(&self, network: &Network) -> Block {
        let key = network.head.key.as_str();
        let subnets = self.index.subnets.get(key).map(Vec::as_slice).unwrap_or_default();
        let columns = match subnets.len() {
            0..=6 => 1,
            7..=16 => 2,
            _ => 3,
        };
        let least = subnets.iter().take(SUBNETS).map(|subnet| self.subnet_width(subnet)).max();
        let inner = (FULL - 2 * PAD).max(least.unwrap_or_default());
        let frame = (columns - 1) * 10 + 2 * PAD;
        let inner = inner.max((self.head_width(network) - frame + columns - 1) / columns);
        let width = columns * inner + frame;
        let mut block = Block::new(BoxKind::Network, key, network.head.change);
        block.external = network.head.external;
        block.tip = self.tip(network);
        let top = 54 + self.head(&mut block, network, width);
        let mut bottoms = vec![top; usize::try_from(columns).unwrap_or(1)];
        for subnet in subnets.iter().take(SUBNETS) {
            let (column, top) = bottoms
                .iter()
                .enumerate()
                .min_by_key(|(_, bottom)| **bottom)
                .map_or((0, top), |(at, y)| (at, *y));
            let mut card = self.subnet(subnet, inner);
            let x = PAD + i32::try_from(column).unwrap_or_default() * (inner + 10);
            card.shift(x, top);
            bottoms[column] = top + card.rect.h + 8;
            block.inner.push(card);
        }
        self.clashes(&mut block);
        let mut y = bottoms.into_iter().max().unwrap_or(top);
        if subnets.len() > SUBNETS {
            let more = format!("and {} more subnets", subnets.len() - SUBNETS);
            self.write(&mut block, &Words::new(&more, 12, Style::Muted), PAD, y + 12, inner);
            y += 22;
        }
        let chips = self.network_chips(key);
        if !chips.is_empty() {
            y = self.flow(&mut block, chips, PAD, y + 2, width - 2 * PAD) + 8;
        }
        block.rect = Rect { x: 0, y: 0, w: width, h: y + 4 };
        block
    }

    /// Lines between overlapping subnets of one column, in the margin beside it, and of neighbouring columns, between them.
    /// Subnets further apart have the number of the finding only.
    fn clashes(&self, block: &mut Block) {
        for (at, one) in block.inner.iter().enumerate() {
            for other in block.inner[at + 1..].iter().filter(|other| self.marks.between(&one.key, &other.key))
            {
                let (left, right) = if other.rect.x < one.rect.x { (other, one) } else { (one, other) };
                let (from, to) = (left.rect.y + 14, right.rect.y + 14);
                let x = right.rect.x;
                // A column is ten pixels from the next one.
                let start = match x - left.rect.right() {
                    gap if gap < 0 => x,
                    0..=10 => left.rect.right(),
                    _ => continue,
                };
                block.clashes.push(vec![(start, from), (x - 5, from), (x - 5, to), (x, to)]);
            }
        }
    }

    /// Lays out small boxes in lines. Returns the bottom of the last line.
    pub(crate) fn flow(&self, block: &mut Block, mut chips: Vec<Chip>, x: i32, y: i32, room: i32) -> i32 {
        let more = chips.len().saturating_sub(CHIPS);
        chips.truncate(CHIPS);
        if more > 0 {
            chips.push((format!("and {more} more"), Change::Keep, String::new(), String::new()));
        }
        let (mut left, mut top) = (x, y);
        for (text, change, key, tip) in chips {
            let sign = change.sign();
            let text = if sign.is_empty() { text } else { format!("{sign} {text}") };
            let mut chip = Block::new(BoxKind::Chip, &key, change);
            chip.tip = tip;
            chip.alert = self.marks.marks(&key);
            let numbers = self.marks.numbers(&key);
            let spare = if numbers.is_empty() { 0 } else { self.mark_width(&numbers) };
            let words = Words::new(&text, 11, Style::Plain).change(change);
            let mut w = self.write(&mut chip, &words, 8, 15, room - 16 - spare) + 16;
            if spare > 0 {
                w += self.mark(&mut chip, &numbers, w - 4, 15) - 6;
            }
            chip.rect = Rect { x: 0, y: 0, w, h: 21 };
            if left + w > x + room && left > x {
                left = x;
                top += 27;
            }
            chip.shift(left, top);
            left += w + 6;
            block.inner.push(chip);
        }
        top + 21
    }

    pub(crate) fn log_chips(&self, key: &str) -> Vec<Chip> {
        let logs = self.index.logs.get(key).into_iter().flatten();
        logs.map(|log| {
            let tip = format!("flow log to {}\n{}", log.destination, log.head.key);
            ("flow log".to_owned(), log.head.change, log.head.key.clone(), tip)
        })
        .collect()
    }

    pub(crate) fn managed_chips(&self, all: Option<&Vec<&Managed>>) -> Vec<Chip> {
        let chip = |managed: &&Managed| {
            let Managed { head, .. } = managed;
            let text = format!("{} {}", managed.short(), head.name);
            (text, head.change, head.key.clone(), format!("{}\n{}", managed.word(), head.key))
        };
        all.into_iter().flatten().map(chip).collect()
    }

    fn network_chips(&self, key: &str) -> Vec<Chip> {
        let mut chips = Vec::new();
        for gateway in self.index.gateways.get(key).into_iter().flatten() {
            let text = format!("{} {}", gateway.kind.short(), gateway.head.name);
            let tip = format!("{}\n{}", gateway.kind.word(), gateway.head.key);
            chips.push((text, gateway.head.change, gateway.head.key.clone(), tip));
        }
        for endpoint in self.index.endpoints.get(key).into_iter().flatten() {
            if endpoint.subnets.is_empty() {
                let tip = format!("endpoint for {}\n{}", endpoint.service, endpoint.head.key);
                let text = format!("endpoint {}", endpoint.service);
                chips.push((text, endpoint.head.change, endpoint.head.key.clone(), tip));
            }
        }
        chips.extend(self.managed_chips(self.index.managed.get(key)));
        for (peering, other) in self.index.peerings.get(key).into_iter().flatten() {
            let text = format!("peering {} – {other}", peering.head.name);
            let tip = format!("peering with {other}\n{}", peering.head.key);
            chips.push((text, peering.head.change, peering.head.key.clone(), tip));
        }
        for group in self.index.groups.get(key).into_iter().flatten() {
            let text = format!("security group {}", group.head.name);
            let tip = format!(
                "security group, inbound rules: {}, outbound rules: {}\n{}",
                group.ingress.len(),
                group.egress.len(),
                group.head.key
            );
            chips.push((text, group.head.change, group.head.key.clone(), tip));
        }
        chips.extend(self.log_chips(key));
        chips
    }

    /// A network in short: name, range, counts, and its subnets as shares of the range.
    pub(crate) fn compact(&self, network: &Network) -> Block {
        let key = network.head.key.as_str();
        let mut block = Block::new(BoxKind::Network, key, network.head.change);
        block.external = network.head.external;
        block.tip = self.tip(network);
        let width = COMPACT.max(self.head_width(network));
        let extra = self.head(&mut block, network, width);
        let subnets = self.index.subnets.get(key).map(Vec::as_slice).unwrap_or_default();
        let mut words = vec![count(subnets.len(), "subnet")];
        let endpoints = self.index.endpoints.get(key).map_or(0, Vec::len);
        if endpoints > 0 {
            words.push(count(endpoints, "endpoint"));
        }
        let nat = subnets.iter().filter_map(|subnet| self.index.gateways_in.get(subnet.head.key.as_str()));
        if nat.count() > 0 {
            words.push("NAT".to_owned());
        }
        let managed = self.index.managed_of(key);
        for kind in ManagedKind::ALL {
            let number = managed.iter().filter(|managed| managed.kind == kind).count();
            if number > 0 {
                words.push(count(number, kind.word()));
            }
        }
        let text = words.join(" · ");
        let mut y = 57 + extra;
        self.write(&mut block, &Words::new(&text, 11, Style::Muted), PAD, y, width - 2 * PAD);
        y = self.peerings(&mut block, key, y, width - 2 * PAD);
        let mut h = y + 11;
        if let Some(range) = network.ranges.iter().find(|range| range.addr().is_ipv4()) {
            let bar = Rect { x: PAD, y: y + 8, w: width - 2 * PAD, h: 6 };
            block.bars = shares(range, subnets, bar);
            h = y + 23;
        }
        block.rect = Rect { x: 0, y: 0, w: width, h };
        block
    }

    /// One line for each of the first peerings of a network, below `y`. Returns the base of the last line.
    fn peerings(&self, block: &mut Block, key: &str, mut y: i32, room: i32) -> i32 {
        let peerings = self.index.peerings.get(key).map(Vec::as_slice).unwrap_or_default();
        for (peering, other) in peerings.iter().take(PEERINGS) {
            y += 16;
            let change = peering.head.change;
            let sign = change.sign();
            let gap = if sign.is_empty() { "" } else { " " };
            let text = format!("{sign}{gap}peering {} – {other}", peering.head.name);
            self.write(block, &Words::new(&text, 11, Style::Plain).change(change), PAD, y, room);
        }
        if peerings.len() > PEERINGS {
            y += 16;
            let more = format!("and {} more peerings", peerings.len() - PEERINGS);
            self.write(block, &Words::new(&more, 11, Style::Muted), PAD, y, room);
        }
        y
    }

    fn tip(&self, network: &Network) -> String {
        let mut lines =
            vec![network.head.key.clone(), format!("network: {}", self.ranges(network, false, i32::MAX))];
        if !network.was.is_empty() {
            lines.push(format!("was {}", join(&network.was)));
        }
        let subnets = self.index.subnets.get(network.head.key.as_str()).map_or(0, Vec::len);
        lines.push(count(subnets, "subnet"));
        lines.push(network.head.change.word().to_owned());
        lines.join("\n")
    }
}

/// Subnets as parts of a bar.
fn shares(range: &IpNet, subnets: &[&Subnet], bar: Rect) -> Vec<(Rect, Change)> {
    let IpNet::V4(whole) = range else { return Vec::new() };
    let size = 1_i64 << (32 - i64::from(whole.prefix_len()));
    let base = i64::from(u32::from(whole.network()));
    let width = i64::from(bar.w);
    let mut parts = Vec::new();
    for subnet in subnets {
        for net in &subnet.ranges {
            let IpNet::V4(net) = net else { continue };
            if !whole.contains(net) {
                continue;
            }
            let from = (i64::from(u32::from(net.network())) - base) * width / size;
            let part = ((1_i64 << (32 - i64::from(net.prefix_len()))) * width / size).max(2);
            let (from, part) = (from.min(width - 2), part);
            let w = i32::try_from(part.min(width - from)).unwrap_or_default();
            let x = bar.x + i32::try_from(from).unwrap_or_default();
            parts.push((Rect { x, y: bar.y, w, h: bar.h }, subnet.head.change));
        }
    }
    // The whole first, so that the shares lie upon it.
    parts.insert(0, (bar, Change::Keep));
    parts
}

/// Ranges as one text.
pub(crate) fn join(ranges: &[IpNet]) -> String {
    ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// `1 subnet`, `2 subnets`.
pub(crate) fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// The visible part of a name, without control characters and characters that reorder the text around them.
pub(crate) fn visible(text: &str) -> String {
    text.chars().take(2000).map(|c| if c.is_control() || hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Characters that are not seen or that turn the direction of others.
pub(crate) fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// A box with a name and one line of text.
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
