//! A topology with indexes for repeated queries.

use super::walk::{self, Kind};
use super::{Side, acl, filter, names, overlay};
use crate::topology::{Attachment, Destination, EndpointKind, NetworkAcl, RouteTable, Subnet, Topology};
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A topology with indexes for repeated queries.
pub struct Lists<'a> {
    pub(super) all: &'a Topology,
    pub(super) subnets: BTreeMap<&'a str, Vec<&'a Subnet>>,
    tables: BTreeMap<&'a str, &'a RouteTable>,
    main: BTreeMap<&'a str, &'a RouteTable>,
    attachments: BTreeMap<&'a str, Vec<&'a Attachment>>,
    /// Network ACLs by subnet, and the default ACLs by network.
    acls: BTreeMap<&'a str, &'a NetworkAcl>,
    default_acls: BTreeMap<&'a str, &'a NetworkAcl>,
    /// Tags that routes of a network apply to.
    route_tags: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Networks that a network is peered with.
    pub(super) peers: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// First addresses of all ranges, and the addresses after their ends: the points where the treatment may change.
    cuts: BTreeSet<IpAddr>,
}

impl<'a> Lists<'a> {
    /// Indexes a topology.
    pub fn new(all: &'a Topology) -> Self {
        let mut lists = Self {
            all,
            subnets: BTreeMap::new(),
            tables: BTreeMap::new(),
            main: BTreeMap::new(),
            attachments: BTreeMap::new(),
            acls: BTreeMap::new(),
            default_acls: BTreeMap::new(),
            route_tags: BTreeMap::new(),
            peers: BTreeMap::new(),
            cuts: BTreeSet::new(),
        };
        let mut ranges: Vec<IpNet> = Vec::new();
        for subnet in all.subnets.values() {
            ranges.extend(&subnet.ranges);
            if let Some(network) = &subnet.network {
                lists.subnets.entry(network).or_default().push(subnet);
            }
        }
        for table in all.tables.values() {
            for subnet in &table.subnets {
                lists.tables.entry(subnet).or_insert(table);
            }
            if let Some(network) = table.network.as_deref().filter(|_| table.main) {
                lists.main.entry(network).or_insert(table);
            }
            for route in &table.routes {
                if let Destination::Range(net) = route.destination {
                    ranges.push(net);
                }
                if let Some(network) = table.network.as_deref().filter(|_| !route.tags.is_empty()) {
                    let tags = lists.route_tags.entry(network).or_default();
                    tags.extend(route.tags.iter().map(String::as_str));
                }
            }
        }
        for attachment in all.attachments.values() {
            if let Some(gateway) = &attachment.gateway {
                lists.attachments.entry(gateway).or_default().push(attachment);
            }
        }
        for peering in all.peerings.values() {
            if let (Some(left), Some(right)) = (&peering.left, &peering.right) {
                lists.peers.entry(left).or_default().insert(right);
                lists.peers.entry(right).or_default().insert(left);
            }
        }
        ranges.extend(all.networks.values().flat_map(|network| &network.ranges));
        ranges
            .extend(all.transit_tables.values().flat_map(|table| table.routes.iter().map(|route| route.net)));
        for acl in all.acls.values() {
            for subnet in &acl.subnets {
                lists.acls.entry(subnet).or_insert(acl);
            }
            if let Some(network) = acl.network.as_deref().filter(|_| acl.default) {
                lists.default_acls.entry(network).or_insert(acl);
            }
        }
        ranges.extend(acl::ranges(all));
        ranges.extend(names::ranges(all));
        ranges.extend(filter::ranges(all));
        ranges.extend(overlay::ranges(all));
        for range in ranges {
            lists.cuts.insert(range.network());
            lists.cuts.extend(after(range.broadcast()));
        }
        lists
    }

    pub(super) fn subnets(&self, network: &str) -> &[&'a Subnet] {
        self.subnets.get(network).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn table(&self, subnet: &Subnet) -> Option<&'a RouteTable> {
        let main = || self.main.get(subnet.network.as_deref()?);
        self.tables.get(subnet.head.key.as_str()).or_else(main).copied()
    }

    pub(super) fn attachments(&self, gateway: &str) -> &[&'a Attachment] {
        self.attachments.get(gateway).map(Vec::as_slice).unwrap_or_default()
    }

