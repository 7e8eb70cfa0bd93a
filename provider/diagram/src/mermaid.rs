//! Mermaid and DOT: the same boxes and links for tools with their own layout. Beyond a limit, networks are counted, because
//! such tools cannot lay out ten thousand.

use crate::card::{join, visible};
use crate::index::common;
use crate::subnet::ranges;
use crate::theme::LIGHT;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use warren_model::topology::{Change, EndpointKind, GatewayKind, Home, Host, Key, Managed, Target, Topology};
use warren_model::verdict::{Overlap, Verdict};

/// Maximum number of networks; the rest are counted.
const MOST: usize = 60;

/// A graph: boxes by cloud and network, and links.
struct Graph {
    clouds: BTreeMap<Home, Vec<Cluster>>,
    overlays: Vec<Cluster>,
    nodes: Vec<(String, String, Change)>,
    links: Vec<(String, String, String, Change)>,
    /// Overlaps and steps of forbidden paths, and whether it is a step.
    findings: Vec<(String, String, String, bool)>,
}

struct Cluster {
    id: String,
    label: String,
    change: Change,
    nodes: Vec<(String, String, Change)>,
}

fn sign(change: Change) -> String {
    if change == Change::Keep { String::new() } else { format!("{} ", change.sign()) }
}

fn graph(all: &Topology, verdict: &Verdict) -> Graph {
    let mut ids: BTreeMap<&str, String> = BTreeMap::new();
    let mut graph = Graph {
        clouds: BTreeMap::new(),
        overlays: Vec::new(),
        nodes: Vec::new(),
        links: Vec::new(),
        findings: Vec::new(),
    };
    // Changed networks first, so that unchanged ones are omitted.
    let mut networks: Vec<_> = all.networks.values().collect();
    networks.sort_by_key(|network| (network.head.change == Change::Keep, &network.head.key));
    let more = networks.len().saturating_sub(MOST);
    for network in networks.into_iter().take(MOST) {
        let id = format!("n{}", ids.len());
        ids.insert(&network.head.key, id.clone());
        let range = join(&network.ranges);
        let was =
            if network.was.is_empty() { String::new() } else { format!(" (was {})", join(&network.was)) };
        let label = format!("{}{} {range}{was}", sign(network.head.change), network.head.name);
        let mut nodes = Vec::new();
        for subnet in all.subnets.values().filter(|it| it.network.as_ref() == Some(&network.head.key)) {
            let inner = format!("{id}s{}", nodes.len());
            ids.insert(&subnet.head.key, inner.clone());
            let label =
                format!("{}{} {}", sign(subnet.head.change), subnet.head.name, ranges(subnet, visible));
            nodes.push((inner, label, subnet.head.change));
        }
        for gateway in all.gateways.values().filter(|it| it.network.as_ref() == Some(&network.head.key)) {
            let inner = format!("{id}g{}", nodes.len());
            ids.insert(&gateway.head.key, inner.clone());
            let label =
                format!("{}{} {}", sign(gateway.head.change), gateway.kind.short(), gateway.head.name);
            nodes.push((inner, label, gateway.head.change));
            if matches!(gateway.kind, GatewayKind::Internet | GatewayKind::EgressOnly) {
                let from = ids[gateway.head.key.as_str()].clone();
                graph.links.push((from, "internet".to_owned(), String::new(), gateway.head.change));
            }
        }
        for endpoint in all.endpoints.values().filter(|it| it.network.as_ref() == Some(&network.head.key)) {
            if endpoint.kind == EndpointKind::PrivateAccess {
                continue;
            }
            let inner = format!("{id}e{}", nodes.len());
            let label = format!("{}endpoint {}", sign(endpoint.head.change), endpoint.service);
            nodes.push((inner, label, endpoint.head.change));
        }
        for managed in all.managed.values().filter(|it| network_of(all, it) == Some(&network.head.key)) {
            let inner = format!("{id}m{}", nodes.len());
            ids.insert(&managed.head.key, inner.clone());
            let change = managed.head.change;
            for subnet in managed.subnets.iter().filter_map(|key| ids.get(key.as_str())) {
                graph.links.push((inner.clone(), subnet.clone(), String::new(), change));
            }
            let label = format!("{}{} {}", sign(change), managed.short(), managed.head.name);
            nodes.push((inner, label, change));
        }
        let inside = |host: &&Host| {
            let subnet = host.subnet.as_ref().and_then(|key| all.subnets.get(key));
            subnet.is_some_and(|subnet| subnet.network.as_ref() == Some(&network.head.key))
        };
        for host in all.hosts.values().filter(|host| host.config.is_some()).filter(inside) {
            let inner = format!("{id}h{}", nodes.len());
            ids.insert(&host.head.key, inner.clone());
            let label = format!("{}gateway {}", sign(host.head.change), host.head.name);
            nodes.push((inner, label, host.head.change));
        }
        let cluster = Cluster { id, label, change: network.head.change, nodes };
        graph.clouds.entry(network.head.home).or_default().push(cluster);
    }
    for managed in all.managed.values().filter(|it| network_of(all, it).is_none()) {
        let id = format!("m{}", graph.nodes.len());
        ids.insert(&managed.head.key, id.clone());
        if managed.public {
            graph.links.push((id.clone(), "internet".to_owned(), String::new(), managed.head.change));
        }
        let label = format!("{}{} {}", sign(managed.head.change), managed.word(), managed.head.name);
        graph.nodes.push((id, label, managed.head.change));
    }
    if graph.links.iter().any(|(_, to, ..)| to == "internet") {
        graph.nodes.push(("internet".to_owned(), "Internet".to_owned(), Change::Keep));
    }
    for gateway in all.gateways.values().filter(|it| it.kind == GatewayKind::Transit) {
        let id = format!("t{}", graph.nodes.len());
        ids.insert(&gateway.head.key, id.clone());
        let label = format!("{}TGW {}", sign(gateway.head.change), gateway.head.name);
        graph.nodes.push((id, label, gateway.head.change));
    }
    peers(all, &mut graph, &mut ids);
    for attachment in all.attachments.values() {
        let (Some(network), Some(gateway)) = (&attachment.network, &attachment.gateway) else { continue };
        if let (Some(from), Some(to)) = (ids.get(network.as_str()), ids.get(gateway.as_str())) {
            let text = format!("{}attachment", sign(attachment.head.change));
            graph.links.push((from.clone(), to.clone(), text, attachment.head.change));
        }
    }
    for peering in all.peerings.values() {
        let (Some(left), Some(right)) = (&peering.left, &peering.right) else { continue };
        if let (Some(from), Some(to)) = (ids.get(left.as_str()), ids.get(right.as_str())) {
            let text = format!("{}peering {}", sign(peering.head.change), peering.head.name);
            graph.links.push((from.clone(), to.clone(), text, peering.head.change));
        }
    }
    let mut tunnels: BTreeMap<(&String, &String), Vec<Change>> = BTreeMap::new();
    for tunnel in all.tunnels.values() {
        if let (Some(from), Some(to)) = (ids.get(tunnel.left.as_str()), ids.get(tunnel.right.as_str())) {
            // Both sides may have a resource for one VPN.
            tunnels.entry((from.min(to), from.max(to))).or_default().push(tunnel.head.change);
        }
    }
    for ((from, to), changes) in tunnels {
        let change = common(changes);
        graph.links.push((from.clone(), to.clone(), format!("{}VPN", sign(change)), change));
    }
    for table in all.tables.values() {
        for route in &table.routes {
            let Target::Gateway(key) = &route.target else { continue };
            let nat = all
                .gateways
                .get(key)
                .filter(|it| matches!(it.kind, GatewayKind::Nat | GatewayKind::PrivateNat));
            let Some(to) = nat.and_then(|nat| ids.get(nat.head.key.as_str())) else { continue };
            for from in table.subnets.iter().filter_map(|key| ids.get(key.as_str())) {
                let text = format!("{}{}", sign(route.change), route.destination);
                graph.links.push((from.clone(), to.clone(), text, route.change));
            }
        }
    }
    graph.findings = findings(&ids, verdict);
    if more > 0 {
        graph.nodes.push(("more".to_owned(), format!("and {more} more networks"), Change::Keep));
    }
    graph
}

