//! AWS networks and the objects in them: resources of hashicorp/aws, and Warren's with the same attribute names.

use super::super::resource::Attribute;
use super::super::role::{Role, is};
use super::view::{Item, Link, View, blurred, flag};
use super::{Reader, policies};
use warren_model::topology::{
    Access, Attachment, Endpoint, EndpointKind, FlowLog, Gateway, GatewayKind, Home, Host, Network, Peering,
    Store, StoreKind, Subnet,
};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.vpc", vpc),
    ("aws.subnet", subnet),
    ("aws.internet_gateway", internet_gateway),
    ("aws.egress_only_internet_gateway", egress_only_gateway),
    ("aws.vpn_gateway", vpn_gateway),
    ("aws.nat_gateway", nat_gateway),
    ("aws.transit_gateway", transit_gateway),
    ("aws.transit_gateway_attachment", attachment),
    ("aws.vpc_peering", peering),
    ("aws.gateway_endpoint", endpoint),
    ("aws.endpoint", endpoint),
    ("aws.instance", instance),
    ("aws.flow_log", flow_log),
    ("aws.registry", registry),
    ("aws.bucket", bucket),
];

/// Resources that add to objects, which are read earlier.
pub(super) const EDGES: &[(Role, Reader)] = &[
    ("aws.ipv4_range_association", range_association),
    ("aws.ipv6_range_association", range_association),
    ("aws.internet_gateway_attachment", gateway_attachment),
    ("aws.vpn_gateway_attachment", gateway_attachment),
    ("aws.endpoint_route_table_association", endpoint_table),
    ("aws.endpoint_subnet_association", endpoint_subnet),
    ("aws.endpoint_security_group_association", endpoint_group),
];

pub(super) const VPCS: &[Role] = &["aws.vpc"];
pub(super) const SUBNETS: &[Role] = &["aws.subnet"];
pub(super) const TABLES: &[Role] = &["aws.route_table", "aws.default_route_table"];
pub(super) const GROUPS: &[Role] = &["aws.security_group"];
pub(super) const TRANSIT: &[Role] = &["aws.transit_gateway"];
const GATEWAYS: &[Role] = &["aws.internet_gateway", "aws.vpn_gateway"];
const ENDPOINTS: &[Role] = &["aws.gateway_endpoint"];

fn vpc(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (mut ranges, complete) =
        view.ranges(values, &["cidr_block", "secondary_cidr_blocks", "ipv6_cidr_block"]);
    // The data source lists the secondary ranges as blocks, with the primary range.
    for (_, block) in values.children("cidr_block_associations") {
        ranges.extend(view.ranges(&block, &["cidr_block"]).0);
    }
    ranges.sort();
    ranges.dedup();
    let resolver = flag(values, "enable_dns_support") != Some(false);
    // hashicorp/aws defaults to no host names, Warren to host names.
    let hosts = flag(values, "enable_dns_hostnames");
    let default = item.resource.kind.starts_with("warren") || item.resource.kind == "aws_default_vpc";
    let network = Network {
        head: view.head(item, Home::Aws),
        ranges,
        was: Vec::new(),
        complete,
        region: region(view, item),
        resolver,
        private_names: resolver && hosts.unwrap_or(default),
    };
    view.topology.networks.insert(network.head.key.clone(), network);
}

/// The region of the resource itself, or else that of its provider block.
fn region(view: &View<'_>, item: &Item<'_>) -> Option<String> {
    let values = &item.resource.values;
    if let Attribute::Unknown | Attribute::Sensitive = values.attribute("region") {
        return None;
    }
    // `arn:aws:ec2:us-east-1:123456789012:vpc/vpc-0a1b`.
    let arn = values.text("arn").and_then(|arn| arn.split(':').nth(3));
    let own = values.text("region").or(arn).filter(|text| !text.is_empty());
    own.or_else(|| view.references.provider_region(&item.resource)).map(str::to_owned)
}

fn subnet(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let (ranges, _) = view.ranges(values, &["cidr_block", "ipv6_cidr_block"]);
    let subnet = Subnet {
        head: view.head(item, Home::Aws),
        network: view.link(item, "vpc_id", VPCS).key(),
        ranges,
        was: Vec::new(),
        named: Vec::new(),
        zone: values.text("availability_zone").map(str::to_owned),
        public: flag(values, "map_public_ip_on_launch") == Some(true),
    };
    view.topology.subnets.insert(subnet.head.key.clone(), subnet);
}

