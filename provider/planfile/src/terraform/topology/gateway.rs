//! Gateways and their configurations: the groups of the overlay, and what its peers may reach.

use super::super::resource::Attribute;
use super::super::role::{Role, is};
use super::Reader;
use super::aws::host;
use super::google::{SUBNETS, account};
use super::view::{Item, View, range, texts};
use crate::node::{Kind, Node, parse_toml};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use warren_cidr::IpNet;
use warren_model::topology::{
    Allow, Change, GatewayConfig, Home, Host, PeerGroup, Protocol, SitePeer, Unread, Zones,
};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.gateway_config", aws_config),
    ("gcp.gateway_config", google_config),
    ("aws.gateway", aws_gateway),
    ("gcp.gateway", google_gateway),
];

const CONFIGS: &[Role] = &["aws.gateway_config", "gcp.gateway_config"];
const GATEWAYS: &[Role] = &["aws.gateway", "gcp.gateway"];

/// A gateway refers to its configuration by name, and routes refer to a gateway by its network interface.
pub(super) fn names(before: &[Item<'_>], after: &[Item<'_>], ids: &mut BTreeMap<String, String>) {
    for item in before.iter().chain(after) {
        let resource = &item.resource;
        let attribute = match resource.kind {
            kind if is(kind, CONFIGS) => "name",
            kind if is(kind, GATEWAYS) => "network_interface_id",
            _ => continue,
        };
        if let Some(text) = resource.values.text(attribute) {
            ids.insert(text.to_owned(), resource.address.clone());
        }
    }
}

/// The fabric of each configuration: as set in it, before or after the apply; else from its tags; else that of all others.
pub(super) fn fabrics(before: &[Item<'_>], after: &[Item<'_>]) -> BTreeMap<String, String> {
    let configs = || after.iter().chain(before).filter(|item| is(item.resource.kind, CONFIGS));
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for item in configs() {
        if let Some(fabric) = said(item).or_else(|| tagged(item)) {
            found.entry(item.resource.address.clone()).or_insert(fabric);
        }
    }
    let all: BTreeSet<String> = found.values().cloned().collect();
    if let (1, Some(only)) = (all.len(), all.first()) {
        for item in configs() {
            found.entry(item.resource.address.clone()).or_insert_with(|| only.clone());
        }
    }
    found
}

fn said(item: &Item<'_>) -> Option<String> {
    let tree = parse_toml("content", item.resource.values.text("content")?).ok()?;
    tree.get("fabric")?.text().map(str::to_owned)
}

fn tagged(item: &Item<'_>) -> Option<String> {
    let marks = [("tags_all", "warren:fabric"), ("effective_labels", "warren-fabric")];
    marks.into_iter().find_map(|(attribute, key)| match item.resource.values.attribute(attribute) {
        Attribute::Known(node) => node.get(key)?.text().map(str::to_owned),
        _ => None,
    })
}

fn aws_config(view: &mut View<'_>, item: &Item<'_>) {
    config(view, item, Home::Aws);
}

fn google_config(view: &mut View<'_>, item: &Item<'_>) {
    config(view, item, Home::Google);
}

fn config(view: &mut View<'_>, item: &Item<'_>, home: Home) {
    let head = view.head(item, home);
    let content = match item.resource.values.attribute("content") {
        Attribute::Known(node) => node
            .text()
            .and_then(|text| parse_toml("content", text).ok())
            .and_then(|tree| content(&tree))
            .ok_or(Unread::Malformed),
        Attribute::Absent => Err(Unread::Malformed),
        Attribute::Unknown => Err(Unread::Later),
        Attribute::Sensitive => Err(Unread::Sensitive),
    };
    if content.as_ref().is_err_and(|why| *why == Unread::Later) {
        view.unknown += 1;
    }
    let (unread, content) = match content {
        Ok(content) => (None, content),
        Err(why) => (Some(why), Contents::default()),
    };
    let Contents { prefixes, groups, name, sites, addresses, names, servers } = content;
    let fabric = view.fabrics.get(&head.key).cloned().unwrap_or_default();
    let config = GatewayConfig {
        head,
        fabric,
        unread,
        prefixes,
        was: Vec::new(),
        groups,
        name,
        sites,
        addresses,
        names,
        servers,
    };
    view.topology.configs.insert(config.head.key.clone(), config);
}

#[derive(Default)]
struct Contents {
    prefixes: Vec<IpNet>,
    groups: Vec<PeerGroup>,
    name: String,
    sites: Vec<SitePeer>,
    addresses: Vec<IpAddr>,
    names: Vec<Zones>,
    servers: Vec<Zones>,
}