/// The network that a managed service is drawn in.
fn network_of<'a>(all: &'a Topology, managed: &'a Managed) -> Option<&'a Key> {
    let subnets = managed.subnets.iter().filter_map(|key| all.subnets.get(key));
    let network = subnets.filter_map(|subnet| subnet.network.as_ref()).next();
    network.or(managed.network.as_ref()).filter(|key| all.networks.contains_key(*key))
}

/// Maximum number of links that show findings.
const FINDINGS: usize = 60;

/// Links between overlapping objects, and along forbidden paths. Objects without a node are passed over.
fn findings(ids: &BTreeMap<&str, String>, verdict: &Verdict) -> Vec<(String, String, String, bool)> {
    let mut found = Vec::new();
    for Overlap { sides: [left, right], .. } in &verdict.overlaps {
        if let (Some(from), Some(to)) = (ids.get(left.address()), ids.get(right.address())) {
            found.push((from.clone(), to.clone(), format!("{} overlaps {}", left.net, right.net), false));
        }
    }
    let internet = "internet".to_owned();
    for path in &verdict.paths {
        let id = |key: &str| if key == "internet" { Some(&internet) } else { ids.get(key) };
        let mut steps: Vec<&String> = path.hops.iter().filter_map(|(key, _)| id(key)).collect();
        steps.dedup();
        for pair in steps.windows(2) {
            found.push((pair[0].clone(), pair[1].clone(), format!("forbidden: {}", path.name), true));
        }
    }
    found.truncate(FINDINGS);
    found
}

