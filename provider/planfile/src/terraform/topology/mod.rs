//! Reads a plan or state as a [`Plan`]: the objects before and after the apply.

mod aws;
mod aws_acls;
mod aws_routes;
mod aws_rules;
mod azure;
mod gateway;
mod google;
mod managed;
mod names;
mod policies;
mod view;
mod vpn;
mod warren;

use super::locate::Locator;
use super::references::References;
use super::resource::{Resource, Values};
use super::role::{Role, role};
use crate::node::Node;
use std::collections::{BTreeMap, BTreeSet};
use view::{Item, View};
use warren_model::topology::{Change, Head, Home, Network, Plan, Topology};

/// Reads resources with one role into a view.
type Reader = fn(&mut View<'_>, &Item<'_>);

/// Resources that are objects. Networks, subnets and gateways come before resources that refer to them.
const OBJECTS: &[&[(Role, Reader)]] = &[
    aws::READERS,
    google::READERS,
    azure::READERS,
    managed::READERS,
    aws_routes::READERS,
    aws_rules::READERS,
    aws_acls::READERS,
    names::READERS,
    warren::READERS,
    gateway::READERS,
    vpn::READERS,
];

/// Resources that add to objects.
const EDGES: &[&[(Role, Reader)]] = &[
    aws::EDGES,
    google::EDGES,
    aws_routes::EDGES,
    aws_rules::EDGES,
    aws_acls::EDGES,
    policies::EDGES,
    names::EDGES,
];

/// Every reader by role, with its position in the order.
fn readers() -> BTreeMap<Role, (usize, Reader)> {
    let lists = OBJECTS.iter().chain(EDGES).copied();
    let ranked = lists.flatten().enumerate();
    ranked.map(|(rank, (role, reader))| (*role, (rank, *reader))).collect()
}

/// The roles that have a reader.
#[cfg(test)]
pub(super) fn roles_read() -> Vec<Role> {
    readers().into_keys().collect()
}

pub(crate) fn read(file: &str, tree: &Node) -> Plan {
    let readers = readers();
    let reader = |kind: &str| role(kind).and_then(|role| readers.get(role));
    let wanted = |node: &Node| {
        node.get("mode").and_then(Node::text) == Some("managed")
            && node.get("type").and_then(Node::text).is_some_and(|kind| reader(kind).is_some())
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let plan = tree.get("resource_changes");
    match plan {
        Some(changes) => {
            for node in changes.items().iter().filter(|node| wanted(node)) {
                sides(node, &mut before, &mut after);
            }
            for side in [&mut before, &mut after] {
                let stay = super::resource::unplanned(tree).into_iter();
                side.extend(stay.map(|resource| Item { resource, change: Change::Keep }));
            }
        }
        None => {
            let values = tree.get("planned_values").or_else(|| tree.get("values"));
            if let Some(root) = values.and_then(|values| values.get("root_module")) {
                state(root, &wanted, &mut after);
            }
        }
    }
    for items in [&mut before, &mut after] {
        let read = super::resource::read(tree).into_iter();
        let networks = read.filter(|resource| super::role::is(resource.kind, super::NETWORKS));
        items.extend(networks.map(|resource| Item { resource, change: Change::Keep }));
        items.sort_by(|a: &Item<'_>, b: &Item<'_>| a.resource.address.cmp(&b.resource.address));
        items.dedup_by(|a, b| a.resource.address == b.resource.address);
    }
    let addresses: BTreeSet<String> =
        before.iter().chain(&after).map(|item| item.resource.address.clone()).collect();
    let references = References::new(tree, addresses.iter().map(String::as_str).collect());
    let mut ids = BTreeMap::new();
    for item in before.iter().chain(&after) {
        // Google's links name an object in two ways, and its name in a third.
        for key in ["id", "self_link", "arn"] {
            if let Some(text) = item.resource.values.text(key) {
                ids.insert(canonical(text), item.resource.address.clone());
            }
        }
    }
    google::names(&before, &after, &mut ids);
    azure::names(&before, &after, &mut ids);
    gateway::names(&before, &after, &mut ids);
    names::names(&before, &after, &mut ids);
    let fabrics = gateway::fabrics(&before, &after);
    let locator = Locator::new(tree, &references, after.iter().map(|item| &item.resource));
    let side = |items: &[Item<'_>]| {
        let mut view = View {
            references: &references,
            locator: &locator,
            ids: &ids,
            fabrics: &fabrics,
            routers: BTreeMap::new(),
            imports: BTreeSet::new(),
            exports: BTreeSet::new(),
            addresses: BTreeMap::new(),
            associations: Vec::new(),
            vpns: vpn::Vpns::default(),
            topology: Topology::default(),
            unknown: 0,
        };
        let mut ordered: Vec<_> =
            items.iter().filter_map(|item| Some((reader(item.resource.kind)?, item))).collect();
        ordered.sort_by_key(|((rank, _), _)| *rank);
        for ((_, reader), item) in ordered {
            reader(&mut view, item);
        }
        google::settle(&mut view);
        names::settle(&mut view);
        vpn::settle(&mut view);
        aws_routes::settle(&mut view.topology);
        mention(&mut view.topology);
        (view.topology, view.unknown)
    };
    let ((after, unknown), changes) = (side(&after), plan.is_some());
    let before = if changes { side(&before).0 } else { after.clone() };
    Plan { file: file.to_owned(), before, after, changes, unknown }
}

/// The resource before and after the apply.
fn sides<'a>(node: &'a Node, before: &mut Vec<Item<'a>>, after: &mut Vec<Item<'a>>) {
    let Some(change) = node.get("change") else { return };
    let actions: Vec<&str> =
        change.get("actions").map(Node::items).unwrap_or_default().iter().filter_map(Node::text).collect();
    let what = match actions.as_slice() {
        ["no-op"] | ["forget"] => Change::Keep,
        ["create"] => Change::Create,
        ["update"] => Change::Update,
        ["delete"] => Change::Delete,
        [_, _] => Change::Replace,
        _ => return,
    };
    // What is left of a replacement that failed half way is not the object itself.
    if node.get("deposed").is_some() {
        return;
    }
    let old = Values::new(change.get("before"), None, change.get("before_sensitive"));
    let new = Values::new(change.get("after"), change.get("after_unknown"), change.get("after_sensitive"));
    // Terraform forgets it, and it stays in the cloud.
    let new = if actions == ["forget"] { old } else { new };
    if what != Change::Create
        && let Some(resource) = super::resource::resource(node, old, true)
    {
        before.push(Item { resource, change: what });
    }
    if what != Change::Delete
        && let Some(resource) = super::resource::resource(node, new, what != Change::Create)
    {
        after.push(Item { resource, change: what });
    }
}

