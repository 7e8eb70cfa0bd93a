//! Transit gateways: the table of the attachment decides, and static routes win over propagated ones.

use super::walk::{End, Gate, Goal, Walk, deliver, dropped, unknown};
use super::{Hop, Lists};
use crate::topology::{Attachment, Gateway, Subnet, TransitTarget};
use ipnet::IpNet;

/// Sends a packet of `subnet` through a transit gateway: the subnet whose table is next, or the end of the path.
pub(super) fn transit<'a>(
    lists: &Lists<'a>,
    walk: &mut Walk<'a>,
    gateway: &'a Gateway,
    subnet: &'a Subnet,
    network: &str,
    goal: Goal<'_>,
    public: &mut bool,
) -> Result<&'a Subnet, End> {
    let (name, to) = (&gateway.head.name, goal.address);
    let attached = lists.attachments(&gateway.head.key);
    let Some(near) = attached.iter().find(|it| it.network.as_deref() == Some(network)) else {
        return dropped(format!("{} is not attached to transit gateway {name}", lists.all.name(network)));
    };
    if !serves(lists, near, subnet) {
        return dropped(format!(
            "attachment {} has no subnet in {}, the zone of subnet {}",
            near.head.name,
            subnet.zone.as_deref().unwrap_or_default(),
            subnet.head.name
        ));
    }
    let tables = || lists.all.transit_tables.values();
    let own = tables().find(|table| table.associations.contains(&near.head.key));
    // A network that is known only after apply may be the one that an unknown association means.
    let complete = tables().all(|table| table.complete || table.gateway.as_ref() != Some(&gateway.head.key));
    let mut routes: Vec<(IpNet, bool, TransitTarget)> = Vec::new();
    let mut add = |attachment: &'a Attachment| {
        let far = attachment.network.as_deref().and_then(|key| lists.all.networks.get(key));
        for range in far.into_iter().flat_map(|far| &far.ranges) {
            routes.push((*range, false, TransitTarget::Attachment(attachment.head.key.clone())));
        }
    };
    let of = match own {
        Some(table) => {
            for attachment in attached.iter().filter(|it| table.propagations.contains(&it.head.key)) {
                add(attachment);
            }
            routes.extend(table.routes.iter().map(|route| (route.net, true, route.target.clone())));
            format!("table {} of transit gateway {name}", table.head.name)
        }
        None if !complete => {
            return unknown(format!(
                "an association of a route table of transit gateway {name} is known only after apply"
            ));
        }
        None if gateway.associates && near.associates => {
            for attachment in attached.iter().filter(|it| gateway.propagates && it.propagates) {
                add(attachment);
            }
            format!("transit gateway {name}")
        }
        None => {
            return dropped(format!(
                "the attachment of {} is associated with no route table of transit gateway {name}",
                lists.all.name(network)
            ));
        }
    };
    // A static route wins over a propagated route of the same length.
    let best = routes
        .into_iter()
        .filter(|(net, ..)| net.contains(&to))
        .max_by_key(|(net, fixed, target)| (net.prefix_len(), *fixed, std::cmp::Reverse(target.clone())));
    let Some((net, _, target)) = best else {
        if own.is_some_and(|table| !table.complete) {
            return unknown(format!("a route or propagation of {of} is known only after apply"));
        }
        return dropped(format!("{of} has no route to {to}"));
    };
    let far = match target {
        TransitTarget::Attachment(key) => lists.all.attachments.get(&key),
        TransitTarget::Blackhole => return dropped(format!("{of} drops {net}")),
        TransitTarget::Unknown => {
            return unknown(format!("{of} sends {net} to an attachment that is known only after apply"));
        }
    };
    let Some(far) = far else { return dropped(format!("{of}: the attachment for {net} is not in the plan")) };
    let text = format!("{of}: {net} via attachment {}", far.head.name);
    walk.hops.push(Hop::new(&gateway.head.key, text));
    let Some(target) = far.network.as_deref() else {
        return unknown("the network of the attachment is known only after apply");
    };
    // An ACL of the attachment's own subnet filters what instances send to the gateway, but not what the gateway sends to
    // instances of that subnet.
    let zone = subnet.zone.as_deref();
    if let Some(border) = border(lists, near, zone) {
        walk.gates.push(Gate { subnet: border, inbound: true, peer: walk.source.1 });
    }
    let entry = border(lists, far, zone);
    if lists.local(target, to).is_some() {
        if let Some(entry) = entry.filter(|it| !it.ranges.iter().any(|range| range.contains(&to))) {
            walk.gates.push(Gate { subnet: entry, inbound: false, peer: to });
        }
        let end = deliver(lists, walk, entry, target, to);
        return Err(end);
    }
    // Beyond the network, the route table of the attachment's subnet decides. The sender has no public address there, and
    // is not a host of this network.
    *public = false;
    walk.guest = true;
    match entry {
        Some(subnet) => Ok(subnet),
        None => dropped(format!("{to} is not in {}", lists.all.name(target))),
    }
}

/// Whether an attachment carries what a subnet sends: one of its own subnets must be in the same zone ("Transit gateway
/// VPC attachments" in the guide of AWS). Zones that are unknown may be the same.
fn serves(lists: &Lists<'_>, attachment: &Attachment, subnet: &Subnet) -> bool {
    let Some(zone) = &subnet.zone else { return true };
    let mut zones = attachment.subnets.iter().map(|key| lists.all.subnets.get(key)?.zone.as_ref());
    attachment.subnets.is_empty() || zones.any(|found| found.is_none_or(|found| found == zone))
}

/// The subnet of an attachment that packets pass: the one in the zone of the sender, or else the first.
fn border<'a>(lists: &Lists<'a>, attachment: &Attachment, zone: Option<&str>) -> Option<&'a Subnet> {
    let subnets = || attachment.subnets.iter().filter_map(|key| lists.all.subnets.get(key));
    let near = subnets().find(|subnet| zone.is_some() && subnet.zone.as_deref() == zone);
    near.or_else(|| subnets().next())
}