/// Overlays with their groups, rented pods, and the links of both with gateways.
fn peers<'a>(all: &'a Topology, graph: &mut Graph, ids: &mut BTreeMap<&'a str, String>) {
    let pods: Vec<&Host> = all.hosts.values().filter(|host| host.head.home.rents_pods()).collect();
    let mut nodes = Vec::new();
    for pod in pods.iter().take(MOST) {
        let id = format!("p{}", nodes.len());
        ids.insert(&pod.head.key, id.clone());
        let label = format!("{}{} {}", sign(pod.head.change), pod.what, pod.head.name);
        nodes.push((id, label, pod.head.change));
    }
    let more: u64 = pods.iter().skip(MOST).map(|pod| pod.machines).sum();
    if more > 0 {
        nodes.push(("pmore".to_owned(), format!("and {more} more pods"), Change::Keep));
    }
    if let Some(pod) = pods.first() {
        let cluster =
            Cluster { id: "pods".to_owned(), label: "pods".to_owned(), change: Change::Keep, nodes };
        graph.clouds.entry(pod.head.home).or_default().push(cluster);
    }
    let overlays = all.overlays();
    for overlay in &overlays {
        let id = format!("o{}", graph.overlays.len());
        let change = common(overlay.configs.iter().map(|config| config.head.change));
        let label = format!("{}overlay {} {}", sign(change), overlay.name(), join(&overlay.prefixes()));
        let mut nodes = Vec::new();
        for (group, _) in overlay.groups().into_iter().take(MOST) {
            let rules = group.allow.iter().map(|rule| format!("{}{}", sign(rule.change), rule.short()));
            let rules: Vec<String> = rules.collect();
            let label = format!("{}group {}: {}", sign(group.change), group.name, rules.join("; "));
            nodes.push((format!("{id}g{}", nodes.len()), label, group.change));
        }
        if overlay.configs.iter().any(|config| config.unread.is_some()) {
            nodes.push((format!("{id}u"), "groups known after apply".to_owned(), Change::Keep));
        }
        for (host, _) in &overlay.gateways {
            if let Some(from) = ids.get(host.head.key.as_str()) {
                graph.links.push((from.clone(), id.clone(), String::new(), host.head.change));
            }
        }
        if overlays.len() == 1 {
            for pod in pods.iter().take(MOST) {
                graph.links.push((
                    ids[pod.head.key.as_str()].clone(),
                    id.clone(),
                    "tunnel".to_owned(),
                    pod.head.change,
                ));
            }
        }
        graph.overlays.push(Cluster { id, label, change, nodes });
    }
}

/// Text of a Mermaid flowchart.
pub(crate) fn mermaid(all: &Topology, verdict: &Verdict) -> String {
    let graph = graph(all, verdict);
    let mut out = String::from("flowchart LR\n");
    for (home, clusters) in &graph.clouds {
        let _ = writeln!(out, "  subgraph {home:?}[\"{}\"]", entities(&home.to_string()));
        clusters.iter().for_each(|cluster| subgraph(&mut out, cluster));
        out.push_str("  end\n");
    }
    graph.overlays.iter().for_each(|cluster| subgraph(&mut out, cluster));
    for (id, label, change) in &graph.nodes {
        let _ = writeln!(out, "  {id}([\"{}\"]){}", entities(label), class(*change));
    }
    for (from, to, label, change) in &graph.links {
        let arrow = match change {
            Change::Delete | Change::Replace => "-.-",
            Change::Create | Change::Update => "===",
            Change::Keep => "---",
        };
        if label.is_empty() {
            let _ = writeln!(out, "  {from} {arrow} {to}");
        } else {
            let _ = writeln!(out, "  {from} {arrow}|\"{}\"| {to}", entities(label));
        }
    }
    for (at, (from, to, label, step)) in graph.findings.iter().enumerate() {
        let arrow = if *step { "==>" } else { "x==x" };
        let _ = writeln!(out, "  {from} {arrow}|\"{}\"| {to}", entities(label));
        let number = graph.links.len() + at;
        let _ = writeln!(out, "  linkStyle {number} stroke:{ALERT},color:{ALERT},stroke-width:4px");
    }
    for (change, style) in [
        ("create", "fill:#def3ea,stroke:#00634a,color:#1b222b,stroke-width:2px"),
        ("update", "fill:#e1edf9,stroke:#0a4f91,color:#1b222b,stroke-width:2px,stroke-dasharray:9 4"),
        ("replace", "fill:#f5e6f8,stroke:#7a3489,color:#1b222b,stroke-width:2px,stroke-dasharray:9 3 2 3"),
        ("delete", "fill:#fde8dc,stroke:#9c3600,color:#1b222b,stroke-width:2px,stroke-dasharray:2 3"),
    ] {
        let _ = writeln!(out, "  classDef {change} {style}");
    }
    out
}

