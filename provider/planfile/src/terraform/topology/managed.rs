//! Kubernetes clusters, their node groups, and load balancers of all clouds, for diagrams. They have addresses in subnets, but no routes or filters of
//! their own, so reachability does not depend on them.

use super::super::resource::{Attribute, Values};
use super::super::role::Role;
use super::view::{Item, Link, View, flag};
use super::{Reader, google};
use std::collections::BTreeSet;
use warren_model::topology::{Home, Key, Managed, ManagedKind};

pub(super) const READERS: &[(Role, Reader)] = &[
    ("aws.cluster", eks),
    ("aws.node_group", |view, item| eks_nodes(view, item, "EKS nodes", "node_group_name")),
    ("aws.fargate_profile", |view, item| eks_nodes(view, item, "EKS Fargate", "fargate_profile_name")),
    ("aws.load_balancer", balancer),
    ("aws.classic_load_balancer", classic),
    ("gcp.cluster", gke),
    ("gcp.node_pool", gke_nodes),
    ("azure.cluster", aks),
    ("azure.node_pool", aks_nodes),
    ("azure.load_balancer", azure_balancer),
    ("azure.application_gateway", application_gateway),
];

const AWS_NETWORKS: &[Role] = &["aws.vpc"];
const AWS_SUBNETS: &[Role] = &["aws.subnet"];
const AZURE_SUBNETS: &[Role] = &["azure.subnet"];

/// Amazon EKS places interfaces of the control plane into the subnets of `vpc_config`.
fn eks(view: &mut View<'_>, item: &Item<'_>) {
    let config = item.resource.values.nested("vpc_config");
    let subnets = config.map(|block| view.links_in(item, &block, "subnet_ids", "vpc_config", AWS_SUBNETS));
    let network = config.and_then(|block| block.text("vpc_id").map(|id| view.known(id)));
    add(view, item, Home::Aws, (ManagedKind::Cluster, "EKS", false), (network, subnets.unwrap_or_default()));
}

/// Nodes of Amazon EKS, and pods on Fargate, may be in other subnets than the interfaces of the control plane.
fn eks_nodes(view: &mut View<'_>, item: &Item<'_>, product: &str, name: &str) {
    let subnets = view.links(item, "subnet_ids", AWS_SUBNETS);
    let name = item.resource.values.text(name).map(str::to_owned);
    let cluster = view.link(item, "cluster_name", &["aws.cluster"]).key();
    add_nodes(view, item, (Home::Aws, product), (cluster, name), subnets);
}

/// `aws_lb`: the type is `application` by default, and a load balancer that is not `internal` faces the internet.
fn balancer(view: &mut View<'_>, item: &Item<'_>) {
    let product = match item.resource.values.text("load_balancer_type") {
        Some("network") => "NLB",
        Some("gateway") => "GWLB",
        _ => "ALB",
    };
    aws_balancer(view, item, product);
}

fn classic(view: &mut View<'_>, item: &Item<'_>) {
    aws_balancer(view, item, "classic LB");
}

fn aws_balancer(view: &mut View<'_>, item: &Item<'_>, product: &str) {
    let values = &item.resource.values;
    let mut subnets: BTreeSet<Key> = view.links(item, "subnets", AWS_SUBNETS).into_iter().collect();
    subnets.extend(blocks(view, item, "subnet_mapping", "subnet_id", AWS_SUBNETS));
    // A Gateway Load Balancer serves endpoints, and never faces the internet.
    let internal = product == "GWLB" || flag(values, "internal") == Some(true);
    let network = view.link(item, "vpc_id", AWS_NETWORKS).key();
    let what = (ManagedKind::Balancer, product, !internal);
    add(view, item, Home::Aws, what, (network, subnets.into_iter().collect()));
}

/// GKE nodes are in one subnetwork, and pods in its secondary ranges, unless a node pool names others.
fn gke(view: &mut View<'_>, item: &Item<'_>) {
    let (network, mut subnets) = google_place(view, item, true);
    for (_, pool) in item.resource.values.children("node_pool") {
        subnets.extend(pool_subnets(view, item, &pool, "node_pool"));
    }
    subnets.sort_unstable();
    subnets.dedup();
    add(view, item, Home::Google, (ManagedKind::Cluster, "GKE", false), (network, subnets));
}

