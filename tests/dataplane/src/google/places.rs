//! The hosts of the plane: every instance, and in every subnetwork one more host that stands for any other.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::inventory::{Instance, Inventory, Nat, Path, Secondary, Serves, Subnet};

/// A host, its interface, and what Google Cloud grants it.
#[derive(Clone, Debug)]
pub struct Place {
    /// What it stands for.
    pub of: Of,
    /// Its network.
    pub network: Path,
    /// The name of the router's interface that leads to it.
    pub wire: String,
    /// Its internal address.
    pub address: Ipv4Addr,
    /// An address in each secondary range of the subnetwork, such as a pod of GKE has.
    pub aliases: Vec<Ipv4Addr>,
    /// Its external address.
    pub external: Option<Ipv4Addr>,
    /// Network tags.
    pub tags: BTreeSet<String>,
    /// Service accounts.
    pub accounts: BTreeSet<String>,
    /// Whether it may send and receive packets with others' addresses.
    pub forwards: bool,
    /// Its addresses from which Google's own networks answer Private Google Access.
    pub google_access: BTreeSet<Ipv4Addr>,
    /// Its addresses that Cloud NAT serves, each with the address that the internet sees.
    pub nat: Vec<(Ipv4Addr, Ipv4Addr)>,
}

/// What a host stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// Any host of a subnetwork: without tags, service account and external address.
    Subnet(Path),
    /// An instance.
    Instance(Path),
}

/// All hosts, in the order of their networks; `allocated` are addresses that Google allocates to Cloud NAT gateways.
pub(crate) fn all(inventory: &Inventory, allocated: impl Fn(usize) -> Ipv4Addr) -> Vec<Place> {
    let mut places = Vec::new();
    for network in inventory.networks.keys() {
        let mut number = 0;
        let mut wire = || {
            number += 1;
            format!("h{}", number - 1)
        };
        for (path, subnet) in inventory.subnets_of(network) {
            let here = || inventory.instances.iter().filter(|(_, instance)| instance.subnet == *path);
            for (name, instance) in here().filter(|(_, instance)| instance.runs) {
                places.push(of_instance(inventory, name, instance, (path, subnet), wire(), &allocated));
            }
            let taken: BTreeSet<Ipv4Addr> = here().map(|(_, instance)| instance.address).collect();
            let Some(address) = free(subnet.range, &taken) else { continue };
            let mut place = Place {
                of: Of::Subnet(path.clone()),
                network: network.clone(),
                wire: wire(),
                address,
                aliases: subnet
                    .secondary
                    .values()
                    .filter_map(|range| free(*range, &BTreeSet::new()))
                    .collect(),
                external: None,
                tags: BTreeSet::new(),
                accounts: BTreeSet::new(),
                forwards: false,
                google_access: BTreeSet::new(),
                nat: Vec::new(),
            };
            grants(inventory, &mut place, (path, subnet), &allocated);
            places.push(place);
        }
    }
    places
}

fn of_instance(
    inventory: &Inventory,
    name: &str,
    instance: &Instance,
    subnet: (&Path, &Subnet),
    wire: String,
    allocated: &impl Fn(usize) -> Ipv4Addr,
) -> Place {
    let mut place = Place {
        of: Of::Instance(name.to_owned()),
        network: subnet.1.network.clone(),
        wire,
        address: instance.address,
        aliases: Vec::new(),
        external: instance.external,
        tags: instance.tags.clone(),
        accounts: instance.accounts.clone(),
        forwards: instance.forwards,
        google_access: BTreeSet::new(),
        nat: Vec::new(),
    };
    grants(inventory, &mut place, subnet, allocated);
    place
}

/// Private Google Access and Cloud NAT.
///
/// "Private Google Access": "A VM interface must have only an internal address in a subnet where Private Google Access is enabled";
/// a VM with an external address reaches Google APIs in any case. "Cloud NAT product interactions": a gateway serves the ranges
/// that it lists of its own network and region, for VMs without an external address, never translates what is sent to Google
/// APIs, and enables Private Google Access for the ranges that it serves.
fn grants(
    inventory: &Inventory,
    place: &mut Place,
    (path, subnet): (&Path, &Subnet),
    allocated: &impl Fn(usize) -> Ipv4Addr,
) {
    if place.external.is_some() || subnet.google_access {
        place.google_access.insert(place.address);
    }
    if subnet.google_access {
        place.google_access.extend(&place.aliases);
    }
    for (number, nat) in inventory.nats.iter().enumerate() {
        if nat.network != subnet.network || nat.region != subnet.region {
            continue;
        }
        let outside = nat.addresses.first().copied().unwrap_or_else(|| allocated(number));
        if place.external.is_none() && serves_primary(nat, path) {
            place.nat.push((place.address, outside));
            place.google_access.insert(place.address);
        }
        for alias in &place.aliases {
            let mut ranges = subnet.secondary.iter().filter(|(_, range)| range.contains(alias));
            if ranges.any(|(name, _)| serves_secondary(nat, path, name)) {
                place.nat.push((*alias, outside));
                place.google_access.insert(*alias);
            }
        }
    }
}

fn serves_primary(nat: &Nat, subnet: &Path) -> bool {
    match &nat.serves {
        Serves::All { .. } => true,
        Serves::Listed(listed) => listed.get(subnet).is_some_and(|(primary, _)| *primary),
    }
}

fn serves_secondary(nat: &Nat, subnet: &Path, name: &str) -> bool {
    match &nat.serves {
        Serves::All { secondary } => *secondary,
        Serves::Listed(listed) => listed.get(subnet).is_some_and(|(_, secondary)| match secondary {
            Secondary::All => true,
            Secondary::Named(names) => names.contains(name),
        }),
    }
}

/// The last address that an instance may have and none has. "Subnets": the first two and the last two are reserved.
fn free(range: Ipv4Net, taken: &BTreeSet<Ipv4Addr>) -> Option<Ipv4Addr> {
    let (first, last) = (u32::from(range.network()) + 2, u32::from(range.broadcast()).checked_sub(2)?);
    (first..=last).rev().map(Ipv4Addr::from).find(|address| !taken.contains(address))
}