fn state<'a>(node: &'a Node, wanted: &dyn Fn(&Node) -> bool, found: &mut Vec<Item<'a>>) {
    for resource in
        node.get("resources").map(Node::items).unwrap_or_default().iter().filter(|node| wanted(node))
    {
        let values = Values::new(resource.get("values"), None, resource.get("sensitive_values"));
        let resource: Option<Resource<'a>> = super::resource::resource(resource, values, true);
        found.extend(resource.map(|resource| Item { resource, change: Change::Keep }));
    }
    for child in node.get("child_modules").map(Node::items).unwrap_or_default() {
        state(child, wanted, found);
    }
}

/// Networks that resources refer to but that are managed elsewhere. Nothing else is known about them.
fn mention(topology: &mut Topology) {
    let mut mentioned: BTreeMap<String, Home> = BTreeMap::new();
    let mut note = |key: &Option<String>, home: Home| {
        if let Some(key) = key {
            mentioned.insert(key.clone(), home);
        }
    };
    topology.subnets.values().for_each(|subnet| note(&subnet.network, subnet.head.home));
    topology.attachments.values().for_each(|attachment| note(&attachment.network, attachment.head.home));
    topology.endpoints.values().for_each(|endpoint| note(&endpoint.network, endpoint.head.home));
    let unplaced = topology.managed.values().filter(|managed| managed.subnets.is_empty());
    unplaced.for_each(|managed| note(&managed.network, managed.head.home));
    for zone in topology.zones.values() {
        zone.networks.iter().for_each(|network| note(&Some(network.clone()), zone.head.home));
    }
    for peering in topology.peerings.values() {
        note(&peering.left, peering.head.home);
        note(&peering.right, peering.head.home);
    }
    for (key, home) in mentioned {
        let name = key.rsplit('/').next().unwrap_or(&key).to_owned();
        let head = Head { key: key.clone(), name, home, change: Change::Keep, external: true };
        topology.networks.entry(key).or_insert(Network {
            head,
            ranges: Vec::new(),
            was: Vec::new(),
            complete: false,
            region: None,
            resolver: true,
            private_names: true,
        });
    }
}

pub(super) use super::canonical;
