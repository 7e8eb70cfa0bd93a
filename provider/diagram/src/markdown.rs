//! The summary for a pull request.

use crate::card::{count, join, visible};
use crate::names::distinct;
use crate::subnet::ranges;
use crate::verdict::{hops, sentence};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tera::{Context, Tera};
use warren_model::reach::Lists;
use warren_model::topology::{Change, Destination, GatewayConfig, Plan, Target, Topology, compare};
use warren_model::verdict::Verdict;

/// Maximum number of rows in the table of changes; the rest are counted.
const ROWS: usize = 100;
/// Maximum number of overlaps, and of forbidden paths; the rest are counted.
const FINDINGS: usize = 50;
/// Maximum number of networks whose reachability is compared.
const PAIRS: usize = 120;

#[derive(Serialize)]
struct Row {
    sign: &'static str,
    word: &'static str,
    kind: &'static str,
    name: String,
    what: String,
}

/// Text of the summary.
pub(crate) fn render(plan: &Plan, title: &str, verdict: &Verdict) -> Result<String, tera::Error> {
    let all = distinct(crate::unattached::gather(compare(plan)));
    let mut rows = rows(&all);
    rows.sort_by_key(|row| row.word);
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let mut counts: BTreeMap<Change, usize> = BTreeMap::new();
    all.heads().for_each(|head| *counts.entry(head.change).or_default() += 1);
    let mut words =
        vec![count(plan.after.networks.len(), "network"), count(plan.after.subnets.len(), "subnet")];
    words.extend(crate::unattached::words(&plan.after));
    for change in Change::ALL.into_iter().filter(|change| *change != Change::Keep && plan.changes) {
        words.extend(
            counts.get(&change).map(|number| format!("{} {number} to {}", change.sign(), change.word())),
        );
    }
    let few = all.networks.len() <= PAIRS;
    let (gained, lost, kept) = if few { reach(&all, plan) } else { (Vec::new(), Vec::new(), Vec::new()) };
    let mut context = Context::new();
    context.insert("title", &escape(title));
    context.insert("counts", &words.join(" · "));
    context.insert("changes", &plan.changes);
    context.insert("rows", &rows);
    context.insert("more", &more);
    context.insert("few", &few);
    context.insert("limit", &PAIRS);
    context.insert("gained", &gained);
    context.insert("lost", &lost);
    context.insert("kept", &kept);
    context.insert("unknown", &plan.unknown);
    let overlaps = verdict.overlaps.iter().take(FINDINGS).map(|it| escape(&sentence(&all, it)));
    context.insert("overlaps", &overlaps.collect::<Vec<_>>());
    let paths = verdict.paths.iter().take(FINDINGS);
    let paths = paths.map(|path| format!("{}<br>{}", escape(&path.message), long(&hops(path))));
    context.insert("forbidden", &paths.collect::<Vec<_>>());
    let listed = verdict.overlaps.len().min(FINDINGS) + verdict.paths.len().min(FINDINGS);
    context.insert("unlisted", &(verdict.overlaps.len() + verdict.paths.len() - listed + verdict.omitted));
    context.insert("mermaid", &crate::mermaid::mermaid(&all, verdict));
    let mut tera = Tera::default();
    // The inserted values are already escaped for Markdown.
    tera.autoescape_on(Vec::new());
    tera.add_raw_template("summary", include_str!("../templates/summary.md"))?;
    tera.render("summary", &context)
}

/// Pairs that become reachable, that are no longer reachable, and that remain reachable.
fn reach(all: &Topology, plan: &Plan) -> (Vec<String>, Vec<String>, Vec<String>) {
    let name = |topology: &Topology, (from, to): &(String, String)| {
        // A network has the name that the rest of the summary uses.
        let of = |key: &str| {
            escape(all.networks.get(key).map_or_else(|| topology.name(key), |it| it.head.name.as_str()))
        };
        format!("{} → {}", of(from), of(to))
    };
    let after: BTreeSet<String> =
        Lists::new(&plan.after).pairs().iter().map(|it| name(&plan.after, it)).collect();
    if !plan.changes {
        return (Vec::new(), Vec::new(), after.into_iter().collect());
    }
    let before: BTreeSet<String> =
        Lists::new(&plan.before).pairs().iter().map(|it| name(&plan.before, it)).collect();
    (
        after.difference(&before).cloned().collect(),
        before.difference(&after).cloned().collect(),
        after.intersection(&before).cloned().collect(),
    )
}