fn range_association(view: &mut View<'_>, item: &Item<'_>) {
    let (ranges, complete) = view.ranges(&item.resource.values, &["cidr_block", "ipv6_cidr_block"]);
    let Link::To(key) = view.link(item, "vpc_id", VPCS) else { return };
    if let Some(network) = view.topology.networks.get_mut(&key) {
        network.complete &= complete;
        network.ranges.extend(ranges);
    }
}

fn gateway(view: &mut View<'_>, item: &Item<'_>, kind: GatewayKind) -> Gateway {
    Gateway {
        head: view.head(item, Home::Aws),
        kind,
        network: view.link(item, "vpc_id", VPCS).key(),
        subnet: None,
        serves: None,
        associates: true,
        propagates: true,
    }
}

fn add(view: &mut View<'_>, gateway: Gateway) {
    view.topology.gateways.insert(gateway.head.key.clone(), gateway);
}

fn internet_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let gateway = gateway(view, item, GatewayKind::Internet);
    add(view, gateway);
}

fn egress_only_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let gateway = gateway(view, item, GatewayKind::EgressOnly);
    add(view, gateway);
}

fn vpn_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let gateway = gateway(view, item, GatewayKind::Vpn);
    add(view, gateway);
}

fn nat_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let private = item.resource.values.text("connectivity_type") == Some("private");
    let kind = if private { GatewayKind::PrivateNat } else { GatewayKind::Nat };
    let subnet = view.link(item, "subnet_id", SUBNETS).key();
    // The network is that of the subnet, even if its ID is not known yet.
    let network = subnet.as_ref().and_then(|key| view.topology.subnets.get(key)?.network.clone());
    let gateway = Gateway { subnet, network, ..gateway(view, item, kind) };
    add(view, gateway);
}

fn transit_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let on = |key: &str| flag(&item.resource.values, key) != Some(false);
    let (associates, propagates) =
        (on("default_route_table_association"), on("default_route_table_propagation"));
    let gateway =
        Gateway { network: None, associates, propagates, ..gateway(view, item, GatewayKind::Transit) };
    add(view, gateway);
}

fn attachment(view: &mut View<'_>, item: &Item<'_>) {
    let on = |key: &str| flag(&item.resource.values, key) != Some(false);
    let attachment = Attachment {
        head: view.head(item, Home::Aws),
        gateway: view.link(item, "transit_gateway_id", TRANSIT).key(),
        network: view.link(item, "vpc_id", VPCS).key(),
        subnets: view.links(item, "subnet_ids", SUBNETS),
        associates: on("transit_gateway_default_route_table_association"),
        propagates: on("transit_gateway_default_route_table_propagation"),
    };
    view.topology.attachments.insert(attachment.head.key.clone(), attachment);
}

fn peering(view: &mut View<'_>, item: &Item<'_>) {
    let peering = Peering {
        head: view.head(item, Home::Aws),
        left: view.link(item, "vpc_id", VPCS).key(),
        right: view.link(item, "peer_vpc_id", VPCS).key(),
    };
    view.topology.peerings.insert(peering.head.key.clone(), peering);
}