    /// The range of the network that contains an address. Google networks have the ranges of their subnets.
    pub(super) fn local(&self, network: &str, address: IpAddr) -> Option<IpNet> {
        let own = self.all.networks.get(network)?;
        let ranges = own.ranges.iter();
        let inner = self.subnets(network).iter().filter(|_| own.ranges.is_empty()).flat_map(|it| &it.ranges);
        ranges
            .chain(inner)
            .filter(|range| range.contains(&address))
            .max_by_key(|range| range.prefix_len())
            .copied()
    }

    /// One address of each part of the subnet that all tables treat alike.
    pub(super) fn samples(&self, subnet: &Subnet) -> Vec<IpAddr> {
        let mut samples = BTreeSet::new();
        for range in &subnet.ranges {
            samples.insert(range.network());
            samples.extend(self.cuts.range(range.network()..=range.broadcast()));
        }
        samples.into_iter().collect()
    }

    /// Whether hosts of a subnet have public addresses: by default, or because one host requests one.
    pub(super) fn public(&self, subnet: &Subnet) -> bool {
        let hosts = self.all.hosts.values();
        subnet.public
            || hosts
                .filter(|host| host.subnet.as_ref() == Some(&subnet.head.key))
                .any(|host| host.public == Some(true))
    }

    /// The network ACL of a subnet. Without one in the plan, nothing is filtered.
    pub(super) fn acl(&self, subnet: &Subnet) -> Option<&'a NetworkAcl> {
        let default = || self.default_acls.get(subnet.network.as_deref()?);
        self.acls.get(subnet.head.key.as_str()).or_else(default).copied()
    }

    /// The tags to try for a side: its own, or none and each tag that a route of its network applies to.
    pub(super) fn tags_of(&self, side: &Side<'_>) -> Vec<Vec<String>> {
        if let Some(tags) = side.tags {
            return vec![tags.to_vec()];
        }
        let tags = side.subnet.network.as_deref().and_then(|network| self.route_tags.get(network));
        let each = tags.into_iter().flatten().map(|tag| vec![(*tag).to_owned()]);
        std::iter::once(Vec::new()).chain(each).collect()
    }

    /// Public addresses that tables distinguish: those of a service if the plan knows them, or else any.
    pub(super) fn addresses_of(&self, kind: Kind<'_>, wanted: impl Fn(&IpAddr) -> bool) -> Vec<IpAddr> {
        let ranges: Vec<IpNet> = match kind {
            Kind::Aws(service) => {
                let endpoints = self.all.endpoints.values();
                let gateways =
                    endpoints.filter(|it| it.service == service && it.kind == EndpointKind::Gateway);
                gateways.flat_map(|it| it.ranges.iter().copied()).collect()
            }
            Kind::Address | Kind::Public | Kind::Google => Vec::new(),
        };
        if ranges.is_empty() {
            return self.outside(wanted);
        }
        let mut found = BTreeSet::new();
        for range in ranges {
            found.insert(range.network());
            found.extend(self.cuts.range(range.network()..=range.broadcast()));
        }
        found.into_iter().filter(|it| wanted(it)).collect()
    }

    /// Public addresses that tables distinguish, without those of Google's private access.
    fn outside(&self, wanted: impl Fn(&IpAddr) -> bool) -> Vec<IpAddr> {
        let anywhere = IpAddr::from([198, 51, 100, 1]);
        let anywhere6 = IpAddr::from([0x2600, 0, 0, 0, 0, 0, 0, 1]);
        let mut found = vec![anywhere, anywhere6];
        found.retain(&wanted);
        let inside = |address: &IpAddr| {
            self.all
                .networks
                .values()
                .any(|network| network.ranges.iter().any(|range| range.contains(address)))
        };
        found.extend(
            self.cuts
                .iter()
                .filter(|it| !walk::is_private(**it) && !walk::is_google(**it) && !it.is_unspecified())
                .filter(|it| !inside(it) && wanted(it))
                .take(64),
        );
        found
    }
}

fn after(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => u32::from(address).checked_add(1).map(|next| IpAddr::V4(next.into())),
        IpAddr::V6(address) => u128::from(address).checked_add(1).map(|next| IpAddr::V6(next.into())),
    }
}
