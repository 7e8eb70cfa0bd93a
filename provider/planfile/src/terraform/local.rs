//! `warren_address_plan`: its entries become reservations.

use super::resource::{Attribute, Resource};
use super::role::Role;
use super::{Context, Reader};
use crate::node::Entry;
use std::collections::BTreeMap;
use warren_cidr::{Cloud, SEPARATOR};
use warren_model::{Excluded, Reservation, ReservationKind};

pub(super) const READERS: &[(Role, Reader)] = &[("local.address_plan", address_plan)];

fn address_plan(context: &mut Context<'_>, resource: &Resource<'_>) {
    let clouds: BTreeMap<String, Option<Cloud>> = resource
        .values
        .children("networks")
        .into_iter()
        .map(|(key, network)| (key, network.text("cloud").and_then(|text| text.parse().ok())))
        .collect();
    match resource.values.attribute("cidrs") {
        Attribute::Known(node) => {
            for cidr in node.entries() {
                entry(context, resource, cidr, &clouds);
            }
        }
        Attribute::Unknown => context.late(resource, "cidrs"),
        Attribute::Sensitive => context.model.sensitive += 1,
        Attribute::Absent => {}
    }
    let Attribute::Known(reserved) = resource.values.attribute("reserved") else { return };
    for named in reserved.entries() {
        for item in named.value.items() {
            let site = context.site(resource, &format!("reserved[{:?}]", named.key), Some(item.at));
            let Some(text) = item.text() else { continue };
            if let Ok(Some(block)) = context.parse(text, site) {
                let (name, owner) = (named.key.to_string(), context.owner.to_owned());
                context.model.excluded.push(Excluded { name, owner, network: None, block });
            }
        }
    }
}

/// One range by its path: `aws`, `aws/public`.
fn entry(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    cidr: &Entry,
    clouds: &BTreeMap<String, Option<Cloud>>,
) {
    let path = cidr.key.as_str();
    let id = |path: &str| format!("{}!{}!{path}", context.file, resource.address);
    let (id, parent) = (id(path), path.rsplit_once(SEPARATOR).map(|(parent, _)| id(parent)));
    let Some(text) = cidr.value.text() else {
        // An unknown item is null in the map.
        context.late(resource, &format!("cidrs[{path:?}]"));
        return;
    };
    let site = context.site(resource, &format!("cidrs[{path:?}]"), Some(cidr.value.at));
    let Ok(Some(block)) = context.parse(text, site) else { return };
    let network = path.split(SEPARATOR).next().unwrap_or_default();
    context.model.reservations.push(Reservation {
        id,
        kind: if parent.is_some() { ReservationKind::Subnet } else { ReservationKind::Network },
        parent,
        name: path.to_owned(),
        owner: context.owner.to_owned(),
        cloud: clouds.get(network).copied().flatten(),
        occupied: false,
        block,
        refused: false,
    });
}