/// A pool is in the subnetwork of its cluster unless it names others: for its nodes, and for more interfaces of nodes and pods.
fn gke_nodes(view: &mut View<'_>, item: &Item<'_>) {
    let subnets = pool_subnets(view, item, &item.resource.values, "network_config");
    let cluster = view.link(item, "cluster", &["gcp.cluster"]).key();
    add_nodes(view, item, (Home::Google, "GKE nodes"), (cluster, None), subnets.into_iter().collect());
}

/// The subnetworks that a node pool names, inside the block at `outer`.
fn pool_subnets(view: &View<'_>, item: &Item<'_>, pool: &Values<'_>, outer: &str) -> BTreeSet<Key> {
    let mut subnets = BTreeSet::new();
    for (_, config) in pool.children("network_config") {
        let more = ["additional_node_network_configs", "additional_pod_network_configs"];
        let more = more.iter().flat_map(|list| config.children(list)).map(|(_, values)| values);
        for values in std::iter::once(config).chain(more) {
            subnets.extend(block(view, item, &values, outer, "subnetwork", google::SUBNETS));
        }
    }
    subnets
}

/// The subnetwork of an object, and its network. A private object without either is in the network `default`.
fn google_place(view: &View<'_>, item: &Item<'_>, private: bool) -> (Option<Key>, Vec<Key>) {
    let subnet = view.link(item, "subnetwork", google::SUBNETS).key();
    let network = match view.link(item, "network", google::NETWORKS) {
        Link::To(key) => Some(key),
        Link::Unknown if !view.candidates(item, "network", google::NETWORKS).unset => None,
        Link::Unknown | Link::Absent => (private && subnet.is_none()).then(|| view.known("default")),
    };
    (network, subnet.into_iter().collect())
}

/// A forwarding rule is the address of a load balancer, unless it leads to a Cloud VPN gateway or to one instance ("Forwarding
/// rules overview"), belongs to Private Service Connect (an empty scheme), or configures proxies of a service mesh
/// (`INTERNAL_SELF_MANAGED`). The scheme is `EXTERNAL` by default.
pub(super) fn forwarding_rule(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let scheme = match values.attribute("load_balancing_scheme") {
        Attribute::Known(node) => node.text().unwrap_or_default(),
        Attribute::Absent => "EXTERNAL",
        Attribute::Unknown | Attribute::Sensitive => return,
    };
    let elsewhere = |target: &str| target.contains("targetVpnGateways") || target.contains("targetInstances");
    let vpn = || !view.candidates(item, "target", &["gcp.vpn_gateway"]).found.is_empty();
    if values.text("target").map_or_else(vpn, elsewhere) {
        return;
    }
    let (product, public) = match scheme {
        "EXTERNAL" | "EXTERNAL_MANAGED" => ("LB", true),
        "INTERNAL" | "INTERNAL_MANAGED" => ("internal LB", false),
        _ => return,
    };
    let place = google_place(view, item, !public);
    add(view, item, Home::Google, (ManagedKind::Balancer, product, public), place);
}

/// AKS nodes are in the subnet of the node pool. Without one, Azure creates a network that no plan shows.
fn aks(view: &mut View<'_>, item: &Item<'_>) {
    let subnets = blocks(view, item, "default_node_pool", "vnet_subnet_id", AZURE_SUBNETS);
    add(view, item, Home::Azure, (ManagedKind::Cluster, "AKS", false), (None, subnets));
}

fn aks_nodes(view: &mut View<'_>, item: &Item<'_>) {
    let subnets = ["vnet_subnet_id", "pod_subnet_id"];
    let subnets: BTreeSet<Key> =
        subnets.iter().filter_map(|attribute| view.link(item, attribute, AZURE_SUBNETS).key()).collect();
    let cluster = view.link(item, "kubernetes_cluster_id", &["azure.cluster"]).key();
    add_nodes(view, item, (Home::Azure, "AKS nodes"), (cluster, None), subnets.into_iter().collect());
}