fn rows(all: &Topology) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |head: &warren_model::topology::Head, kind: &'static str, what: String| {
        if head.change != Change::Keep {
            let (sign, word) = (head.change.sign(), head.change.word());
            rows.push(Row { sign, word, kind, name: escape(&head.name), what });
        }
    };
    let renumbered = |now: &[ipnet::IpNet], was: &[ipnet::IpNet]| {
        if was.is_empty() { join(now) } else { format!("{} (was {})", join(now), join(was)) }
    };
    for network in all.networks.values() {
        add(&network.head, "network", renumbered(&network.ranges, &network.was));
    }
    for subnet in all.subnets.values() {
        let mut what = if subnet.was.is_empty() {
            ranges(subnet, escape)
        } else {
            renumbered(&subnet.ranges, &subnet.was)
        };
        if subnet.public {
            what.push_str(", public addresses");
        }
        add(&subnet.head, "subnet", what);
    }
    for gateway in all.gateways.values() {
        let network = gateway.network.as_deref().map(|key| escape(all.name(key))).unwrap_or_default();
        add(&gateway.head, gateway.kind.word(), network);
    }
    for table in all.tables.values() {
        let changed: Vec<String> = table
            .routes
            .iter()
            .filter(|route| route.change != Change::Keep)
            .take(6)
            .map(|route| {
                let to = match &route.target {
                    Target::Gateway(key)
                    | Target::Peering(key)
                    | Target::Endpoint(key)
                    | Target::Other(key) => all.name(key).to_owned(),
                    Target::Unknown(word) => word.clone(),
                    Target::Nowhere => "dropped".to_owned(),
                };
                let destination = match &route.destination {
                    Destination::List(list) => list.strip_prefix("pl:").unwrap_or(list).to_owned(),
                    other => other.to_string(),
                };
                format!("{} {} › {}", route.change.sign(), escape(&destination), escape(&to))
            })
            .collect();
        add(&table.head, "route table", changed.join("<br>"));
    }
    for attachment in all.attachments.values() {
        let network = attachment.network.as_deref().map(|key| escape(all.name(key))).unwrap_or_default();
        add(&attachment.head, "attachment", network);
    }
    for peering in all.peerings.values() {
        let side = |key: &Option<String>| key.as_deref().map_or("?".to_owned(), |key| escape(all.name(key)));
        add(&peering.head, "peering", format!("{} – {}", side(&peering.left), side(&peering.right)));
    }
    for endpoint in all.endpoints.values() {
        add(&endpoint.head, "endpoint", escape(&endpoint.service));
    }
    for group in all.groups.values() {
        let what = format!("{}, {} outbound", count(group.ingress.len(), "inbound rule"), group.egress.len());
        add(&group.head, "security group", what);
    }
    for firewall in all.firewalls.values() {
        let direction = if firewall.ingress { "inbound" } else { "outbound" };
        let word = if firewall.allow { "allows" } else { "denies" };
        add(&firewall.head, "firewall rule", format!("{word} {direction} traffic"));
    }
    for host in all.hosts.values() {
        add(&host.head, "host", escape(&host.what));
    }
    for managed in all.managed.values() {
        let subnets = managed.subnets.iter().filter(|key| all.subnets.contains_key(*key));
        let places: Vec<String> = subnets.map(|key| escape(all.name(key))).collect();
        let network = managed.network.as_deref().filter(|_| places.is_empty());
        let place = network.map_or_else(|| places.join(", "), |key| escape(all.name(key)));
        let within = if place.is_empty() { String::new() } else { format!(" in {place}") };
        add(&managed.head, managed.kind.word(), format!("{}{within}", managed.short()));
    }
    for config in all.configs.values() {
        add(&config.head, "gateway configuration", groups(config));
    }
    for store in all.stores.values() {
        add(&store.head, "store", String::new());
    }
    for log in all.flow_logs.values() {
        add(&log.head, "flow log", escape(&log.destination));
    }
    rows
}

/// The changes in a gateway configuration.
fn groups(config: &GatewayConfig) -> String {
    if let Some(why) = config.unread {
        return escape(why.words());
    }
    let mut lines = Vec::new();
    if !config.was.is_empty() {
        lines.push(format!("peer addresses {} (was {})", join(&config.prefixes), join(&config.was)));
    }
    let changed = config.groups.iter().filter(|group| group.change != Change::Keep);
    for group in changed.take(6) {
        lines.push(format!("{} group {}", group.change.sign(), escape(&group.name)));
        let rules = group.allow.iter().filter(|rule| rule.change != Change::Keep).take(6);
        lines.extend(rules.map(|rule| format!("{} {}", rule.change.sign(), escape(&rule.short()))));
    }
    lines.join("<br>")
}

/// A text without any meaning in Markdown or HTML: all ASCII punctuation except that of CIDRs becomes an entity.
pub(crate) fn escape(text: &str) -> String {
    escaped(text, 160)
}

/// Like [`escape`], for a text of several sentences.
fn long(text: &str) -> String {
    escaped(text, 2000)
}

fn escaped(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (at, c) in visible(text).chars().enumerate() {
        if at == most {
            out.push('…');
            break;
        }
        match c {
            ' ' | '/' | '-' | ',' => out.push(c),
            c if c.is_ascii_punctuation() => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
