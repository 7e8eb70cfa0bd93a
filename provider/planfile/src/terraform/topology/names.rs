//! Names: private zones, their networks and records, and the endpoints and rules of resolvers, in both clouds.

use super::super::resource::{Attribute, Values};
use super::super::role::{Role, is};
use super::Reader;
use super::aws::{GROUPS, SUBNETS, VPCS};
use super::google::NETWORKS;
use super::view::{Item, Link, View, blurred, texts};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use warren_model::topology::{
    Content, Direction, Home, Key, Record, ResolverEndpoint, ResolverRule, Zone, ZoneKind,
};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.zone", aws_zone),
    ("gcp.zone", google_zone),
    ("aws.resolver_endpoint", resolver_endpoint),
    ("aws.resolver_rule", resolver_rule),
];

/// Resources that add to zones and rules, which are read earlier.
pub(super) const EDGES: &[(Role, Reader)] = &[
    ("aws.zone_association", zone_association),
    ("aws.resolver_rule_association", rule_association),
    ("aws.record", aws_record),
    ("gcp.record", google_record),
];

const ENDPOINTS: &[Role] = &["aws.gateway_endpoint", "aws.endpoint"];
const PSC: &[Role] = &["gcp.private_service_connect", "gcp.forwarding_rule", "gcp.global_address"];
const AWS_ZONES: &[Role] = &["aws.zone"];
const GOOGLE_ZONES: &[Role] = &["gcp.zone"];
const RESOLVER_ENDPOINTS: &[Role] = &["aws.resolver_endpoint"];
const RESOLVER_RULES: &[Role] = &["aws.resolver_rule"];

/// Google's record sets name their zone, which may have the name of another object.
pub(super) fn names(before: &[Item<'_>], after: &[Item<'_>], ids: &mut BTreeMap<String, String>) {
    for item in before.iter().chain(after).filter(|item| is(item.resource.kind, GOOGLE_ZONES)) {
        if let Some(name) = item.resource.values.text("name") {
            ids.insert(format!("zone:{name}"), item.resource.address.clone());
        }
    }
}

/// A domain in lower case, without a dot at its end. Route 53 writes the star of a wildcard as `\052`.
fn domain(text: &str) -> String {
    text.trim_end_matches('.').replace("\\052", "*").to_ascii_lowercase()
}

/// A domain that may be known only after apply.
fn domain_of(values: &Values<'_>, attributes: &[&str]) -> Option<String> {
    attributes.iter().find_map(|attribute| values.text(attribute)).map(domain)
}

/// The objects that the blocks of `outer` refer to, and whether all of them are known.
fn each(view: &View<'_>, item: &Item<'_>, outer: &str, attribute: &str, roles: &[Role]) -> (Vec<Key>, bool) {
    let blocks = item.resource.values.children(outer);
    let mut keys = Vec::new();
    let mut open = 0;
    for (_, block) in &blocks {
        match block.attribute(attribute) {
            Attribute::Known(node) => {
                keys.extend(node.text().filter(|text| !text.is_empty()).map(|it| view.known(it)));
            }
            Attribute::Unknown | Attribute::Sensitive => open += 1,
            Attribute::Absent => {}
        }
    }
    let whole = matches!(item.resource.values.attribute(outer), Attribute::Unknown | Attribute::Sensitive);
    if open > 0 || whole {
        let found = view.candidates(item, outer, roles);
        let candidates: Vec<Key> = found.found.into_iter().filter(|it| !keys.contains(it)).collect();
        // As many candidates as open places: each is one of them.
        if !found.blurred && (whole || candidates.len() == open) && !candidates.is_empty() {
            keys.extend(candidates);
            return (keys, true);
        }
        return (keys, false);
    }
    (keys, true)
}

fn aws_zone(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (mut networks, mut complete) = (Vec::new(), true);
    let mut listed = false;
    for outer in ["vpc", "vpcs"] {
        let (found, all) = each(view, item, outer, "vpc_id", VPCS);
        listed |= !found.is_empty() || !all;
        complete &= all;
        networks.extend(found);
    }
    let warren = item.resource.kind.starts_with("warren");
    let zone = Zone {
        head: view.head(item, Home::Aws),
        domain: domain_of(values, if warren { &["domain_name"] } else { &["name"] }),
        kind: ZoneKind::Records,
        networks,
        complete,
        // Without a network, Route 53 makes a public zone.
        public: !warren && !listed,
    };
    view.topology.zones.insert(zone.head.key.clone(), zone);
}

