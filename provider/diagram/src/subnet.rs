//! Boxes of subnets.

use crate::card::{Cards, Chip, NAME, Words, visible};
use crate::scene::{Block, BoxKind, Rect, Style};
use warren_model::topology::{Change, Destination, EndpointKind, Subnet};

/// Maximum number of routes of one subnet; the rest are counted.
const ROUTES: usize = 5;

impl Cards<'_> {
    /// A subnet with its routes and the objects in it.
    pub(crate) fn subnet(&self, subnet: &Subnet, width: i32) -> Block {
        let mut block = Block::new(BoxKind::Subnet, &subnet.head.key, subnet.head.change);
        let badge = if subnet.head.change == Change::Keep { 0 } else { 20 };
        let right = width - 10 - badge;
        let range = match subnet.unnamed().as_slice() {
            [] => "known after apply".to_owned(),
            ranges => self.list(ranges, 12, !subnet.was.is_empty(), 0),
        };
        let words = if subnet.was.is_empty() {
            Words::new(&range, 12, Style::Plain)
        } else {
            Words::new(&range, 12, Style::Strong).change(Change::Replace)
        };
        let used = self.write_right(&mut block, &words, right, 20, right);
        let name = Words::new(&subnet.head.name, 13, Style::Strong).change(subnet.head.change);
        self.write(&mut block, &name, 10, 20, right - used - 18);
        let mut y = 36;
        let zone = subnet.zone.as_deref().unwrap_or("zone chosen by the cloud");
        let open = if subnet.public { " · public addresses" } else { "" };
        let about = format!("{zone}{open}");
        let mut room = width - 20;
        if !subnet.was.is_empty() {
            let was = self.list(&subnet.was, 11, false, room / 2);
            let was = Words::new(&was, 11, Style::Muted).struck();
            room -= self.write_right(&mut block, &was, width - 10, y, room) + 10;
        }
        self.write(&mut block, &Words::new(&about, 11, Style::Muted), 10, y, room);
        for (range, name) in &subnet.named {
            y += 16;
            let used = self.write_right(
                &mut block,
                &Words::new(&range.to_string(), 11, Style::Plain),
                width - 10,
                y,
                width,
            );
            self.write(&mut block, &Words::new(name, 11, Style::Plain), 10, y, width - 20 - used - 10);
        }
        y = self.alerts(&mut block, &subnet.head.key, 10, y, width - 20);
        if let Some(table) = self.index.table(subnet) {
            for route in table.routes.iter().take(ROUTES) {
                y += 16;
                let destination = match &route.destination {
                    Destination::List(list) => list.strip_prefix("pl:").unwrap_or(list).to_owned(),
                    other => other.to_string(),
                };
                let sign = route.change.sign();
                let gap = if sign.is_empty() { String::new() } else { format!("{sign} ") };
                let start = format!("{gap}{destination} › ");
                let room = (width - 20 - self.ruler.width(&start, 11, false)).max(NAME);
                let text =
                    format!("{start}{}", self.ruler.fit(&self.index.target(&route.target), 11, false, room));
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

    /// Width of a subnet's box in which its ranges and the destinations of its routes fit.
    pub(crate) fn subnet_width(&self, subnet: &Subnet) -> i32 {
        let unnamed = subnet.unnamed();
        let named = subnet.named.iter().map(|(range, _)| self.least(&[*range], 11, false) + NAME + 30);
        let now = self.least(&unnamed, 12, !subnet.was.is_empty()) + NAME + 48;
        let now = now.max(named.max().unwrap_or_default());
        let was = self.least(&subnet.was, 11, false) + NAME + 30;
        let routes = self.index.table(subnet).into_iter().flat_map(|table| table.routes.iter().take(ROUTES));
        let ranges = routes.filter(|route| !matches!(route.destination, Destination::List(_)));
        let each = ranges.map(|route| self.ruler.width(&format!("± {} › ", route.destination), 11, false));
        let alerts = self.alert_width(&subnet.head.key) + 20;
        now.max(was).max(alerts).max(each.max().unwrap_or_default() + NAME + 20)
    }

    fn subnet_chips(&self, subnet: &Subnet) -> Vec<Chip> {
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
        chips.extend(self.managed_chips(self.index.managed_in.get(key)));
        for host in self.index.hosts_in.get(key).into_iter().flatten() {
            let text = format!("{} {}", host.what, host.head.name);
            chips.push((text, host.head.change, host.head.key.clone(), host.head.key.clone()));
        }
        chips.extend(self.log_chips(key));
        chips
    }

    fn subnet_tip(&self, subnet: &Subnet) -> String {
        let mut lines = vec![subnet.head.key.clone(), format!("subnet: {}", ranges(subnet, visible))];
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

/// Ranges of a subnet as one text, secondary ones with their names as `name_of` writes them.
pub(crate) fn ranges(subnet: &Subnet, name_of: fn(&str) -> String) -> String {
    let named = subnet.named.iter().map(|(range, name)| format!("{} {range}", name_of(name)));
    subnet.unnamed().iter().map(ToString::to_string).chain(named).collect::<Vec<_>>().join(", ")
}
