//! Azure: virtual networks, subnets and peerings of hashicorp/azurerm, for diagrams.

use super::super::azure::named;
use super::super::resource::Resource;
use super::super::role::{Role, is};
use super::Reader;
use super::view::{Item, View, range, texts};
use std::collections::BTreeMap;
use warren_model::topology::{Home, Network, Peering, Subnet};

pub(super) const READERS: &[(Role, Reader)] =
    &[("azure.network", network), ("azure.subnet", subnet), ("azure.peering", peering)];

const NETWORKS: &[Role] = &["azure.network"];

/// Subnets and peerings refer to a network by its name.
pub(super) fn names(before: &[Item<'_>], after: &[Item<'_>], ids: &mut BTreeMap<String, String>) {
    for Item { resource, .. } in before.iter().chain(after) {
        if is(resource.kind, NETWORKS)
            && let Some(name) = resource.values.text("name")
        {
            ids.insert(named(resource, name), resource.address.clone());
        }
    }
}

fn network(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (ranges, complete) = view.ranges(values, &["address_space"]);
    let head = view.head(item, Home::Azure);
    for (index, block) in values.children("subnet") {
        let name = block.text("name").unwrap_or(&index).to_owned();
        let mut subnet = view.head(item, Home::Azure);
        subnet.key = format!("{}#{name}", head.key);
        subnet.name = name;
        let ranges = texts(&block, "address_prefixes").iter().filter_map(|text| range(text)).collect();
        add(view, subnet, Some(head.key.clone()), ranges);
    }
    let network = Network {
        head,
        ranges,
        was: Vec::new(),
        complete,
        region: values.text("location").map(str::to_owned),
        resolver: true,
        private_names: true,
    };
    view.topology.networks.insert(network.head.key.clone(), network);
}

fn subnet(view: &mut View<'_>, item: &Item<'_>) {
    let (ranges, _) = view.ranges(&item.resource.values, &["address_prefixes"]);
    let (head, network) = (view.head(item, Home::Azure), of(view, item));
    add(view, head, network, ranges);
}

fn add(
    view: &mut View<'_>,
    head: warren_model::topology::Head,
    network: Option<String>,
    ranges: Vec<warren_cidr::IpNet>,
) {
    let zone = Some("all zones".to_owned());
    let subnet = Subnet { head, network, ranges, was: Vec::new(), named: Vec::new(), zone, public: false };
    view.topology.subnets.insert(subnet.head.key.clone(), subnet);
}

fn of(view: &View<'_>, item: &Item<'_>) -> Option<String> {
    const ATTRIBUTE: &str = "virtual_network_name";
    let resource: &Resource<'_> = &item.resource;
    match resource.values.text(ATTRIBUTE) {
        Some(name) => Some(view.known(&named(resource, name))),
        None => view.link(item, ATTRIBUTE, NETWORKS).key(),
    }
}

fn peering(view: &mut View<'_>, item: &Item<'_>) {
    let right = view.link(item, "remote_virtual_network_id", NETWORKS).key();
    let peering = Peering { head: view.head(item, Home::Azure), left: of(view, item), right };
    view.topology.peerings.insert(peering.head.key.clone(), peering);
}