/// Ranges, groups and names. A partly read allow-list would be misleading, so any invalid part makes the whole file
/// unreadable.
fn content(tree: &Node) -> Option<Contents> {
    let mut prefixes = ranges(tree.get("pool")?.get("prefixes")?)?;
    prefixes.sort();
    let mut groups = Vec::new();
    for entry in tree.get("groups").map(Node::entries).unwrap_or_default() {
        let rules = entry.value.get("allow").map(Node::items).unwrap_or_default();
        let allow = rules.iter().map(rule).collect::<Option<Vec<Allow>>>()?;
        groups.push(PeerGroup { name: entry.key.to_string(), allow, change: Change::Keep });
    }
    groups.sort();
    let dns = tree.get("dns");
    let zones = dns.and_then(|dns| dns.get("zones")).map(Node::items).unwrap_or_default();
    let names = zones.iter().map(|zone| resolvers(zone, "resolvers")).collect::<Option<Vec<_>>>()?;
    let servers = dns.map(|dns| resolvers(dns, "servers")).into_iter().collect::<Option<Vec<_>>>()?;
    let servers = servers.into_iter().filter(|it| !it.resolvers.is_empty()).collect();
    let own = tree.get("site").and_then(|site| site.get("addresses")).map(Node::items).unwrap_or_default();
    // Without a site, the gateway has the first address of each of its ranges.
    let first = prefixes.iter().filter_map(|net: &IpNet| net.hosts().next());
    let addresses = match own {
        [] => first.collect(),
        own => own.iter().filter_map(|it| it.text()?.parse().ok()).collect(),
    };
    let peers = tree.get("site").and_then(|site| site.get("peers")).map(Node::items).unwrap_or_default();
    let sites = peers.iter().map(site).collect::<Option<Vec<_>>>()?;
    let name = tree.get("name").and_then(Node::text).unwrap_or_default().to_owned();
    Some(Contents { prefixes, groups, name, sites, addresses, names, servers })
}

/// One `[[site.peers]]`.
fn site(node: &Node) -> Option<SitePeer> {
    let prefixes = node.get("prefixes").map_or(Some(Vec::new()), ranges)?;
    let text = |key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    Some(SitePeer { name: text("name"), prefixes, group: text("group") })
}

/// Domains and the addresses at `key`.
fn resolvers(node: &Node, key: &str) -> Option<Zones> {
    let texts = |key: &str| {
        let items = node.get(key).map(Node::items).unwrap_or_default();
        items.iter().map(Node::text).collect::<Option<Vec<_>>>()
    };
    let domains = texts("domains")?.into_iter().map(|it| it.trim_end_matches('.').to_ascii_lowercase());
    let resolvers = texts(key)?.into_iter().map(|it| it.parse().ok()).collect::<Option<Vec<_>>>()?;
    Some(Zones { domains: domains.collect(), resolvers })
}

fn ranges(node: &Node) -> Option<Vec<IpNet>> {
    node.items().iter().map(|item| range(item.text()?)).collect()
}

/// One `[[groups.NAME.allow]]`. Ports do not apply to ICMP, and omitted keys allow everything.
fn rule(node: &Node) -> Option<Allow> {
    let (mut to, mut groups) = (Vec::new(), Vec::new());
    for item in node.get("to")?.items() {
        match item.text()?.strip_prefix("group:") {
            Some(group) => groups.push(group.to_owned()),
            None => to.push(range(item.text()?)?),
        }
    }
    let ports = match node.get("ports") {
        Some(ports) => ports.items().iter().map(port).collect::<Option<Vec<_>>>()?,
        None => vec![(0, u16::MAX)],
    };
    let words: Vec<&str> = match node.get("protocols") {
        Some(words) => words.items().iter().map(Node::text).collect::<Option<_>>()?,
        None if node.get("ports").is_none() => {
            return Some(Allow { to, groups, protocols: vec![Protocol::Any], change: Change::Keep });
        }
        None => vec!["tcp", "udp", "icmp"],
    };
    let mut protocols = Vec::new();
    for word in words {
        match word {
            "tcp" => protocols.extend(ports.iter().map(|(low, high)| Protocol::Tcp(*low, *high))),
            "udp" => protocols.extend(ports.iter().map(|(low, high)| Protocol::Udp(*low, *high))),
            "icmp" => protocols.push(Protocol::Other),
            _ => return None,
        }
    }
    protocols.sort();
    Some(Allow { to, groups, protocols, change: Change::Keep })
}

/// `443` or `"8000-8100"`.
fn port(node: &Node) -> Option<(u16, u16)> {
    let text = match &node.kind {
        Kind::Number(text) | Kind::Text(text) => text,
        _ => return None,
    };
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
}

fn aws_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let host = host(view, item, "WireGuard gateway", "security_group_ids");
    // Its public address is a separate object, and is unknown before it is created.
    let address = !matches!(item.resource.values.attribute("allocation_id"), Attribute::Absent);
    let public = host.public.or(address.then_some(true));
    add(view, item, Host { public, ..host });
}

fn google_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let public = !matches!(values.attribute("nat_ip"), Attribute::Absent);
    let host = Host {
        head: view.head(item, Home::Google),
        subnet: view.link(item, "subnetwork", SUBNETS).key(),
        groups: None,
        public: Some(public),
        tags: texts(values, "tags").into_iter().chain([account(values.text("service_account"))]).collect(),
        what: "WireGuard gateway".to_owned(),
        machines: 1,
        config: None,
    };
    add(view, item, host);
}

fn add(view: &mut View<'_>, item: &Item<'_>, host: Host) {
    let config = view.link(item, "config", CONFIGS).key();
    view.topology.hosts.insert(host.head.key.clone(), Host { config, ..host });
}
