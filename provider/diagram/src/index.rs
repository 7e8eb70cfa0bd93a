//! Indexes of the objects of a topology by what they belong to.

use std::collections::BTreeMap;
use warren_model::topology::{
    Change, Endpoint, EndpointKind, FlowLog, Gateway, Host, Managed, Peering, RouteTable, SecurityGroup,
    Subnet, Target, Topology,
};

/// A topology with indexes.
pub(crate) struct Index<'a> {
    pub(crate) all: &'a Topology,
    pub(crate) subnets: BTreeMap<&'a str, Vec<&'a Subnet>>,
    /// Gateways of a network that are in no subnet.
    pub(crate) gateways: BTreeMap<&'a str, Vec<&'a Gateway>>,
    pub(crate) gateways_in: BTreeMap<&'a str, Vec<&'a Gateway>>,
    pub(crate) endpoints: BTreeMap<&'a str, Vec<&'a Endpoint>>,
    pub(crate) endpoints_in: BTreeMap<&'a str, Vec<&'a Endpoint>>,
    pub(crate) groups: BTreeMap<&'a str, Vec<&'a SecurityGroup>>,
    pub(crate) hosts_in: BTreeMap<&'a str, Vec<&'a Host>>,
    pub(crate) managed_in: BTreeMap<&'a str, Vec<&'a Managed>>,
    /// Managed services of a network that are in no subnet of the plan.
    pub(crate) managed: BTreeMap<&'a str, Vec<&'a Managed>>,
    /// Managed services that are in no network of the plan.
    pub(crate) loose: Vec<&'a Managed>,
    pub(crate) logs: BTreeMap<&'a str, Vec<&'a FlowLog>>,
    /// Peerings of a network, with the other side.
    pub(crate) peerings: BTreeMap<&'a str, Vec<(&'a Peering, &'a str)>>,
    table_of: BTreeMap<&'a str, &'a RouteTable>,
    main_of: BTreeMap<&'a str, &'a RouteTable>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(all: &'a Topology) -> Self {
        let mut index = Self {
            all,
            subnets: BTreeMap::new(),
            gateways: BTreeMap::new(),
            gateways_in: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            endpoints_in: BTreeMap::new(),
            groups: BTreeMap::new(),
            hosts_in: BTreeMap::new(),
            managed_in: BTreeMap::new(),
            managed: BTreeMap::new(),
            loose: Vec::new(),
            logs: BTreeMap::new(),
            peerings: BTreeMap::new(),
            table_of: BTreeMap::new(),
            main_of: BTreeMap::new(),
        };
        for subnet in all.subnets.values() {
            index.subnets.entry(subnet.network.as_deref().unwrap_or_default()).or_default().push(subnet);
        }
        for list in index.subnets.values_mut() {
            // By address, if known, because subnets are numbered that way.
            list.sort_by_key(|subnet| {
                (subnet.ranges.is_empty(), subnet.ranges.first().copied(), &subnet.head.key)
            });
        }
        for gateway in all.gateways.values() {
            match (&gateway.subnet, &gateway.network) {
                (Some(subnet), _) => index.gateways_in.entry(subnet).or_default().push(gateway),
                (None, Some(network)) => index.gateways.entry(network).or_default().push(gateway),
                (None, None) => {}
            }
        }
        for endpoint in all.endpoints.values() {
            for subnet in &endpoint.subnets {
                index.endpoints_in.entry(subnet).or_default().push(endpoint);
            }
            if let Some(network) = &endpoint.network {
                index.endpoints.entry(network).or_default().push(endpoint);
            }
        }
        for group in all.groups.values() {
            index.groups.entry(group.network.as_deref().unwrap_or_default()).or_default().push(group);
        }
        for host in all.hosts.values() {
            index.hosts_in.entry(host.subnet.as_deref().unwrap_or_default()).or_default().push(host);
        }
        for managed in all.managed.values() {
            let mut placed = false;
            for subnet in managed.subnets.iter().filter(|key| all.subnets.contains_key(*key)) {
                index.managed_in.entry(subnet).or_default().push(managed);
                placed = true;
            }
            match managed.network.as_deref().filter(|key| all.networks.contains_key(*key)) {
                _ if placed => {}
                Some(network) => index.managed.entry(network).or_default().push(managed),
                None => index.loose.push(managed),
            }
        }
        for log in all.flow_logs.values() {
            index.logs.entry(log.of.as_deref().unwrap_or_default()).or_default().push(log);
        }
        for peering in all.peerings.values() {
            let (left, right) = (peering.left.as_deref(), peering.right.as_deref());
            for (own, other) in [(left, right), (right, left)] {
                if let Some(own) = own {
                    let other = other.map_or("(known after apply)", |key| all.name(key));
                    index.peerings.entry(own).or_default().push((peering, other));
                }
            }
        }
        for table in all.tables.values() {
            for subnet in &table.subnets {
                index.table_of.entry(subnet).or_insert(table);
            }
            if let Some(network) = table.network.as_deref().filter(|_| table.main) {
                index.main_of.entry(network).or_insert(table);
            }
        }
        index
    }

    /// The route table of a subnet.
    pub(crate) fn table(&self, subnet: &Subnet) -> Option<&'a RouteTable> {
        let main = || self.main_of.get(subnet.network.as_deref()?);
        self.table_of.get(subnet.head.key.as_str()).or_else(main).copied()
    }

    /// The managed services in a network and its subnets, each of them once.
    pub(crate) fn managed_of(&self, network: &str) -> Vec<&'a Managed> {
        let subnets = self.subnets.get(network).map(Vec::as_slice).unwrap_or_default();
        let inside = subnets.iter().filter_map(|subnet| self.managed_in.get(subnet.head.key.as_str()));
        let all = inside.chain(self.managed.get(network)).flatten();
        let by_key: BTreeMap<&str, &Managed> = all.map(|it| (it.head.key.as_str(), *it)).collect();
        by_key.into_values().collect()
    }

    /// Weight of a network as a hub: the gateways and endpoints that others can use.
    pub(crate) fn offers(&self, network: &str) -> usize {
        let subnets = self.subnets.get(network).map(Vec::as_slice).unwrap_or_default();
        let nat =
            subnets.iter().filter_map(|subnet| self.gateways_in.get(subnet.head.key.as_str())).map(Vec::len);
        let routed = self.gateways.get(network).map_or(0, Vec::len);
        let endpoints = self.endpoints.get(network).map_or(0, |list| {
            list.iter().filter(|endpoint| endpoint.kind != EndpointKind::PrivateAccess).count()
        });
        nat.sum::<usize>() * 4 + routed + endpoints * 2
    }

    /// Display text of a route target.
    pub(crate) fn target(&self, target: &Target) -> String {
        match target {
            Target::Gateway(key) => match self.all.gateways.get(key) {
                Some(gateway) => format!("{} {}", gateway.kind.short(), gateway.head.name),
                None => key.clone(),
            },
            Target::Peering(key) => format!("peering {}", self.all.name(key)),
            Target::Endpoint(key) => format!("endpoint {}", self.all.name(key)),
            Target::Other(key) => self.all.name(key).to_owned(),
            Target::Unknown(word) => format!("{word} (known after apply)"),
            Target::Nowhere => "dropped".to_owned(),
        }
    }
}

/// The change of a box with several parts: their common change, or an update if they differ.
pub(crate) fn common(changes: impl IntoIterator<Item = Change>) -> Change {
    let mut changes = changes.into_iter();
    let Some(first) = changes.next() else { return Change::Keep };
    if changes.all(|change| change == first) { first } else { Change::Update }
}
