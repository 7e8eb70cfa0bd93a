//! Google Cloud: resources of hashicorp/google, and Warren's resources with the same attribute names.

use super::super::resource::{Attribute, Values};
use super::super::role::{Role, is};
use super::aws::store;
use super::view::{Item, Link, View, blurred, flag, integer, range, texts};
use super::{Reader, managed, vpn};
use std::collections::BTreeMap;
use warren_model::topology::{
    Change, Destination, Endpoint, EndpointKind, Firewall, Gateway, GatewayKind, Home, Host, Key, Network,
    Peer, Peering, Protocol, Route, RouteTable, Rule, StoreKind, Subnet, Target,
};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("gcp.network", network),
    ("gcp.subnetwork", subnetwork),
    ("gcp.network_peering", peering),
    ("gcp.firewall", firewall),
    ("gcp.router", router),
    ("gcp.global_address", global_address),
    ("gcp.instance", instance),
    ("gcp.vpn_gateway", vpn_gateway),
    ("gcp.registry", registry),
    ("gcp.bucket", bucket),
];

/// Resources that add to networks, which are read earlier.
pub(super) const EDGES: &[(Role, Reader)] = &[
    ("gcp.route", route),
    ("gcp.router_nat", nat),
    ("gcp.forwarding_rule", forwarding_rule),
    ("gcp.private_service_connect", forwarding_rule),
];

pub(super) const NETWORKS: &[Role] = &["gcp.network"];
pub(super) const SUBNETS: &[Role] = &["gcp.subnetwork"];
const ROUTERS: &[Role] = &["gcp.router"];
const ADDRESSES: &[Role] = &["gcp.global_address"];

/// Google accepts the bare name of a network or subnet as well as its link, if the name is unique.
pub(super) fn names(before: &[Item<'_>], after: &[Item<'_>], ids: &mut BTreeMap<String, String>) {
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in before.iter().chain(after) {
        let kind = item.resource.kind;
        if (is(kind, NETWORKS) || is(kind, SUBNETS))
            && let Some(name) = item.resource.values.text("name")
        {
            named.entry(name).or_default().push(&item.resource.address);
        }
    }
    for (name, mut addresses) in named {
        addresses.dedup();
        if let [only] = addresses.as_slice() {
            ids.entry(name.to_owned()).or_insert_with(|| (*only).to_owned());
        }
    }
}

/// A network, the route table that all its subnets share, and its default route to the internet.
fn network(view: &mut View<'_>, item: &Item<'_>) {
    let head = view.head(item, Home::Google);
    let values = &item.resource.values;
    let internet = ["delete_default_routes_on_create", "delete_default_routes"]
        .iter()
        .all(|attribute| flag(values, attribute) != Some(true));
    let mut table = RouteTable {
        head: head.clone(),
        network: Some(head.key.clone()),
        main: true,
        subnets: Vec::new(),
        routes: Vec::new(),
    };
    table.head.key = format!("{}#routes", head.key);
    table.head.name = format!("routes of {}", head.name);
    if internet && !item.resource.external {
        let target = Target::Gateway(gateway(view, &head.key, item.change));
        let route = Route::new(Destination::Range(everywhere()), target, Change::Keep);
        table.routes.push(Route { priority: PRIORITY, ..route });
    }
    // The routes of a network that a data source read are not known.
    if !item.resource.external {
        view.topology.tables.insert(table.head.key.clone(), table);
    }
    let network = Network {
        head,
        ranges: Vec::new(),
        was: Vec::new(),
        complete: true,
        region: None,
        resolver: true,
        private_names: true,
    };
    view.topology.networks.insert(network.head.key.clone(), network);
}

/// The priority of a route that sets none.
const PRIORITY: u32 = 1000;

fn everywhere() -> ipnet::IpNet {
    ipnet::IpNet::V4(ipnet::Ipv4Net::default())
}

/// The `default-internet-gateway` of a network, which always exists and is not a resource.
fn gateway(view: &mut View<'_>, network: &str, change: Change) -> String {
    let key = format!("{network}#internet");
    let head = warren_model::topology::Head {
        key: key.clone(),
        name: "default internet gateway".to_owned(),
        home: Home::Google,
        change,
        external: false,
    };
    view.topology.gateways.insert(
        key.clone(),
        Gateway {
            head,
            kind: GatewayKind::Internet,
            network: Some(network.to_owned()),
            subnet: None,
            serves: None,
            associates: true,
            propagates: true,
        },
    );
    key
}

