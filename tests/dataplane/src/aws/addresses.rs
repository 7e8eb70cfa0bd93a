//! Which network interfaces there are, and their addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use ipnet::Ipv4Net;

use super::account::{Account, EndpointKind, Groups, Subnet};
use super::network::Options;

/// Where the public addresses of machines without one of their own begin.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(3, 208, 0, 1);

/// A network interface in a subnet.
#[derive(Clone, Debug)]
pub(super) struct Eni {
    pub(super) name: String,
    pub(super) subnet: Subnet,
    pub(super) address: Ipv4Addr,
    pub(super) public: Option<Ipv4Addr>,
    pub(super) groups: Groups,
    /// Source/destination check.
    pub(super) check: bool,
    pub(super) role: Role,
}

/// What is behind a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The machine that stands for its subnet.
    Subnet,
    /// One of an instance, by its own ID and that of the instance.
    Instance(String, Option<String>),
    /// A NAT gateway, by its ID.
    Nat(String),
    /// An interface endpoint, by its ID.
    Endpoint(String),
    /// An endpoint of Route 53 Resolver, by its ID.
    Resolver(String),
}

impl Role {
    /// Whether programs of tests run behind it: its rules are enforced outside then, as AWS does it.
    pub(super) fn is_machine(&self) -> bool {
        matches!(self, Role::Subnet | Role::Instance(..))
    }
}

/// All network interfaces. Addresses that the emulator chose outside of the subnet, or that AWS reserves, are replaced.
pub(super) fn interfaces(account: &Account, options: &Options) -> Result<Vec<Eni>> {
    let mut pool = Pool::default();
    let mut all = Vec::new();
    let subnet = |id: &str| account.subnet(id).cloned().with_context(|| format!("no subnet {id}"));
    let fixed = account.interfaces.iter().map(|interface| (interface.subnet.as_str(), interface.address));
    let endpoints = account.endpoints.iter().flat_map(|endpoint| match &endpoint.kind {
        EndpointKind::Interface { addresses, .. } => addresses.iter().collect::<Vec<_>>(),
        EndpointKind::Gateway { .. } => Vec::new(),
    });
    let fixed = fixed.chain(endpoints.map(|(id, address)| (id.as_str(), *address)));
    let resolvers = account.resolver_endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    for (id, address) in fixed.chain(resolvers.map(|(id, address)| (id.as_str(), *address))) {
        pool.reserve(&subnet(id)?, address);
    }
    for interface in &account.interfaces {
        let subnet = subnet(&interface.subnet)?;
        all.push(Eni {
            name: interface.name.clone(),
            address: pool.take(&subnet, Some(interface.address))?,
            public: interface.public_address,
            groups: interface.groups.clone(),
            check: interface.source_dest_check,
            role: Role::Instance(interface.id.clone(), interface.instance.clone()),
            subnet,
        });
    }
    let mut add = |name: &str, id: &str, at: Option<Ipv4Addr>, groups: Groups, role: Role| -> Result<()> {
        let subnet = subnet(id)?;
        let address = pool.take(&subnet, at)?;
        all.push(Eni { name: name.to_owned(), subnet, address, public: None, groups, check: true, role });
        Ok(())
    };
    for nat in &account.nat_gateways {
        add(&nat.id, &nat.subnet, None, Groups::Open, Role::Nat(nat.id.clone()))?;
    }
    for endpoint in &account.endpoints {
        let EndpointKind::Interface { subnets, addresses, groups, .. } = &endpoint.kind else { continue };
        for id in subnets {
            let (at, groups) = (addresses.get(id).copied(), Groups::Of(groups.clone()));
            add(&endpoint.id, id, at, groups, Role::Endpoint(endpoint.id.clone()))?;
        }
    }
    for endpoint in &account.resolver_endpoints {
        for (id, address) in &endpoint.addresses {
            let groups = Groups::Of(endpoint.groups.clone());
            add(&endpoint.id, id, Some(*address), groups, Role::Resolver(endpoint.id.clone()))?;
        }
    }
    for subnet in &account.subnets {
        let same = account.subnets.iter().filter(|other| other.name == subnet.name).count();
        let name = if same == 1 { &subnet.name } else { &subnet.id };
        add(name, &subnet.id, None, Groups::Open, Role::Subnet)?;
    }
    for eni in &mut all {
        if let Role::Nat(id) = &eni.role {
            let nat = account.nat_gateways.iter().find(|nat| nat.id == *id);
            eni.public = nat.and_then(|nat| nat.public_address);
        }
    }
    // "By default, default subnets assign public IPv4 addresses": the subnet's attribute decides at launch.
    let mut next = PUBLIC;
    for eni in all.iter_mut().filter(|eni| eni.role == Role::Subnet) {
        if eni.subnet.map_public_ip_on_launch || options.public_machines {
            eni.public = Some(next);
            next = Ipv4Addr::from(u32::from(next) + 1);
        }
    }
    Ok(all)
}

/// The addresses of the VPC's resolver: the base of the primary range plus two, and the link-local one ("Amazon DNS server" in
/// the VPC User Guide).
pub(super) fn resolver_addresses(cidrs: &[Ipv4Net]) -> Vec<Ipv4Addr> {
    let second = cidrs.first().map(|cidr| Ipv4Addr::from(u32::from(cidr.network()) + 2));
    second.into_iter().chain([Ipv4Addr::new(169, 254, 169, 253)]).collect()
}

/// The address of a subnet's router.
pub(super) fn gateway(subnet: &Subnet) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(subnet.cidr.network()) + 1)
}

/// Addresses in use, by subnet.
#[derive(Debug, Default)]
struct Pool {
    reserved: BTreeMap<String, BTreeSet<Ipv4Addr>>,
    used: BTreeSet<(String, Ipv4Addr)>,
}

impl Pool {
    fn reserve(&mut self, subnet: &Subnet, address: Ipv4Addr) {
        self.reserved.entry(subnet.id.clone()).or_default().insert(address);
    }

    /// The wanted address where it is usable, or the next that is free. The first four addresses and the last one of a subnet are
    /// reserved ("Subnet sizing for IPv4" in the VPC User Guide).
    fn take(&mut self, subnet: &Subnet, wanted: Option<Ipv4Addr>) -> Result<Ipv4Addr> {
        let first = u32::from(subnet.cidr.network()) + 4;
        let last = u32::from(subnet.cidr.broadcast()).saturating_sub(1);
        let usable = |address: &Ipv4Addr| (first..=last).contains(&u32::from(*address));
        let unused = |address: &Ipv4Addr| !self.used.contains(&(subnet.id.clone(), *address));
        let reserved = self.reserved.entry(subnet.id.clone()).or_default();
        let found = wanted.filter(|address| usable(address) && unused(address)).or_else(|| {
            (first..=last).map(Ipv4Addr::from).find(|address| unused(address) && !reserved.contains(address))
        });
        let found = found.with_context(|| format!("{} has no free address", subnet.id))?;
        self.used.insert((subnet.id.clone(), found));
        Ok(found)
    }
}
