//! Azure: virtual networks, subnets and peerings of hashicorp/azurerm, for overlaps and diagrams.

use super::resource::{Attribute, Resource};
use super::role::Role;
use super::{Context, Reader, links};
use warren_model::{Attachment, How, Network, NetworkRef, Peering, Subnet};

pub(super) const READERS: &[(Role, Reader)] =
    &[("azure.network", network), ("azure.subnet", subnet), ("azure.peering", peering)];

const NETWORKS: &[Role] = &["azure.network"];

/// The key of a network that is only named, in the words of Azure: names are unique in a resource group.
pub(super) fn named(resource: &Resource<'_>, name: &str) -> String {
    let group = resource.values.text("resource_group_name").unwrap_or_default();
    format!("resourceGroups/{group}/virtualNetworks/{name}").to_lowercase()
}

fn network(context: &mut Context<'_>, resource: &Resource<'_>) {
    let (blocks, complete) = context.blocks(resource, "address_space");
    let (id, name, owner) = (context.id(resource), resource.address.clone(), context.owner.to_owned());
    let external = resource.external;
    context.model.networks.push(Network {
        id: id.clone(),
        name,
        owner,
        file: context.file.to_owned(),
        cloud: None,
        blocks,
        complete,
        external,
        fixed: false,
        live: resource.live,
        tags: links::tags(resource),
        fabric: None,
    });
    for (index, values) in resource.values.children("subnet") {
        let label = values.text("name").unwrap_or(&index).to_owned();
        let Attribute::Known(list) = values.attribute("address_prefixes") else { continue };
        let mut blocks = Vec::new();
        for (at, item) in list.items().iter().enumerate() {
            let site =
                context.site(resource, &format!("subnet{index}.address_prefixes[{at}]"), Some(item.at));
            blocks.extend(item.text().and_then(|text| context.parse(text, site).ok().flatten()));
        }
        context.model.subnets.push(Subnet {
            id: format!("{id}#{label}"),
            name: format!("{} ({label})", resource.address),
            owner: context.owner.to_owned(),
            cloud: None,
            network: NetworkRef::Id(id.clone()),
            nested: true,
            live: resource.live,
            fixed: false,
            blocks,
        });
    }
}

fn subnet(context: &mut Context<'_>, resource: &Resource<'_>) {
    let (blocks, _) = context.blocks(resource, "address_prefixes");
    let (network, how) = of(context, resource);
    let shown = match &network {
        NetworkRef::Id(id) => Some(context.address_of(id)),
        NetworkRef::None | NetworkRef::Unknown => None,
    };
    context.model.attachments.push(Attachment {
        subnet: resource.address.clone(),
        owner: context.owner.to_owned(),
        file: context.file.to_owned(),
        network: shown,
        how,
    });
    context.model.subnets.push(Subnet {
        id: context.id(resource),
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: None,
        network,
        nested: true,
        live: resource.live,
        fixed: false,
        blocks,
    });
}

/// Subnets and peerings name their network.
pub(super) fn of(context: &Context<'_>, resource: &Resource<'_>) -> (NetworkRef, Option<How>) {
    const ATTRIBUTE: &str = "virtual_network_name";
    if let Some(name) = resource.values.text(ATTRIBUTE) {
        let key = named(resource, name);
        let mut found = context
            .of_roles(NETWORKS)
            .filter(|other| other.values.text("name").is_some_and(|name| named(other, name) == key));
        let id = found.next().map_or(key.clone(), |network| context.id(network));
        return (NetworkRef::Id(id), Some(How::Id));
    }
    let found = context.found(resource, ATTRIBUTE);
    found.map_or((NetworkRef::Unknown, None), |(id, how)| (NetworkRef::Id(id), Some(how)))
}

fn peering(context: &mut Context<'_>, resource: &Resource<'_>) {
    let peering = Peering {
        name: resource.address.clone(),
        owner: context.owner.to_owned(),
        cloud: None,
        site: context.site(resource, "remote_virtual_network_id", None),
        left: of(context, resource).0,
        right: context.network(resource, "remote_virtual_network_id"),
        transit: ["allow_gateway_transit", "use_remote_gateways"]
            .into_iter()
            .any(|attribute| resource.values.is_true(attribute)),
    };
    context.model.peerings.push(peering);
}