fn subnetwork(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (ranges, _) = view.ranges(values, &["ip_cidr_range"]);
    let network = view.link(item, "network", NETWORKS).key();
    let mut subnet = Subnet {
        head: view.head(item, Home::Google),
        network: network.clone(),
        ranges,
        was: Vec::new(),
        named: Vec::new(),
        zone: values.text("region").map(str::to_owned),
        // Hosts have a public address only where they ask for one.
        public: false,
    };
    for (_, block) in values.children("secondary_ip_range") {
        if let Some(range) = block.text("ip_cidr_range").and_then(range) {
            subnet.named.push((range, block.text("range_name").unwrap_or("secondary range").to_owned()));
        }
    }
    if let Attribute::Known(node) = values.attribute("secondary_ip_ranges") {
        let named = node
            .entries()
            .iter()
            .filter_map(|entry| Some((range(entry.value.text()?)?, entry.key.as_str().to_owned())));
        subnet.named.extend(named);
    }
    subnet.ranges.extend(subnet.named.iter().map(|(range, _)| *range));
    if flag(values, "private_ip_google_access") == Some(true) {
        let mut head = subnet.head.clone();
        head.key = format!("{}#private-access", head.key);
        head.name = "private Google access".to_owned();
        let endpoint = Endpoint {
            subnets: vec![subnet.head.key.clone()],
            ..Endpoint::new(head, network, "googleapis", EndpointKind::PrivateAccess)
        };
        view.topology.endpoints.insert(endpoint.head.key.clone(), endpoint);
    }
    view.topology.subnets.insert(subnet.head.key.clone(), subnet);
}

fn peering(view: &mut View<'_>, item: &Item<'_>) {
    let peering = Peering {
        head: view.head(item, Home::Google),
        left: view.link(item, "network", NETWORKS).key(),
        right: view.link(item, "peer_network", NETWORKS).key(),
    };
    for (attribute, keys) in
        [("import_custom_routes", &mut view.imports), ("export_custom_routes", &mut view.exports)]
    {
        if flag(&item.resource.values, attribute) == Some(true) {
            keys.insert(peering.head.key.clone());
        }
    }
    view.topology.peerings.insert(peering.head.key.clone(), peering);
}

/// Adds the routes that peerings create: to the subnets of the other network, and its exported routes. A peering with only
/// one side is not active and creates none.
pub(super) fn settle(view: &mut View<'_>) {
    let sides: Vec<(Key, Key, Key, Change)> = view
        .topology
        .peerings
        .values()
        .filter(|side| side.head.home == Home::Google)
        .filter_map(|side| {
            let (near, far) = (side.left.clone()?, side.right.clone()?);
            Some((near, far, side.head.key.clone(), side.head.change))
        })
        .collect();
    let mut by_ends: BTreeMap<(&str, &str), &Key> = BTreeMap::new();
    for (near, far, key, _) in &sides {
        by_ends.insert((near, far), key);
    }
    let mut ranges: BTreeMap<&str, Vec<ipnet::IpNet>> = BTreeMap::new();
    for subnet in view.topology.subnets.values() {
        if let Some(network) = &subnet.network {
            ranges.entry(network).or_default().extend(&subnet.ranges);
        }
    }
    let mut made: Vec<(String, Vec<Route>)> = Vec::new();
    for (near, far, key, change) in &sides {
        let Some(other) = by_ends.get(&(far.as_str(), near.as_str())) else { continue };
        let to_subnets = ranges
            .get(far.as_str())
            .into_iter()
            .flatten()
            .map(|range| Route::new(Destination::Range(*range), Target::Peering(key.clone()), *change));
        // Next hops of the other network that the plan does not describe. Routes to its internet gateway and routes with tags
        // are not exported ("VPC Network Peering", "Static routes").
        let exported = view.imports.contains(key) && view.exports.contains(*other);
        let theirs = view.topology.tables.get(&format!("{far}#routes")).filter(|_| exported);
        let custom = theirs.into_iter().flat_map(|table| &table.routes);
        let custom = custom.filter(|route| {
            route.tags.is_empty() && matches!(route.target, Target::Other(_) | Target::Unknown(_))
        });
        made.push((format!("{near}#routes"), to_subnets.chain(custom.cloned()).collect()));
    }
    for (key, routes) in made {
        if let Some(table) = view.topology.tables.get_mut(&key) {
            table.routes.extend(routes);
            table.routes.sort();
        }
    }
}

