//! Address plans and rented pods.

use super::super::resource::Attribute;
use super::super::role::Role;
use super::Reader;
use super::view::{Item, View, range};
use crate::node::{Kind, Node};
use std::collections::BTreeMap;
use warren_cidr::{IpNet, SEPARATOR};
use warren_model::topology::{AddressSpace, Change, Entry, Home, Host};

pub(super) const READERS: &[(Role, Reader)] =
    &[("local.address_plan", address_plan), ("runpod.cluster", cluster), ("runpod.pod", pod)];

fn address_plan(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let named = |attribute: &str| -> BTreeMap<String, Vec<IpNet>> {
        match values.attribute(attribute) {
            Attribute::Known(node) => node
                .entries()
                .iter()
                .map(|entry| {
                    let ranges = entry.value.items().iter().filter_map(|item| range(item.text()?)).collect();
                    (entry.key.to_string(), ranges)
                })
                .collect(),
            _ => BTreeMap::new(),
        }
    };
    let networks = match values.attribute("networks") {
        Attribute::Known(node) => Some(node),
        _ => None,
    };
    let mut entries = Vec::new();
    if let Attribute::Known(node) = values.attribute("cidrs") {
        for cidr in node.entries() {
            let Some(net) = cidr.value.text().and_then(range) else { continue };
            let (hosts, grown) = asked(networks, &cidr.key);
            entries.push(Entry {
                path: cidr.key.to_string(),
                range: net,
                hosts,
                grown,
                change: Change::Keep,
            });
        }
    }
    entries.sort_by(|a, b| (a.range, &a.path).cmp(&(b.range, &b.path)));
    let space = AddressSpace {
        head: view.head(item, Home::Aws),
        pools: named("pools"),
        reserved: named("reserved"),
        entries,
    };
    view.topology.spaces.insert(space.head.key.clone(), space);
}

/// Requested number of hosts of an entry, without and with room to grow.
fn asked(networks: Option<&Node>, path: &str) -> (Option<u64>, Option<u64>) {
    let mut steps = path.split(SEPARATOR);
    let first = steps.next().and_then(|key| networks?.get(key));
    let node = steps.fold(first, |node, key| node?.get("subnets")?.get(key));
    let number = |key: &str| match &node?.get(key)?.kind {
        Kind::Number(text) => text.parse::<f64>().ok().filter(|number| number.is_finite()),
        _ => None,
    };
    let Some(hosts) = number("hosts") else { return (None, None) };
    let grown = (hosts * number("growth").unwrap_or(1.0)).ceil();
    let whole = |number: f64| (0.0..1e15).contains(&number).then_some(number as u64);
    (whole(hosts), whole(grown))
}

/// A rented pod. It is in none of the networks, and reaches them through the tunnel.
fn pod(view: &mut View<'_>, item: &Item<'_>) {
    let gpus = gpus(item).map(|gpus| format!(" with {gpus}")).unwrap_or_default();
    rented(view, item, format!("pod{gpus}"), 1);
}

/// Rented pods of one shape, which reach the networks like other pods.
fn cluster(view: &mut View<'_>, item: &Item<'_>) {
    let pods = match item.resource.values.attribute("pod_count") {
        Attribute::Known(count) => whole(count),
        _ => None,
    };
    let gpus = gpus(item).map(|gpus| format!(" with {gpus} each")).unwrap_or_default();
    let what = match pods {
        Some(pods) => format!("cluster of {pods} pods{gpus}"),
        None => format!("cluster of pods{gpus}"),
    };
    rented(view, item, what, pods.unwrap_or(1));
}

/// The number of GPUs of a pod; `None` if it has no GPU.
fn gpus(item: &Item<'_>) -> Option<String> {
    let Attribute::Known(gpu) = item.resource.values.attribute("gpu") else { return None };
    Some(match gpu.get("count").and_then(whole) {
        Some(1) => "1 GPU".to_owned(),
        Some(count) => format!("{count} GPUs"),
        None => "GPUs".to_owned(),
    })
}

fn whole(node: &Node) -> Option<u64> {
    match &node.kind {
        Kind::Number(text) => text.parse().ok(),
        _ => None,
    }
}

fn rented(view: &mut View<'_>, item: &Item<'_>, what: String, machines: u64) {
    let host = Host {
        head: view.head(item, Home::Runpod),
        subnet: None,
        groups: None,
        public: Some(false),
        tags: Vec::new(),
        what,
        machines,
        config: None,
    };
    view.topology.hosts.insert(host.head.key.clone(), host);
}
