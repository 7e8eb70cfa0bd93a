//! Security groups, with inline rules and rules as separate resources.

use super::super::resource::Values;
use super::super::role::Role;
use super::Reader;
use super::aws::{GROUPS, VPCS};
use super::view::{Item, Link, View, blurred, flag, integer, range, texts};
use warren_model::topology::{Home, Peer, Protocol, Rule, SecurityGroup};

pub(super) const READERS: &[(Role, Reader)] = &[("aws.security_group", group)];

/// Rules of groups, which are read earlier.
pub(super) const EDGES: &[(Role, Reader)] = &[
    ("aws.security_group_rule", rule),
    ("aws.security_group_ingress_rule", ingress_rule),
    ("aws.security_group_egress_rule", egress_rule),
];

fn group(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let rules = |view: &View<'_>, outer: &str| {
        let blocks = values.children(outer);
        let mut rules: Vec<Rule> = blocks.iter().map(|(_, block)| read(view, item, block, outer)).collect();
        if blurred(values, outer) && blocks.is_empty() && item.resource.kind.starts_with("warren") {
            rules.push(Rule { protocols: vec![Protocol::Any], peers: vec![Peer::Unknown] });
        }
        rules.sort();
        rules
    };
    let group = SecurityGroup {
        head: view.head(item, Home::Aws),
        network: view.link(item, "vpc_id", VPCS).key(),
        ingress: rules(view, "ingress"),
        egress: rules(view, "egress"),
    };
    view.topology.groups.insert(group.head.key.clone(), group);
}

fn read(view: &View<'_>, item: &Item<'_>, values: &Values<'_>, outer: &str) -> Rule {
    let mut peers = Vec::new();
    for attribute in ["cidr_blocks", "ipv6_cidr_blocks", "cidr_ipv4", "cidr_ipv6"] {
        let single = values.text(attribute).map(str::to_owned);
        let ranges = single.into_iter().chain(texts(values, attribute));
        peers.extend(ranges.filter_map(|text| range(&text)).map(Peer::Range));
        if blurred(values, attribute) {
            peers.push(Peer::Unknown);
        }
    }
    for attribute in ["prefix_list_ids", "prefix_list_id"] {
        let single = values.text(attribute).map(str::to_owned);
        peers.extend(single.into_iter().chain(texts(values, attribute)).map(Peer::List));
    }
    for attribute in ["security_group_ids", "security_groups"] {
        let found = view.links_in(item, values, attribute, outer, GROUPS);
        // The references of a block are those of all its rules; known values are in the values.
        peers.extend(found.into_iter().map(Peer::Group));
    }
    for attribute in ["source_security_group_id", "referenced_security_group_id"] {
        match view.link(item, attribute, GROUPS) {
            Link::To(key) => peers.push(Peer::Group(key)),
            Link::Unknown => peers.push(Peer::Unknown),
            Link::Absent => {}
        }
    }
    if ["same_group", "self"].into_iter().any(|key| flag(values, key) == Some(true)) {
        peers.push(Peer::Group(item.resource.address.clone()));
    }
    peers.sort();
    peers.dedup();
    Rule { protocols: vec![protocol(values)], peers }
}

fn protocol(values: &Values<'_>) -> Protocol {
    let name = values.text("protocol").or_else(|| values.text("ip_protocol")).map(str::to_ascii_lowercase);
    let name = name.or_else(|| integer(values, "protocol").map(|number| number.to_string()));
    let port = |key: &str, default: u16| {
        integer(values, key).and_then(|port| u16::try_from(port).ok()).unwrap_or(default)
    };
    // A port that is not set is every port.
    let ports = || (port("from_port", 0), port("to_port", u16::MAX));
    match name.as_deref() {
        None | Some("-1" | "all") => Protocol::Any,
        Some("tcp" | "6") => Protocol::Tcp(ports().0, ports().1),
        Some("udp" | "17") => Protocol::Udp(ports().0, ports().1),
        Some(_) => Protocol::Other,
    }
}

fn rule(view: &mut View<'_>, item: &Item<'_>) {
    let ingress = item.resource.values.text("type") != Some("egress");
    own(view, item, ingress);
}

fn ingress_rule(view: &mut View<'_>, item: &Item<'_>) {
    own(view, item, true);
}

fn egress_rule(view: &mut View<'_>, item: &Item<'_>) {
    own(view, item, false);
}

/// A rule that is a separate resource.
fn own(view: &mut View<'_>, item: &Item<'_>, ingress: bool) {
    let Link::To(key) = view.link(item, "security_group_id", GROUPS) else { return };
    let mut rule = read(view, item, &item.resource.values, "");
    // `self = true` speaks of the group, not of the rule.
    for peer in &mut rule.peers {
        if *peer == Peer::Group(item.resource.address.clone()) {
            *peer = Peer::Group(key.clone());
        }
    }
    if let Some(group) = view.topology.groups.get_mut(&key) {
        if ingress { group.ingress.push(rule) } else { group.egress.push(rule) }
    }
}