fn firewall(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    // "Firewall rule enforcement": as if it did not exist.
    if flag(values, "disabled") == Some(true) {
        return;
    }
    let ingress = values.text("direction") != Some("EGRESS");
    let (allows, denies) = (values.children("allow"), values.children("deny"));
    let allow = !allows.is_empty() || denies.is_empty();
    let mut protocols = Vec::new();
    for (_, block) in if allow { &allows } else { &denies } {
        let word = block.text("protocol").unwrap_or("all").to_ascii_lowercase();
        let ports = texts(block, "ports");
        let ports = ports.iter().filter_map(|text| port_range(text)).collect::<Vec<_>>();
        let ports = if ports.is_empty() { vec![(0, u16::MAX)] } else { ports };
        match word.as_str() {
            "all" => protocols.push(Protocol::Any),
            "tcp" | "6" => protocols.extend(ports.iter().map(|(low, high)| Protocol::Tcp(*low, *high))),
            "udp" | "17" => protocols.extend(ports.iter().map(|(low, high)| Protocol::Udp(*low, *high))),
            _ => protocols.push(Protocol::Other),
        }
    }
    let source_tags = labels(values, "source_tags", "source_service_accounts");
    let attribute = if ingress { "source_ranges" } else { "destination_ranges" };
    let mut peers: Vec<Peer> =
        texts(values, attribute).iter().filter_map(|text| range(text)).map(Peer::Range).collect();
    if blurred(values, attribute) && source_tags.is_empty() {
        peers.push(Peer::Unknown);
    }
    // Nothing named is everywhere.
    if peers.is_empty() && source_tags.is_empty() {
        peers.push(Peer::Range(everywhere()));
    }
    let firewall = Firewall {
        head: view.head(item, Home::Google),
        network: view.link(item, "network", NETWORKS).key(),
        ingress,
        allow,
        priority: integer(values, "priority").and_then(|number| u32::try_from(number).ok()).unwrap_or(1000),
        rule: Rule { protocols, peers },
        targets: labels(values, "target_tags", "target_service_accounts"),
        source_tags,
    };
    view.topology.firewalls.insert(firewall.head.key.clone(), firewall);
}

/// Network tags and service accounts, which rules refer to alike. An account that is known only after apply may be any other
/// such account.
fn labels(values: &Values<'_>, tags: &str, accounts: &str) -> Vec<String> {
    let mut labels = texts(values, tags);
    labels.extend(texts(values, accounts).iter().map(|text| account(Some(text))));
    if blurred(values, accounts) {
        labels.push(account(None));
    }
    labels
}

/// A service account among network tags, which contain no `@`.
pub(super) fn account(address: Option<&str>) -> String {
    address.unwrap_or("@(known after apply)").to_owned()
}

fn port_range(text: &str) -> Option<(u16, u16)> {
    match text.split_once('-') {
        Some((low, high)) => Some((low.parse().ok()?, high.parse().ok()?)),
        None => text.parse().ok().map(|port| (port, port)),
    }
}

fn route(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let Some(destination) = view.destination(values, &["dest_range"], &[]) else { return };
    let Link::To(network) = view.link(item, "network", NETWORKS) else { return };
    let target = match values.text("next_hop_gateway") {
        Some(text) if text.ends_with("default-internet-gateway") => {
            Target::Gateway(gateway(view, &network, Change::Keep))
        }
        Some(text) => Target::Other(text.to_owned()),
        None => {
            let hop = ["next_hop_instance", "next_hop_ip", "next_hop_ilb", "next_hop_vpn_tunnel"];
            match hop.into_iter().find_map(|key| values.text(key)) {
                Some(text) => Target::Other(view.known(text)),
                None => Target::Unknown("next hop".to_owned()),
            }
        }
    };
    let key = format!("{network}#routes");
    if let Some(table) = view.topology.tables.get_mut(&key) {
        let priority = integer(values, "priority").and_then(|it| u32::try_from(it).ok());
        let (tags, priority) = (texts(values, "tags"), priority.unwrap_or(PRIORITY));
        table.routes.push(Route { destination, target, change: item.change, tags, priority });
        table.routes.sort();
    }
}