/// Frontends with a subnet are internal.
fn azure_balancer(view: &mut View<'_>, item: &Item<'_>) {
    let subnets = blocks(view, item, "frontend_ip_configuration", "subnet_id", AZURE_SUBNETS);
    let public = has_public_address(item, subnets.is_empty());
    let product = if public { "LB" } else { "internal LB" };
    add(view, item, Home::Azure, (ManagedKind::Balancer, product, public), (None, subnets));
}

/// An application gateway has a subnet of its own, whatever its frontends are.
fn application_gateway(view: &mut View<'_>, item: &Item<'_>) {
    let subnets = blocks(view, item, "gateway_ip_configuration", "subnet_id", AZURE_SUBNETS);
    let inside = blocks(view, item, "frontend_ip_configuration", "subnet_id", AZURE_SUBNETS);
    let public = has_public_address(item, inside.is_empty());
    add(view, item, Home::Azure, (ManagedKind::Balancer, "application gateway", public), (None, subnets));
}

/// The subnets that an attribute of the blocks of a list refers to. The configuration does not say which block refers to which
/// subnet, so a block whose subnet is known only after apply may refer to all of them.
fn blocks(view: &View<'_>, item: &Item<'_>, list: &str, attribute: &str, roles: &[Role]) -> Vec<Key> {
    let all = item.resource.values.children(list);
    let keys: BTreeSet<Key> =
        all.iter().flat_map(|(_, values)| block(view, item, values, list, attribute, roles)).collect();
    keys.into_iter().collect()
}

/// The objects that an attribute of a block in `outer` refers to.
fn block(
    view: &View<'_>,
    item: &Item<'_>,
    values: &Values<'_>,
    outer: &str,
    attribute: &str,
    roles: &[Role],
) -> BTreeSet<Key> {
    match values.attribute(attribute) {
        Attribute::Known(node) => {
            node.text().filter(|text| !text.is_empty()).map(|text| view.known(text)).into_iter().collect()
        }
        Attribute::Unknown => view.candidates(item, outer, roles).found,
        Attribute::Absent | Attribute::Sensitive => BTreeSet::new(),
    }
}

/// Whether a frontend has a public address. `open` states whether one that is known only after apply may be public.
fn has_public_address(item: &Item<'_>, open: bool) -> bool {
    let public = |block: &Values<'_>| match block.attribute("public_ip_address_id") {
        Attribute::Known(node) => node.text().is_some_and(|text| !text.is_empty()),
        Attribute::Unknown => open,
        Attribute::Absent | Attribute::Sensitive => false,
    };
    item.resource.values.children("frontend_ip_configuration").iter().any(|(_, block)| public(block))
}

/// Adds a group of nodes, with the name of its cluster. A group that names no subnet is where its cluster is, and is not drawn.
fn add_nodes(
    view: &mut View<'_>,
    item: &Item<'_>,
    (home, product): (Home, &str),
    (cluster, name): (Option<Key>, Option<String>),
    subnets: Vec<Key>,
) {
    if subnets.is_empty() {
        return;
    }
    let mut head = view.head(item, home);
    head.name = name.unwrap_or(head.name);
    if let Some(key) = cluster {
        // A cluster outside the plan has a name, or a path that ends in it.
        let cluster = view.topology.managed.get(&key).map_or(key.as_str(), |it| &it.head.name);
        head.name = format!("{}/{}", cluster.rsplit('/').next().unwrap_or_default(), head.name);
    }
    let (kind, product) = (ManagedKind::Nodes, product.to_owned());
    let nodes = Managed { head, kind, product, network: None, subnets, public: false };
    view.topology.managed.insert(nodes.head.key.clone(), nodes);
}

fn add(
    view: &mut View<'_>,
    item: &Item<'_>,
    home: Home,
    (kind, product, public): (ManagedKind, &str, bool),
    (network, subnets): (Option<Key>, Vec<Key>),
) {
    let (head, product) = (view.head(item, home), product.to_owned());
    let managed = Managed { head, kind, product, network, subnets, public };
    view.topology.managed.insert(managed.head.key.clone(), managed);
}