fn zone_association(view: &mut View<'_>, item: &Item<'_>) {
    let network = view.link(item, "vpc_id", VPCS);
    let zone = view.link(item, "zone_id", AWS_ZONES).key();
    let add = |zone: &mut Zone| match &network {
        Link::To(key) => zone.networks.push(key.clone()),
        Link::Unknown | Link::Absent => zone.complete = false,
    };
    match zone.and_then(|key| view.topology.zones.get_mut(&key)) {
        Some(zone) => add(zone),
        None if matches!(item.resource.values.attribute("zone_id"), Attribute::Unknown) => {
            let zones = view.candidates(item, "zone_id", AWS_ZONES).found;
            let resource = format!("{}.{}.{}", item.resource.module, item.resource.kind, item.resource.name);
            view.associations.push(Association { resource, network: network.key(), zones });
        }
        None => {}
    }
}

/// An association with a zone that is known only after apply.
pub(super) struct Association {
    /// Its resource, without an instance key.
    resource: String,
    network: Option<Key>,
    /// The zones that it may mean.
    zones: BTreeSet<Key>,
}

/// Resolves associations of which a resource has as many as there are zones: a network is associated with a zone only once,
/// so each zone is meant by one of them.
pub(super) fn settle(view: &mut View<'_>) {
    let mut groups: BTreeMap<(String, Option<Key>), Vec<BTreeSet<Key>>> = BTreeMap::new();
    for association in std::mem::take(&mut view.associations) {
        groups.entry((association.resource, association.network)).or_default().push(association.zones);
    }
    for ((_, network), zones) in groups {
        let count = zones.len();
        let all: BTreeSet<Key> = zones.into_iter().flatten().collect();
        let exact = network.filter(|_| all.len() == count);
        for (key, zone) in &mut view.topology.zones {
            match &exact {
                Some(network) if all.contains(key) => zone.networks.push(network.clone()),
                Some(_) => {}
                // Any zone may be meant, and then it is seen by one more network.
                None => zone.complete = false,
            }
        }
    }
}

fn aws_record(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let content = match values.attribute("alias") {
        Attribute::Absent => data(view, item, "records", ENDPOINTS),
        Attribute::Unknown | Attribute::Sensitive => aliased(view, item),
        Attribute::Known(node) if node.items().is_empty() && node.entries().is_empty() => {
            data(view, item, "records", ENDPOINTS)
        }
        Attribute::Known(_) => {
            let alias = values.nested("alias");
            let target = ["dns_name", "name"].iter().find_map(|it| alias.as_ref()?.text(it));
            target.map_or_else(|| aliased(view, item), |target| named(view, target))
        }
    };
    let zone = view.link(item, "zone_id", AWS_ZONES).key().or_else(|| by_name(view, item));
    record(view, item, Home::Aws, zone, content);
}

/// The endpoint that an alias refers to.
fn aliased(view: &View<'_>, item: &Item<'_>) -> Content {
    let found = view.candidates(item, "alias", ENDPOINTS);
    match found.found.into_iter().collect::<Vec<_>>().as_slice() {
        [only] if !found.blurred => Content::Endpoint(only.clone()),
        _ => Content::Unknown,
    }
}

/// The zone of a record, if only one of those that its reference may mean has the record's name.
fn by_name(view: &View<'_>, item: &Item<'_>) -> Option<Key> {
    let name = domain_of(&item.resource.values, &["name"])?;
    let found = view.candidates(item, "zone_id", AWS_ZONES);
    let has = |key: &&Key| {
        let domain = view.topology.zones.get(*key).and_then(|zone| zone.domain.as_deref());
        domain.is_some_and(|domain| warren_model::policy::within(&name, domain))
    };
    let mut zones = found.found.iter().filter(|_| !found.blurred).filter(has);
    let first = zones.next()?;
    zones.next().is_none().then(|| first.clone())
}