fn subgraph(out: &mut String, cluster: &Cluster) {
    let _ = writeln!(out, "    subgraph {}[\"{}\"]", cluster.id, entities(&cluster.label));
    for (id, label, change) in &cluster.nodes {
        let _ = writeln!(out, "      {id}[\"{}\"]{}", entities(label), class(*change));
    }
    out.push_str("    end\n");
    if cluster.change != Change::Keep {
        let _ = writeln!(out, "    class {} {}", cluster.id, cluster.change.word());
    }
}

fn class(change: Change) -> String {
    if change == Change::Keep { String::new() } else { format!(":::{}", change.word()) }
}

/// Escapes a text for Mermaid: all characters except letters, digits and those in CIDRs and names become `#NN;`.
fn entities(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars().take(120) {
        match c {
            c if c.is_alphanumeric() => out.push(c),
            ' ' | '.' | '-' | '/' | '_' | ',' | '+' | '~' | '±' | '−' => out.push(c),
            // A colon has a meaning in Mermaid, so it is escaped in IPv6 ranges as well.
            c => {
                let _ = write!(out, "#{};", u32::from(c));
            }
        }
    }
    out
}

/// Text of a Graphviz graph.
pub(crate) fn dot(all: &Topology, verdict: &Verdict) -> String {
    let graph = graph(all, verdict);
    let mut out = String::from(
        "graph network {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", fontname=\"Inter,Helvetica\"];\n",
    );
    for (home, clusters) in &graph.clouds {
        let _ = writeln!(out, "  subgraph \"cluster_{home:?}\" {{\n    label={};", quote(&home.to_string()));
        clusters.iter().for_each(|item| cluster(&mut out, item));
        out.push_str("  }\n");
    }
    graph.overlays.iter().for_each(|item| cluster(&mut out, item));
    for (id, label, change) in &graph.nodes {
        let _ = writeln!(out, "  {id} [label={}{}];", quote(label), colour(*change));
    }
    for (from, to, label, change) in &graph.links {
        let _ = writeln!(out, "  {from} -- {to} [label={}{}];", quote(label), colour(*change));
    }
    for (from, to, label, step) in &graph.findings {
        let look = if *step { "style=dashed, dir=forward" } else { "style=solid" };
        let _ = writeln!(
            out,
            "  {from} -- {to} [label={}, color=\"{ALERT}\", fontcolor=\"{ALERT}\", penwidth=4, constraint=false, {look}];",
            quote(label)
        );
    }
    out.push_str("}\n");
    out
}

/// Colour of findings.
const ALERT: &str = LIGHT.alert;

fn cluster(out: &mut String, cluster: &Cluster) {
    let label = quote(&cluster.label);
    let _ = writeln!(out, "    subgraph \"cluster_{}\" {{\n      label={label};", cluster.id);
    let _ = writeln!(out, "      {}", look(cluster.change));
    // A link cannot end at a cluster, so it ends at an invisible point in it.
    let _ = writeln!(out, "      {} [shape=point, style=invis];", cluster.id);
    for (id, label, change) in &cluster.nodes {
        let _ = writeln!(out, "      {id} [label={}{}];", quote(label), colour(*change));
    }
    out.push_str("    }\n");
}

fn colours(change: Change) -> Option<(&'static str, &'static str, &'static str)> {
    match change {
        Change::Keep => None,
        Change::Create => Some(("#00634a", "#def3ea", "bold")),
        Change::Update => Some(("#0a4f91", "#e1edf9", "dashed")),
        Change::Replace => Some(("#7a3489", "#f5e6f8", "dashed")),
        Change::Delete => Some(("#9c3600", "#fde8dc", "dotted")),
    }
}

fn colour(change: Change) -> String {
    colours(change).map_or(String::new(), |(edge, ground, style)| {
        format!(", color=\"{edge}\", fillcolor=\"{ground}\", style=\"filled,{style}\"")
    })
}

fn look(change: Change) -> String {
    colours(change)
        .map_or_else(String::new, |(edge, _, style)| format!("color=\"{edge}\"; style=\"{style}\";"))
}

/// A quoted string in DOT. Backslashes are escaped.
fn quote(text: &str) -> String {
    let text: String = visible(text).chars().take(120).collect();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
