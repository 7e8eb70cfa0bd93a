//! `warren_address_plan`: its entries reserve.

use super::resource::{Attribute, Resource, Values};
use super::{Context, Reader};
use warren_cidr::Cloud;
use warren_model::{Excluded, Reservation, ReservationKind};

pub(super) const READERS: &[(&str, Reader)] = &[("warren_address_plan", address_plan)];

fn address_plan(context: &mut Context<'_>, resource: &Resource<'_>) {
    for (key, network) in resource.values.children("networks") {
        let cloud = network.text("cloud").and_then(|text| text.parse().ok());
        entry(context, resource, &network, &key, None, cloud, &format!("networks[{key:?}]"));
    }
    let Attribute::Known(reserved) = resource.values.attribute("reserved") else { return };
    for named in reserved.entries() {
        for item in named.value.items() {
            let site = context.site(resource, &format!("reserved[{:?}]", named.key), Some(item.at));
            let Some(text) = item.text() else { continue };
            if let Ok(Some(block)) = context.parse(text, site) {
                let owner = context.owner.to_owned();
                context.model.excluded.push(Excluded { name: named.key.clone(), owner, block });
            }
        }
    }
}

fn entry(
    context: &mut Context<'_>,
    resource: &Resource<'_>,
    values: &Values<'_>,
    key: &str,
    parent: Option<&str>,
    cloud: Option<Cloud>,
    path: &str,
) {
    let id = format!("{}!{}!{key}", context.file, resource.address);
    if let Ok(Some(block)) = context.block(resource, values, "cidr", &format!("{path}.cidr")) {
        context.model.reservations.push(Reservation {
            id: id.clone(),
            parent: parent.map(str::to_owned),
            name: key.to_owned(),
            owner: context.owner.to_owned(),
            cloud,
            kind: if parent.is_some() { ReservationKind::Subnet } else { ReservationKind::Network },
            occupied: false,
            block,
            refused: false,
        });
    }
    for (name, subnet) in values.children("subnets") {
        let path = format!("{path}.subnets[{name:?}]");
        entry(context, resource, &subnet, &format!("{key}/{name}"), Some(&id), cloud, &path);
    }
}