fn endpoint(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let name = values.text("service").or_else(|| values.text("service_name")).unwrap_or("(unknown service)");
    let service = short(name);
    let gateway = match values.text("type").or_else(|| values.text("vpc_endpoint_type")) {
        Some(kind) => kind == "Gateway",
        // What both providers take when nothing is said.
        None if is(item.resource.kind, ENDPOINTS) => true,
        None => matches!(service.as_str(), "s3" | "dynamodb"),
    };
    let buckets = match values.attribute("bucket_policy") {
        Attribute::Known(node) => node
            .get("buckets")
            .map(|list| list.items().iter().filter_map(|item| item.text().map(str::to_owned)).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    let groups = view.links(item, "security_group_ids", GROUPS);
    let kind = if gateway { EndpointKind::Gateway } else { EndpointKind::Interface };
    let network = view.link(item, "vpc_id", VPCS).key();
    // Warren enables private DNS unless it is off, hashicorp/aws only if it is on.
    let private_dns = flag(values, "private_dns_enabled").unwrap_or(item.resource.kind.starts_with("warren"));
    let inbound_only = values.nested("dns_options").is_some_and(|options| {
        flag(&options, "private_dns_only_for_inbound_resolver_endpoint") == Some(true)
    });
    let (ranges, _) = view.ranges(values, &["cidr_blocks"]);
    let endpoint = Endpoint {
        tables: view.links(item, "route_table_ids", TABLES),
        subnets: view.links(item, "subnet_ids", SUBNETS),
        // Without a group the network's default one counts, which the plan does not hold.
        groups: (!groups.is_empty()).then_some(groups),
        buckets,
        access: policies::of_endpoint(view, item),
        private_dns: !gateway && private_dns,
        inbound_only,
        ranges,
        ..Endpoint::new(view.head(item, Home::Aws), network, &service, kind)
    };
    view.topology.endpoints.insert(endpoint.head.key.clone(), endpoint);
}

/// `com.amazonaws.us-east-1.ecr.api` to `ecr.api`. Other names are unchanged.
pub(super) fn short(name: &str) -> String {
    let rest = name.strip_prefix("com.amazonaws.").and_then(|rest| rest.split_once('.'));
    rest.map_or(name, |(_, service)| service).to_owned()
}

fn endpoint_table(view: &mut View<'_>, item: &Item<'_>) {
    let table = view.link(item, "route_table_id", TABLES);
    endpoint_edge(view, item, |endpoint| endpoint.tables.extend(table.key()));
}

fn endpoint_subnet(view: &mut View<'_>, item: &Item<'_>) {
    let subnet = view.link(item, "subnet_id", SUBNETS);
    endpoint_edge(view, item, |endpoint| endpoint.subnets.extend(subnet.key()));
}

fn endpoint_group(view: &mut View<'_>, item: &Item<'_>) {
    let group = view.link(item, "security_group_id", GROUPS);
    endpoint_edge(view, item, |endpoint| endpoint.groups.get_or_insert_default().extend(group.key()));
}

fn endpoint_edge(view: &mut View<'_>, item: &Item<'_>, change: impl FnOnce(&mut Endpoint)) {
    let Link::To(key) = view.link(item, "vpc_endpoint_id", ENDPOINTS) else { return };
    if let Some(endpoint) = view.topology.endpoints.get_mut(&key) {
        change(endpoint);
    }
}

fn gateway_attachment(view: &mut View<'_>, item: &Item<'_>) {
    let vpc = view.link(item, "vpc_id", VPCS).key();
    for attribute in ["internet_gateway_id", "vpn_gateway_id"] {
        if let Link::To(key) = view.link(item, attribute, GATEWAYS)
            && let Some(gateway) = view.topology.gateways.get_mut(&key)
        {
            gateway.network = vpc.clone();
        }
    }
}

pub(super) fn host(view: &View<'_>, item: &Item<'_>, what: &str, group_attribute: &str) -> Host {
    let values = &item.resource.values;
    let groups = view.links(item, group_attribute, GROUPS);
    let unsure = groups.is_empty() && blurred(values, group_attribute);
    let address = values.text("public_ip").is_some();
    Host {
        head: view.head(item, Home::Aws),
        subnet: view.link(item, "subnet_id", SUBNETS).key(),
        groups: (!unsure).then_some(groups),
        public: flag(values, "associate_public_ip_address").or(address.then_some(true)),
        tags: Vec::new(),
        what: what.to_owned(),
        machines: 1,
        config: None,
    }
}

fn instance(view: &mut View<'_>, item: &Item<'_>) {
    let mut host = host(view, item, "instance", "vpc_security_group_ids");
    if host.groups.as_ref().is_some_and(Vec::is_empty) {
        // Without a group it is in the network's default one.
        host.groups = None;
    }
    view.topology.hosts.insert(host.head.key.clone(), host);
}

fn flow_log(view: &mut View<'_>, item: &Item<'_>) {
    let of = [("vpc_id", VPCS), ("subnet_id", SUBNETS), ("transit_gateway_id", TRANSIT)];
    let values = &item.resource.values;
    let destination = values.text("destination_arn").or_else(|| values.text("log_destination"));
    let log = FlowLog {
        head: view.head(item, Home::Aws),
        of: of.into_iter().find_map(|(attribute, kinds)| view.link(item, attribute, kinds).key()),
        destination: destination.unwrap_or("(known after apply)").to_owned(),
    };
    view.topology.flow_logs.insert(log.head.key.clone(), log);
}

fn registry(view: &mut View<'_>, item: &Item<'_>) {
    store(view, item, Home::Aws, StoreKind::Registry);
}

fn bucket(view: &mut View<'_>, item: &Item<'_>) {
    store(view, item, Home::Aws, StoreKind::Bucket);
}

pub(super) fn store(view: &mut View<'_>, item: &Item<'_>, home: Home, kind: StoreKind) {
    let mut head = view.head(item, home);
    for attribute in ["bucket", "repository_id"] {
        if let Some(text) = item.resource.values.text(attribute) {
            text.clone_into(&mut head.name);
        }
    }
    view.topology.stores.insert(head.key.clone(), Store { head, kind, access: Access::default() });
}