/// The endpoint with a DNS name such as `*.vpce-0a1b-2c3d.s3.us-east-1.vpce.amazonaws.com`, or else the name.
fn named(view: &View<'_>, text: &str) -> Content {
    let name = domain(text);
    let id = name.split('.').find(|label| label.starts_with("vpce-")).map(|label| {
        let mut parts = label.splitn(3, '-');
        format!("{}-{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    });
    match id.map(|id| view.known(&id)).filter(|key| view.topology.endpoints.contains_key(key)) {
        Some(key) => Content::Endpoint(key),
        None => Content::Name(name),
    }
}

/// What the values of a record answer.
fn data(view: &View<'_>, item: &Item<'_>, attribute: &str, roles: &[Role]) -> Content {
    let values = &item.resource.values;
    let kind = values.text("type").unwrap_or("A");
    if !matches!(kind, "A" | "AAAA" | "CNAME") {
        return Content::Other;
    }
    let list = texts(values, attribute);
    if list.is_empty() || blurred(values, attribute) {
        // An endpoint's address, which the cloud chooses.
        let found = view.candidates(item, attribute, roles);
        return match found.found.into_iter().collect::<Vec<_>>().as_slice() {
            [only] if !found.blurred => Content::Endpoint(only.clone()),
            _ => Content::Unknown,
        };
    }
    match (kind, list.first()) {
        ("CNAME", Some(first)) => named(view, first),
        _ => Content::Addresses(list.iter().filter_map(|text| text.parse::<IpAddr>().ok()).collect()),
    }
}

fn record(view: &mut View<'_>, item: &Item<'_>, home: Home, zone: Option<Key>, content: Content) {
    let mut head = view.head(item, home);
    // In a zone of Route 53, a name without the zone's domain is relative to it.
    let domain = zone.as_ref().and_then(|key| view.topology.zones.get(key)?.domain.clone());
    let name = domain_of(&item.resource.values, &["name"]).map(|name| match (&domain, home) {
        (Some(domain), Home::Aws) if !warren_model::policy::within(&name, domain) => {
            format!("{name}.{domain}")
        }
        _ => name,
    });
    head.name = name.clone().unwrap_or(head.name);
    let record = Record { head, zone, name, content };
    view.topology.records.insert(record.head.key.clone(), record);
}

fn google_zone(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let warren = item.resource.kind.starts_with("warren");
    let (mut networks, mut complete) = (Vec::new(), true);
    if warren {
        networks = view.links(item, "networks", NETWORKS);
        complete = !networks.is_empty() && !blurred(values, "networks") || all_found(view, item, "networks");
    } else if let Some(config) = values.nested("private_visibility_config") {
        for (_, block) in config.children("networks") {
            match view.link_in(item, &block, "network_url", "private_visibility_config", NETWORKS) {
                Link::To(key) => networks.push(key),
                Link::Unknown => complete = false,
                Link::Absent => {}
            }
        }
        if !complete {
            let found = view.candidates(item, "private_visibility_config", NETWORKS);
            complete = !found.blurred;
            networks.extend(found.found);
        }
    }
    networks.sort();
    networks.dedup();
    let forwarding: Vec<Values<'_>> = if warren {
        values.children("forwarding_targets").into_iter().map(|(_, it)| it).collect()
    } else {
        let config = values.nested("forwarding_config");
        let blocks = config.map(|it| it.children("target_name_servers")).unwrap_or_default();
        blocks.into_iter().map(|(_, it)| it).collect()
    };
    let peered = if warren {
        !matches!(values.attribute("peering_network"), Attribute::Absent)
    } else {
        values.nested("peering_config").is_some()
    };
    let kind = if peered {
        let target = if warren {
            view.link(item, "peering_network", NETWORKS)
        } else {
            let target = values.nested("peering_config").and_then(|it| it.nested("target_network"));
            match target {
                Some(target) => view.link_in(item, &target, "network_url", "peering_config", NETWORKS),
                None => Link::Unknown,
            }
        };
        ZoneKind::Peering(target.key())
    } else if forwarding.is_empty() {
        ZoneKind::Records
    } else {
        let targets = forwarding.iter().filter_map(|it| it.text("ipv4_address")?.parse().ok());
        ZoneKind::Forwarding(targets.collect())
    };
    let zone = Zone {
        head: view.head(item, Home::Google),
        domain: domain_of(values, &["dns_name"]),
        kind,
        networks,
        complete,
        public: !warren && values.text("visibility") != Some("private"),
    };
    view.topology.zones.insert(zone.head.key.clone(), zone);
}

fn all_found(view: &View<'_>, item: &Item<'_>, attribute: &str) -> bool {
    let found = view.candidates(item, attribute, NETWORKS);
    !found.blurred && !found.found.is_empty()
}

fn google_record(view: &mut View<'_>, item: &Item<'_>) {
    let zones = ["zone", "managed_zone"];
    let zone = zones.into_iter().find_map(|attribute| match item.resource.values.text(attribute) {
        Some(text) => {
            let name = text.rsplit('/').next().unwrap_or(text);
            let known = view.known(&format!("zone:{name}"));
            Some(if known.starts_with("zone:") { view.known(text) } else { known })
        }
        None => view.link(item, attribute, GOOGLE_ZONES).key(),
    });
    let content = data(view, item, "rrdatas", PSC);
    record(view, item, Home::Google, zone, content);
}

fn resolver_endpoint(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (mut subnets, mut addresses) = (Vec::new(), Vec::new());
    for outer in ["ip_address", "ip_addresses"] {
        subnets.extend(each(view, item, outer, "subnet_id", SUBNETS).0);
        for (_, block) in values.children(outer) {
            addresses.extend(block.text("ip").and_then(|text| text.parse::<IpAddr>().ok()));
        }
    }
    let groups = view.links(item, "security_group_ids", GROUPS);
    let inbound = values.text("direction") != Some("OUTBOUND");
    let endpoint = ResolverEndpoint {
        head: view.head(item, Home::Aws),
        direction: if inbound { Direction::Inbound } else { Direction::Outbound },
        subnets,
        addresses,
        groups: (!groups.is_empty()).then_some(groups),
    };
    view.topology.resolver_endpoints.insert(endpoint.head.key.clone(), endpoint);
}

fn resolver_rule(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (mut targets, mut inbound, mut complete) = (Vec::new(), Vec::new(), true);
    for outer in ["target_ip", "target_ips"] {
        for (_, block) in values.children(outer) {
            match block.attribute("ip") {
                Attribute::Known(node) => {
                    targets.extend(node.text().and_then(|it| it.parse::<IpAddr>().ok()));
                }
                Attribute::Absent => {}
                Attribute::Unknown | Attribute::Sensitive => complete = false,
            }
        }
        if !complete || matches!(values.attribute(outer), Attribute::Unknown) {
            let found = view.candidates(item, outer, RESOLVER_ENDPOINTS);
            complete = !found.blurred && !found.found.is_empty();
            inbound.extend(found.found);
        }
    }
    let networks = view.links(item, "vpc_ids", VPCS);
    let rule = ResolverRule {
        head: view.head(item, Home::Aws),
        domain: domain_of(values, &["domain_name"]).or_else(|| {
            // The rule for every name has the domain `.`.
            matches!(values.attribute("domain_name"), Attribute::Known(_)).then(String::new)
        }),
        forwards: values.text("rule_type") != Some("SYSTEM"),
        endpoint: view.link(item, "resolver_endpoint_id", RESOLVER_ENDPOINTS).key(),
        targets,
        inbound,
        complete,
        associated: !blurred(values, "vpc_ids") || !networks.is_empty(),
        networks,
    };
    view.topology.resolver_rules.insert(rule.head.key.clone(), rule);
}

fn rule_association(view: &mut View<'_>, item: &Item<'_>) {
    let network = view.link(item, "vpc_id", VPCS);
    let Link::To(key) = view.link(item, "resolver_rule_id", RESOLVER_RULES) else { return };
    if let Some(rule) = view.topology.resolver_rules.get_mut(&key) {
        match network {
            Link::To(key) => rule.networks.push(key),
            Link::Unknown | Link::Absent => rule.associated = false,
        }
    }
}
