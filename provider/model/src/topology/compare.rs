//! Combines the topologies before and after the apply, for diagrams of a change.

use super::overlay::mark;
use super::{AddressSpace, Change, Entry, Plan, Route, RouteTable, Topology};

/// All objects before and after the apply. Deleted objects are marked [`Change::Delete`], and routes and ranges that differ
/// are marked individually.
pub fn compare(plan: &Plan) -> Topology {
    let mut all = plan.after.clone();
    if !plan.changes {
        return all;
    }
    // Remaining objects may refer to a network that is deleted, which must not count as managed elsewhere.
    all.networks.retain(|key, network| {
        !network.head.external || plan.before.networks.get(key).is_none_or(|before| before.head.external)
    });
    all.adopt(&plan.before);
    for network in all.networks.values_mut() {
        if let Some(before) = plan.before.networks.get(&network.head.key) {
            network.was = was(&before.ranges, &network.ranges);
        }
    }
    for subnet in all.subnets.values_mut() {
        if let Some(before) = plan.before.subnets.get(&subnet.head.key) {
            subnet.was = was(&before.ranges, &subnet.ranges);
        }
    }
    for (key, table) in &mut all.tables {
        routes(table, plan.before.tables.get(key), plan.after.tables.contains_key(key));
    }
    for (key, config) in &mut all.configs {
        if let Some(before) = plan.before.configs.get(key) {
            config.was = was(&before.prefixes, &config.prefixes);
        }
        mark(config, plan.before.configs.get(key), plan.after.configs.contains_key(key));
    }
    for (key, space) in &mut all.spaces {
        entries(space, plan.before.spaces.get(key), plan.after.spaces.contains_key(key));
    }
    all
}

fn was(before: &[ipnet::IpNet], after: &[ipnet::IpNet]) -> Vec<ipnet::IpNet> {
    if before == after || after.is_empty() { Vec::new() } else { before.to_vec() }
}

fn routes(table: &mut RouteTable, before: Option<&RouteTable>, stays: bool) {
    let Some(before) = before.filter(|_| stays) else {
        let change = if stays { Change::Create } else { Change::Delete };
        table.routes.iter_mut().for_each(|route| route.change = change);
        return;
    };
    let mut gone: Vec<&Route> = before.routes.iter().collect();
    for route in &mut table.routes {
        let same = gone.iter().position(|old| old.destination == route.destination);
        route.change = match same.map(|at| gone.remove(at)) {
            // The target is the same object, or one of the same type that is known only after apply.
            Some(old) if old.target == route.target => Change::Keep,
            Some(_) => Change::Update,
            None => Change::Create,
        };
    }
    table.routes.extend(gone.into_iter().map(|old| Route { change: Change::Delete, ..old.clone() }));
    table.routes.sort();
}

fn entries(space: &mut AddressSpace, before: Option<&AddressSpace>, stays: bool) {
    let Some(before) = before.filter(|_| stays) else {
        let change = if stays { Change::Create } else { Change::Delete };
        space.entries.iter_mut().for_each(|entry| entry.change = change);
        return;
    };
    let mut gone: Vec<&Entry> = before.entries.iter().collect();
    for entry in &mut space.entries {
        let same = gone.iter().position(|old| old.path == entry.path);
        entry.change = match same.map(|at| gone.remove(at)) {
            Some(old) if old.range == entry.range => Change::Keep,
            Some(_) => Change::Replace,
            None => Change::Create,
        };
    }
    space.entries.extend(gone.into_iter().map(|old| Entry { change: Change::Delete, ..old.clone() }));
    space.entries.sort_by(|a, b| (a.range, &a.path).cmp(&(b.range, &b.path)));
}
