//! Boxes of networks, in three levels of detail.

use crate::index::Index;
use crate::scene::{Block, BoxKind, Label, Rect, Style};
use crate::text::Ruler;
use crate::unattached::is_box;
use ipnet::IpNet;
use warren_model::topology::{Change, Destination, EndpointKind, Network, Subnet};

/// Width of a network's box with all its subnets.
pub(crate) const FULL: i32 = 320;
/// Width of a network's box without its subnets.
pub(crate) const COMPACT: i32 = 216;
const PAD: i32 = 12;
/// Maximum number of routes and small boxes of one subnet; the rest are counted.
const ROUTES: usize = 5;
const CHIPS: usize = 12;
/// Maximum number of subnets of one network.
const SUBNETS: usize = 40;

/// Builds boxes.
pub(crate) struct Cards<'a> {
    pub(crate) index: &'a Index<'a>,
    pub(crate) ruler: &'a Ruler,
}

/// A text to place.
pub(crate) struct Words<'t> {
    pub(crate) text: &'t str,
    pub(crate) size: i32,
    pub(crate) style: Style,
    pub(crate) change: Change,
    pub(crate) struck: bool,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t str, size: i32, style: Style) -> Self {
        Self { text, size, style, change: Change::Keep, struck: false }
    }

    pub(crate) fn change(mut self, change: Change) -> Self {
        self.change = change;
        self.struck = change == Change::Delete;
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
        let text = self.ruler.fit(&visible(words.text), words.size, strong, room);
        let w = self.ruler.width(&text, words.size, strong).min(room);
        let (size, style, change, struck) = (words.size, words.style, words.change, words.struck);
        Label { x, y, w, size, style, text, change, struck }
    }

    /// Places a text that ends at `right`.
    fn write_right(&self, block: &mut Block, words: &Words<'_>, right: i32, y: i32, room: i32) -> i32 {
        let mut label = self.label(words, 0, y, room);
        label.x = right - label.w;
        let w = label.w;
        if !label.text.is_empty() {
            block.labels.push(label);
        }
        w
    }

    /// Name and ranges. The renderer draws the sign of a change at the top right.
    fn head(&self, block: &mut Block, network: &Network, width: i32) {
        let badge = if network.head.change == Change::Keep { 0 } else { 26 };
        let name = Words::new(&network.head.name, 14, Style::Strong).change(network.head.change);
        self.write(block, &name, PAD, 23, width - 2 * PAD - badge);
        let mut x = PAD;
        let ranges = self.ranges(network);
        let room = width - 2 * PAD;
        if network.was.is_empty() {
            self.write(block, &Words::new(&ranges, 12, Style::Muted), x, 41, room);
        } else {
            // Both ranges, the old one struck out: a reviewer must not miss a renumbered network.
            let now = Words::new(&ranges, 12, Style::Strong).change(Change::Replace);
            x += self.write(block, &now, x, 41, room / 2) + 8;
            let was = join(&network.was);
            self.write(block, &Words::new(&was, 12, Style::Muted).struck(), x, 41, PAD + room - x);
        }
    }

    fn ranges(&self, network: &Network) -> String {
        let mut text = join(&network.ranges);
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
            Some(region) => format!("{text} · {region}"),
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
        let inner = FULL - 2 * PAD;
        let width = columns * inner + (columns - 1) * 10 + 2 * PAD;
        let mut block = Block::new(BoxKind::Network, key, network.head.change);
        block.external = network.head.external;
        block.tip = self.tip(network);
        self.head(&mut block, network, width);
        let mut bottoms = vec![54; usize::try_from(columns).unwrap_or(1)];
        for subnet in subnets.iter().take(SUBNETS) {
            let (column, top) = bottoms
                .iter()
                .enumerate()
                .min_by_key(|(_, bottom)| **bottom)
                .map_or((0, 54), |(at, y)| (at, *y));
            let mut card = self.subnet(subnet, inner);
            let x = PAD + i32::try_from(column).unwrap_or_default() * (inner + 10);
            card.shift(x, top);
            bottoms[column] = top + card.rect.h + 8;
            block.inner.push(card);
        }
        let mut y = bottoms.into_iter().max().unwrap_or(54);
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

    fn subnet(&self, subnet: &Subnet, width: i32) -> Block {
        let mut block = Block::new(BoxKind::Subnet, &subnet.head.key, subnet.head.change);
        let badge = if subnet.head.change == Change::Keep { 0 } else { 20 };
        let right = width - 10 - badge;
        let range = match subnet.ranges.as_slice() {
            [] => "known after apply".to_owned(),
            [only] => only.to_string(),
            [first, rest @ ..] => format!("{first} +{}", rest.len()),
        };
        let words = if subnet.was.is_empty() {
            Words::new(&range, 12, Style::Plain)
        } else {
            Words::new(&range, 12, Style::Strong).change(Change::Replace)
        };
        let used = self.write_right(&mut block, &words, right, 20, width / 2);
        let name = Words::new(&subnet.head.name, 13, Style::Strong).change(subnet.head.change);
        self.write(&mut block, &name, 10, 20, right - used - 18);
        let mut y = 36;
        let zone = subnet.zone.as_deref().unwrap_or("zone chosen by the cloud");
        let open = if subnet.public { " · public addresses" } else { "" };
        let about = format!("{zone}{open}");
        let room = if subnet.was.is_empty() { width - 20 } else { width / 2 };
        let mut left = 10;
        left += self.write(&mut block, &Words::new(&about, 11, Style::Muted), 10, y, room) + 10;
        if !subnet.was.is_empty() {
            let was = join(&subnet.was);
            let room = width - 10 - left;
            self.write_right(&mut block, &Words::new(&was, 11, Style::Muted).struck(), width - 10, y, room);
        }
        if let Some(table) = self.index.table(subnet) {
            for route in table.routes.iter().take(ROUTES) {
                y += 16;
                let destination = match &route.destination {
                    Destination::List(list) => list.strip_prefix("pl:").unwrap_or(list).to_owned(),
                    other => other.to_string(),
                };
                let sign = route.change.sign();
                let gap = if sign.is_empty() { String::new() } else { format!("{sign} ") };
                let text = format!("{gap}{destination} › {}", self.index.target(&route.target));
                let words = Words::new(&text, 11, Style::Plain).change(route.change);
                self.write(&mut block, &words, 10, y, width - 20);
            }
            if table.routes.len() > ROUTES {
                y += 16;
                let more = format!("and {} more routes", table.routes.len() - ROUTES);
                self.write(&mut block, &Words::new(&more, 11, Style::Muted), 10, y, width - 20);
            }
        }
        let chips = self.subnet_chips(subnet);
        if !chips.is_empty() {
            y = self.flow(&mut block, chips, 10, y + 8, width - 20);
        }
        block.tip = self.subnet_tip(subnet);
        block.rect = Rect { x: 0, y: 0, w: width, h: y + 9 };
        block
    }

    /// Lays out small boxes in lines. Returns the bottom of the last line.
    pub(crate) fn flow(
        &self,
        block: &mut Block,
        mut chips: Vec<(String, Change, String, String)>,
        x: i32,
        y: i32,
        room: i32,
    ) -> i32 {
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
            let w =
                self.write(&mut chip, &Words::new(&text, 11, Style::Plain).change(change), 8, 15, room - 16)
                    + 16;
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

    fn subnet_chips(&self, subnet: &Subnet) -> Vec<(String, Change, String, String)> {
        let key = subnet.head.key.as_str();
        let mut chips = Vec::new();
        for gateway in self.index.gateways_in.get(key).into_iter().flatten() {
            let text = format!("{} {}", gateway.kind.short(), gateway.head.name);
            let tip = format!("{}\n{}", gateway.kind.word(), gateway.head.key);
            chips.push((text, gateway.head.change, gateway.head.key.clone(), tip));
        }
        for endpoint in self.index.endpoints_in.get(key).into_iter().flatten() {
            let (text, what) = match endpoint.kind {
                EndpointKind::PrivateAccess => ("Private Google Access".to_owned(), "Private Google Access"),
                _ => (format!("endpoint {}", endpoint.service), "interface endpoint"),
            };
            let tip = format!("{what} for {}\n{}", endpoint.service, endpoint.head.key);
            chips.push((text, endpoint.head.change, endpoint.head.key.clone(), tip));
        }
        for host in self.index.hosts_in.get(key).into_iter().flatten() {
            let text = format!("{} {}", host.what, host.head.name);
            chips.push((text, host.head.change, host.head.key.clone(), host.head.key.clone()));
        }
        chips.extend(self.log_chips(key));
        chips
    }

    fn log_chips(&self, key: &str) -> Vec<(String, Change, String, String)> {
        let logs = self.index.logs.get(key).into_iter().flatten();
        logs.map(|log| {
            let tip = format!("flow log to {}\n{}", log.destination, log.head.key);
            ("flow log".to_owned(), log.head.change, log.head.key.clone(), tip)
        })
        .collect()
    }

    fn network_chips(&self, key: &str) -> Vec<(String, Change, String, String)> {
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
        self.head(&mut block, network, COMPACT);
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
        let text = words.join(" · ");
        self.write(&mut block, &Words::new(&text, 11, Style::Muted), PAD, 57, COMPACT - 2 * PAD);
        let bar = Rect { x: PAD, y: 65, w: COMPACT - 2 * PAD, h: 6 };
        let mut h = 68;
        if let Some(range) = network.ranges.iter().find(|range| range.addr().is_ipv4()) {
            block.bars = shares(range, subnets, bar);
            h = 80;
        }
        block.rect = Rect { x: 0, y: 0, w: COMPACT, h };
        block
    }

    fn tip(&self, network: &Network) -> String {
        let mut lines = vec![network.head.key.clone(), format!("network: {}", self.ranges(network))];
        if !network.was.is_empty() {
            lines.push(format!("was {}", join(&network.was)));
        }
        let subnets = self.index.subnets.get(network.head.key.as_str()).map_or(0, Vec::len);
        lines.push(count(subnets, "subnet"));
        lines.push(network.head.change.word().to_owned());
        lines.join("\n")
    }

    fn subnet_tip(&self, subnet: &Subnet) -> String {
        let mut lines = vec![subnet.head.key.clone(), format!("subnet: {}", join(&subnet.ranges))];
        if let Some(table) = self.index.table(subnet) {
            lines.push(format!("route table {}", table.head.name));
            let routes = table.routes.iter().take(20);
            lines.extend(
                routes.map(|route| format!("{} › {}", route.destination, self.index.target(&route.target))),
            );
        }
        lines.push(subnet.head.change.word().to_owned());
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