/// Cloud NAT refers to a router, which refers to the network.
fn nat(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let router = view.link(item, "router", ROUTERS);
    // A router is named by its bare name as well, which a network may have too.
    let named = values.text("router").and_then(|name| view.routers.get(name).cloned());
    let network = named.or_else(|| match &router {
        Link::To(key) => view.routers.get(key).cloned(),
        _ => None,
    });
    let network = network.or_else(|| view.link(item, "network", NETWORKS).key());
    let listed = values.text("source_subnetwork_ip_ranges_to_nat") == Some("LIST_OF_SUBNETWORKS");
    let serves = listed.then(|| {
        let blocks = values.children("subnetwork");
        blocks
            .iter()
            .flat_map(|(_, block)| match view.link_in(item, block, "name", "subnetwork", SUBNETS) {
                Link::To(key) => vec![key],
                _ => Vec::new(),
            })
            .collect()
    });
    // Warren's own NAT lists ids.
    let serves = serves.or_else(|| {
        let ids = texts(values, "subnetworks");
        (!ids.is_empty()).then(|| ids.iter().map(|id| view.known(id)).collect())
    });
    // "Public NAT": a gateway serves the subnets of its own region.
    let serves = serves.or_else(|| {
        let region = values.text("region")?;
        let subnets = view.topology.subnets.values().filter(|it| it.network == network);
        let here = subnets.filter(|it| it.zone.as_deref().is_none_or(|zone| zone == region));
        Some(here.map(|it| it.head.key.clone()).collect())
    });
    let gateway = Gateway {
        head: view.head(item, Home::Google),
        kind: GatewayKind::Nat,
        network,
        subnet: None,
        serves,
        associates: true,
        propagates: true,
    };
    view.topology.gateways.insert(gateway.head.key.clone(), gateway);
}

/// Private Service Connect: an address of the network for Google's services. Any other rule may be a load balancer.
fn forwarding_rule(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let target = values.text("target").or_else(|| values.text("bundle"));
    let service = match target {
        Some("all-apis" | "vpc-sc") => "googleapis",
        Some(text) if text.contains("serviceAttachments") => text.rsplit('/').next().unwrap_or(text),
        _ => return managed::forwarding_rule(view, item),
    };
    let network = view.link(item, "network", NETWORKS).key();
    // Warren names the address itself, hashicorp/google an address resource or its address.
    let text = values.text("address").or_else(|| values.text("ip_address"));
    let linked = || view.link(item, "ip_address", ADDRESSES).key();
    let address = text.and_then(|text| text.parse().ok());
    let address = address.or_else(|| view.addresses.get(&linked()?).copied());
    let head = view.head(item, Home::Google);
    // "Access Google APIs through endpoints": names in `p.googleapis.com`, unless they are turned off.
    let private_dns = service == "googleapis"
        && flag(values, "automate_dns") != Some(false)
        && flag(values, "no_automate_dns_zone") != Some(true);
    let new = Endpoint::new(head, network, service, EndpointKind::Interface);
    let endpoint = Endpoint { address, private_dns, ..new };
    view.topology.endpoints.insert(endpoint.head.key.clone(), endpoint);
}

fn instance(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let interfaces = values.children("network_interface");
    let Some((_, first)) = interfaces.first() else { return };
    let subnet = view.link_in(item, first, "subnetwork", "network_interface", SUBNETS).key();
    let mut tags = texts(values, "tags");
    for (_, block) in values.children("service_account") {
        tags.push(account(block.text("email")));
    }
    let host = Host {
        head: view.head(item, Home::Google),
        subnet,
        groups: None,
        public: Some(!first.children("access_config").is_empty()),
        tags,
        what: "instance".to_owned(),
        machines: 1,
        config: None,
    };
    view.topology.hosts.insert(host.head.key.clone(), host);
}

fn vpn_gateway(view: &mut View<'_>, item: &Item<'_>) {
    vpn::addresses(view, item);
    let gateway = Gateway {
        head: view.head(item, Home::Google),
        kind: GatewayKind::Vpn,
        network: view.link(item, "network", NETWORKS).key(),
        subnet: None,
        serves: None,
        associates: true,
        propagates: true,
    };
    view.topology.gateways.insert(gateway.head.key.clone(), gateway);
}

fn registry(view: &mut View<'_>, item: &Item<'_>) {
    store(view, item, Home::Google, StoreKind::Registry);
}

fn bucket(view: &mut View<'_>, item: &Item<'_>) {
    store(view, item, Home::Google, StoreKind::Bucket);
}

/// Addresses of endpoints for Google's APIs.
fn global_address(view: &mut View<'_>, item: &Item<'_>) {
    if let Some(address) = item.resource.values.text("address").and_then(|text| text.parse().ok()) {
        view.addresses.insert(item.resource.address.clone(), address);
    }
}

/// Routers, which connect a NAT with its network.
fn router(view: &mut View<'_>, item: &Item<'_>) {
    if let Link::To(network) = view.link(item, "network", NETWORKS) {
        view.routers.insert(item.resource.address.clone(), network.clone());
        if let Some(name) = item.resource.values.text("name") {
            view.routers.insert(name.to_owned(), network);
        }
    }
}
